import threading
from pathlib import Path

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


def test_where_no_lock_can_be_made_nobody_waits(tmp_path: Path) -> None:
    with one_at_a_time(tmp_path / "nowhere" / "a.lock"), one_at_a_time(tmp_path / "nowhere" / "a.lock"):
        assert list(tmp_path.iterdir()) == []
