"""What is told of while calls are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.running.calls import Call, Stage
from simulator.running.journal.entries import Spent

__all__ = ["Event", "Kind", "StageProgress"]

Kind = Literal["recorded", "known", "waiting", "limit", "paused"]


@dataclass(frozen=True, slots=True)
class StageProgress:
    """Told once a stage begins.

    Parameters
    ----------
    stage
        Which one.
    total, done
        How many calls it has in all, and how many of them have a reply that is kept.
    spent
        What the run has spent so far, in all its starts.
    budget
        US dollars that it may spend in all; None where there is no limit.
    """

    stage: Stage | Literal["pilot"]
    total: int
    done: int
    spent: Spent
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened while calls are made.

    Parameters
    ----------
    kind
        ``recorded``: a reply is on the disk. ``known``: one was there before this start. ``waiting``: an attempt failed
        and another one follows. ``limit``: another number of calls may be in flight than before. ``paused``: no call of
        the model begins for a while, or no further one at all.
    model
        As the campaign names it.
    call
        Which call, where it is about one.
    status
        Of the reply.
    seconds
        What the answered attempt took, or how long is waited; 0 where that is not known.
    reason
        Why, in words; never a key.
    cost, cost_at_most
        US dollars that the reply, or the failed attempt, cost, and that it cost at most; None where not known.
    attempts
        How many there were, this one included.
    limit, in_flight
        How many calls of the model may be in flight, and how many are.
    """

    kind: Kind
    model: str
    call: Call | None = None
    status: str = ""
    seconds: float = 0.0
    reason: str = ""
    cost: float | None = None
    cost_at_most: float | None = None
    attempts: int = 0
    limit: int = 0
    in_flight: int = 0
