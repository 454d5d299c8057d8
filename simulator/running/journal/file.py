"""The SQLite file of a journal: opening it, with the schema that this program knows."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simulator.errors import RecordError
from simulator.running.journal.failures import takes_files
from simulator.running.journal.migrations import MIGRATIONS, add_functions, migrate, read_schema, schema_of
from simulator.running.journal.rows import DamagedRowError

__all__ = ["UnmadeJournalError", "connect_reader", "connect_writer", "settle_folder"]

_CACHE_KIB = 8_000
"""Of pages, for each connection: the indexes of a million calls do not fit, their upper levels do."""
_LOG_BYTES = 16_000_000
"""What a log that grew larger, by recording a long plan, is cut to when it has been copied into the file."""


class UnmadeJournalError(RecordError):
    """A journal without a schema: its process is only making it, or was killed in the middle. Nothing is in it."""


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open a journal for writing, making it or bringing its schema up to date where needed.

    What is committed is on the disk before the commit returns (WAL with ``synchronous=FULL``).
    """
    connection = _connect(path, "mode=rwc")
    try:
        version = _examine(connection, path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        add_functions(connection)
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
    resting = not (log.exists() and log.stat().st_size) and not takes_files(path.parent)
    connection = _connect(path, "mode=ro&immutable=1" if resting else "mode=ro")
    try:
        _examine(connection, path, at_least=len(MIGRATIONS))
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
        with _reading_schema():
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _examine(connection: sqlite3.Connection, path: Path, *, at_least: int = 0) -> int:
    """Return the version of a journal's schema, after making sure that it is one that this program reads."""
    with _reading_schema():
        version: int = connection.execute("PRAGMA user_version").fetchall()[0][0]
        found = read_schema(connection)
    if version > len(MIGRATIONS):
        raise RecordError(
            f"{path} has schema {version}, this Sociolect knows schemas up to {len(MIGRATIONS)}: a newer version made "
            f"it, or the file is damaged. Install that version to read it, or restore the file from a copy."
        )
    _check_schema(path, version, found)
    if version < at_least:
        kind = RecordError if version else UnmadeJournalError
        raise kind(
            f"{path} has schema {version}; this Sociolect reads schema {at_least}. If it is the journal of a run, give "
            f"that run's command again: it brings the journal up to date and asks for nothing that is recorded. If "
            f"not, name a run folder."
        )
    return version


@contextmanager
def _reading_schema() -> Iterator[None]:
    """Tell damage by the one way in which statements can fail that have nothing in them but SQLite's own names."""
    try:
        yield
    except UnicodeDecodeError as error:  # of SQLite's message, which has a name out of the file in it
        raise DamagedRowError("the names of its tables are not Unicode") from error
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_ERROR:
            raise
        raise DamagedRowError(f"its schema cannot be read ({error})") from error


def _check_schema(path: Path, version: int, found: dict[tuple[str, str], str]) -> None:
    """Refuse a file whose tables are not as its version makes them. What somebody else has added to it is let be."""
    if version < 0:
        raise DamagedRowError(f"it says that it has schema {version}")
    made = schema_of(version)
    if made and not {*found} & {*made}:
        raise RecordError(f"{path} is no journal of Sociolect: it has other tables. Name the folder of a run.")
    for one in {**made, **schema_of(len(MIGRATIONS))}:
        if found.get(one) != made.get(one):
            raise DamagedRowError(f"its {' '.join(one)} is not as schema {version} has it")


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
