"""What the rows of a journal hold: values of which kinds, and whether they hash to the digest beside them.

A file can be damaged so that SQLite still reads it: a text is then a number, a word is none that was ever recorded, a
sum is infinite. Whatever is read of a journal goes through here, so that nobody further on has to reckon with that.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from simulator.running.calls import Stage, key_of
from simulator.running.journal.digests import hashes_to
from simulator.running.replies import REPLY_STATUSES
from simulator.running.variants import METHODS, VARIANT_STATUSES

__all__ = [
    "ATTEMPT",
    "CALL",
    "CAMPAIGN",
    "LATEST",
    "PLANNED",
    "PLAN_ROW",
    "REPLY",
    "SUMS",
    "TALLY",
    "VARIANT",
    "DamagedRowError",
    "Layout",
    "is_count",
    "parse_call",
    "parse_object",
    "read_number",
    "read_rows",
    "shown",
]

Kind = Callable[[object], bool]
_SHOWN = 80


class DamagedRowError(Exception):
    """A row is not what was recorded; the text says which one, and `journal_storage` adds where and the mend."""


def _is_text(value: object) -> bool:
    """Whether a value is a text."""
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int)


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 0."""
    return isinstance(value, int) and value >= 0


def _is_position(value: object) -> bool:
    """Whether a value is a whole number that can be counted on from."""
    return isinstance(value, int) and -(2**62) < value < 2**62


def _is_real(value: object) -> bool:
    """Whether a value is a finite real number."""
    return isinstance(value, float) and math.isfinite(value)


def _is_amount(value: object) -> bool:
    """Whether a value is a finite real number from 0."""
    return isinstance(value, float) and 0.0 <= value < math.inf


def _one_of(words: Collection[str]) -> Kind:
    return frozenset[object](words).__contains__


def _maybe(kind: Kind) -> Kind:
    return lambda value: value is None or kind(value)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a table are read, or hashed, in which order, and the kinds of values that they hold.

    Parameters
    ----------
    what
        One of its rows in words; its first column says which.
    kinds
        By the columns' names. Where rows have a digest, it is of these columns in this order, which never changes.
    """

    what: str
    kinds: dict[str, Kind]

    @property
    def names(self) -> str:
        """The columns' names, as SQL lists them."""
        return ", ".join(self.kinds)

    def fits(self, row: Sequence[object]) -> bool:
        """Whether each value is of its column's kind."""
        return all(kind(value) for kind, value in zip(self.kinds.values(), row, strict=True))

    def holds(self, row: Sequence[object], digest: object) -> bool:
        """Whether a row is what was recorded."""
        return self.fits(row) and hashes_to(digest, *row)

    def name(self, row: Sequence[object]) -> str:
        """Return in words which row it is."""
        return f"{self.what} {shown(row[0])}"


_text, _stage = _is_text, _one_of(get_args(Stage))

CAMPAIGN = Layout("the frozen campaign", {"number": _is_position, "begun": _text, "text": _text, "name": _text})
CALL = Layout("the call", {"key": _text, "document": _text})
REPLY = Layout(
    "the reply to the call",
    {
        "call": _text,
        "status": _one_of(REPLY_STATUSES),
        "text": _text,
        "tokens_input": _maybe(_is_whole),
        "tokens_cached": _maybe(_is_whole),
        "tokens_output": _maybe(_is_whole),
        "tokens_reasoning": _maybe(_is_whole),
        "cost": _maybe(_is_real),
        "cost_at_most": _maybe(_is_real),
        "seconds": _is_real,
        "attempts": _is_whole,
        "error": _maybe(_text),
        "finish": _text,
        "model_reported": _text,
        "sent": _text,
        "recorded": _text,
    },
)
LATEST = Layout("the reply", {"number": is_count, "status": REPLY.kinds["status"]})
ATTEMPT = Layout(
    "the failed attempt at the call",
    {
        "call": _text,
        "attempt": _is_whole,
        "recorded": _text,
        "seconds": _is_real,
        "reason": _text,
        "cost_at_most": _maybe(_is_real),
    },
)
VARIANT = Layout(
    "the variant",
    {
        "variant": _text,
        "task": _text,
        "method": _one_of(METHODS),
        "persona": _text,
        "replicate": _is_whole,
        "seed": _maybe(_is_whole),
        "text": _text,
        "made_by": _text,
        "status": _one_of(VARIANT_STATUSES),
        "note": _text,
    },
)
PLAN_ROW = Layout("the plan's row", {"position": _is_position, "variant": _text, "call": _text})
PLANNED = Layout(
    "the plan of stage",
    {
        "stage": _stage,
        "campaign": _is_whole,
        "number": _is_position,
        "fingerprint": _text,
        "calls": is_count,
        "void": _is_whole,
        "plan_digest": _text,
    },
)
TALLY = Layout(
    "the tally of stage", {"stage": _stage, "model": _text, "status": REPLY.kinds["status"], "calls": is_count}
)
SUMS = Layout(
    "the sums",
    {
        "tokens_input": is_count,
        "tokens_cached": is_count,
        "tokens_output": is_count,
        "tokens_reasoning": is_count,
        "cost": _is_amount,
        "at_most": _is_amount,
        "unpriced": is_count,
    },
)


def read_rows(
    connection: sqlite3.Connection, layout: Layout, rest: str, *values: str | int, hashed: bool = False
) -> list[tuple[Any, ...]]:
    """Return rows of a table, each of which is what was recorded as far as it can be told.

    Parameters
    ----------
    connection
        Of the journal.
    layout
        What is read.
    rest
        The query from its ``FROM`` on.
    values
        Of its parameters.
    hashed
        The table has a column ``digest``, which is checked.

    Raises
    ------
    DamagedRowError
        One of them is not.
    """
    # All rows are fetched, so that the statement ends here and the next one sees what was committed in between.
    names = f"{layout.names}, digest" if hashed else layout.names
    rows: list[tuple[Any, ...]] = connection.execute(f"SELECT {names} {rest}", values).fetchall()
    for row in rows:
        if not (layout.holds(row[:-1], row[-1]) if hashed else layout.fits(row)):
            why = "does not hash to its digest" if hashed else "has values that were never recorded"
            raise DamagedRowError(f"{layout.name(row)} {why}")
    return [row[:-1] for row in rows] if hashed else rows


def read_number(connection: sqlite3.Connection, query: str, *values: str | int) -> int:
    """Return the one whole number from 0 that a query gives.

    Raises
    ------
    DamagedRowError
        It gives something else.
    """
    rows = connection.execute(query, values).fetchall()
    if len(rows) != 1 or not is_count(rows[0][0]):
        raise DamagedRowError(f"where a number is, there is {', '.join(map(shown, rows)) or 'nothing'}")
    return int(rows[0][0])


def parse_call(key: str, document: str) -> dict[str, Any]:
    """Return a call from its document, which hashes to its key.

    Raises
    ------
    DamagedRowError
        It does not.
    """
    if key_of(document) != key:
        raise DamagedRowError(f"the call recorded under {shown(key)} does not hash to it")
    call: dict[str, Any] = json.loads(document)
    return call


def parse_object(text: str, what: str) -> dict[str, Any]:
    """Return what a text holds in JSON; one that was damaged before it had a digest may be anything.

    Raises
    ------
    DamagedRowError
        It is no JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedRowError(f"{what} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise DamagedRowError(f"{what} is no mapping: {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a value that may be anything, short enough for a sentence."""
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
