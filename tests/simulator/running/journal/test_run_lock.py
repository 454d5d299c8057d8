import errno
import fcntl
import json
import os
import socket
from pathlib import Path

import pytest

from simulator.errors import JournalLockedError, StorageError
from simulator.running.journal.run_lock import take_lock


def test_the_owner_is_told(tmp_path: Path) -> None:
    handle = take_lock(tmp_path / "journal.lock")
    try:
        with pytest.raises(JournalLockedError) as caught:
            take_lock(tmp_path / "journal.lock")
    finally:
        os.close(handle)
    assert (caught.value.pid, caught.value.host) == (os.getpid(), socket.gethostname())
    assert f"`kill -INT {os.getpid()}`)" in str(caught.value)
    os.close(take_lock(tmp_path / "journal.lock"))


def test_an_owner_on_another_machine_is_stopped_there(tmp_path: Path) -> None:
    path = tmp_path / "journal.lock"
    handle = take_lock(path)
    try:
        path.write_text(json.dumps({"pid": 7, "host": "elsewhere"}), encoding="utf-8")
        with pytest.raises(JournalLockedError, match=r"process 7 on elsewhere.*`kill -INT 7` on elsewhere"):
            take_lock(path)
    finally:
        os.close(handle)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"pid": null, "host": 1}'])
def test_an_owner_that_has_not_written_its_name_is_not_made_up(tmp_path: Path, content: str) -> None:
    path = tmp_path / "journal.lock"
    handle = take_lock(path)
    try:
        path.write_text(content, encoding="utf-8")
        with pytest.raises(JournalLockedError, match="only just begun") as caught:
            take_lock(path)
    finally:
        os.close(handle)
    assert "kill" not in str(caught.value)  # `kill -INT 0` would stop whoever follows the advice


def test_a_lock_file_left_by_a_dead_process_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.lock"
    path.write_text(json.dumps({"pid": 1, "host": "long gone, and longer than what takes its place"}), encoding="utf-8")
    os.close(take_lock(path))
    assert json.loads(path.read_text(encoding="utf-8"))["pid"] == os.getpid()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(StorageError, match=r"has no locks.*local disk with --runs"):
        take_lock(tmp_path / "journal.lock")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
