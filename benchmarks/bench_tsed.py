"""TSED of real recorded pairs of programs, exact, against the python library apted on the same trees in one process.

Milliseconds of processor time a pair, by the size of the trees; what is parsed is not counted, except in the last row.
The peer is asked few pairs of the larger sizes: a pair of 920 nodes takes it half a minute.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from analysis.code import PUBLISHED_WEIGHTS, Tree, edit_distance, edit_distances, parse_tree
from rows import Row

ROOT = Path(__file__).parent.parent
RECORDED = ROOT.parent / "shared" / "data" / "recorded" / "prompt_variability" / "sample.jsonl.gz"
SIZES = {130: 20, 365: 5, 920: 2}  # nodes, and how many pairs the peer is asked
NEAR = 0.12
CORES = os.cpu_count() or 1

_RESCORE = """
import gzip, json, os, sys
from analysis.code import tsed_pairs
with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
    rows = [json.loads(line)["responses"] for line in file]
pairs = [(a, b) for replies in rows for some in replies.values() for b in some for a in replies["0.0"]]
results = tsed_pairs(pairs, dialect="published", workers=os.cpu_count())
assert all(result.status == "ok" for result in results)
print(len(results))
"""


def measure() -> Iterator[Row]:
    """Compare pairs one by one, as batches on one core and on all, and score the whole record in a new process."""
    if not RECORDED.is_file():
        yield Row("TSED: skipped, ../shared/data is not here", "", "", "")
        return
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        recorded = [json.loads(line) for line in file]
    warm = parse_tree("x = 1", dialect="published")
    edit_distance(warm, parse_tree("y = [2]", dialect="published"), PUBLISHED_WEIGHTS)  # compile
    single: dict[int, tuple[float, float]] = {}
    for size, asked in SIZES.items():
        trees, pairs = _pairs_near(recorded, size)
        few = [(trees[a], trees[b]) for a, b in pairs[:: len(pairs) // asked][:asked]]
        peer = _seconds(lambda: [_ask_apted(*couple) for couple in few]) / asked * 1e3  # noqa: B023
        ours = _seconds(lambda: [edit_distance(*couple, PUBLISHED_WEIGHTS) for couple in few], 5) / len(few) * 1e3  # noqa: B023
        batch = _seconds(lambda: edit_distances(trees, pairs, PUBLISHED_WEIGHTS), 3) / len(pairs) * 1e3  # noqa: B023
        wide = _seconds(
            lambda: [edit_distances(trees, pairs, PUBLISHED_WEIGHTS, workers=CORES) for _ in range(8)],  # noqa: B023
            2,
            time.perf_counter,
        )
        wide *= 1e3 / len(pairs) / 8
        single[size] = ours, peer
        yield _row(f"exact TSED, {size} nodes, pair by pair, ms", ours, peer)
        yield _row(f"the same, {len(pairs)} pairs in batches, one core, ms", batch, peer)
        yield _row(f"the same, {CORES} cores, elapsed ms", wide, peer)
    ours, peer = (_exponent({size: both[which] for size, both in single.items()}) for which in (0, 1))
    yield Row("exponent of growth with nodes", f"{ours:.2f}", f"{peer:.2f}", "")
    arguments = [sys.executable, "-c", _RESCORE, str(RECORDED)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = time.perf_counter()
    ended = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    yield Row(f"{int(ended.stdout):,} recorded pairs, new process, s", f"{time.perf_counter() - begun:.1f}", "", "")


def _pairs_near(recorded: list[dict[str, Any]], size: int) -> tuple[list[Tree], list[tuple[int, int]]]:
    """Return pairs of a reference and a candidate of one row whose trees both have about so many nodes."""
    trees: list[Tree] = []
    pairs: list[tuple[int, int]] = []
    for row in recorded:
        places: dict[str, int] = {}
        for text in dict.fromkeys(text for replies in row["responses"].values() for text in replies):
            tree = parse_tree(text, dialect="published")
            if abs(len(tree) - size) <= NEAR * size:
                places[text] = len(trees)
                trees.append(tree)
        references = [text for text in dict.fromkeys(row["responses"]["0.0"]) if text in places]
        pairs += [(places[a], places[b]) for a in references for b in places if a != b]
    return trees, pairs


def _ask_apted(one: Tree, other: Tree) -> float:
    return edit_distance(one, other, PUBLISHED_WEIGHTS, backend="apted")


def _seconds(act: Callable[[], object], runs: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """Return the least time of several runs: what other processes take only adds."""
    times = []
    for _ in range(runs):
        begun = clock()
        act()
        times.append(clock() - begun)
    return min(times)


def _exponent(times: dict[int, float]) -> float:
    small, large = min(times), max(times)
    return math.log(times[large] / times[small]) / math.log(large / small)


def _row(what: str, ours: float, peer: float) -> Row:
    return Row(what, f"{ours:.3f}", f"{peer:,.0f}", f"{peer / ours:,.0f}x")
