"""The schema of the journal, as the steps that lead to it."""

from __future__ import annotations

__all__ = ["MIGRATIONS"]

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
)
"""Numbered from 1; ``PRAGMA user_version`` says how many a file has had. Never edited, only appended to."""
