"""One writer a run: a lock that ends with the process that holds it, and says who that is."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path

from simulator.errors import JournalLockedError

__all__ = ["take_lock"]


def take_lock(path: Path) -> int:
    """Lock a run for this process, and return the open file that holds the lock.

    The system gives the lock up when the file is closed or the process ends, however it ends.

    Raises
    ------
    JournalLockedError
        Another process holds it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = _read_owner(handle)
        os.close(handle)
        raise JournalLockedError(
            f"{path.parent} is being written by process {owner[0]} on {owner[1]}. Wait for it to end, or stop it "
            f"(`kill -INT {owner[0]}`), then run again.",
            pid=owner[0],
            host=owner[1],
        ) from None
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _read_owner(handle: int) -> tuple[int, str]:
    try:
        owner = json.loads(os.pread(handle, 4096, 0))
        return int(owner["pid"]), str(owner["host"])
    except (ValueError, KeyError, TypeError):
        return 0, "an unknown host"  # taken between the lock and the writing of its owner
