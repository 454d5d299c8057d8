"""``sociolect status`` on a run of 1,000,000 calls, against counting them by a query over the same file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from big_campaign import write_campaign

from rows import Row, median_seconds
from simulator.definitions import load_campaign
from simulator.running.calls import Call, Message
from simulator.running.campaign_run import open_run
from simulator.running.journal import Entry, Journal, PlanRow
from simulator.running.replies import Reply, Tokens

CALLS = 1_000_000
ANSWERED = 900_000
REPLY = Reply("ok", "x = 1", Tokens(9, 0, 3, 0), "mock", "stop")
ROOT = Path(__file__).parent.parent

_PEER = """
import sqlite3
connection = sqlite3.connect("run/journal.sqlite")
print(connection.execute("SELECT status, count(DISTINCT call), sum(tokens_input) FROM replies GROUP BY 1").fetchall())
"""


def measure() -> Iterator[Row]:
    """Record a plan and most of its replies in bulk, then time whole processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_campaign(folder, iterations=1)
        with open_run(load_campaign(str(folder / "big.yaml"), folder=folder), folder / "run") as journal:
            _fill(journal)
        ours = median_seconds(lambda: _start(folder, "-m", "sociolect", "status", "run", "--json"), runs=3)
        peer = median_seconds(lambda: _start(folder, "-c", _PEER), runs=1)
    yield Row("status of 1,000,000 calls, s", f"{ours:.2f}", f"{peer:.2f}", f"{ours / peer:.2f}")


def _fill(journal: Journal) -> None:
    calls = (Call("generate", "mock", (Message("user", "question"),), seed=number) for number in range(CALLS))
    journal.set_plan("generate", "f", (PlanRow(at, f"v{at % 1000}", call.key) for at, call in enumerate(calls)))
    calls = (Call("generate", "mock", (Message("user", "question"),), seed=number) for number in range(ANSWERED))
    journal.record(Entry(call, REPLY, 0.5, 1, 0.0, 0.0) for call in calls)


def _start(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *arguments], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
