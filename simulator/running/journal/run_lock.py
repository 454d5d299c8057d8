"""One writer a journal: a lock that ends with the process that holds it, and says who that is."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from pathlib import Path

from simulator.errors import JournalLockedError, StorageError

__all__ = ["take_lock"]

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})


def take_lock(path: Path) -> int:
    """Lock a journal for this process, and return the open file that holds the lock.

    The system gives the lock up when the file is closed or the process ends, however it ends, so that a lock never
    outlives its owner.

    Raises
    ------
    JournalLockedError
        Another process holds it.
    StorageError
        The file system has no locks.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _locked(path, *_read_owner(handle)) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            raise StorageError(
                f"{path} cannot be locked: {error.strerror}. Its file system has no locks, without which two processes "
                f"could write to one run, and the journal could be damaged. Put the run on a local disk with --runs."
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _locked(path: Path, pid: int, host: str) -> JournalLockedError:
    run = f"{path.with_suffix('.sqlite')} is being written"
    if not pid:
        text = f"{run} by a process that has only just begun. Wait for it to end, then run again."
    else:
        there = "" if host == socket.gethostname() else f" on {host}"
        text = (
            f"{run} by process {pid} on {host}. Wait for it to end, or stop it (`kill -INT {pid}`{there}), then run "
            f"again."
        )
    return JournalLockedError(text, pid=pid, host=host)


def _read_owner(handle: int) -> tuple[int, str]:
    try:
        owner = json.loads(os.pread(handle, 4096, 0))
        return int(owner["pid"]), str(owner["host"])
    except (ValueError, KeyError, TypeError):
        return 0, ""  # taken between the lock and the writing of its owner
