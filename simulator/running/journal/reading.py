"""What is read from a journal: short queries, each of which sees what was committed before it began."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from simulator.running.calls import Stage
from simulator.running.journal.entries import Planned, PlanRow, Recorded, RecordedAttempt, Spent
from simulator.running.journal.rows import (
    ATTEMPT,
    CALL,
    CAMPAIGN,
    LATEST,
    PLAN_ROW,
    PLANNED,
    REPLY,
    SUMS,
    TALLY,
    VARIANT,
    DamagedRowError,
    is_count,
    parse_call,
    parse_object,
    read_number,
    read_rows,
)
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
    "read_latest_campaign",
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
    latest = read_latest_campaign(connection)
    return None if latest is None else latest[1]


def read_name(connection: sqlite3.Connection) -> str | None:
    """Return the current campaign's name, or None before the first start."""
    latest = read_latest_campaign(connection)
    return None if latest is None else latest[2]


def read_latest_campaign(connection: sqlite3.Connection) -> tuple[int, str, str] | None:
    """Return the number, the text and the name of the current frozen campaign, or None before the first start."""
    rows = read_rows(connection, CAMPAIGN, "FROM campaigns ORDER BY number DESC LIMIT 1", hashed=True)
    return next(((number, text, name) for number, _, text, name in rows), None)


def read_planned(connection: sqlite3.Connection, stage: Stage) -> Planned | None:
    """Return a stage's plan in sum, or None where the current campaign has none yet, or one that is out of date."""
    query = (
        f"SELECT {PLANNED.names}, digest, done FROM planned WHERE campaign = (SELECT campaign FROM current) "  # noqa: S608 - our names
        "AND stage = ?"
    )
    for *row, digest, done in connection.execute(query, (stage,)).fetchall():
        held = dict(zip(PLANNED.kinds, row, strict=True))
        if not PLANNED.holds(row, digest) or not is_count(done) or done > held["calls"]:
            raise DamagedRowError(
                f"{PLANNED.name(row)} does not hash to its digest, or more of it is done than there is"
            )
        return None if held["void"] else Planned(held["fingerprint"], held["calls"], done)
    return None


def read_plan(connection: sqlite3.Connection, stage: Stage, first: int) -> list[PlanRow]:
    """Return one page of the current campaign's plan from a position on; none where it ends."""
    rows = read_rows(
        connection,
        PLAN_ROW,
        "FROM plans WHERE campaign = (SELECT campaign FROM current) AND stage = ? AND position >= ? "
        "ORDER BY position LIMIT ?",
        *(stage, first, _PAGE),
    )
    return [PlanRow(*row) for row in rows]


def read_missing(
    connection: sqlite3.Connection, stage: Stage, first: int, last: int, again: frozenset[str], since: int
) -> tuple[list[PlanRow], int]:
    """Return one page of the rows that are still to ask, and the position from which to go on, ``last`` at the end.

    A page looks at a bounded number of positions, beginning at the first that there is: where most rows are answered,
    it may be empty without being the last one.
    """
    there = (
        "FROM plans WHERE campaign = (SELECT campaign FROM current) AND stage = ? AND position >= ? AND position < ?"
    )
    begin = read_rows(connection, PLAN_ROW, f"{there} ORDER BY position LIMIT 1", *(stage, first, last))
    if not begin:
        return [], last
    end = min(last, begin[0][0] + _WINDOW)
    rows = read_rows(
        connection,
        PLAN_ROW,
        f"{there} AND coalesce(("  # noqa: S608 - ours
        "SELECT number <= ? AND status IN (SELECT value FROM json_each(?)) "
        "FROM replies WHERE replies.call = plans.call ORDER BY number DESC LIMIT 1), 1) "
        "ORDER BY position LIMIT ?",
        *(stage, begin[0][0], end, since, json.dumps(sorted(again)), _PAGE),
    )
    return [PlanRow(*row) for row in rows], rows[-1][0] + 1 if len(rows) == _PAGE else end


def count_missing(connection: sqlite3.Connection, stage: Stage, again: frozenset[str]) -> int:
    """Return how many distinct calls of the current campaign's plan have no reply, or one of these statuses."""
    return read_number(
        connection,
        "SELECT count(*) FROM (SELECT DISTINCT call FROM plans WHERE campaign = (SELECT campaign FROM current) "
        "AND stage = ?) AS planned WHERE coalesce((SELECT status IN (SELECT value FROM json_each(?)) "
        "FROM replies WHERE replies.call = planned.call ORDER BY number DESC LIMIT 1), 1)",
        *(stage, json.dumps(sorted(again))),
    )


def read_calls(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the documents of those of some calls that are recorded."""
    rows = read_rows(connection, CALL, "FROM calls WHERE key IN (SELECT value FROM json_each(?))", json.dumps(keys))
    return {key: parse_call(key, document) for key, document in rows}


def read_latest(connection: sqlite3.Connection, key: str) -> tuple[int, ReplyStatus] | None:
    """Return the number and status of the latest reply to a call, or None where there is none."""
    rows = read_rows(connection, LATEST, "FROM replies WHERE call = ? ORDER BY number DESC LIMIT 1", key)
    return next(((number, status) for number, status in rows), None)


def read_replies(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Recorded]:
    """Return the latest reply to each of some calls that has one."""
    rows = read_rows(
        connection,
        REPLY,
        "FROM replies WHERE number IN ("
        "SELECT max(number) FROM replies WHERE call IN (SELECT value FROM json_each(?)) GROUP BY call)",
        json.dumps(keys),
        hashed=True,
    )
    found: dict[str, Recorded] = {}
    for call, status, text, *rest in rows:
        tokens, (cost, at_most, seconds, attempts, error, finish, reported, sent, _) = rest[:4], rest[4:]
        parsed = parse_object(sent, f"what was sent with the call {call}")
        reply = Reply(status, text, Tokens(*tokens), reported, finish, parsed, error)
        found[call] = Recorded(call, reply, cost, seconds, attempts, at_most)
    _insist_on_calls(connection, found)
    return found


def _insist_on_calls(connection: sqlite3.Connection, keys: Collection[str]) -> None:
    there = connection.execute(
        "SELECT key FROM calls WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
    )
    for key in sorted({*keys} - {key for (key,) in there.fetchall()}):
        raise DamagedRowError(f"the call {key}, to which there is a reply, is not recorded")


def read_attempts(connection: sqlite3.Connection, key: str) -> list[RecordedAttempt]:
    """Return the failed attempts at a call, in the order in which they happened."""
    rows = read_rows(connection, ATTEMPT, "FROM attempts WHERE call = ? ORDER BY number", key, hashed=True)
    return [RecordedAttempt(*row) for row in rows]


def read_variants(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, Variant]:
    """Return those of some variants, by their ids, that were made."""
    there = "FROM variants WHERE variant IN (SELECT value FROM json_each(?))"
    return {row[0]: Variant(*row) for row in read_rows(connection, VARIANT, there, json.dumps(names), hashed=True)}


def read_last_reply(connection: sqlite3.Connection) -> int:
    """Return the number of the last reply, 0 before the first."""
    return read_number(connection, "SELECT coalesce(max(number), 0) FROM replies")


def read_last_attempt(connection: sqlite3.Connection) -> int:
    """Return the number of the last failed attempt, 0 before the first; they are numbered without gaps."""
    return read_number(connection, "SELECT coalesce(max(number), 0) FROM attempts")


def read_state(connection: sqlite3.Connection) -> dict[str, int]:
    """Return what tells whether anything changed since that the tables are made from."""
    query = (
        "SELECT campaign, (SELECT coalesce(max(number), 0) FROM planned), "
        "(SELECT coalesce(max(number), 0) FROM replies) FROM current"
    )
    names = ("campaign", "plan", "reply")
    rows = connection.execute(query).fetchall()
    if len(rows) != 1 or not all(map(is_count, rows[0])):
        raise DamagedRowError("the numbers of its last campaign, plan and reply are no numbers")
    return dict(zip(names, rows[0], strict=True))


def read_counts(connection: sqlite3.Connection) -> dict[tuple[str, str, str], int]:
    """Return how many calls have which latest status: ``{(stage, model, status): calls}``."""
    rows = read_rows(connection, TALLY, "FROM tallies ORDER BY 1, 2, 3")
    return {(stage, model, status): calls for stage, model, status, calls in rows}


def read_spent(connection: sqlite3.Connection) -> Spent:
    """Return what all replies and failed attempts used."""
    rows = read_rows(connection, SUMS, "FROM sums")
    if len(rows) != 1:
        raise DamagedRowError("the row of its sums is not there")
    return Spent(*rows[0])
