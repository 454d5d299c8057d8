"""Asking: the calls of one stage, several at once per model, each reply durable before it counts as done."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.errors import ModelError, QuotaError, RateLimitError, RetryableError
from simulator.running.calls import Call, derive_seed
from simulator.running.failures import scrub
from simulator.running.journal import Entry, Journal
from simulator.running.models import Model
from simulator.running.replies import Reply, repair_reply
from simulator.running.variants import Variant

__all__ = ["Event", "Patience", "execute"]

_BATCH = 256
"""Most replies that are committed at once: one wait for the disk serves them all."""

_FREE = {"embedded", "mock"}
"""The families of models whose calls cost no money. What the others cost is not known here."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to go on with a call that fails for a reason that can pass.

    Parameters
    ----------
    attempts
        Most attempts at one call, the first included.
    first_wait, longest_wait
        Seconds before the second attempt, doubled each time up to the longest, with up to a half more of jitter.
    longest_asked
        Seconds. A provider's own word for how long to wait is obeyed; one that asks for longer than this has nothing
        more to give for now, and the run ends, resumable.
    """

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_asked: float = 300.0

    def wait_after(self, attempt: int, error: RetryableError, call: Call) -> float:
        """Return the seconds to wait after a failed attempt (counted from 1).

        Raises
        ------
        QuotaError
            The provider asks for a wait that is longer than ``longest_asked``.
        """
        jitter = random.Random(derive_seed(call.key, attempt)).uniform(1.0, 1.5)
        asked = error.seconds if isinstance(error, RateLimitError) else None
        if asked is None:
            return min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait) * jitter
        if asked > self.longest_asked:
            raise QuotaError(
                f"{call.model} asks to wait {asked:,.0f} s before the next call ({error}). Every finished reply is "
                f"recorded; run the same command again after that time."
            ) from error
        return asked * jitter


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a call: it was recorded, found recorded already, or waits before its next attempt."""

    kind: Literal["recorded", "known", "waiting"]
    call: Call
    status: str = ""
    seconds: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class _Stage:
    """What the workers of one stage share."""

    journal: Journal
    patience: Patience
    again: frozenset[str]
    stop: asyncio.Event
    report: Callable[[Event], None]
    make_variants: Callable[[Call, Reply], tuple[Variant, ...]]
    queue: asyncio.Queue[tuple[Entry, asyncio.Future[None]]] = field(default_factory=asyncio.Queue)
    taken: set[str] = field(default_factory=set)
    quota: QuotaError | None = None


async def execute(
    calls: Mapping[str, Iterator[Call]],
    models: Mapping[str, Model],
    journal: Journal,
    *,
    stop: asyncio.Event,
    report: Callable[[Event], None],
    make_variants: Callable[[Call, Reply], tuple[Variant, ...]] = lambda _call, _reply: (),
    again: frozenset[str] = frozenset(),
    patience: Patience | None = None,
) -> None:
    """Ask every call that is not recorded yet, and record each reply as it arrives.

    Parameters
    ----------
    calls
        For each model its calls, taken lazily in order; two with the same key are one.
    models
        The open models, under the same names.
    journal
        Open for writing.
    stop
        Once set, no further call is begun; what is in flight is finished and recorded.
    report
        Told of each event, in the order of recording.
    make_variants
        Makes the variants that are recorded together with a reply.
    again
        Reply statuses that are asked for again.
    patience
        How failed attempts are repeated.

    Raises
    ------
    QuotaError
        A provider gives nothing more today. What was in flight is recorded.
    StorageError
        The journal cannot be written; nothing is acknowledged that it did not take.
    """
    stage = _Stage(journal, patience or Patience(), again, stop, report, make_variants)
    recorder = asyncio.create_task(_record(stage))
    workers = [
        asyncio.create_task(_work(stage, models[name], wanted))
        for name, wanted in calls.items()
        for _ in range(models[name].info.parallel)
    ]
    try:
        failure = await _wait_for(workers, recorder, stop)
    finally:
        for task in (*workers, recorder):
            task.cancel()
        await asyncio.gather(*workers, recorder, return_exceptions=True)
    if failure is not None:
        raise failure
    if stage.quota is not None:
        raise stage.quota


async def _wait_for(
    workers: list[asyncio.Task[None]], recorder: asyncio.Task[None], stop: asyncio.Event
) -> BaseException | None:
    """Wait for the workers; return the first failure of one, after the others have finished what is in flight.

    The recorder ends only by failing. Then nothing more can be kept and nothing is waited for.
    """
    failure: BaseException | None = None
    waiting: set[asyncio.Task[None]] = {recorder, *workers}
    while waiting - {recorder}:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if recorder in done:
            return recorder.exception()
        for task in done:
            failure = failure or task.exception()
        if failure is not None:
            stop.set()
    return failure


async def _work(stage: _Stage, model: Model, calls: Iterator[Call]) -> None:
    """Take the model's next call until there is none; the model's workers share one iterator."""
    for call in calls:
        if stage.stop.is_set():
            return
        key = call.key
        if key in stage.taken:
            continue
        stage.taken.add(key)
        status = stage.journal.status_of(key)
        if status is not None and status not in stage.again:
            stage.report(Event("known", call, status))
            continue
        entry = await _ask(stage, model, call)
        if entry is None:
            return
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stage.queue.put_nowait((entry, durable))
        await durable
        stage.report(Event("recorded", call, entry.reply.status, entry.seconds, entry.reply.error or ""))


async def _ask(stage: _Stage, model: Model, call: Call) -> Entry | None:
    """Ask until there is a reply, patience ends or the stage stops; a failure that stays is a reply too."""
    begun = time.monotonic()
    attempt = 0
    while True:
        attempt += 1
        try:
            reply = await model.ask(call)
            break
        except RetryableError as error:
            try:
                wait = stage.patience.wait_after(attempt, error, call)
            except QuotaError as quota:
                _give_up(stage, quota)
                return None
            if attempt >= stage.patience.attempts:
                reply = Reply("error", error=f"{scrub(str(error))} (given up after {attempt} attempts)")
                break
            stage.report(Event("waiting", call, seconds=wait, reason=str(error)))
            if await _stopped_within(stage.stop, wait):
                return None
        except QuotaError as error:
            _give_up(stage, error)
            return None
        except ModelError as error:
            reply = Reply("error", error=scrub(str(error)))
            break
    reply = repair_reply(reply)
    return Entry(
        call,
        reply,
        seconds=time.monotonic() - begun,
        attempts=attempt,
        cost=0.0 if model.info.family in _FREE else None,
        variants=stage.make_variants(call, reply),
    )


def _give_up(stage: _Stage, quota: QuotaError) -> None:
    """Begin nothing more, and wake those that wait."""
    stage.quota = quota
    stage.stop.set()


async def _stopped_within(stop: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _record(stage: _Stage) -> None:
    """Commit whatever has arrived, all of it in one transaction, then acknowledge it."""
    while True:
        batch = [await stage.queue.get()]
        while len(batch) < _BATCH and not stage.queue.empty():
            batch.append(stage.queue.get_nowait())
        commit = asyncio.get_running_loop().run_in_executor(None, stage.journal.record, [entry for entry, _ in batch])
        try:
            await asyncio.shield(commit)
        except asyncio.CancelledError:
            await commit  # the thread cannot be called back: the journal stays open until it is through
            raise
        for _, durable in batch:
            if not durable.done():
                durable.set_result(None)
