"""Whether a journal is still what was written to it: everything hashed and counted again."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from math import isclose
from typing import Any

from simulator.running.calls import key_of
from simulator.running.journal.digests import PlanDigest
from simulator.running.journal.rows import (
    ATTEMPT,
    CALL,
    CAMPAIGN,
    PLANNED,
    REPLY,
    SUMS,
    TALLY,
    VARIANT,
    Layout,
    is_count,
    shown,
)

__all__ = ["check_journal"]


def check_journal(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield in one sentence each what is wrong with a journal; nothing where all is well.

    Parameters
    ----------
    connection
        In a transaction, so that all of it is looked at as it was at one time. Texts that are not Unicode are given
        with replacements, as nothing that hashes to its digest. Rows are streamed: the memory does not grow with the
        journal.

    Yields
    ------
    str
        Pages that SQLite finds damaged; campaigns, calls, replies, failed attempts, variants and plans that do not hash
        to what was recorded with them; replies and failed attempts without their call; variants without the reply that
        they were made from; tallies that differ from what they count.
    """
    for check in (
        _check_file,
        _check_campaigns,
        _check_calls,
        _check_replies,
        _check_attempts,
        _check_spent,
        _check_variants,
        _check_plans,
    ):
        try:
            yield from check(connection)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            yield f"it cannot be read to its end: {error}."  # what is in other pages is still looked at


def _check_file(connection: sqlite3.Connection) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"{line}."


def _check_campaigns(connection: sqlite3.Connection) -> Iterator[str]:
    for *row, digest in _rows(connection, CAMPAIGN, "FROM campaigns ORDER BY number"):
        if not CAMPAIGN.holds(row, digest):
            yield f"{CAMPAIGN.name(row)} is not what was recorded."


def _check_calls(connection: sqlite3.Connection) -> Iterator[str]:
    counts: Counter[tuple[Any, ...]] = Counter()
    unreadable = False
    for key, document, status in connection.execute(
        "SELECT key, document, (SELECT status FROM replies WHERE call = key ORDER BY number DESC LIMIT 1) FROM calls"
    ):
        if not CALL.fits((key, document)) or key_of(document) != key:
            unreadable = True
            yield f"the call recorded under {shown(key)} does not hash to it; its reply cannot be trusted."
        elif status is not None:
            call = json.loads(document)
            counts[call["stage"], call["model"], status] += 1
    recorded = {row[:-1]: row[-1] for row in connection.execute(f"SELECT {TALLY.names} FROM tallies")}  # noqa: S608 - ours
    for names in sorted({*counts, *recorded}, key=str):
        tally = recorded.get(names, 0)
        named = " ".join(map(shown, names))
        if names in recorded and not TALLY.fits((*names, tally)):
            yield f"the tally of {named} is not what was recorded: {shown(tally)}."
        elif not unreadable and (counts[names] != tally or not counts[names]):
            yield f"the tally says {tally:,} {named}, but {counts[names]:,} are recorded."


def _check_replies(connection: sqlite3.Connection) -> Iterator[str]:
    for number, row, digest in _numbered(connection, REPLY, "replies"):
        if not REPLY.holds(row, digest):
            yield f"reply {number}, to the call {shown(row[0])}, is not what was recorded."
    for number, call in connection.execute(
        "SELECT number, call FROM replies WHERE NOT EXISTS (SELECT 1 FROM calls WHERE key = replies.call)"
    ):
        yield f"reply {number} is to the call {shown(call)}, which is not recorded."


def _check_attempts(connection: sqlite3.Connection) -> Iterator[str]:
    for number, row, digest in _numbered(connection, ATTEMPT, "attempts"):
        if not ATTEMPT.holds(row, digest):
            yield f"failed attempt {number}, at the call {shown(row[0])}, is not what was recorded."
    for number, call in connection.execute(
        "SELECT number, call FROM attempts WHERE NOT EXISTS (SELECT 1 FROM calls WHERE key = attempts.call)"
    ):
        yield f"failed attempt {number} was at the call {shown(call)}, which is not recorded."


def _check_spent(connection: sqlite3.Connection) -> Iterator[str]:
    found = connection.execute(f"SELECT {SUMS.names} FROM sums").fetchall()  # noqa: S608 - our names
    if len(found) != 1 or not SUMS.fits(found[0]):
        yield f"the sums are not what was recorded: {'; '.join(', '.join(map(shown, row)) for row in found) or 'none'}."
        return
    counted = _count_spent(connection)
    for name, told, count in zip(SUMS.kinds, found[0], counted, strict=True):
        if not isclose(told, count, rel_tol=1e-9, abs_tol=1e-9):  # in another order of adding
            yield f"the sum of {name} is said to be {told:,}, but is {count:,}."


def _count_spent(connection: sqlite3.Connection) -> Iterable[float]:
    # Added here: an integer sum that overflows is an error in SQL. Values of other kinds were told of with their rows.
    tokens, cost, at_most, unpriced = [0, 0, 0, 0], 0.0, 0.0, 0
    for row in connection.execute(
        "SELECT tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, cost_at_most FROM replies "
        "UNION ALL SELECT 0, 0, 0, 0, 0.0, cost_at_most FROM attempts"
    ):
        values = [value if isinstance(value, int | float) else None for value in row]
        tokens = [total + int(count or 0) for total, count in zip(tokens, values[:4], strict=True)]
        cost += values[4] or 0.0
        at_most += values[5] or 0.0
        unpriced += values[5] is None
    return (*(min(count, 2**63 - 1) for count in tokens), cost, at_most, unpriced)


def _check_variants(connection: sqlite3.Connection) -> Iterator[str]:
    for *row, digest in _rows(connection, VARIANT, "FROM variants"):
        if not VARIANT.holds(row, digest):
            yield f"{VARIANT.name(row)} is not what was recorded."
    for variant, call in connection.execute(
        "SELECT variant, made_by FROM variants WHERE made_by != '' "
        "AND NOT EXISTS (SELECT 1 FROM replies WHERE replies.call = variants.made_by)"
    ):
        yield f"the variant {shown(variant)} was made from a reply to the call {shown(call)}, which has none."


def _check_plans(connection: sqlite3.Connection) -> Iterator[str]:
    digests = {}
    rows = connection.execute("SELECT campaign, stage, position, variant, call FROM plans ORDER BY 1, 2, 3")
    for plan, members in groupby(rows, key=lambda row: row[:2]):
        digest = PlanDigest()
        digest.add(member[2:] for member in members)
        digests[plan] = digest.finalize()
    planned = connection.execute(f"SELECT {PLANNED.names}, digest, done FROM planned").fetchall()  # noqa: S608 - ours
    for *row, digest, done in planned:
        stage, campaign, *_, plan_digest = row
        if not PLANNED.holds(row, digest) or not is_count(done):
            yield f"{PLANNED.name(row)}, in sum, is not what was recorded."
            digests.pop((campaign, stage), None)
            continue
        if digests.pop((campaign, stage), PlanDigest().finalize()) != plan_digest:
            yield f"{PLANNED.name(row)} has other rows than were recorded."
        yield from _count_planned(connection, campaign, stage, row[4], done)
    for campaign, stage in digests:
        yield f"there are rows of a plan of campaign {shown(campaign)}, stage {shown(stage)}, which was never made."


def _count_planned(connection: sqlite3.Connection, campaign: int, stage: str, calls: int, done: int) -> Iterator[str]:
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


def _rows(connection: sqlite3.Connection, layout: Layout, rest: str) -> Iterator[tuple[Any, ...]]:
    return connection.execute(f"SELECT {layout.names}, digest {rest}")


def _numbered(connection: sqlite3.Connection, layout: Layout, table: str) -> Iterator[tuple[int, list[Any], Any]]:
    for number, *row, digest in connection.execute(f"SELECT number, {layout.names}, digest FROM {table}"):  # noqa: S608 - ours
        yield number, row, digest
