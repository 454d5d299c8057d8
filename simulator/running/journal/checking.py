"""Whether a journal is still what was written to it: everything hashed and counted again."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from math import isclose

from simulator.running.calls import key_of
from simulator.running.journal.migrations import digest_row
from simulator.running.journal.reading import read_counts, read_spent

__all__ = ["check_journal"]

_REPLY = (
    "call, status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, cost_at_most, seconds, "
    "attempts, error, finish, model_reported, sent, recorded"
)
_VARIANT = "variant, task, method, persona, replicate, seed, text, made_by, status, note"


def check_journal(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield in one sentence each what is wrong with a journal; nothing where all is well.

    Parameters
    ----------
    connection
        In a transaction, so that all of it is looked at as it was at one time. Rows are streamed: the memory does not
        grow with the journal.

    Yields
    ------
    str
        Pages that SQLite finds damaged; calls, replies and variants that do not hash to what was recorded with them;
        replies and failed attempts without their call; variants without the reply that they were made from; tallies
        that differ from what they count.
    """
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield line
    yield from _check_calls(connection)
    yield from _check_replies(connection)
    yield from _check_variants(connection)
    yield from _check_attempts(connection)
    yield from _check_plans(connection)


def _check_calls(connection: sqlite3.Connection) -> Iterator[str]:
    counts: Counter[tuple[str, str, str]] = Counter()
    unreadable = False
    for key, document, status in connection.execute(
        "SELECT key, document, (SELECT status FROM replies WHERE call = key ORDER BY number DESC LIMIT 1) FROM calls"
    ):
        if key_of(document) != key:
            yield f"the call recorded under {key} does not hash to it; its reply cannot be trusted."
        try:
            call = json.loads(document)
            if status is not None:
                counts[call["stage"], call["model"], status] += 1
        except (ValueError, KeyError, TypeError):
            unreadable = True  # told above
    recorded = read_counts(connection)
    for names in sorted({*counts, *recorded}, key=str) if not unreadable else ():
        if counts[names] != recorded.get(names, 0):
            yield (
                f"the tally says {recorded.get(names, 0):,} {' '.join(map(str, names))}, but {counts[names]:,} are "
                f"recorded."
            )


def _check_replies(connection: sqlite3.Connection) -> Iterator[str]:
    tokens, cost, at_most, unpriced = [0, 0, 0, 0], 0.0, 0.0, 0
    for number, digest, *row in connection.execute(f"SELECT number, digest, {_REPLY} FROM replies"):  # noqa: S608 - ours
        if digest_row(*row) != digest:
            yield f"reply {number}, to the call {row[0]}, is not what was recorded."
        tokens = [total + (count or 0) for total, count in zip(tokens, row[3:7], strict=True)]
        cost += row[7] or 0.0
        at_most += row[8] or 0.0
        unpriced += row[8] is None
    ((attempts, unpriced_attempts),) = connection.execute(
        "SELECT total(cost_at_most), count(*) - count(cost_at_most) FROM attempts"
    ).fetchall()
    found = (*(min(count, 2**63 - 1) for count in tokens), cost, at_most + attempts, unpriced + unpriced_attempts)
    spent = read_spent(connection)
    for name, told, counted in zip(spent._fields, spent, found, strict=True):
        if not isclose(told, counted, rel_tol=1e-9, abs_tol=1e-9):  # in another order of adding
            yield f"the sum of {name} is said to be {told:,}, but is {counted:,}."
    for number, call in connection.execute(
        "SELECT number, call FROM replies WHERE NOT EXISTS (SELECT 1 FROM calls WHERE key = replies.call)"
    ):
        yield f"reply {number} is to the call {call}, which is not recorded."


def _check_variants(connection: sqlite3.Connection) -> Iterator[str]:
    for digest, *row in connection.execute(f"SELECT digest, {_VARIANT} FROM variants"):  # noqa: S608 - ours
        if digest_row(*row) != digest:
            yield f"the variant {row[0]} is not what was recorded."
    for variant, call in connection.execute(
        "SELECT variant, made_by FROM variants WHERE made_by != '' "
        "AND NOT EXISTS (SELECT 1 FROM replies WHERE replies.call = variants.made_by)"
    ):
        yield f"the variant {variant} was made from a reply to the call {call}, which has none."


def _check_attempts(connection: sqlite3.Connection) -> Iterator[str]:
    for number, call in connection.execute(
        "SELECT number, call FROM attempts WHERE NOT EXISTS (SELECT 1 FROM calls WHERE key = attempts.call)"
    ):
        yield f"failed attempt {number} was at the call {call}, which is not recorded."


def _check_plans(connection: sqlite3.Connection) -> Iterator[str]:
    planned = connection.execute("SELECT campaign, stage, calls, done FROM planned ORDER BY 1, 2").fetchall()
    for campaign, stage, calls, done in planned:
        ((distinct, answered),) = connection.execute(
            "SELECT count(*), total(EXISTS (SELECT 1 FROM replies WHERE replies.call = planned.call)) "
            "FROM (SELECT DISTINCT call FROM plans WHERE campaign = ? AND stage = ?) AS planned",
            (campaign, stage),
        ).fetchall()
        if (calls, done) != (distinct, answered):
            yield (
                f"the plan of stage {stage} is said to have {calls:,} calls, {done:,} of them answered, but has "
                f"{distinct:,} and {int(answered):,}."
            )
