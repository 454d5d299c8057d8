"""Saying in words what is wrong with a journal: its disk, its file, or what it holds."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator.errors import JournalDamagedError, JournalError, SociolectError, StorageError
from simulator.running.journal.rows import DamagedRowError
from simulator.storage import disk_reason

__all__ = ["journal_storage", "takes_files"]

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
_FULL_AS = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_CANTOPEN})
"""As what SQLite reports a full disk when it is a file beside the journal that cannot be made or cannot grow."""
_LEAST_BYTES = 64 * 1024
"""What such a file grows by is half of that; less than that left is no disk that anything can be recorded on."""
_DOUBTFUL = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG})
"""What a fault of ours and a damaged file can both be the reason of."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


@contextmanager
def journal_storage(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say of the disk into one paragraph with its mend.

    Raises
    ------
    StorageError
        The disk is full, read-only or failing.
    JournalDamagedError
        The file is not a whole SQLite file, or holds something else than what was recorded.
    RecordError
        The file is some other program's.
    JournalError
        Anything else that SQLite reports, such as another program that holds the file.
    """
    try:
        yield
    except DamagedRowError as error:
        raise _record_damaged(path, error) from error
    except sqlite3.Error as error:
        told = _tell(path, error)
        if told is None:
            raise
        raise told from error
    except OSError as error:
        raise _storage_error(path, f"{disk_reason(error)}. Mend that") from error


def _tell(path: Path, error: sqlite3.Error) -> SociolectError | None:
    """Return what is to be said of an error; None of a fault of ours, which has no mend and needs its traceback."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return _record_damaged(path, error) if "decode to UTF-8" in str(error) else None
    primary = code & 0xFF
    told: SociolectError | None = JournalError(
        f"{path} cannot be used: {error}. Everything recorded before is kept; if another program holds the file open, "
        f"close it and run again."
    )
    if primary in _DAMAGE:
        told = JournalDamagedError(
            f"{path} is not a whole SQLite file: {error}. Restore it from a copy, or rescue what is left with `sqlite3 "
            f"{path.name} .recover`."
        )
    elif primary in _DISK_REASONS:
        told = _tell_disk(path, code)
    elif primary in _DOUBTFUL and (damage := _find_damage(path)):
        told = _record_damaged(path, damage)
    elif primary == sqlite3.SQLITE_CONSTRAINT:
        told = None
    return told


def _tell_disk(path: Path, code: int) -> JournalError:
    if code in _FULL_AS and not _space_left(path.parent):
        code = sqlite3.SQLITE_FULL
    if code == sqlite3.SQLITE_READONLY and os.access(path, os.W_OK) and takes_files(path.parent):
        return _record_damaged(path, "it is marked as one that only a newer SQLite may write")
    return _storage_error(path, _DISK_REASONS[code & 0xFF])


def _space_left(folder: Path) -> bool:
    """Whether a disk has space for the least that SQLite asks for: a page of its index of the log, and a file."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return True  # it says something else already
    return disk.f_bavail * disk.f_frsize >= _LEAST_BYTES and (disk.f_favail > 0 or not disk.f_files)


def _find_damage(path: Path) -> str | None:
    """Return what SQLite finds wrong with a file in which a statement could not do what it always does."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        return str(error)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        line = str(connection.execute("PRAGMA integrity_check(1)").fetchall()[0][0])
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()
    return None if line == "ok" else line


def takes_files(folder: Path) -> bool:
    """Whether a file can be made in a folder; a read-only disk says no even to those who may do anything."""
    return os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY


def _record_damaged(path: Path, found: Exception | str) -> JournalDamagedError:
    shown = str(found).partition(" with text ")[0]
    return JournalDamagedError(
        f"{path} holds a record that is not what was recorded: {shown}. `sociolect verify {path.parent}` names all "
        f"that is damaged. Restore the file from a copy, or run the campaign anew with another --runs folder."
    )


def _storage_error(path: Path, reason_and_mend: str) -> StorageError:
    return StorageError(
        f"{path} cannot be used: {reason_and_mend} and run the same command again: it asks only for what is missing. "
        f"Everything recorded before is kept."
    )
