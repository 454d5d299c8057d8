"""What the engine costs by itself: its start, and batches with which almost nothing is done.

The peer is Python's own pool of processes, which keeps no parts: what it has done is lost when it is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from rows import Row
from simulator.engine import Engine, map_batches, read_parts

BATCHES = 2_000
ROWS = 100
WORKERS = 2
TEXT = "def add(a, b):\n    return a + b\n" * 10


def count(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the length of each text."""
    return frame.with_columns(length=pl.col("text").str.len_chars())


def measure() -> Iterator[Row]:
    """Time starts and trivial batches on each engine; Ray's only where it is installed."""
    engines = {"no process": Engine(workers=1), f"{WORKERS} processes": Engine(workers=WORKERS)}
    if find_spec("ray") is not None:
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # no token in the home of whoever measures
        engines[f"Ray, {WORKERS} workers"] = Engine("ray", workers=WORKERS)
    pool_start, pool = _seconds(_in_pool, 2), _seconds(_in_pool, BATCHES)
    for name, engine in engines.items():

        def ours(batches: int, engine: Engine = engine) -> int:
            with tempfile.TemporaryDirectory() as folder:
                return sum(
                    part.height
                    for part in read_parts(map_batches(count, _batches(batches), Path(folder), engine=engine))
                )

        start, whole = _seconds(ours, 2), _seconds(ours, BATCHES)
        each, peer = (whole - start) / BATCHES, (pool - pool_start) / BATCHES
        yield Row(f"{name}: two batches, s", f"{start:.2f}", f"{pool_start:.2f}", f"{start / pool_start:.2f}x")
        yield Row(f"{name}: each further, ms", f"{each * 1000:.2f}", f"{peer * 1000:.2f}", f"{each / peer:.2f}x")


def _batches(number: int) -> Iterator[pl.DataFrame]:
    for first in range(0, number * ROWS, ROWS):
        yield pl.DataFrame({"id": range(first, first + ROWS), "text": [f"{TEXT}# {first}"] * ROWS})


def _in_pool(batches: int) -> int:
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:
        return sum(made.height for made in pool.map(count, _batches(batches)))


def _seconds(act: Callable[[int], int], batches: int) -> float:
    begun = time.perf_counter()
    rows = act(batches)
    took = time.perf_counter() - begun
    if rows != batches * ROWS:
        raise RuntimeError(f"{rows} rows came of {batches} batches of {ROWS}")
    return took
