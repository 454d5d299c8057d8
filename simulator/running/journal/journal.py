"""The journal of a run: every variant and every reply, durable on arrival; the only store of record.

One SQLite file in WAL mode with ``synchronous=FULL``, so that what was acknowledged survives a kill and a power cut.
One process writes; others may read at the same time. Anybody may query it with any SQLite tool:

================ ===========================================================================
``campaigns``    the frozen campaign of each start, in order; the last one is the current one
``calls``        what was asked, as canonical JSON, under its key
``replies``      what was answered; a call asked again has several, the latest one counts
``attempts``     what was asked in vain, each time
``variants``     the texts to send, with their lineage
``plans``        which call the current campaign makes of which variant, in order
``planned``      how many calls a stage's plan has, how many of them have a reply, whether it is void (out of date)
``tallies``      how many calls of which stage and model have which latest status
``sums``         one row: what all replies and attempts used
================ ===========================================================================

A ``digest`` is the start of the SHA-256 of its row (`simulator.running.journal.digests.digest_row`), a call's key that
of its document, a plan's digest one of all its rows. What is read is hashed again (`simulator.running.journal.rows`):
nothing is made of a record that is damaged. `Journal.check` hashes everything.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from simulator.errors import JournalDamagedError, RecordError
from simulator.running.calls import Stage
from simulator.running.journal import reading, writing
from simulator.running.journal.checking import check_journal
from simulator.running.journal.entries import Entry, FailedAttempt, Planned, PlanRow, Recorded, RecordedAttempt, Spent
from simulator.running.journal.failures import journal_storage
from simulator.running.journal.file import connect_reader, connect_writer, settle_folder
from simulator.running.journal.run_lock import take_lock
from simulator.running.journal.shards import Shard, check_shards, journal_path, journals_of
from simulator.running.replies import ReplyStatus
from simulator.running.variants import Variant

__all__ = ["Entry", "FailedAttempt", "Journal", "PlanRow", "Planned", "Recorded", "RecordedAttempt", "Spent"]

P = ParamSpec("P")
T = TypeVar("T")


class Journal:
    """The open journal of one run, or of one shard of it.

    What is read is what was committed, also while another thread records: the two have a connection each.

    Parameters
    ----------
    folder
        The run folder. Created, with the journal in it, when opened for writing.
    write
        Take the lock and be the one writer. Without it nothing is created and nothing is changed.
    shard
        The part of the campaign whose journal it is; by default that of the whole.

    Raises
    ------
    JournalLockedError
        Another process writes to this journal.
    UsageError
        The run is shared in another way than ``shard`` says.
    RecordError
        There is no journal in the folder, or the file is none, or a newer version of Sociolect made it.
    StorageError
        The disk does not take it.

    Examples
    --------
    >>> import tempfile
    >>> from simulator.running.calls import Call
    >>> from simulator.running.replies import Reply
    >>> with tempfile.TemporaryDirectory() as folder, Journal(Path(folder), write=True) as journal:
    ...     call = Call("generate", "mock", ())
    ...     journal.record([Entry(call, Reply("ok", "x = 1"), seconds=0.1, attempts=1)])
    ...     journal.status_of(call.key)
    'ok'
    """

    def __init__(self, folder: Path, *, write: bool = False, shard: Shard | None = None) -> None:
        self.path = journal_path(folder, shard)
        self.shard = shard
        self._lock: int | None = None
        self._writer: sqlite3.Connection | None = None
        self._writing = threading.RLock()
        self._writes = write
        try:
            with journal_storage(self.path):
                if write:
                    self._open_for_writing(folder)
                else:
                    _check_presence(folder, self.path)
                self._reader = connect_reader(self.path)
        except BaseException:
            self._give_up()
            raise

    def _open_for_writing(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        check_shards(folder, self.shard)
        self._lock = take_lock(self.path.with_suffix(".lock"))
        new = not self.path.exists()
        self._writer = connect_writer(self.path)
        if new:
            settle_folder(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and give up the lock, after what is being written; what was recorded is safe without it."""
        with self._writing:
            self._writes = False
            try:
                self._reader.close()  # first: the last one to close copies the log into the file
            finally:
                self._give_up()

    def _give_up(self) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            self._writer = None
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self, campaign: str, name: str) -> None:
        """Record the frozen campaign that the following entries belong to, unless it is the current one already."""
        with self._transaction() as connection:
            writing.write_campaign(connection, campaign, name)

    def record(self, entries: Iterable[Entry | FailedAttempt]) -> None:
        """Commit entries in one transaction; when this returns they are on the disk.

        Recording a reply together with variants makes the plan of the stage ``generate`` void.

        Raises
        ------
        StorageError
            The disk is full or failing. What was recorded before is untouched, and of these entries none is there. But
            where the disk failed only when it was to confirm them, all of them may turn up when the file is next
            opened after a kill: together or not at all.
        """
        with self._transaction() as connection:
            writing.write_entries(connection, entries)

    def add_variants(self, variants: Iterable[Variant]) -> None:
        """Commit variants made from replies that were recorded before; the plan of stage ``generate`` becomes void."""
        with self._transaction() as connection:
            writing.write_variants(connection, variants)

    def set_plan(self, stage: Stage, fingerprint: str, rows: Iterable[PlanRow]) -> Planned:
        """Record what the current campaign plans in a stage; replaces the last plan, in one transaction.

        The tables are made from it, so that they do not change when a later version of the program would plan
        otherwise.

        Parameters
        ----------
        stage
            The stage.
        fingerprint
            Of all that the plan was made from; given back by `planned`.
        rows
            In any order, their positions distinct, with gaps or without. Streamed.
        """
        with self._transaction() as connection:
            return writing.write_plan(connection, stage, fingerprint, rows)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing, journal_storage(self.path):
            if not self._writes:
                raise ValueError(f"{self.path} is not open for writing")
            connection = self._writer = self._writer or connect_writer(self.path)
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                self._abandon(connection, error)
                raise

    def _abandon(self, connection: sqlite3.Connection, reason: BaseException) -> None:
        """Undo a transaction. A connection whose disk has failed is given up; the next transaction opens another.

        The reader stays open in between: were both closed, SQLite would look through its log for what is committed, and
        take for committed what the disk has only failed to confirm.
        """
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            failed = True
        else:
            failed = isinstance(reason, sqlite3.OperationalError)
        if failed:
            self._writer = None
            connection.close()

    # -- reading ------------------------------------------------------------------------------------------------------

    def campaign(self) -> str | None:
        """Return the current frozen campaign, or None before the first start."""
        return self._read(reading.read_campaign)

    def name(self) -> str | None:
        """Return the current campaign's name, or None before the first start."""
        return self._read(reading.read_name)

    def planned(self, stage: Stage) -> Planned | None:
        """Return a stage's plan in sum at once, or None where there is none yet, or one that is out of date."""
        return self._read(reading.read_planned, stage)

    def plan(self, stage: Stage) -> Iterator[PlanRow]:
        """Yield what the current campaign plans in a stage, in order, be it out of date; nothing before it is known."""
        first: int | None = -(2**63)
        while first is not None:
            page = self._read(reading.read_plan, stage, first)
            yield from page
            first = page[-1].position + 1 if page else None

    def missing(
        self, stage: Stage, *, first: int, last: int, again: frozenset[str] = frozenset(), since: int = 0
    ) -> Iterator[PlanRow]:
        """Yield the rows of a plan that are still to ask, in order, while others are being answered.

        Parameters
        ----------
        stage
            The stage.
        first, last
            Positions to look at, the last one excluded.
        again, since
            Also rows whose latest reply has one of these statuses and a number of at most ``since``.

        Yields
        ------
        PlanRow
            Rows that had no reply a moment ago: whoever asks them looks once more. Each page is a query of its own that
            looks at a bounded number of positions.
        """
        planned = self.planned(stage)
        if planned is not None and planned.done == planned.calls and not again:
            return
        while first < last:
            page, first = self._read(reading.read_missing, stage, first, last, again, since)
            yield from page

    def count_missing(self, stage: Stage, *, again: frozenset[str] = frozenset()) -> int:
        """Return how many calls of a stage's plan are still to ask; `missing` gives a call once for each of its rows.

        ``again`` are statuses of latest replies with which a call counts as one that is to be asked.
        """
        return self._read(reading.count_missing, stage, again)

    def call(self, key: str) -> dict[str, Any]:
        """Return the document of a recorded call: stage, model, form, params, messages, repeat and seed.

        Raises
        ------
        KeyError
            It is not recorded.
        """
        return self.calls([key])[key]

    def calls(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the documents of those of some calls that are recorded."""
        return self._read(reading.read_calls, keys)

    def latest(self, key: str) -> tuple[int, ReplyStatus] | None:
        """Return the number and status of the latest reply to a call, or None where there is none."""
        return self._read(reading.read_latest, key)

    def status_of(self, key: str) -> ReplyStatus | None:
        """Return the status of the latest reply to a call, or None where there is none."""
        latest = self.latest(key)
        return None if latest is None else latest[1]

    def reply_to(self, key: str) -> Recorded | None:
        """Return the latest reply to a call, or None where there is none."""
        return self.replies_to([key]).get(key)

    def replies_to(self, keys: Sequence[str]) -> dict[str, Recorded]:
        """Return the latest reply to each of some calls that has one."""
        return self._read(reading.read_replies, keys)

    def attempts(self, key: str) -> list[RecordedAttempt]:
        """Return the failed attempts at a call, in the order in which they happened."""
        return self._read(reading.read_attempts, key)

    def variant(self, name: str) -> Variant | None:
        """Return a variant by its id, or None where it was not made yet."""
        return self.variants([name]).get(name)

    def variants(self, names: Sequence[str]) -> dict[str, Variant]:
        """Return those of some variants, by their ids, that were made."""
        return self._read(reading.read_variants, names)

    @property
    def last_reply(self) -> int:
        """The number of the last reply, 0 before the first; a later reply has a higher one."""
        return self._read(reading.read_last_reply)

    @property
    def last_attempt(self) -> int:
        """The number of the last failed attempt, 0 before the first: how many there were."""
        return self._read(reading.read_last_attempt)

    def state(self) -> dict[str, int]:
        """Return what tells whether the tables would be others now: numbers that go up with what they are made from."""
        return self._read(reading.read_state)

    def counts(self) -> dict[tuple[str, str, str], int]:
        """Return how many calls have which latest status, at once: ``{(stage, model, status): calls}``."""
        return self._read(reading.read_counts)

    def spent(self) -> Spent:
        """Return what all replies and failed attempts used, at once; also of calls that were asked again."""
        return self._read(reading.read_spent)

    def check(self) -> Iterator[str]:
        """Yield what is wrong with what is recorded (`check_journal`), as it is now; the memory stays flat."""
        with journal_storage(self.path):
            connection = connect_reader(self.path)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")  # what is not Unicode hashes otherwise
        try:
            with journal_storage(self.path):
                connection.execute("BEGIN")
                for problem in check_journal(connection):
                    yield f"{self.path}: {problem}"
        except JournalDamagedError as error:
            yield str(error)
        finally:
            connection.close()

    def _read(self, read: Callable[Concatenate[sqlite3.Connection, P], T], *values: P.args, **named: P.kwargs) -> T:
        with journal_storage(self.path):
            return read(self._reader, *values, **named)


def _check_presence(folder: Path, path: Path) -> None:
    if path.is_file():
        return
    shards = [str(shard) for shard in journals_of(folder) if shard is not None]
    if shards:
        raise RecordError(f"{path} is not there: {folder} holds the journals of the shards {', '.join(shards)}.")
    raise RecordError(
        f"{folder} is not a run: there is no {path.name} in it. Name the folder that `sociolect run` made, such as "
        f"runs/personas-quickstart-1a2b3c4d."
    )
