"""The schema of the journal, as the steps that lead to it."""

from __future__ import annotations

import hashlib
import sqlite3

from simulator.running.calls import canonical_json

__all__ = ["MIGRATIONS", "digest_row", "migrate"]

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
)
"""Numbered from 1; ``PRAGMA user_version`` says how many a file has had. Never edited, only appended to."""


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file from ``version`` to the newest schema, in one transaction: it has the old one or the new one."""
    if version == len(MIGRATIONS):
        return
    connection.create_function("digest_row", -1, digest_row, deterministic=True)
    steps = "".join(MIGRATIONS[version:])
    connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version={len(MIGRATIONS)}; COMMIT;")


def digest_row(*values: str | float | None) -> str:
    """Return 32 hexadecimal digits of the SHA-256 of a row's values as canonical JSON, to be checked at any time.

    The values are hashed as SQLite gives them back: a real is a float, and never a negative zero.

    >>> digest_row("a", 1, None)
    '0ae764bffd3a17b6454c8d9ebf712311'
    """
    return hashlib.sha256(canonical_json(values).encode()).hexdigest()[:32]
