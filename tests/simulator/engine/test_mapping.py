import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from batch_functions import batch, doubled, failing, marked, marks, nothing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import ROOT
from simulator.engine import Engine, map_batches, read_parts
from simulator.errors import UsageError

INLINE, TWO = Engine(workers=1), Engine(workers=2)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def counting(marks_in: Path) -> partial[pl.DataFrame]:
    return partial(marked, str(marks_in))


def worked_on(marks_in: Path) -> list[int]:
    """Return the numbers of the batches worked on, sorted, one for each call."""
    return sorted(value // 3 for value, _ in marks(marks_in))


@pytest.mark.parametrize("engine", [INLINE, TWO, Engine(workers=3)])
def test_parts_are_in_the_order_of_the_batches(tmp_path: Path, engine: Engine) -> None:
    paths = map_batches(doubled, (batch(number) for number in range(9)), tmp_path, engine=engine)
    assert pl.concat(read_parts(paths)).equals(doubled(pl.concat(batch(number) for number in range(9))))
    assert sorted(paths) == paths == sorted(tmp_path.glob("*.parquet"))


def test_processes_make_the_same_bytes_as_none(tmp_path: Path) -> None:
    for name, engine in (("inline", INLINE), ("two", TWO), ("four", Engine(workers=4))):
        map_batches(doubled, (batch(number, rows=number) for number in range(12)), tmp_path / name, engine=engine)
    assert len(files(tmp_path / "inline")) == 12
    assert files(tmp_path / "inline") == files(tmp_path / "two") == files(tmp_path / "four")


def test_nothing_comes_of_no_batches(tmp_path: Path) -> None:
    map_batches(doubled, [batch(0), batch(1)], tmp_path, engine=INLINE)
    assert map_batches(doubled, iter(()), tmp_path, engine=TWO) == []
    assert files(tmp_path) == {}  # the batches that there were once are no more
    assert list(read_parts([])) == []


def test_a_single_batch_is_worth_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert len(map_batches(doubled, [batch(0)], tmp_path / "single", engine=Engine(workers=8))) == 1
    assert len(map_batches(doubled, map(batch, range(3)), tmp_path / "one worker", engine=INLINE)) == 3
    with pytest.raises(AssertionError, match="a process was started"):
        map_batches(doubled, map(batch, range(3)), tmp_path / "more", engine=Engine(workers=8))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_batches_are_drawn_as_there_is_room(tmp_path: Path, workers: int) -> None:
    drawn = finished = ahead = 0

    def batches() -> Iterator[pl.DataFrame]:
        nonlocal drawn, ahead
        for number in range(40):
            drawn += 1
            ahead = max(ahead, drawn - finished)
            yield batch(number)

    def done(number: int) -> None:
        nonlocal finished
        finished = number

    map_batches(doubled, batches(), tmp_path, engine=Engine(workers=workers), done=done)
    assert finished == drawn == 40
    assert ahead <= 2 * workers + 1


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    function, told = counting(tmp_path), list[int]()
    before = map_batches(function, map(batch, range(4)), tmp_path / "parts", engine=INLINE)
    more = map_batches(function, map(batch, range(6)), tmp_path / "parts", engine=INLINE, done=told.append)
    assert worked_on(tmp_path) == [0, 1, 2, 3, 4, 5]
    assert more[:4] == before
    assert told == [1, 2, 3, 4, 5, 6]


def test_another_function_argument_version_or_batch_is_made_again(tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()

    def made(function: Any, *batches: pl.DataFrame, version: str = "") -> set[str]:
        paths = map_batches(function, batches, tmp_path / "parts", engine=INLINE, version=version)
        assert set(paths) == set((tmp_path / "parts").glob("*.parquet"))  # stale ones are gone
        return {path.name for path in paths}

    first = made(counting(tmp_path), batch(0), batch(1))
    assert first == made(counting(tmp_path), batch(0), batch(1))
    assert not first & made(counting(other), batch(0), batch(1))
    assert not first & made(doubled, batch(0), batch(1))
    assert first == made(counting(tmp_path), batch(0), batch(1))
    assert not first & made(counting(tmp_path), batch(0), batch(1), version="2")
    assert first == made(counting(tmp_path), batch(0), batch(1))
    assert len(first & made(counting(tmp_path), batch(0), batch(7))) == 1
    assert len(first & made(counting(tmp_path), batch(0))) == 1
    assert worked_on(tmp_path) == [0, 0, 0, 0, 1, 1, 1, 1, 7]


def test_a_part_that_moved_is_made_again(tmp_path: Path) -> None:
    map_batches(counting(tmp_path), map(batch, (0, 1)), tmp_path / "parts", engine=INLINE)
    map_batches(counting(tmp_path), map(batch, (1, 0)), tmp_path / "parts", engine=INLINE)
    assert worked_on(tmp_path) == [0, 0, 1, 1]


@pytest.mark.parametrize("keep", [0, 1, -1])
def test_a_part_that_was_cut_short_is_made_again(tmp_path: Path, keep: int) -> None:
    paths = map_batches(counting(tmp_path), map(batch, range(3)), tmp_path / "parts", engine=INLINE)
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[:keep])
    assert map_batches(counting(tmp_path), map(batch, range(3)), tmp_path / "parts", engine=INLINE) == paths
    assert paths[1].read_bytes() == whole
    assert worked_on(tmp_path) == [0, 1, 1, 2]


def test_what_a_killed_process_left_is_removed_and_what_is_others_is_not(tmp_path: Path) -> None:
    (path,) = map_batches(doubled, [batch(0)], tmp_path, engine=INLINE)
    left = tmp_path / f".{path.name}-0a1b2c3d.parquet"
    for other in (left, tmp_path / "codes.parquet", tmp_path / ".hidden.parquet"):
        other.write_bytes(b"PAR1")
    map_batches(doubled, [batch(0)], tmp_path, engine=INLINE)
    assert {one.name for one in tmp_path.iterdir()} == {path.name, "codes.parquet", ".hidden.parquet", "parts.lock"}


@pytest.mark.parametrize("engine", [INLINE, TWO])
def test_an_error_is_that_of_the_first_batch_that_fails(tmp_path: Path, engine: Engine) -> None:
    function = partial(failing, (12, 15, 18))  # batches 4, 5 and 6, which are worked on at once
    with pytest.raises(ValueError, match="not 12") as raised:
        map_batches(function, map(batch, range(50)), tmp_path, engine=engine)
    assert "This was in batch 4, counted from 0." in raised.value.__notes__
    numbers = {int(name.partition("-")[0]) for name in files(tmp_path)}
    assert {0, 1, 2, 3} <= numbers <= {0, 1, 2, 3, 7, 8}  # what was finished is kept
    for name, content in files(tmp_path).items():
        assert map_batches(doubled, [batch(int(name[:7]))], tmp_path / "one")[0].read_bytes() == content


def test_an_error_among_the_batches_keeps_what_is_finished(tmp_path: Path) -> None:
    def batches() -> Iterator[pl.DataFrame]:
        yield from map(batch, range(5))
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        map_batches(doubled, batches(), tmp_path, engine=INLINE)
    assert len(files(tmp_path)) == 4 + 1


@pytest.mark.parametrize("engine", [INLINE, TWO])
def test_a_function_that_returns_no_frame_is_told_so(tmp_path: Path, engine: Engine) -> None:
    function: Any = nothing
    with pytest.raises(TypeError, match="returned NoneType; a function over batches returns a polars frame"):
        map_batches(function, map(batch, range(3)), tmp_path, engine=engine)


def test_a_full_disk_is_said_to_be_one_and_costs_no_part(tmp_path: Path) -> None:
    # A limit on the size of files is the full disk that needs no privileges: every write beyond it fails.
    program = textwrap.dedent("""
        import resource, sys
        sys.path[:0] = sys.argv[1:3]
        from pathlib import Path
        from batch_functions import batch, doubled
        from simulator.engine import Engine, map_batches
        from simulator.errors import StorageError
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        batches = (batch(number, rows) for number, rows in enumerate([3, 3, 3, 3, 30_000, 3]))
        try:
            map_batches(doubled, batches, Path(sys.argv[3]), engine=Engine(workers=2))
        except StorageError as error:
            print(error)
    """)
    arguments = [sys.executable, "-c", program, str(ROOT), str(ROOT / "tests"), str(tmp_path / "parts")]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "cannot be written" in ended.stdout
    kept = files(tmp_path / "parts")
    assert set() < {int(name[:7]) for name in kept} <= {0, 1, 2, 3, 5}
    assert not [path for path in (tmp_path / "parts").iterdir() if path.name.startswith(".")]  # nothing half written
    batches = (batch(number, rows) for number, rows in enumerate([3, 3, 3, 3, 30_000, 3]))  # the disk has space again
    map_batches(doubled, batches, tmp_path / "parts", engine=INLINE)
    assert kept.items() <= files(tmp_path / "parts").items()


def test_an_engine_that_cannot_be_is_refused() -> None:
    for wrong, said in (
        ({"workers": 0}, "0 workers cannot work"),
        ({"address": "here:1"}, "Only the engine ray has an address"),
        ({"kind": "spark"}, "There is no engine 'spark'"),
    ):
        options: dict[str, Any] = dict(wrong)
        with pytest.raises(UsageError, match=said):
            Engine(**options)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.text(), st.integers(-9, 9)), max_size=5), max_size=6), st.integers(0, 6))
def test_any_batches_come_back_whatever_was_there(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[tuple[str, int]]], kept: int
) -> None:
    frames = [pl.DataFrame(some, schema={"id": pl.String, "value": pl.Int64}, orient="row") for some in rows]
    folder = tmp_path_factory.mktemp("any")
    map_batches(doubled, frames[:kept], folder, engine=INLINE)
    paths = map_batches(doubled, frames, folder, engine=INLINE)
    assert [doubled(frame).equals(part) for frame, part in zip(frames, read_parts(paths), strict=True)] == [True] * len(
        frames
    )
