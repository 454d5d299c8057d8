"""The journal of a run: every variant and every reply, durable on arrival; the only store of record.

One SQLite file in WAL mode with ``synchronous=FULL``, so that what was acknowledged survives a kill and a power cut.
One process writes; others may read at the same time. Anybody may query it with any SQLite tool:

================ ===========================================================================
``campaigns``    the frozen campaign of each start, in order; the last one is the current one
``calls``        what was asked, as canonical JSON, under its key
``replies``      what was answered; a call asked again has several, the latest one counts
``variants``     the texts to send, with their lineage
``plans``        which call each campaign makes of which variant, in order
================ ===========================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from simulator.errors import JournalDamagedError, JournalError, RecordError, StorageError
from simulator.running.calls import Call, Stage
from simulator.running.migrations import MIGRATIONS
from simulator.running.replies import Reply, ReplyStatus, Tokens, repair_reply
from simulator.running.run_lock import take_lock
from simulator.running.variants import Variant
from simulator.storage import disk_reason

__all__ = ["Entry", "Journal", "Recorded"]

_VARIANT_COLUMNS = tuple(field.name for field in fields(Variant))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A reply as the journal holds it: with what was measured while it was asked for."""

    call: str
    reply: Reply
    cost: float | None
    seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What is committed together: a call, its reply, and the variants made from it."""

    call: Call
    reply: Reply
    seconds: float
    attempts: int
    cost: float | None = None
    variants: tuple[Variant, ...] = ()


class Journal:
    """The open journal of one run folder.

    Parameters
    ----------
    folder
        The run folder. Created, with the journal in it, when opened for writing.
    write
        Take the lock and be the one writer. Without it nothing is created and nothing is changed.

    Raises
    ------
    JournalLockedError
        Another process writes to this run.
    RecordError
        There is no journal in the folder, or the file is none, or a newer version of Sociolect made it.
    StorageError
        The disk does not take it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Journal(Path(folder), write=True) as journal:
    ...     call = Call("generate", "mock", ())
    ...     journal.record([Entry(call, Reply("ok", "x = 1"), seconds=0.1, attempts=1)])
    ...     journal.status_of(call.key)
    'ok'
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self.path = folder / "journal.sqlite"
        self._lock: int | None = None
        if write:
            with _storage(self.path):
                folder.mkdir(parents=True, exist_ok=True)
                self._lock = take_lock(folder / "journal.lock")
        elif not self.path.is_file():
            raise RecordError(
                f"{folder} is not a run: there is no journal.sqlite in it. Name the folder that `sociolect run` made, "
                f"such as runs/personas-quickstart-1a2b3c4d."
            )
        try:
            self._connection = self._connect(write=write)
        except BaseException:
            self._unlock()
            raise

    def _connect(self, *, write: bool) -> sqlite3.Connection:
        with _storage(self.path):
            uri = f"{self.path.resolve().as_uri()}?{self._mode(write=write)}"
            # Writes come from one worker thread at a time while the event loop reads; SQLite serialises the two.
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30, check_same_thread=False)
            try:
                self._prepare(connection, write=write)
            except BaseException:
                connection.close()
                raise
        return connection

    def _mode(self, *, write: bool) -> str:
        if write:
            return "mode=rwc"
        # A reader of a WAL file writes its index beside it; where that is not allowed and no writer can be there, none
        # is needed.
        log = self.path.with_name(f"{self.path.name}-wal")
        resting = not (log.exists() and log.stat().st_size) and not _takes_files(self.path.parent)
        return "mode=ro&immutable=1" if resting else "mode=ro"

    def _prepare(self, connection: sqlite3.Connection, *, write: bool) -> None:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise RecordError(
                f"{self.path} has schema {version}, this Sociolect knows schemas up to {len(MIGRATIONS)}: a newer "
                f"version made it. Install that version to read it."
            )
        if not write:
            if version < len(MIGRATIONS):
                raise RecordError(
                    f"{self.path} has schema {version}; this Sociolect reads schema {len(MIGRATIONS)}. If it is the "
                    f"journal of a run, give that run's command again: it brings the journal up to date and asks for "
                    f"nothing that is recorded. If not, name a run folder."
                )
            return
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        for number in range(version, len(MIGRATIONS)):
            connection.executescript(f"BEGIN; {MIGRATIONS[number]} PRAGMA user_version={number + 1}; COMMIT;")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and give up the lock; what was recorded is safe without it."""
        self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self, campaign: str) -> None:
        """Record the frozen campaign that the following entries belong to, unless it is the current one already."""
        with _storage(self.path):
            if self.campaign() != campaign:
                self._connection.execute("INSERT INTO campaigns(begun, text) VALUES (?, ?)", (_now(), campaign))

    def record(self, entries: Iterable[Entry]) -> None:
        """Commit entries in one transaction; when this returns they are on the disk, when it raises none of them is.

        Raises
        ------
        StorageError
            The disk is full or failing. What was recorded before is untouched.
        """
        with self._transaction():
            for entry in entries:
                self._insert(entry)

    def add_variants(self, variants: Iterable[Variant]) -> None:
        """Commit variants made from replies that were recorded before."""
        with self._transaction():
            for variant in variants:
                self._insert_variant(variant)

    def set_plan(self, stage: Stage, rows: Iterable[tuple[str, str]]) -> None:
        """Record what the current campaign plans in a stage, as (variant, call's key) in order; replaces the last plan.

        The tables are made from it, so that they do not change when a later version of the program would plan
        otherwise.
        """
        with self._transaction():
            number = self._campaign_number()
            self._connection.execute("DELETE FROM plans WHERE campaign = ? AND stage = ?", (number, stage))
            self._connection.executemany(
                "INSERT INTO plans VALUES (?, ?, ?, ?, ?)",
                ((number, stage, position, variant, call) for position, (variant, call) in enumerate(rows)),
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _storage(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _insert(self, entry: Entry) -> None:
        key, reply = entry.call.key, repair_reply(entry.reply)
        tokens = reply.tokens
        self._connection.execute("INSERT OR IGNORE INTO calls VALUES (?, ?)", (key, entry.call.to_json()))
        self._connection.execute(
            "INSERT INTO replies(call, status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, "
            "cost, seconds, attempts, error, finish, model_reported, sent, recorded) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key,
                reply.status,
                reply.text,
                tokens.input,
                tokens.cached,
                tokens.output,
                tokens.reasoning,
                entry.cost,
                entry.seconds,
                entry.attempts,
                reply.error,
                reply.finish,
                reply.model_reported,
                json.dumps(reply.sent, sort_keys=True, default=str),
                _now(),
            ),
        )
        for variant in entry.variants:
            self._insert_variant(variant)

    def _insert_variant(self, variant: Variant) -> None:
        row = [getattr(variant, name) for name in _VARIANT_COLUMNS]
        self._connection.execute("INSERT OR REPLACE INTO variants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    # -- reading ------------------------------------------------------------------------------------------------------

    def campaign(self) -> str | None:
        """Return the current frozen campaign, or None before the first start."""
        row = self._one("SELECT text FROM campaigns ORDER BY number DESC LIMIT 1")
        return None if row is None else str(row[0])

    def _campaign_number(self) -> int:
        row = self._one("SELECT max(number) FROM campaigns")
        return 0 if row is None or row[0] is None else int(row[0])

    def plan(self, stage: Stage) -> list[tuple[str, str]] | None:
        """Return what the current campaign plans in a stage, in order: (variant, call's key). None if not yet known."""
        number = str(self._campaign_number())
        rows = self._all(
            "SELECT variant, call FROM plans WHERE campaign = ? AND stage = ? ORDER BY position", number, stage
        )
        return [(variant, call) for variant, call in rows] or None

    def call(self, key: str) -> dict[str, Any]:
        """Return the document of a recorded call: stage, model, form, params, messages, repeat and seed."""
        row = self._one("SELECT document FROM calls WHERE key = ?", key)
        if row is None:
            raise KeyError(key)
        document: dict[str, Any] = json.loads(row[0])
        return document

    def status_of(self, key: str) -> ReplyStatus | None:
        """Return the status of the latest reply to a call, or None where it was not asked yet."""
        row = self._one("SELECT status FROM replies WHERE call = ? ORDER BY number DESC LIMIT 1", key)
        return None if row is None else row[0]

    def reply_to(self, key: str) -> Recorded | None:
        """Return the latest reply to a call, or None where it was not asked yet."""
        row = self._one(
            "SELECT status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, model_reported, "
            "finish, sent, error, cost, seconds, attempts FROM replies WHERE call = ? ORDER BY number DESC LIMIT 1",
            key,
        )
        if row is None:
            return None
        status, text, *tokens = row[:6]
        reported, finish, sent, error, cost, seconds, attempts = row[6:]
        reply = Reply(status, text, Tokens(*tokens), reported, finish, json.loads(sent), error)
        return Recorded(key, reply, cost, seconds, attempts)

    def variant(self, name: str) -> Variant | None:
        """Return a variant by its id, or None where it was not made yet."""
        row = self._one("SELECT * FROM variants WHERE variant = ?", name)
        return None if row is None else Variant(*row)

    def state(self) -> dict[str, int]:
        """Return what tells whether anything was recorded since: the numbers of the campaign and of the last reply."""
        row = self._one("SELECT max(number) FROM replies")
        return {"campaign": self._campaign_number(), "reply": 0 if row is None else int(row[0] or 0)}

    def counts(self) -> dict[tuple[str, str, str], int]:
        """Return how many calls have which latest status: ``{(stage, model, status): calls}``."""
        rows = self._all(
            "SELECT json_extract(document, '$.stage'), json_extract(document, '$.model'), status, count(*) "
            "FROM calls JOIN replies ON replies.call = calls.key "
            "WHERE number = (SELECT max(number) FROM replies AS later WHERE later.call = calls.key) "
            "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        return {(stage, model, status): count for stage, model, status, count in rows}

    def spent(self) -> tuple[int, float | None]:
        """Return the tokens and the US dollars of all replies, also of those that were asked for again.

        The dollars are None as soon as the cost of one reply is not known.
        """
        row = self._one(
            "SELECT coalesce(sum(coalesce(tokens_input, 0) + coalesce(tokens_cached, 0) + coalesce(tokens_output, 0) "
            "+ coalesce(tokens_reasoning, 0)), 0), coalesce(sum(cost), 0.0), count(*) - count(cost) FROM replies"
        )
        return (0, 0.0) if row is None else (int(row[0]), None if row[2] else float(row[1]))

    def check(self) -> Iterator[str]:
        """Yield what is wrong: pages that SQLite finds damaged, calls that do not hash to their key."""
        for (line,) in self._all("PRAGMA integrity_check"):
            if line != "ok":
                yield f"{self.path}: {line}"
        for key, document in self._all("SELECT key, document FROM calls"):
            if hashlib.sha256(document.encode()).hexdigest()[:32] != key:
                yield f"{self.path}: the call recorded under {key} does not hash to it; its reply cannot be trusted."

    def _one(self, query: str, *values: str) -> tuple[Any, ...] | None:
        with _storage(self.path):
            row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return row

    def _all(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with _storage(self.path):
            return self._connection.execute(query, values).fetchall()


@contextmanager
def _storage(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say of the disk into one paragraph with its mend."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        if "no such table" in str(error):
            raise RecordError(f"{path} is no journal of Sociolect: {error}. Name the folder of a run.") from error
        reason = _disk_reason(error)
        if reason is None:
            raise JournalError(
                f"{path} cannot be used: {error}. Everything recorded before is kept; if another program holds the "
                f"file open, close it and run again."
            ) from error
        raise StorageError(
            f"{path} cannot be used: {reason}. Everything recorded before is kept; mend the disk and run the same "
            f"command again: it asks only for what is missing."
        ) from error
    except sqlite3.DatabaseError as error:
        raise JournalDamagedError(
            f"{path} is not a whole SQLite file: {error}. Restore it from a copy, or rescue what is left with "
            f"`sqlite3 {path.name} .recover`."
        ) from error


def _takes_files(folder: Path) -> bool:
    """Whether a file can be made in a folder; a read-only disk says no even to those who may do anything."""
    return os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY


def _disk_reason(error: Exception) -> str | None:
    if isinstance(error, OSError):
        return disk_reason(error)
    text = str(error).lower()
    known = {
        "disk is full": "no space is left on the disk",
        "readonly": "the file or its folder is read-only",
        "disk i/o error": "the disk reports an input/output error",
        "unable to open": "the file cannot be opened or created in its folder",
    }
    return next((reason for mark, reason in known.items() if mark in text), None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
