"""What a benchmark reports, and how a thing is timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Row", "median_seconds"]


class Row(NamedTuple):
    """One line of the table, as text with its unit."""

    what: str
    ours: str
    peer: str
    ratio: str


def median_seconds(act: Callable[[], object], *, runs: int = 5) -> float:
    """Return the median of several timed runs, after one that is not counted."""
    act()
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)
