"""Run every benchmark of this folder and print one table: ours, the peer in the same run, and the ratio.

``python benchmarks/run.py [NAME ...]`` runs those whose file is ``bench_NAME.py``. A benchmark is a file with a
function ``measure() -> Iterator[Row]``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def main(names: list[str]) -> None:
    """Print a line for each row of each benchmark named, or of all."""
    found = names or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    print(f"{'benchmark':<52}{'ours':>14}{'peer':>14}{'ratio':>10}")
    for name in found:
        for row in importlib.import_module(f"bench_{name}").measure():
            print(f"{row.what:<52}{row.ours:>14}{row.peer:>14}{row.ratio:>10}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
