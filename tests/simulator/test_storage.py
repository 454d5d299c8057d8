import threading
from pathlib import Path

import pytest

from simulator.errors import StorageError
from simulator.storage import one_at_a_time


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with one_at_a_time(tmp_path / "a.lock"):
            entered.set()
            leave.wait()
            order.append("first")

    def second() -> None:
        with one_at_a_time(tmp_path / "a.lock"):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    entered.wait()
    threads[1].start()
    with one_at_a_time(tmp_path / "b.lock"):  # another lock is another matter
        assert order == []
    leave.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "second"]


def test_a_folder_that_takes_no_lock_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"), one_at_a_time(tmp_path / "nowhere" / "a.lock"):
        pass
