"""The schema of the journal, as the steps that lead to it."""

from __future__ import annotations

import sqlite3
from functools import cache

from simulator.running.journal.digests import PlanDigest, digest_row
from simulator.running.journal.rows import DamagedRowError

__all__ = ["MIGRATIONS", "add_functions", "migrate", "read_schema", "schema_of"]

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE campaigns(
        number INTEGER PRIMARY KEY,
        begun TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE TABLE calls(
        key TEXT PRIMARY KEY,
        document TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE replies(
        number INTEGER PRIMARY KEY,
        call TEXT NOT NULL REFERENCES calls(key),
        status TEXT NOT NULL,
        text TEXT NOT NULL,
        tokens_input INTEGER,
        tokens_cached INTEGER,
        tokens_output INTEGER,
        tokens_reasoning INTEGER,
        cost REAL,
        seconds REAL NOT NULL,
        attempts INTEGER NOT NULL,
        error TEXT,
        finish TEXT NOT NULL,
        model_reported TEXT NOT NULL,
        sent TEXT NOT NULL,
        recorded TEXT NOT NULL
    ) STRICT;
    CREATE INDEX replies_by_call ON replies(call, number, status);
    CREATE TABLE variants(
        variant TEXT PRIMARY KEY,
        task TEXT NOT NULL,
        method TEXT NOT NULL,
        persona TEXT NOT NULL,
        replicate INTEGER NOT NULL,
        seed INTEGER,
        text TEXT NOT NULL,
        made_by TEXT NOT NULL,
        status TEXT NOT NULL,
        note TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    """
    CREATE TABLE plans(
        campaign INTEGER NOT NULL REFERENCES campaigns(number),
        stage TEXT NOT NULL,
        position INTEGER NOT NULL,
        variant TEXT NOT NULL,
        call TEXT NOT NULL,
        PRIMARY KEY (campaign, stage, position)
    ) STRICT, WITHOUT ROWID;
    """,
    # Sums are taken as floats and cast, since an integer sum that overflows is an error. They are exact up to 2**53.
    """
    ALTER TABLE campaigns ADD COLUMN name TEXT NOT NULL DEFAULT '';
    CREATE VIEW current AS SELECT coalesce(max(number), 0) AS campaign FROM campaigns;
    ALTER TABLE replies ADD COLUMN cost_at_most REAL;
    ALTER TABLE replies ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    ALTER TABLE variants ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    UPDATE replies SET cost_at_most = cost, digest = digest_row(
        call, status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, cost, seconds,
        attempts, error, finish, model_reported, sent, recorded);
    UPDATE variants SET digest = digest_row(
        variant, task, method, persona, replicate, seed, text, made_by, status, note);
    CREATE TABLE attempts(
        number INTEGER PRIMARY KEY,
        call TEXT NOT NULL REFERENCES calls(key),
        attempt INTEGER NOT NULL,
        recorded TEXT NOT NULL,
        seconds REAL NOT NULL,
        reason TEXT NOT NULL,
        cost_at_most REAL
    ) STRICT;
    CREATE INDEX attempts_by_call ON attempts(call, number);
    CREATE TABLE tallies(
        stage TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        calls INTEGER NOT NULL,
        PRIMARY KEY (stage, model, status)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO tallies
        SELECT json_extract(document, '$.stage'), json_extract(document, '$.model'), status, count(*)
        FROM calls JOIN replies ON replies.call = calls.key
        WHERE number = (SELECT max(number) FROM replies AS later WHERE later.call = calls.key)
        GROUP BY 1, 2, 3;
    CREATE TABLE sums(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        tokens_input INTEGER NOT NULL,
        tokens_cached INTEGER NOT NULL,
        tokens_output INTEGER NOT NULL,
        tokens_reasoning INTEGER NOT NULL,
        cost REAL NOT NULL,
        at_most REAL NOT NULL,
        unpriced INTEGER NOT NULL,
        plans INTEGER NOT NULL
    ) STRICT;
    INSERT INTO sums
        SELECT 1, CAST(total(tokens_input) AS INTEGER), CAST(total(tokens_cached) AS INTEGER),
            CAST(total(tokens_output) AS INTEGER), CAST(total(tokens_reasoning) AS INTEGER),
            total(cost), total(cost_at_most), count(*) - count(cost_at_most), 0
        FROM replies;
    DELETE FROM plans WHERE campaign < (SELECT max(number) FROM campaigns);
    CREATE INDEX plans_by_call ON plans(campaign, stage, call);
    CREATE TABLE planned(
        campaign INTEGER NOT NULL REFERENCES campaigns(number),
        stage TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        calls INTEGER NOT NULL,
        done INTEGER NOT NULL,
        PRIMARY KEY (campaign, stage)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO planned
        SELECT campaign, stage, '', count(DISTINCT call), count(DISTINCT CASE
            WHEN EXISTS (SELECT 1 FROM replies WHERE replies.call = plans.call) THEN call END)
        FROM plans GROUP BY campaign, stage;
    """,
    # What had no digest gets one, of what is there now. A plan that is out of date is kept as void instead of being
    # forgotten, since its rows are still read; only the current campaign has plans. The number of a plan takes the
    # place of the count of plans, which nothing could be checked against. A tally of nothing is none.
    """
    ALTER TABLE campaigns ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    UPDATE campaigns SET digest = digest_row(number, begun, text, name);
    ALTER TABLE attempts ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    UPDATE attempts SET digest = digest_row(call, attempt, recorded, seconds, reason, cost_at_most);
    DELETE FROM tallies WHERE calls = 0;
    DELETE FROM plans WHERE campaign != (SELECT campaign FROM current);
    CREATE TABLE moved_plans AS
        SELECT stage, fingerprint, calls, done, 0 AS void FROM planned WHERE campaign = (SELECT campaign FROM current);
    INSERT INTO moved_plans
        SELECT stage, '', count(DISTINCT call), count(DISTINCT CASE
            WHEN EXISTS (SELECT 1 FROM replies WHERE replies.call = plans.call) THEN call END), 1
        FROM plans WHERE stage NOT IN (SELECT stage FROM moved_plans) GROUP BY stage;
    INSERT INTO moved_plans
        SELECT 'generate', '', 0, 0, 1 FROM sums WHERE plans > 0 AND NOT EXISTS (SELECT 1 FROM moved_plans);
    DROP TABLE planned;
    CREATE TABLE planned(
        stage TEXT PRIMARY KEY,
        campaign INTEGER NOT NULL REFERENCES campaigns(number),
        number INTEGER NOT NULL,
        fingerprint TEXT NOT NULL,
        calls INTEGER NOT NULL,
        done INTEGER NOT NULL,
        void INTEGER NOT NULL,
        plan_digest TEXT NOT NULL,
        digest TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO planned
        SELECT stage, (SELECT campaign FROM current), (SELECT plans FROM sums), fingerprint, calls, done, void,
            (SELECT coalesce(digest_plan(position, variant, call), printf('%064d', 0))
                FROM plans WHERE plans.stage = moved_plans.stage),
            ''
        FROM moved_plans;
    UPDATE planned SET digest = digest_row(stage, campaign, number, fingerprint, calls, void, plan_digest);
    DROP TABLE moved_plans;
    CREATE TABLE moved_sums AS SELECT * FROM sums;
    DROP TABLE sums;
    CREATE TABLE sums(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        tokens_input INTEGER NOT NULL,
        tokens_cached INTEGER NOT NULL,
        tokens_output INTEGER NOT NULL,
        tokens_reasoning INTEGER NOT NULL,
        cost REAL NOT NULL,
        at_most REAL NOT NULL,
        unpriced INTEGER NOT NULL
    ) STRICT;
    INSERT INTO sums
        SELECT one, tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, at_most, unpriced
        FROM moved_sums;
    DROP TABLE moved_sums;
    """,
)
"""Numbered from 1; ``PRAGMA user_version`` says how many a file has had. Never edited, only appended to."""


def add_functions(connection: sqlite3.Connection) -> None:
    """Let a connection make digests in SQL: ``digest_row`` of values, ``digest_plan`` of the rows of a plan."""
    connection.create_function("digest_row", -1, digest_row, deterministic=True)
    connection.create_aggregate("digest_plan", 3, PlanDigest)  # type: ignore[arg-type]  # typeshed: of one whole number


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file from ``version`` to the newest schema, in one transaction: it has the old one or the new one.

    Parameters
    ----------
    connection
        With the functions of `add_functions`.
    version
        Which the file has.

    Raises
    ------
    DamagedRowError
        A value is of a kind that was never recorded, so that a step cannot be taken.
    """
    if version == len(MIGRATIONS):
        return
    steps = "".join(MIGRATIONS[version:])
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version={len(MIGRATIONS)}; COMMIT;")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_STEP:
            raise
        raise DamagedRowError(
            f"schema {version} of it cannot be brought up to schema {len(MIGRATIONS)} ({error})"
        ) from error


_NO_STEP = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH})


@cache
def schema_of(version: int) -> dict[tuple[str, str], str]:
    """Return what a file with a version of the schema has: its tables, indexes and views, each as it was made.

    Returns
    -------
    dict
        By kind and name the SQL that made it, white space made one; empty for an index that belongs to a table.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        add_functions(connection)
        connection.executescript("".join(MIGRATIONS[:version]))
        return read_schema(connection)
    finally:
        connection.close()


def read_schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the schema of a file, in the form of `schema_of`."""
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    return {(str(kind), str(name)): " ".join(str(sql).split()) for kind, name, sql in rows}
