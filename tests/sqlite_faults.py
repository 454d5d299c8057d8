"""A disk that fails under the real SQLite: its system calls are replaced, in the library that Python itself uses."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

__all__ = ["FAULTS", "Disk", "Fault", "find_sqlite"]

Fault = Literal["full", "error", "short", "sync"]
"""From the n-th operation on: every write meets a full disk; one operation meets an input/output error; one write is
cut in half and the following ones meet a full disk; one sync meets an input/output error."""

FAULTS: tuple[Fault, ...] = get_args(Fault)

_SYNC_FAILED = sqlite3.SQLITE_IOERR_FSYNC
_VFS_FUNCTIONS = (
    "open delete access full_pathname dl_open dl_error dl_sym dl_close randomness sleep current_time get_last_error "
    "current_time_int64 set_system_call get_system_call next_system_call"
)
_IO_FUNCTIONS = (
    "close read write truncate sync file_size lock unlock check_reserved_lock file_control sector_size "
    "device_characteristics shm_map shm_lock shm_barrier shm_unmap fetch unfetch"
)


class _Vfs(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int),
        ("size_of_file", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in _VFS_FUNCTIONS.split()),
    )


class _Methods(ctypes.Structure):
    _fields_ = (("version", ctypes.c_int), *((name, ctypes.c_void_p) for name in _IO_FUNCTIONS.split()))


class _File(ctypes.Structure):
    _fields_ = (("methods", ctypes.POINTER(_Methods)),)


_SetSystemCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_Write = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_Truncate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, use_errno=True)
_OpenCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, use_errno=True)
_Unlink = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, use_errno=True)
_Open = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_File), ctypes.c_int, ctypes.c_void_p
)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_File), ctypes.c_int)


def find_sqlite() -> Path | None:
    """Return the shared library in which the module sqlite3 does its work; None where it is linked statically."""
    sqlite3.connect(":memory:").close()
    mapped = (line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())
    paths = (Path(parts[5]) for parts in mapped if len(parts) == 6)
    return next((path for path in paths if path.name.startswith("libsqlite3.so")), None)


@dataclass(slots=True)
class _Counting:
    """What is done, and what fails."""

    done: list[str] = field(default_factory=list)
    fault: Fault | None = None
    at: int = 0
    full: bool = False


class Disk:
    """The disk below one folder, as a context manager; numbers every opening of a new file, write, truncation and sync.

    Syncs are not passed on. Instead, what is synced is copied to ``durable``: the files there are what a power cut
    leaves of a disk that keeps nothing else.

    Parameters
    ----------
    library
        From `find_sqlite`.
    folder
        Only files below it fail.
    durable
        Another folder.
    """

    def __init__(self, library: Path, folder: Path, durable: Path) -> None:
        self._folder, self._durable = f"{folder}{os.sep}", durable
        self._state = _Counting()
        self._paths: dict[int, str] = {}
        self._methods: dict[int, _Methods] = {}
        sqlite = ctypes.CDLL(str(library))
        sqlite.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        sqlite.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        self._vfs = sqlite.sqlite3_vfs_find(None)
        self._set_system_call = _SetSystemCall(self._vfs.contents.set_system_call)
        self._opened = self._vfs.contents.open
        self._kept: list[Any] = [  # ctypes does not keep what C will call
            _Write(self._write),
            _Truncate(self._truncate),
            _OpenCall(self._open_call),
            _Unlink(self._unlink),
            _Open(self._open),
            _Sync(self._sync),
        ]

    def __enter__(self) -> Disk:
        write, truncate, open_call, unlink, opened, _ = self._kept
        calls = {"pwrite": write, "pwrite64": write, "ftruncate": truncate, "open": open_call, "unlink": unlink}
        for name, function in calls.items():
            self._set_system_call(self._vfs, name.encode(), ctypes.cast(function, ctypes.c_void_p))
        self._vfs.contents.open = ctypes.cast(opened, ctypes.c_void_p).value
        return self

    def __exit__(self, *exception: object) -> None:
        self._vfs.contents.open = self._opened
        self._set_system_call(self._vfs, None, None)

    def fail(self, fault: Fault, at: int) -> None:
        """Begin to count anew, and let the operation of that number, from 0, fail."""
        self._state = _Counting(fault=fault, at=at)

    def mend(self) -> list[str]:
        """Let everything succeed from now on; return what was done since counting began."""
        done, self._state = self._state.done, _Counting()
        return done

    # -- what is done -------------------------------------------------------------------------------------------------

    def _fails(self, what: str, path: str) -> int:
        """Count an operation; return the system's error number for it, 0 where it succeeds."""
        state = self._state
        now = len(state.done) == state.at
        state.done.append(f"{what} {Path(path).name}")
        if state.fault == "full" and len(state.done) > state.at:
            return errno.ENOSPC if what != "sync" else 0
        if state.full and what != "sync":
            return errno.ENOSPC
        if now and (state.fault == "error" or (state.fault == "sync" and what == "sync")):
            return errno.EIO
        return 0

    def _write(self, handle: int, content: int, size: int, offset: int) -> int:
        path = _path_of(handle)
        if path.startswith(self._folder):
            now = len(self._state.done) == self._state.at
            if failed := self._fails("write", path):
                return _fail(failed)
            if now and self._state.fault == "short":
                self._state.full = True
                size //= 2
                if not size:
                    return _fail(errno.ENOSPC)
        return _try(lambda: os.pwrite(handle, ctypes.string_at(content, size), offset))

    def _truncate(self, handle: int, size: int) -> int:
        path = _path_of(handle)
        if path.startswith(self._folder) and (failed := self._fails("truncate", path)):
            return _fail(failed)
        return _try(lambda: os.truncate(handle, size))

    def _open_call(self, name: bytes, flags: int, mode: int) -> int:
        path = os.fsdecode(name)
        makes = flags & os.O_CREAT and not Path(path).exists()
        if makes and path.startswith(self._folder) and (failed := self._fails("open", path)):
            return _fail(failed)
        return _try(lambda: os.open(path, flags, mode))

    def _unlink(self, name: bytes) -> int:
        path = os.fsdecode(name)
        if path.startswith(self._folder):  # the folder is synced afterwards, so that the name does not come back
            (self._durable / Path(path).name).unlink(missing_ok=True)
        return _try(Path(path).unlink)

    def _open(self, vfs: int, name: int | None, file: Any, flags: int, out: int) -> int:
        # The name is handed on as the address that it is: SQLite keeps it, and reads on behind its end.
        result = int(_Open(self._opened)(vfs, name, file, flags, out))
        path = "" if name is None else os.fsdecode(ctypes.string_at(name))
        if result == sqlite3.SQLITE_OK and path.startswith(self._folder):
            original = file.contents.methods
            address = ctypes.addressof(original.contents)
            if address not in self._methods:
                copied = _Methods.from_buffer_copy(original.contents)
                copied.sync = ctypes.cast(self._kept[-1], ctypes.c_void_p).value
                self._methods[address] = copied
            self._paths[ctypes.addressof(file.contents)] = path
            file.contents.methods = ctypes.pointer(self._methods[address])
        return result

    def _sync(self, file: Any, flags: int) -> int:
        path = self._paths[ctypes.addressof(file.contents)]
        if self._fails("sync", path):
            return _SYNC_FAILED
        self._durable.mkdir(exist_ok=True)
        shutil.copyfile(path, self._durable / Path(path).name)
        return sqlite3.SQLITE_OK


def _path_of(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())


def _fail(number: int) -> int:
    ctypes.set_errno(number)
    return -1


def _try(call: Callable[[], int | None]) -> int:
    try:
        return call() or 0
    except OSError as error:
        return _fail(error.errno or errno.EIO)
