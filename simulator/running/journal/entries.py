"""What goes into the journal of a run, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simulator.running.calls import Call
from simulator.running.replies import Reply
from simulator.running.variants import Variant

__all__ = ["Entry", "FailedAttempt", "PlanRow", "Planned", "Recorded", "RecordedAttempt", "Spent"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is committed together: a call, its reply, and the variants made from it.

    Parameters
    ----------
    call, reply
        What was asked and answered.
    seconds
        Wall-clock, of the attempt that was answered: what the model took, without any waiting.
    attempts
        How often it was asked, failed attempts included.
    cost
        US dollars; None where it is not known.
    cost_at_most
        US dollars: the cost where it is known, or else an upper bound of it; None where no price is known.
    variants
        Made from the reply.
    """

    call: Call
    reply: Reply
    seconds: float
    attempts: int
    cost: float | None = None
    cost_at_most: float | None = None
    variants: tuple[Variant, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt at a call that gave no reply, recorded as it happens.

    Parameters
    ----------
    call
        What was asked.
    attempt
        Counted from 1 in each start.
    seconds
        How long it took, the wait after it left out.
    reason
        Why it failed; never a key.
    cost_at_most
        US dollars that the provider may have charged: 0.0 where it did not, None where no price is known.
    """

    call: Call
    attempt: int
    seconds: float
    reason: str
    cost_at_most: float | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A reply as the journal holds it: with what was measured while it was asked for."""

    call: str
    reply: Reply
    cost: float | None
    seconds: float
    attempts: int
    cost_at_most: float | None = None


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """A failed attempt as the journal holds it; ``recorded`` is the time in ISO 8601, UTC."""

    call: str
    attempt: int
    recorded: str
    seconds: float
    reason: str
    cost_at_most: float | None


class PlanRow(NamedTuple):
    """A variant to send or to make, at its place in the plan, with the key of the call that does it.

    ``made`` are variants that are known when the plan is: they are recorded with it, and not read back from it.
    """

    position: int
    variant: str
    call: str
    made: tuple[Variant, ...] = ()


class Planned(NamedTuple):
    """A stage's plan in sum: what it was made from, its distinct calls, and how many of them have a reply."""

    fingerprint: str
    calls: int
    done: int


class Spent(NamedTuple):
    """What all replies and failed attempts used, also those of calls that were asked again.

    ``cost`` is in US dollars, where it is known; ``at_most`` adds upper bounds where it is not. ``unpriced`` counts
    those of which no price is known, which are in neither.
    """

    tokens_input: int = 0
    tokens_cached: int = 0
    tokens_output: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    at_most: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of all classes."""
        return self.tokens_input + self.tokens_cached + self.tokens_output + self.tokens_reasoning
