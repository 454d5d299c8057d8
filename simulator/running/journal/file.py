"""The SQLite file of a journal: opening it, and saying in words what is wrong with it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simulator.errors import JournalDamagedError, JournalError, RecordError, SociolectError, StorageError
from simulator.running.journal.migrations import MIGRATIONS, migrate
from simulator.storage import disk_reason

__all__ = ["UnmadeJournalError", "connect_reader", "connect_writer", "journal_storage", "settle_folder"]

_CACHE_KIB = 8_000
"""Of pages, for each connection: the indexes of a million calls do not fit, their upper levels do."""
_LOG_BYTES = 16_000_000
"""What a log that grew larger, by recording a long plan, is cut to when it has been copied into the file."""

_DISK_REASONS = {
    sqlite3.SQLITE_FULL: "no space is left on the disk. Free some",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only. Make both writable",
    sqlite3.SQLITE_PERM: "permission is denied. Make the file and its folder writable",
    sqlite3.SQLITE_IOERR: (
        "the disk reports an input/output error. Look into the system's log for the reason (a failing disk, a lost "
        "network drive, a quota that is used up); mend it, or copy the run's folder to another disk"
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened, or a file cannot be made beside it. Make the folder writable, or copy it to where "
        "it is"
    ),
}
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class UnmadeJournalError(RecordError):
    """A journal without a schema: its process is only making it, or was killed in the middle. Nothing is in it."""


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open a journal for writing, making it or bringing its schema up to date where needed.

    What is committed is on the disk before the commit returns (WAL with ``synchronous=FULL``).
    """
    connection = _connect(path, "mode=rwc")
    try:
        version = _check_version(connection, path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        migrate(connection, version)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a journal for reading; nothing is changed, and nothing is created but SQLite's index of the log."""
    # A reader of a WAL file writes its index beside it; where that is not allowed and no writer can be there, none is
    # needed.
    log = path.with_name(f"{path.name}-wal")
    resting = not (log.exists() and log.stat().st_size) and not _takes_files(path.parent)
    connection = _connect(path, "mode=ro&immutable=1" if resting else "mode=ro")
    try:
        _check_version(connection, path, at_least=len(MIGRATIONS))
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # Several threads use a connection, one at a time: writes come from a worker thread, and SQLite serialises reads.
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=30, check_same_thread=False
    )
    try:
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path, *, at_least: int = 0) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchall()[0][0]
    if version > len(MIGRATIONS):
        raise RecordError(
            f"{path} has schema {version}, this Sociolect knows schemas up to {len(MIGRATIONS)}: a newer version made "
            f"it. Install that version to read it."
        )
    if version < at_least:
        kind = RecordError if version else UnmadeJournalError
        raise kind(
            f"{path} has schema {version}; this Sociolect reads schema {at_least}. If it is the journal of a run, give "
            f"that run's command again: it brings the journal up to date and asks for nothing that is recorded. If "
            f"not, name a run folder."
        )
    return version


def settle_folder(folder: Path) -> None:
    """Put the names of a new folder and of the files in it on the disk, so that a power cut does not lose them.

    Not every file system can, and the folder above may not be ours to open; then it is left to the system, as SQLite
    leaves it.
    """
    for path in (folder, folder.parent):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _takes_files(folder: Path) -> bool:
    """Whether a file can be made in a folder; a read-only disk says no even to those who may do anything."""
    return os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY


@contextmanager
def journal_storage(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say of the disk into one paragraph with its mend.

    Raises
    ------
    StorageError
        The disk is full, read-only or failing.
    JournalDamagedError
        The file is not a whole SQLite file.
    RecordError
        The file is some other program's.
    JournalError
        Anything else that SQLite reports, such as another program that holds the file.
    """
    try:
        yield
    except sqlite3.Error as error:
        told = _tell(path, error)
        if told is None:
            raise
        raise told from error
    except json.JSONDecodeError as error:
        raise _record_damaged(path, error) from error
    except OSError as error:
        raise _storage_error(path, f"{disk_reason(error)}. Mend that") from error


def _tell(path: Path, error: sqlite3.Error) -> SociolectError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and "decode to UTF-8" in str(error):
        return _record_damaged(path, error)
    if code is None or isinstance(error, sqlite3.IntegrityError):
        return None  # a fault of ours: it has no mend, and needs its traceback
    primary = code & 0xFF
    if primary in _DAMAGE:
        return JournalDamagedError(
            f"{path} is not a whole SQLite file: {error}. Restore it from a copy, or rescue what is left with `sqlite3 "
            f"{path.name} .recover`."
        )
    if primary in _DISK_REASONS:
        return _storage_error(path, _DISK_REASONS[primary])
    if "no such table" in str(error) or "no such column" in str(error):
        return RecordError(f"{path} is no journal of Sociolect: {error}. Name the folder of a run.")
    return JournalError(
        f"{path} cannot be used: {error}. Everything recorded before is kept; if another program holds the file open, "
        f"close it and run again."
    )


def _record_damaged(path: Path, error: Exception) -> JournalDamagedError:
    shown = str(error).partition(" with text ")[0]
    return JournalDamagedError(
        f"{path} holds a record that is not what was recorded: {shown}. `sociolect verify {path.parent}` names all "
        f"that is damaged. Restore the file from a copy, or run the campaign anew with another --runs folder."
    )


def _storage_error(path: Path, reason_and_mend: str) -> StorageError:
    return StorageError(
        f"{path} cannot be used: {reason_and_mend} and run the same command again: it asks only for what is missing. "
        f"Everything recorded before is kept."
    )
