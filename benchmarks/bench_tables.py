"""1,000,000 replies from a journal to Parquet and CSV, against reading the same rows one query each, in one process.

The peer asks the journal for each row's variant, reply and call by queries of their own, over a tenth of the run, and
holds its rows in memory. Then the same again with the codes extracted, on every core. Whole processes are timed, and
their peak memory is shown, the largest of a process and its workers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from big_campaign import write_campaign

from rows import Row
from simulator.definitions import load_campaign
from simulator.running.calls import Call, Message
from simulator.running.campaign_run import open_run
from simulator.running.journal import Entry, Journal, PlanRow
from simulator.running.replies import Reply, Tokens
from simulator.running.variants import Variant

ROWS = 1_000_000
VARIANTS = 1_000
TEXT = "Sure, here it is:\n\n```python\ndef add(a, b):\n    return a + b + {number}\n```\n\nIt adds two numbers.\n"
ROOT = Path(__file__).parent.parent

_OURS = """
import resource
from pathlib import Path
from simulator.engine import map_in
from simulator.running.journal.records import Records
from simulator.tables import replacing_tables, write_run_tables

def leave_out_codes(function, batches):
    for _ in batches:
        yield from ()

if __name__ == "__main__":
    mapped = {mapped}
    with Records(Path("run")) as records, replacing_tables(Path("run/tables")) as made:
        write_run_tables(records, made, mapped=mapped)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    print(max(resource.getrusage(who).ru_maxrss for who in whose))
"""
_PEER = """
import sqlite3, polars as pl
connection = sqlite3.connect("run/journal.sqlite")
rows = []
for variant, call in connection.execute("SELECT variant, call FROM plans ORDER BY position LIMIT 100000"):
    rows.append((
        *connection.execute("SELECT task FROM variants WHERE variant = ?", (variant,)).fetchone(),
        *connection.execute("SELECT * FROM replies WHERE call = ? ORDER BY number DESC LIMIT 1", (call,)).fetchone(),
        *connection.execute("SELECT document FROM calls WHERE key = ?", (call,)).fetchone(),
    ))
frame = pl.DataFrame(rows, orient="row")
frame.write_parquet("peer.parquet")
frame.write_csv("peer.csv")
"""


def measure() -> Iterator[Row]:
    """Record a run in bulk, then time whole processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_campaign(folder, iterations=1)
        with open_run(load_campaign(str(folder / "big.yaml"), folder=folder), folder / "run") as journal:
            _fill(journal)
        ours, peak = _time(folder, _OURS.replace("{mapped}", "leave_out_codes"))
        peer, _ = _time(folder, _PEER)
        coded, coded_peak = _time(folder, _OURS.replace("{mapped}", 'map_in(Path("parts"))'))
    speed, peer_speed = ROWS / ours, ROWS / 10 / peer
    yield Row("journal to Parquet and CSV, rows/s", f"{speed:,.0f}", f"{peer_speed:,.0f}", f"{speed / peer_speed:.2f}")
    yield Row("the same, peak memory at 1,000,000 rows, MB", f"{int(peak) / 1024:,.0f}", "", "")
    yield Row("with the codes extracted, rows/s", f"{ROWS / coded:,.0f}", "", "")
    yield Row("the same, peak memory, MB", f"{int(coded_peak) / 1024:,.0f}", "", "")


def _fill(journal: Journal) -> None:
    made = (
        Variant(f"v{n}", "calculator", "rewrite", "john", n, n, "Write a calculator", "", "ok", "")
        for n in range(VARIANTS)
    )
    journal.add_variants(made)
    calls = (_call(number) for number in range(ROWS))
    journal.set_plan("generate", "f", (PlanRow(at, f"v{at % VARIANTS}", call.key) for at, call in enumerate(calls)))
    journal.record(Entry(_call(number), _reply(number), 0.5, 1, 0.0, 0.0) for number in range(ROWS))


def _call(number: int) -> Call:
    return Call("generate", "mock", (Message("user", "question"),), seed=number)


def _reply(number: int) -> Reply:
    return Reply("ok", TEXT.replace("{number}", str(number)), Tokens(9, 0, 3, 0), "mock", "stop")


def _time(folder: Path, program: str) -> tuple[float, str]:
    (folder / "program.py").write_text(program, encoding="utf-8")  # worker processes import the file
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "program.py"], check=True, cwd=folder, env=environment, text=True, stdout=-1
    )
    return time.perf_counter() - begun, ended.stdout.strip() or "0"
