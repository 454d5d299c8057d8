"""How long ``sociolect --help`` takes, against an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from rows import Row, median_seconds


def measure() -> Iterator[Row]:
    """Time whole processes."""
    ours = median_seconds(lambda: _start("-m", "sociolect", "--help"))
    bare = median_seconds(lambda: _start("-c", "pass"))
    yield Row("sociolect --help / python -c pass, s", f"{ours:.3f}", f"{bare:.3f}", f"{ours / bare:.1f}")


def _start(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
