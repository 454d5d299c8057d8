"""Functions over batches that tests of the engine map, here and in processes of their own; found by their name."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl

from command_line import ROOT
from simulator.tables.recorded import extract_codes


def batch(number: int, rows: int = 3) -> pl.DataFrame:
    """Return a batch whose rows say which one it is."""
    first = number * rows
    return pl.DataFrame(
        {"id": [f"row {first + row}" for row in range(rows)], "value": [first + row for row in range(rows)]}
    )


def doubled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(double=pl.col("value") * 2)


def marked(folder: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Double, and leave a mark of each call: a line that says which batch, and in which process."""
    with (Path(folder) / "marks").open("a", encoding="utf-8") as file:
        file.write(f"{frame['value'][0]} {os.getpid()}\n")
    return doubled(frame)


def marks(folder: Path) -> list[tuple[int, int]]:
    """Return the first value of each batch that was worked on, and the process that did, one for each call."""
    path = folder / "marks"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(int(value), int(process)) for value, _, process in (line.partition(" ") for line in lines)]


def deadly(folder: str, values: tuple[int, ...], times: int, frame: pl.DataFrame) -> pl.DataFrame:
    """Do as `marked`, but end the process with the batches that begin with one of some values, so many times each."""
    value = frame["value"][0]
    made = marked(folder, frame)
    if value in values and sum(one == value for one, _ in marks(Path(folder))) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return made


def failing(values: tuple[int, ...], frame: pl.DataFrame) -> pl.DataFrame:
    """Raise where a batch begins with one of some values."""
    if frame["value"][0] in values:
        raise ValueError(f"not {frame['value'][0]}")
    return doubled(frame)


class StubbornError(Exception):
    """Cannot be made again from its pickle."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def stubborn(frame: pl.DataFrame) -> pl.DataFrame:
    raise StubbornError("first ", "second")


def talkative(frame: pl.DataFrame) -> pl.DataFrame:
    sys.stdout.write("among the results\n")
    sys.stdout.flush()
    return frame


def blocked(pipe: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Say on a named pipe which process this is, and wait until somebody writes to another one, which nobody does."""
    with Path(pipe).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    Path(f"{pipe}-never").read_bytes()
    return frame


def nothing(frame: pl.DataFrame) -> None:
    """Return no frame, as a function should."""


def extract_deadly(folder: str, reply: str, times: int, answers: pl.DataFrame) -> pl.DataFrame:
    """Extract codes, leave a mark of each call, and end the process with the batch of one reply, so many times."""
    first = answers["reply"][0]
    with (Path(folder) / "marks").open("a", encoding="utf-8") as file:
        file.write(f"{int(first, 16)} {os.getpid()}\n")
    if first == reply and sum(value == int(reply, 16) for value, _ in marks(Path(folder))) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return extract_codes(answers)


def start_mapping(
    engine: str, function: str, folder: Path, *arguments: str, done: str = "lambda number: None"
) -> subprocess.Popen[str]:
    """Start a process that maps a function of this file, with arguments bound, over 30 batches, on an engine."""
    program = textwrap.dedent(f"""
        import os, signal, sys
        sys.path[:0] = sys.argv[1:3]
        from functools import partial
        from pathlib import Path
        import batch_functions
        from simulator.engine import Engine, map_batches
        function = partial(batch_functions.{function}, *sys.argv[4:])
        batches = map(batch_functions.batch, range(30))
        map_batches(function, batches, Path(sys.argv[3]), engine=Engine({engine}), done={done})
    """)
    return subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT), str(ROOT / "tests"), str(folder), *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until_gone(process: int) -> None:
    """Wait until a process that is not ours has ended."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 30)[0], f"process {process} is still there"
    finally:
        os.close(handle)
