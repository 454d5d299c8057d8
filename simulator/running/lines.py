"""A line: the calls of one model, which share a limit, a gate and a fate.

What one model's provider does holds up no other model. Before the gate the first in line waits until the limit, and the
budget, let it through; the others queue behind it in the order in which they came.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from simulator.errors import BudgetError, ModelError, RetryableError, SociolectError
from simulator.running.calls import Call
from simulator.running.events import Event, Kind
from simulator.running.limits import Limit, Wait
from simulator.running.models.failures import scrub
from simulator.running.patience import asked_wait
from simulator.running.replies import Reply, repair_reply
from simulator.running.variants import Variant

if TYPE_CHECKING:
    from simulator.running.models import Model
    from simulator.running.money import Money, Price

__all__ = ["Ask", "Attempt", "Ended", "Execution", "Line", "begin_attempt", "concerns_one", "end_line", "first_error"]
__all__ += ["make_attempt", "open_line", "set_within", "tell"]

_WORTH_TELLING: Final = 0.5
"""Seconds. A shorter pause is over before anybody has read of it."""


def _nothing(_reply: Reply) -> tuple[Variant, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Ask:
    """A call to make, and what is made of its reply, to be recorded together with it."""

    call: Call
    make_variants: Callable[[Reply], tuple[Variant, ...]] = _nothing


@dataclass(slots=True)
class Line:
    """The calls of one model.

    Parameters
    ----------
    label, model, asks
        What tells it apart from other lines; the open model; what is to be asked, taken lazily.
    limit
        How many calls may be in flight.
    gate
        Held by the first in line.
    changed
        Wakes the first in line: a call has ended, or all is over.
    over
        No further call is begun.
    name
        The model as the campaign names it; known from the first call on.
    errors
        Calls in a row that ended as errors.
    asked, told
        In whose words a pause was asked for; which pause was reported last.
    """

    label: str
    model: Model
    asks: Iterator[Ask]
    limit: Limit
    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = ""
    errors: int = 0
    asked: str = ""
    told: str = ""

    def close(self) -> None:
        """Begin no further call, and wake those that wait."""
        self.over.set()
        self.changed.set()


@dataclass(slots=True)
class Execution:
    """What all lines share.

    Parameters
    ----------
    stop
        Once set, no further attempt is begun.
    report
        Told of each event.
    money
        What calls cost, and may cost.
    lines
        All of them.
    clock
        Seconds.
    holding
        Attempts in flight that have money set aside.
    ended
        The lines that ended early, and by what, in that order.
    """

    stop: asyncio.Event
    report: Callable[[Event], None]
    money: Money
    lines: list[Line]
    clock: Callable[[], float]
    holding: int = 0
    ended: list[tuple[Line, SociolectError]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that is in flight."""

    number: int
    begun: float
    tokens: float
    reserved: float


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that has ended.

    Parameters
    ----------
    outcome
        The reply, or why there is none.
    seconds
        How long it took.
    cost, at_most
        US dollars that it cost, where that is known, and that it cost at most; None where no price is known.
    """

    outcome: Reply | SociolectError
    seconds: float
    cost: float | None
    at_most: float | None


def open_line(label: str, model: Model, asks: Iterator[Ask]) -> Line:
    """Return a line at its start."""
    info = model.info
    limit = Limit(info.parallel, requests_per_minute=info.requests_per_minute, tokens_per_minute=info.tokens_per_minute)
    return Line(label, model, asks, limit)


# -- one attempt ------------------------------------------------------------------------------------------------------


async def begin_attempt(run: Execution, line: Line, call: Call) -> Attempt | None:
    """Wait in line until a call may begin, and begin it; None where the line is over.

    The lock is first come, first served, and only its holder watches the limit: so nobody who came later gets through
    before, and a limit that changes wakes one and not all.
    """
    tokens = _estimate(call) if line.limit.counts_tokens else 0.0
    async with line.gate:
        while not (run.stop.is_set() or line.over.is_set()):
            now = run.clock()
            wait = line.limit.wait(now, tokens)
            if not wait.seconds:
                reserved = run.money.reserve(line.label, call)
                if reserved is not None:
                    line.told = ""
                    run.holding += reserved > 0
                    return Attempt(line.limit.begin(now, tokens), now, tokens, reserved)
                if not run.holding:
                    end_line(run, line, _over_budget(run, line, call))
                    return None
                # What calls in flight may cost is set aside; when they have ended, some of it may be free again.
                wait = Wait(math.inf, "budget")
            _tell_pause(run, line, wait, now)
            line.changed.clear()
            await set_within(line.changed, wait.seconds)
    return None


def _estimate(call: Call) -> float:
    """Return about how many tokens a call takes from a provider's minute: four characters are one, as providers do."""
    longest = call.params.get("max_tokens")
    characters = sum(len(message.text) for message in call.messages)
    return characters / 4 + (longest if isinstance(longest, int) else 0)


async def make_attempt(run: Execution, line: Line, call: Call, attempt: Attempt) -> Ended:
    """Make one attempt, give back its place and its money, and return how it ended."""
    outcome: Reply | SociolectError | None = None
    cost = at_most = None
    try:
        outcome = repair_reply(await line.model.ask(call))
    except SociolectError as error:
        outcome = error
    finally:
        now = run.clock()
        cost, at_most = _price(run.money.price(line.label), call, outcome)
        run.money.settle(attempt.reserved, cost if cost is not None else at_most or 0.0)
        run.holding -= attempt.reserved > 0
        _learn(run, line, attempt, outcome, now)
        for other in run.lines:  # the budget is theirs as well
            other.changed.set()
    return Ended(outcome, now - attempt.begun, cost, at_most)


def _learn(run: Execution, line: Line, attempt: Attempt, outcome: Reply | SociolectError | None, now: float) -> None:
    """Give back the place of an attempt, and learn from how it ended how many calls may be in flight."""
    limit, before = line.limit, line.limit.window
    reason = "answers arrive without trouble"
    if isinstance(outcome, Reply):
        limit.succeeded(attempt.number)
        counts = [count for count in astuple(outcome.tokens) if count is not None] if limit.counts_tokens else []
        if counts:
            limit.correct(attempt.tokens, sum(counts), now)
    elif isinstance(outcome, RetryableError) and outcome.overloaded:
        asked = asked_wait(outcome)
        limit.overloaded(attempt.number, now, asked=asked)
        reason = scrub(str(outcome))
        line.asked = reason if asked else line.asked
    else:
        limit.ended()
    if limit.window != before:
        tell(run, line, "limit", reason=reason)


def _price(
    price: Price | None, call: Call, outcome: Reply | SociolectError | None
) -> tuple[float | None, float | None]:
    """Return what an attempt cost in US dollars, where that is known, and what it cost at most.

    An attempt that ended in nothing that was seen, a None, may have cost as much as it can.
    """
    if price is None:
        return None, None
    if isinstance(outcome, SociolectError) and not (isinstance(outcome, ModelError) and outcome.charged):
        return 0.0, 0.0
    cost = price.cost(outcome.tokens) if isinstance(outcome, Reply) else None
    if cost is not None:
        return cost, cost
    at_most = price.at_most(call)
    return (0.0 if at_most == 0.0 else None), at_most


# -- the end of a line ------------------------------------------------------------------------------------------------


def concerns_one(error: SociolectError) -> bool:
    """Whether an error concerns one call, as whose reply it is recorded, and not all calls of its model."""
    return isinstance(error, ModelError) and error.stops is None


def end_line(run: Execution, line: Line, error: SociolectError) -> None:
    """Begin no further call of a line, for a reason that is told once."""
    if all(other is not line for other, _ in run.ended):
        run.ended.append((line, error))
        tell(run, line, "paused", reason=scrub(str(error)))
    line.close()


def first_error(run: Execution) -> SociolectError | None:
    """Return the error of the line that ended first, with the names of the others in its text; None if none did."""
    if not run.ended:
        return None
    (_, first), *others = run.ended
    if others:
        also = ", ".join(f"{line.name} ({error.stops or 'failed'})" for line, error in others)
        first.args = (f"{first} Ended early as well: {also}.",)
    return first


def _over_budget(run: Execution, line: Line, call: Call) -> BudgetError:
    price = run.money.price(line.label)
    at_most = price.at_most(call) if price else None
    next_one = f"up to ${at_most:,.4f}" if at_most is not None else "an amount that is not known"
    return BudgetError(
        f"{line.name}: the next call might exceed the budget. ${run.money.spent:,.4f} of ${run.money.budget or 0:,.4f} "
        f"is spent, and the call may cost {next_one}. Everything that was paid for is recorded; run the same command "
        "again with a larger --budget to go on."
    )


# -- telling and waiting ----------------------------------------------------------------------------------------------


class _About(TypedDict, total=False):
    """What an `Event` says besides its kind and its line."""

    call: Call
    status: str
    seconds: float
    reason: str
    cost: float | None
    cost_at_most: float | None
    attempts: int


def tell(run: Execution, line: Line, kind: Kind, **about: Unpack[_About]) -> None:
    """Report an event of a line."""
    run.report(Event(kind, line.name, limit=line.limit.window, in_flight=line.limit.in_flight, **about))


def _tell_pause(run: Execution, line: Line, wait: Wait, now: float) -> None:
    """Report once why no call of the line begins, unless it is because as many are in flight as may be."""
    if wait.cause == "calls" or wait.seconds < _WORTH_TELLING:
        return
    told = f"asked until {now + wait.seconds:.0f}" if wait.cause == "asked" else wait.cause
    if told == line.told:
        return
    line.told = told
    info = line.model.info
    reasons = {
        "asked": line.asked,
        "requests": f"at most {info.requests_per_minute or 0:,.10g} requests a minute",
        "tokens": f"at most {info.tokens_per_minute or 0:,.10g} tokens a minute",
        "budget": "all that is left of the budget is set aside for the calls in flight",
    }
    tell(run, line, "paused", seconds=0.0 if math.isinf(wait.seconds) else wait.seconds, reason=reasons[wait.cause])


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, but no longer than that; return whether it came."""
    try:
        async with asyncio.timeout(None if math.isinf(seconds) else seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
