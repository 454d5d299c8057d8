import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from batch_functions import (
    StubbornError,
    batch,
    deadly,
    doubled,
    marked,
    marks,
    start_mapping,
    stubborn,
    talkative,
    wait_until_gone,
)

import simulator.engine.local
from simulator.engine import Engine, map_batches
from simulator.errors import SociolectError

TWO = Engine(workers=2)
SECONDS = 30.0


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("*.parquet"))]


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    function = partial(deadly, str(tmp_path), (15, 45), 2)
    map_batches(function, map(batch, range(20)), tmp_path / "parts", engine=TWO)
    map_batches(doubled, map(batch, range(20)), tmp_path / "inline", engine=Engine(workers=1))
    assert contents(tmp_path / "parts") == contents(tmp_path / "inline")
    calls = [value for value, _ in marks(tmp_path)]
    assert sorted(set(calls)) == list(range(0, 60, 3))
    assert [calls.count(value) for value in (15, 45)] == [3, 3]  # twice it died, then it was done
    assert 5 <= len({process for _, process in marks(tmp_path)}) <= 2 + 4  # the last one may come too late for work


def test_a_batch_that_kills_each_worker_is_given_up(tmp_path: Path) -> None:
    function = partial(deadly, str(tmp_path), (15,), 99)
    with pytest.raises(SociolectError, match=r"Batch 5 .* ended the process that worked on it 3 times") as raised:
        map_batches(function, map(batch, range(20)), tmp_path / "parts", engine=TWO)
    assert "SIGKILL, which is also how the system ends a process when memory is short" in str(raised.value)
    assert [value for value, _ in marks(tmp_path)].count(15) == 3
    kept = {int(path.name[:7]) for path in (tmp_path / "parts").glob("*.parquet")}
    assert {0, 1, 2, 3, 4} <= kept
    assert 5 not in kept


def test_workers_that_cannot_start_are_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.engine.local, "_PROGRAM", "raise SystemExit(7)")
    with pytest.raises(SociolectError, match=r"No worker process .* ended by itself with status 7"):
        map_batches(doubled, map(batch, range(4)), tmp_path, engine=TWO)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(SociolectError, match=r"No worker process .*: No such file or directory"):
        map_batches(doubled, map(batch, range(4)), tmp_path, engine=TWO)


def test_an_error_that_cannot_be_sent_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="StubbornError: first second") as raised:
        map_batches(stubborn, map(batch, range(4)), tmp_path / "two", engine=TWO)
    assert "in stubborn" in "\n".join(raised.value.__notes__)  # where it was raised, which was in another process
    with pytest.raises(StubbornError):
        map_batches(stubborn, map(batch, range(4)), tmp_path / "one", engine=Engine(workers=1))


def test_what_a_function_prints_is_not_among_the_results(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    map_batches(talkative, map(batch, range(4)), tmp_path, engine=TWO)
    assert capfd.readouterr().out == ""


def test_a_killed_mapping_goes_on_where_it_was(tmp_path: Path) -> None:
    at_ten = "lambda number: number == 10 and os.kill(os.getpid(), signal.SIGKILL)"
    started = start_mapping("workers=2", "marked", tmp_path / "parts", str(tmp_path), done=at_ten)
    with started:
        assert started.wait(SECONDS) == -signal.SIGKILL
    for process in {process for _, process in marks(tmp_path)}:
        wait_until_gone(process)  # nobody ended them: they saw that they were alone
    there, before = sorted((tmp_path / "parts").glob("*.parquet")), marks(tmp_path)
    assert len(there) == 10
    map_batches(partial(marked, str(tmp_path)), map(batch, range(30)), tmp_path / "parts", engine=TWO)
    again = [value // 3 for value, _ in marks(tmp_path)[len(before) :]]
    assert sorted(again) == sorted(set(range(30)) - {int(path.name[:7]) for path in there})
    map_batches(doubled, map(batch, range(30)), tmp_path / "inline", engine=Engine(workers=1))
    assert contents(tmp_path / "parts") == contents(tmp_path / "inline")


def start_blocked(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a mapping, and return it with its two workers when both are in the midst of a batch."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    os.mkfifo(f"{pipe}-never")
    started = start_mapping("workers=2", "blocked", folder / "parts", str(pipe))
    working: list[int] = []
    while len(working) < 2:
        working += [int(line) for line in pipe.read_text(encoding="utf-8").split()]
    return started, working


def test_workers_end_in_the_midst_of_a_batch_when_they_are_alone(tmp_path: Path) -> None:
    started, working = start_blocked(tmp_path)
    with started:
        started.kill()
    for process in working:
        wait_until_gone(process)


@pytest.mark.parametrize("group", [True, False])
def test_ctrl_c_ends_it_and_leaves_no_process(tmp_path: Path, group: bool) -> None:
    started, working = start_blocked(tmp_path)
    with started:
        (os.killpg if group else os.kill)(started.pid, signal.SIGINT)  # a terminal sends it to the whole group
        _, said = started.communicate(timeout=SECONDS)
    assert started.returncode == -signal.SIGINT
    assert said.count("KeyboardInterrupt\n") == 1  # the workers say nothing
    for process in working:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {"parts.lock"}
