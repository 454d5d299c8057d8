"""Durable replies per second through the whole engine, against a commit for each reply in plain SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rows import Row
from simulator.running.calls import Call, Message
from simulator.running.execution import execute
from simulator.running.journal import Journal
from simulator.running.lines import Ask
from simulator.running.models import open_model

REPLIES = 3000


def measure() -> Iterator[Row]:
    """Ask the mock model; the peer only stores a text of the same length, one commit each."""
    with tempfile.TemporaryDirectory() as folder:
        ours = REPLIES / _ours(Path(folder))
        peer = REPLIES / _peer(Path(folder))
    yield Row("durable replies, mock model, replies/s", f"{ours:,.0f}", f"{peer:,.0f}", f"{ours / peer:.1f}x")


def _ours(folder: Path) -> float:
    asks = [Ask(Call("generate", "mock", (Message("user", f"question {n}"),), seed=n)) for n in range(REPLIES)]

    async def go(journal: Journal) -> None:
        models = {"mock": open_model("mock", {})}
        await execute({"mock": iter(asks)}, models, journal, stop=asyncio.Event(), report=lambda _event: None)

    with Journal(folder / "ours", write=True) as journal:
        begun = time.perf_counter()
        asyncio.run(go(journal))
        return time.perf_counter() - begun


def _peer(folder: Path) -> float:
    connection = sqlite3.connect(folder / "peer.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE replies(key TEXT PRIMARY KEY, text TEXT)")
    begun = time.perf_counter()
    for number in range(REPLIES):
        connection.execute("INSERT INTO replies VALUES (?, ?)", (str(number), "x = 1\n" * 60))
    seconds = time.perf_counter() - begun
    connection.close()
    return seconds
