"""Peak memory of a run by the number of calls that it plans, which should not matter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from big_campaign import resume, write_campaign

from rows import Row

GROUPS = 22 * 14
ASKED = 2000


def measure() -> Iterator[Row]:
    """Plan and begin a run of 1,000,000 calls; the peer is one of 10,000."""
    many, few = _peak(1_000_000), _peak(10_000)
    yield Row("peak memory, 1,000,000 / 10,000 planned, MB", f"{many:,.0f}", f"{few:,.0f}", f"{many / few:.2f}x")


def _peak(calls: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        write_campaign(Path(folder), iterations=-(-calls // GROUPS))
        return resume(Path(folder), calls=ASKED) / 1024
