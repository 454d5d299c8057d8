"""What is written to a journal, inside a transaction that the caller begins and commits.

The tallies (how many calls have which latest status, what was spent, how much of a plan is done) are kept in the same
transaction as the replies, so that they are true at any time and nobody has to count a million rows to know them.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from itertools import islice

from simulator.running.calls import Call, Stage, key_of
from simulator.running.journal.digests import PlanDigest, digest_row
from simulator.running.journal.entries import Entry, FailedAttempt, Planned, PlanRow
from simulator.running.journal.reading import read_latest_campaign
from simulator.running.journal.rows import ATTEMPT, CAMPAIGN, PLANNED, REPLY, VARIANT, read_number
from simulator.running.replies import repair_reply, repair_text
from simulator.running.variants import Variant

__all__ = ["write_campaign", "write_entries", "write_plan", "write_variants"]

_MOST = 2**63 - 1
"""What SQLite can hold; a provider that reports nonsense ends no run."""
_CHUNK = 10_000


def write_campaign(connection: sqlite3.Connection, text: str, name: str) -> None:
    """Make a frozen campaign the current one, unless it is. The plans of the one before go: nobody reads them."""
    latest = read_latest_campaign(connection)
    if latest is None or latest[1] != text:
        row = (1 if latest is None else latest[0] + 1, _now(), text, name)
        connection.execute(
            f"INSERT INTO campaigns({CAMPAIGN.names}, digest) VALUES (?, ?, ?, ?, ?)",  # noqa: S608 - our names
            (*row, digest_row(*row)),
        )
        connection.execute("DELETE FROM plans")
        connection.execute("DELETE FROM planned")
    elif latest[2] != name:  # begun by a version that did not record it
        connection.execute(
            "UPDATE campaigns SET name = ?1, digest = digest_row(number, begun, text, ?1) WHERE number = ?2",
            (name, latest[0]),
        )


@dataclass(slots=True)
class _Batch:
    """What a transaction adds to the tallies."""

    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    cost: float = 0.0
    at_most: float = 0.0
    unpriced: int = 0

    def spend(self, cost: float | None, at_most: float | None) -> None:
        self.cost += cost or 0.0
        self.at_most += at_most or 0.0
        self.unpriced += at_most is None


def write_entries(connection: sqlite3.Connection, entries: Iterable[Entry | FailedAttempt]) -> None:
    """Add replies, with the variants made from them, and failed attempts."""
    batch = _Batch()
    for entry in entries:
        if isinstance(entry, Entry):
            _insert_reply(connection, entry, batch)
        else:
            _insert_attempt(connection, entry, batch)
    _add_to_tallies(connection, batch)


def _insert_call(connection: sqlite3.Connection, call: Call) -> tuple[str, bool]:
    """Add a call unless it is there; return its key and whether it is new."""
    document = call.to_json()
    key = key_of(document)
    added = connection.execute("INSERT INTO calls VALUES (?, ?) ON CONFLICT(key) DO NOTHING", (key, document))
    return key, added.rowcount > 0


def _insert_reply(connection: sqlite3.Connection, entry: Entry, batch: _Batch) -> None:
    call, reply = entry.call, repair_reply(entry.reply)
    key, new = _insert_call(connection, call)
    earlier = None if new else _latest_status(connection, key)
    at_most = entry.cost if entry.cost_at_most is None else entry.cost_at_most
    row = (
        key,
        reply.status,
        reply.text,
        *astuple(reply.tokens),
        _real(entry.cost),
        _real(at_most),
        _real(entry.seconds),
        entry.attempts,
        reply.error,
        reply.finish,
        reply.model_reported,
        json.dumps(reply.sent, sort_keys=True, default=str),
        _now(),
    )
    connection.execute(
        f"INSERT INTO replies({REPLY.names}, digest) "  # noqa: S608 - our names
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, digest_row(*row)),
    )
    write_variants(connection, entry.variants)
    batch.calls[call.stage, call.model, reply.status] += 1
    if earlier is None:
        batch.done[call.stage] += _is_planned(connection, call.stage, key)
    else:
        batch.calls[call.stage, call.model, earlier] -= 1
    batch.tokens = [total + (count or 0) for total, count in zip(batch.tokens, astuple(reply.tokens), strict=True)]
    batch.spend(entry.cost, at_most)


def _latest_status(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the status of the latest reply; a call of which only attempts failed has none."""
    rows = connection.execute("SELECT status FROM replies WHERE call = ? ORDER BY number DESC LIMIT 1", (key,))
    return next((status for (status,) in rows.fetchall()), None)


def _is_planned(connection: sqlite3.Connection, stage: Stage, key: str) -> bool:
    rows = connection.execute(
        "SELECT 1 FROM plans WHERE campaign = (SELECT campaign FROM current) AND stage = ? AND call = ? LIMIT 1",
        (stage, key),
    )
    return bool(rows.fetchall())


def _insert_attempt(connection: sqlite3.Connection, failed: FailedAttempt, batch: _Batch) -> None:
    key, _ = _insert_call(connection, failed.call)
    reason = repair_text(failed.reason)[0]
    row = (key, failed.attempt, _now(), _real(failed.seconds), reason, _real(failed.cost_at_most))
    connection.execute(
        f"INSERT INTO attempts({ATTEMPT.names}, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our names
        (*row, digest_row(*row)),
    )
    # What an attempt cost is never told: its bound is all there is.
    batch.spend(None, failed.cost_at_most)


def _add_to_tallies(connection: sqlite3.Connection, batch: _Batch) -> None:
    connection.executemany(
        "INSERT INTO tallies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls",
        ((*names, change) for names, change in batch.calls.items() if change),
    )
    if any(change < 0 for change in batch.calls.values()):
        connection.execute("DELETE FROM tallies WHERE calls = 0")
    # An integer sum that overflows becomes a float, of which the cap makes an integer again.
    connection.execute(
        "UPDATE sums SET tokens_input = min(tokens_input + ?2, ?1), tokens_cached = min(tokens_cached + ?3, ?1), "
        "tokens_output = min(tokens_output + ?4, ?1), tokens_reasoning = min(tokens_reasoning + ?5, ?1), "
        "cost = cost + ?6, at_most = at_most + ?7, unpriced = unpriced + ?8",
        (_MOST, *(min(count, _MOST) for count in batch.tokens), batch.cost, batch.at_most, batch.unpriced),
    )
    for stage, done in batch.done.items():
        connection.execute(
            "UPDATE planned SET done = done + ? WHERE campaign = (SELECT campaign FROM current) AND stage = ?",
            (done, stage),
        )


def write_variants(connection: sqlite3.Connection, variants: Iterable[Variant]) -> None:
    """Add variants; one that is there already is replaced. The plan to send them, drawn without these, is void."""
    rows = (astuple(variant) for variant in variants)
    written = connection.executemany(
        f"INSERT OR REPLACE INTO variants({VARIANT.names}, digest) "  # noqa: S608 - our names
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((*row, digest_row(*row)) for row in rows),
    )
    if written.rowcount > 0:
        connection.execute(
            "UPDATE planned SET void = 1, "
            "digest = digest_row(stage, campaign, number, fingerprint, calls, 1, plan_digest) "
            "WHERE stage = 'generate' AND void = 0"
        )


def write_plan(connection: sqlite3.Connection, stage: Stage, fingerprint: str, rows: Iterable[PlanRow]) -> Planned:
    """Replace a stage's plan by one for the current campaign.

    Rows are streamed. The index is made when all of them are there, sorted, since a million rows that come in the order
    of the plan are in no order by call; it also gives the distinct calls, each of which is then looked up in the order
    in which the replies' own index has it.
    """
    ((campaign,),) = connection.execute("SELECT campaign FROM current").fetchall()
    number = read_number(connection, "SELECT coalesce(max(number), 0) + 1 FROM planned")
    connection.execute("DROP INDEX plans_by_call")
    connection.execute("DELETE FROM planned WHERE stage = ?", (stage,))
    connection.execute("DELETE FROM plans WHERE stage = ?", (stage,))
    digest = PlanDigest()
    for chunk in _chunks(rows):
        connection.executemany(
            "INSERT INTO plans(campaign, stage, position, variant, call) VALUES (?, ?, ?, ?, ?)",
            ((campaign, stage, row.position, row.variant, row.call) for row in chunk),
        )
        digest.add(chunk)
        write_variants(connection, (variant for row in chunk for variant in row.made))
    connection.execute("CREATE INDEX plans_by_call ON plans(campaign, stage, call)")
    ((calls, done),) = connection.execute(
        "SELECT count(*), total(EXISTS (SELECT 1 FROM replies WHERE replies.call = planned.call)) "
        "FROM (SELECT DISTINCT call FROM plans WHERE campaign = ? AND stage = ?) AS planned",
        (campaign, stage),
    ).fetchall()
    row = (stage, campaign, number, fingerprint, calls, 0, digest.finalize())
    connection.execute(
        f"INSERT INTO planned({PLANNED.names}, digest, done) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our names
        (*row, digest_row(*row), int(done)),
    )
    return Planned(fingerprint, calls, int(done))


def _chunks(rows: Iterable[PlanRow]) -> Iterator[list[PlanRow]]:
    stream = iter(rows)
    while chunk := list(islice(stream, _CHUNK)):
        yield chunk


def _real(value: float | None) -> float | None:
    """Return a number as SQLite gives it back, which knows no negative zero."""
    return None if value is None else float(value) + 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
