"""Writing files so that they are whole or not there, and saying in words what is wrong with the disk."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simulator.errors import StorageError

__all__ = ["disk_reason", "one_at_a_time", "replacing", "storing", "write_bytes", "write_text"]

_REASONS = {
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is mounted read-only",
    errno.EACCES: "permission is denied",
    errno.EIO: "the disk reports an input/output error",
}


def disk_reason(error: OSError) -> str:
    """Return in words why the disk did not do what it was asked."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn any error of the system while writing to ``path`` into a `StorageError` with its mend."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {disk_reason(error)}. Everything recorded before is kept; mend the disk and "
            f"run the same command again: it asks only for what is missing."
        ) from error


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until no other process does what ``path`` is the lock of, and keep others waiting meanwhile.

    Where the file system has no locks, or no file can be made, nobody waits: whoever then writes meets the same disk.
    """
    handle = None
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to, and put it in its place when that has ended well.

    A reader, or a process that was killed in between, sees the old file or the new one, never a part.

    Raises
    ------
    StorageError
        The disk does not take it; the old file is still there.
    """
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.parent / f".{path.name[:100]}-{secrets.token_hex(4)}{path.suffix}"
        try:
            yield part
            with part.open("rb+") as written:
                os.fsync(written.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file, or leave the old one."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write a whole UTF-8 file with Unix line ends, or leave the old one."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
