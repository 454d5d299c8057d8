"""Group commit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_model import call

from simulator.errors import StorageError
from simulator.running.journal import Journal
from simulator.running.journal.entries import Entry, FailedAttempt
from simulator.running.journal.recording import Recorder
from simulator.running.replies import Reply


def entry(number: int) -> Entry:
    return Entry(call(number), Reply("ok"), seconds=1.0, attempts=1)


class Slow:
    """A journal that commits when it is let."""

    def __init__(self) -> None:
        self.commits: list[list[Entry | FailedAttempt]] = []
        self.begun, self.let = threading.Event(), threading.Event()

    def record(self, entries: Sequence[Entry | FailedAttempt]) -> None:
        self.begun.set()
        assert self.let.wait(30)
        self.commits.append([*entries])


def test_what_arrives_during_a_commit_shares_the_next_one() -> None:
    async def go() -> None:
        recorder = Recorder(journal)  # type: ignore[arg-type]
        running = asyncio.create_task(recorder.run())
        first = asyncio.create_task(recorder.record(entry(0)))
        assert await asyncio.to_thread(journal.begun.wait, 30)
        rest = [asyncio.create_task(recorder.record(entry(number))) for number in range(1, 400)]
        await asyncio.sleep(0)
        recorder.note(FailedAttempt(call(400), 1, 1.0, "reset", 0.0))
        recorder.close()
        assert not any(task.done() for task in (first, *rest))
        journal.let.set()
        await running
        await asyncio.gather(first, *rest)

    journal = Slow()
    asyncio.run(go())
    assert [len(commit) for commit in journal.commits] == [1, 256, 144]
    asked = [one.call.repeat for commit in journal.commits for one in commit]
    assert asked == list(range(401)), "in the order in which they were handed over"


def test_a_commit_that_began_is_waited_for_when_all_is_cancelled() -> None:
    async def go() -> None:
        recorder = Recorder(journal)  # type: ignore[arg-type]
        running = asyncio.create_task(recorder.run())
        recorder.note(FailedAttempt(call(0), 1, 1.0, "reset", 0.0))
        assert await asyncio.to_thread(journal.begun.wait, 30)
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        journal.let.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    journal = Slow()
    asyncio.run(go())
    assert len(journal.commits) == 1


def test_nothing_is_acknowledged_that_the_disk_did_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_entries: Any) -> None:
        raise StorageError("no space is left on the disk")

    async def go(journal: Journal) -> None:
        recorder = Recorder(journal)
        running = asyncio.create_task(recorder.run())
        waiting = asyncio.create_task(recorder.record(entry(0)))
        with pytest.raises(StorageError):
            await running
        assert not waiting.done()
        waiting.cancel()

    with Journal(tmp_path, write=True) as journal:
        monkeypatch.setattr(journal, "record", fail)
        asyncio.run(go(journal))
