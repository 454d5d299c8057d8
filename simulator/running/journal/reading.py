"""What is read from a journal: short queries, each of which sees what was committed before it began."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from simulator.running.calls import Stage
from simulator.running.journal.entries import Planned, PlanRow, Recorded, RecordedAttempt, Spent
from simulator.running.replies import Reply, ReplyStatus, Tokens
from simulator.running.variants import Variant

__all__ = [
    "count_missing",
    "read_attempts",
    "read_calls",
    "read_campaign",
    "read_counts",
    "read_last_attempt",
    "read_last_reply",
    "read_latest",
    "read_missing",
    "read_name",
    "read_plan",
    "read_planned",
    "read_replies",
    "read_spent",
    "read_state",
    "read_variants",
]

_PAGE = 500
"""Most rows that one query of a plan gives."""
_WINDOW = 10_000
"""Most positions that one query for missing rows looks at: some 20 ms, during which the caller does nothing else."""


def read_campaign(connection: sqlite3.Connection) -> str | None:
    """Return the current frozen campaign, or None before the first start."""
    row = _one(connection, "SELECT text FROM campaigns ORDER BY number DESC LIMIT 1")
    return None if row is None else str(row[0])


def read_name(connection: sqlite3.Connection) -> str | None:
    """Return the current campaign's name, or None before the first start."""
    row = _one(connection, "SELECT name FROM campaigns ORDER BY number DESC LIMIT 1")
    return None if row is None else str(row[0])


def read_planned(connection: sqlite3.Connection, stage: Stage) -> Planned | None:
    """Return a stage's plan in sum, or None where the current campaign has none yet, or one that is out of date."""
    row = _one(
        connection,
        "SELECT fingerprint, calls, done FROM planned WHERE campaign = (SELECT campaign FROM current) AND stage = ?",
        stage,
    )
    return None if row is None else Planned(*row)


def read_plan(connection: sqlite3.Connection, stage: Stage, first: int) -> list[PlanRow]:
    """Return one page of the current campaign's plan from a position on; none where it ends."""
    rows = connection.execute(
        "SELECT position, variant, call FROM plans WHERE campaign = (SELECT campaign FROM current) AND stage = ? "
        "AND position >= ? ORDER BY position LIMIT ?",
        (stage, first, _PAGE),
    )
    return [PlanRow(*row) for row in rows.fetchall()]


def read_missing(
    connection: sqlite3.Connection, stage: Stage, first: int, last: int, again: frozenset[str], since: int
) -> tuple[list[PlanRow], int]:
    """Return one page of the rows that are still to ask, and the position from which to go on, ``last`` at the end.

    A page looks at a bounded number of positions, beginning at the first that there is: where most rows are answered,
    it may be empty without being the last one.
    """
    begin = _one(
        connection,
        "SELECT position FROM plans WHERE campaign = (SELECT campaign FROM current) AND stage = ? "
        "AND position >= ? AND position < ? ORDER BY position LIMIT 1",
        *(stage, first, last),
    )
    if begin is None:
        return [], last
    end = min(last, begin[0] + _WINDOW)
    rows = connection.execute(
        "SELECT position, variant, call FROM plans WHERE campaign = (SELECT campaign FROM current) AND stage = ? "
        "AND position >= ? AND position < ? AND coalesce(("
        "SELECT number <= ? AND status IN (SELECT value FROM json_each(?)) "
        "FROM replies WHERE replies.call = plans.call ORDER BY number DESC LIMIT 1), 1) "
        "ORDER BY position LIMIT ?",
        (stage, begin[0], end, since, json.dumps(sorted(again)), _PAGE),
    ).fetchall()
    return [PlanRow(*row) for row in rows], rows[-1][0] + 1 if len(rows) == _PAGE else end


def count_missing(connection: sqlite3.Connection, stage: Stage, again: frozenset[str]) -> int:
    """Return how many distinct calls of the current campaign's plan have no reply, or one of these statuses."""
    row = _one(
        connection,
        "SELECT count(*) FROM (SELECT DISTINCT call FROM plans WHERE campaign = (SELECT campaign FROM current) "
        "AND stage = ?) AS planned WHERE coalesce((SELECT status IN (SELECT value FROM json_each(?)) "
        "FROM replies WHERE replies.call = planned.call ORDER BY number DESC LIMIT 1), 1)",
        stage,
        json.dumps(sorted(again)),
    )
    return 0 if row is None else int(row[0])


def read_calls(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the documents of those of some calls that are recorded."""
    query = "SELECT key, document FROM calls WHERE key IN (SELECT value FROM json_each(?))"
    return {key: json.loads(document) for key, document in connection.execute(query, (json.dumps(keys),)).fetchall()}


def read_latest(connection: sqlite3.Connection, key: str) -> tuple[int, ReplyStatus] | None:
    """Return the number and status of the latest reply to a call, or None where there is none."""
    row = _one(connection, "SELECT number, status FROM replies WHERE call = ? ORDER BY number DESC LIMIT 1", key)
    return None if row is None else (row[0], row[1])


def read_replies(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Recorded]:
    """Return the latest reply to each of some calls that has one."""
    rows = connection.execute(
        "SELECT call, status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, model_reported, "
        "finish, sent, error, cost, seconds, attempts, cost_at_most FROM replies WHERE number IN ("
        "SELECT max(number) FROM replies WHERE call IN (SELECT value FROM json_each(?)) GROUP BY call)",
        (json.dumps(keys),),
    )
    found: dict[str, Recorded] = {}
    for call, status, text, *numbers in rows.fetchall():
        reported, finish, sent, error, *measured = numbers[4:]
        reply = Reply(status, text, Tokens(*numbers[:4]), reported, finish, json.loads(sent), error)
        found[call] = Recorded(call, reply, *measured)
    return found


def read_attempts(connection: sqlite3.Connection, key: str) -> list[RecordedAttempt]:
    """Return the failed attempts at a call, in the order in which they happened."""
    rows = connection.execute(
        "SELECT call, attempt, recorded, seconds, reason, cost_at_most FROM attempts WHERE call = ? ORDER BY number",
        (key,),
    )
    return [RecordedAttempt(*row) for row in rows.fetchall()]


def read_variants(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, Variant]:
    """Return those of some variants, by their ids, that were made."""
    rows = connection.execute(
        "SELECT variant, task, method, persona, replicate, seed, text, made_by, status, note FROM variants "
        "WHERE variant IN (SELECT value FROM json_each(?))",
        (json.dumps(names),),
    )
    return {row[0]: Variant(*row) for row in rows.fetchall()}


def read_last_reply(connection: sqlite3.Connection) -> int:
    """Return the number of the last reply, 0 before the first."""
    row = _one(connection, "SELECT coalesce(max(number), 0) FROM replies")
    return 0 if row is None else int(row[0])


def read_last_attempt(connection: sqlite3.Connection) -> int:
    """Return the number of the last failed attempt, 0 before the first; they are numbered without gaps."""
    row = _one(connection, "SELECT coalesce(max(number), 0) FROM attempts")
    return 0 if row is None else int(row[0])


def read_state(connection: sqlite3.Connection) -> dict[str, int]:
    """Return what tells whether anything changed since that the tables are made from."""
    row = _one(
        connection,
        "SELECT campaign, (SELECT plans FROM sums), (SELECT coalesce(max(number), 0) FROM replies) FROM current",
    )
    return dict(zip(("campaign", "plan", "reply"), row or (0, 0, 0), strict=True))


def read_counts(connection: sqlite3.Connection) -> dict[tuple[str, str, str], int]:
    """Return how many calls have which latest status: ``{(stage, model, status): calls}``."""
    rows = connection.execute("SELECT stage, model, status, calls FROM tallies WHERE calls > 0 ORDER BY 1, 2, 3")
    return {(stage, model, status): calls for stage, model, status, calls in rows.fetchall()}


def read_spent(connection: sqlite3.Connection) -> Spent:
    """Return what all replies and failed attempts used."""
    row = _one(
        connection,
        "SELECT tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, at_most, unpriced FROM sums",
    )
    return Spent() if row is None else Spent(*row)


def _one(connection: sqlite3.Connection, query: str, *values: str | int) -> tuple[Any, ...] | None:
    # All rows are fetched, so that the statement ends here and the next one sees what was committed in between.
    rows: list[tuple[Any, ...]] = connection.execute(query, values).fetchall()
    return rows[0] if rows else None
