"""MB of replies from which code is extracted in a second, against one regular expression for a fence, in one process.

The peer takes what stands between the first two fences and looks whether it parses: it knows neither a reply without
fences nor one of several blocks. Replies are those of others (``../shared/data``) where they are there, or else made
up.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from rows import Row
from simulator.code import extract

RECORDED = Path(__file__).parents[2] / "shared" / "data" / "recorded" / "prompt_variability" / "sample.jsonl.gz"
HOSTILE = (
    "```\n",
    "```\nx\n",
    "'''\n```\n",
    "x = '''\n",
    ">>> x\n",
    "#\n",
    "import a b\n\n",
    "```\nx\n```\n</think>\n",
)
_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)


def measure() -> Iterator[Row]:
    """Extract from every reply once, ours and the peer's."""
    replies, whose = _replies()
    fenced = [f"Here it is.\n\n```python\n{reply}\n```\n\nThat is all." for reply in replies]
    for what, some in ((f"{whose} replies", replies), ("the same in a fence, words around", fenced)):
        ours, peer = _speed(extract, some), _speed(_first_fence, some)
        yield Row(f"{len(some):,} {what}, MB/s", f"{ours:.1f}", f"{peer:.1f}", f"{ours / peer:.2f}")
    slowest = max(_seconds(extract, [piece * (1_000_000 // len(piece))]) for piece in HOSTILE)
    yield Row("the slowest of some hostile replies of 1 MB, s", f"{slowest:.2f}", "", "")


def _replies() -> tuple[list[str], str]:
    if RECORDED.is_file():
        with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return [reply for row in rows for some in row["responses"].values() for reply in some], "recorded"
    body = "\n".join(f"def function_{number}(value):\n    return value + {number}\n" for number in range(40))
    return [f"Here it is, number {n}.\n\n```python\n{body}\n```\n\nThat is all." for n in range(2_000)], "made-up"


def _speed(act: Callable[[str], object], replies: list[str]) -> float:
    return sum(len(reply.encode("utf-8", "replace")) for reply in replies) / 1e6 / _seconds(act, replies)


def _seconds(act: Callable[[str], object], replies: list[str]) -> float:
    begun = time.process_time()
    for reply in replies:
        act(reply)
    return time.process_time() - begun


def _first_fence(reply: str) -> bool:
    found = _FENCE.search(reply)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(found[1] if found is not None else reply)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
