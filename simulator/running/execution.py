"""Asking: the calls of one stage, as many at once as each model bears, each reply durable before it counts as done."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from simulator.errors import ModelError, OutageError, QuotaError, RateLimitError, RetryableError, SociolectError
from simulator.running.calls import Call
from simulator.running.events import Event
from simulator.running.journal import Journal
from simulator.running.journal.entries import Entry, FailedAttempt
from simulator.running.journal.recording import Recorder
from simulator.running.lines import (
    Ask,
    Ended,
    Execution,
    Line,
    begin_attempt,
    concerns_one,
    end_line,
    first_error,
    make_attempt,
    open_line,
    set_within,
    tell,
)
from simulator.running.models import Model
from simulator.running.models.failures import scrub
from simulator.running.money import FREE, Money
from simulator.running.patience import Patience, asked_wait
from simulator.running.replies import Reply, repair_reply, repair_text

__all__ = ["execute"]

_FREE = frozenset({"embedded", "mock"})
"""The families of models whose calls cost nothing, where nobody says what anything costs."""

_KNOWN_AT_A_TIME = 256
"""Calls found recorded after which the event loop gets its turn."""


@dataclass(slots=True)
class _Work:
    """What the workers of all lines share besides the lines: where replies go, and what is not asked."""

    run: Execution
    journal: Journal
    recorder: Recorder
    patience: Patience
    again: frozenset[str]
    since: int
    keys: set[str] = field(default_factory=set)
    """Of the calls in hand: two with the same key are one."""


async def execute(
    asks: Mapping[str, Iterator[Ask]],
    models: Mapping[str, Model],
    journal: Journal,
    *,
    stop: asyncio.Event,
    report: Callable[[Event], None],
    again: frozenset[str] = frozenset(),
    patience: Patience | None = None,
    money: Money | None = None,
) -> None:
    """Ask every call that is not recorded yet, and record each reply as it arrives.

    Where a model gives nothing more (its quota, its key, the budget, an outage), its line ends and the others go on;
    the first such error is raised when all have ended. Whatever is raised, all replies that arrived and all attempts
    that failed are on the disk by then, unless the disk is what failed.

    Parameters
    ----------
    asks
        For each line its calls, taken lazily in order; two with the same key are one.
    models
        The open models, under the same labels.
    journal
        Open for writing.
    stop
        Once set, no further attempt is begun; what is in flight is finished and recorded.
    report
        Told of each event, in the order of recording.
    again
        Reply statuses that are asked for again, once: what is recorded after this start is not.
    patience
        How failed attempts are repeated.
    money
        What the calls cost, and may cost; without it the calls of a mock and an embedded model cost nothing, and what
        others cost is not known.

    Raises
    ------
    QuotaError, AccessError, OutageError, BudgetError
        A model gives nothing more. Running again goes on from there.
    StorageError
        The journal cannot be written; nothing is acknowledged that it did not take.
    """
    lines = [open_line(label, models[label], wanted) for label, wanted in asks.items()]
    money = money or Money({line.label: FREE if line.model.info.family in _FREE else None for line in lines})
    run = Execution(stop, report, money, lines, asyncio.get_running_loop().time)
    recorder = Recorder(journal)
    work = _Work(run, journal, recorder, patience or Patience(), again, journal.last_reply)
    recording = asyncio.create_task(recorder.run())
    watching = asyncio.create_task(_watch(stop, lines))
    workers = [asyncio.create_task(_work(work, line)) for line in lines for _ in range(line.model.info.parallel)]
    fault: BaseException | None = None
    try:
        fault = await _wait_for(workers, recording, lines)
    finally:
        for task in (watching, *workers):
            task.cancel()
        await asyncio.gather(watching, *workers, return_exceptions=True)
        recorder.close()
        try:
            await recording
        except SociolectError as error:
            fault = error
    fault = fault or first_error(run)
    if fault is not None:
        raise fault


async def _watch(stop: asyncio.Event, lines: list[Line]) -> None:
    """Wake everybody who waits when the run is stopped."""
    await stop.wait()
    for line in lines:
        line.close()


async def _wait_for(
    workers: list[asyncio.Task[None]], recording: asyncio.Task[None], lines: list[Line]
) -> BaseException | None:
    """Wait for the workers; return the first fault of one, after the others have finished what is in flight.

    While there are workers, recording ends only by failing. Then nothing more can be kept and nothing is waited for.
    """
    fault: BaseException | None = None
    waiting: set[asyncio.Task[None]] = {recording, *workers}
    while waiting - {recording}:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if recording in done:
            return None
        for task in done:
            fault = fault or task.exception()
        if fault is not None:
            for line in lines:
                line.close()
    return fault


async def _work(work: _Work, line: Line) -> None:
    """Take the line's next call until there is none; all the line's workers take from one iterator."""
    known = 0
    for ask in line.asks:
        if work.run.stop.is_set() or line.over.is_set():
            return
        call = ask.call
        key = call.key
        line.name = call.model
        if key in work.keys:
            continue
        latest = work.journal.latest(key)
        if latest is not None and (latest[1] not in work.again or latest[0] > work.since):
            if latest[0] <= work.since:
                tell(work.run, line, "known", call=call, status=latest[1])
            known += 1
            if known % _KNOWN_AT_A_TIME == 0:
                await asyncio.sleep(0)
            continue
        work.keys.add(key)
        try:
            await _answer(work, line, ask, key)
        finally:
            work.keys.discard(key)


async def _answer(work: _Work, line: Line, ask: Ask, key: str) -> None:
    """Ask until there is a reply, patience ends or the line is over; a failure that stays is a reply too."""
    attempts = counted = 0
    held, limited_at = 0.0, math.inf
    while attempt := await begin_attempt(work.run, line, ask.call):
        attempts += 1
        held += max(0.0, attempt.begun - limited_at)
        ended = await make_attempt(work.run, line, ask.call, attempt)
        outcome = ended.outcome
        if isinstance(outcome, RetryableError):
            counted += work.patience.counts(outcome)
            try:
                wait = work.patience.wait_after(outcome, key=key, attempt=attempts, counted=counted, held=held)
            except QuotaError as error:
                _note(work, ask.call, ended, attempts)
                end_line(work.run, line, QuotaError(f"{line.name}: {error}"))
                return
            if wait is not None:
                limited_at = attempt.begun + ended.seconds if isinstance(outcome, RateLimitError) else math.inf
                _note(work, ask.call, ended, attempts)
                tell(
                    work.run,
                    line,
                    "waiting",
                    call=ask.call,
                    seconds=max(wait, asked_wait(outcome)),
                    reason=scrub(str(outcome)),
                    cost_at_most=ended.at_most,
                    attempts=attempts,
                )
                if wait and await set_within(line.over, wait):
                    return
                continue
        if isinstance(outcome, SociolectError) and not concerns_one(outcome):
            end_line(work.run, line, outcome)
        else:
            await _record(work, line, ask, ended, attempts)
        return


async def _record(work: _Work, line: Line, ask: Ask, ended: Ended, attempts: int) -> None:
    """Put the reply to a call on the disk, and end the line where too many in a row are errors."""
    outcome = ended.outcome
    reply = outcome if isinstance(outcome, Reply) else _error_reply(outcome, attempts)
    line.errors = line.errors + 1 if reply.status == "error" else 0
    if line.errors >= work.patience.in_a_row:
        end_line(work.run, line, _outage(line, reply))
    entry = Entry(ask.call, reply, ended.seconds, attempts, ended.cost, ended.at_most, ask.make_variants(reply))
    await work.recorder.record(entry)
    tell(
        work.run,
        line,
        "recorded",
        call=ask.call,
        status=reply.status,
        seconds=ended.seconds,
        reason=reply.error or "",
        cost=ended.cost,
        cost_at_most=ended.at_most,
        attempts=attempts,
    )


def _error_reply(error: SociolectError, attempts: int) -> Reply:
    given_up = f" (given up after {attempts} attempts)" if attempts > 1 else ""
    sent = error.sent if isinstance(error, ModelError) else {}
    return repair_reply(Reply("error", sent=sent, error=f"{scrub(str(error))}{given_up}"))


def _outage(line: Line, reply: Reply) -> OutageError:
    return OutageError(
        f"{line.name}: {line.errors} calls in a row ended in errors, the last one with: {reply.error} They are "
        "recorded. When the model answers again, run the same command with --retry: it asks those again and goes on."
    )


def _note(work: _Work, call: Call, ended: Ended, attempt: int) -> None:
    """Hand an attempt that failed, and that another one may follow, to the journal."""
    reason = repair_text(scrub(str(ended.outcome)))[0]
    work.recorder.note(FailedAttempt(call, attempt, ended.seconds, reason, ended.at_most))
