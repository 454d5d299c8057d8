"""Group commit: whatever has arrived goes into the journal in one transaction, and is acknowledged when it is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.running.journal.entries import Entry, FailedAttempt
    from simulator.running.journal.journal import Journal

__all__ = ["Recorder"]

_BATCH = 256
"""Most that is committed at once: one wait for the disk serves all of it."""


class Recorder:
    """Writes to a journal from one thread, while the event loop goes on.

    `run` must be running, as a task of its own; it ends only by `close` or by a failure of the journal, after which
    nothing is acknowledged any more.

    Parameters
    ----------
    journal
        Open for writing.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: asyncio.Queue[tuple[Entry | FailedAttempt, asyncio.Future[None] | None] | None] = asyncio.Queue()

    def note(self, attempt: FailedAttempt) -> None:
        """Hand over a failed attempt, which nobody waits for; it is on the disk when `run` has ended."""
        self._queue.put_nowait((attempt, None))

    async def record(self, entry: Entry) -> None:
        """Return when a reply, with all that was handed over before it, is on the disk."""
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((entry, durable))
        await durable

    def close(self) -> None:
        """Let `run` end when it has committed what was handed over."""
        self._queue.put_nowait(None)

    async def run(self) -> None:
        """Commit what arrives until `close`.

        Raises
        ------
        JournalError
            The journal does not take it.
        """
        loop = asyncio.get_running_loop()
        going = True
        while going:
            waiting = [await self._queue.get()]
            while len(waiting) < _BATCH and not self._queue.empty():
                waiting.append(self._queue.get_nowait())
            going = None not in waiting
            batch = [one for one in waiting if one is not None]
            if not batch:
                continue
            commit = loop.run_in_executor(None, self._journal.record, [item for item, _ in batch])
            try:
                await asyncio.shield(commit)
            except asyncio.CancelledError:
                await commit  # the thread cannot be called back: the journal stays open until it is through
                raise
            for _, durable in batch:
                if durable is not None and not durable.done():
                    durable.set_result(None)
