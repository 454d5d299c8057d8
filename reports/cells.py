"""Cells of tables as they are read and written: missing values, numbers in words, names that tell speakers apart."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reports.visible import one_line

__all__ = [
    "HUMAN",
    "Name",
    "count_of",
    "decimal",
    "join_words",
    "name_speakers",
    "plural",
    "probability",
    "rows",
    "signed",
    "value",
    "whole",
]

Row = dict[str, Any]

DASH = "–"

HUMAN = " (human)"
"""Behind the name of a real person, in every figure, table and sentence."""


def rows(tables: Mapping[str, pl.DataFrame], name: str) -> list[Row]:
    """Return a table's rows, or none where there is no such table."""
    frame = tables.get(name)
    return [] if frame is None else frame.to_dicts()


def value(cell: object) -> float | None:
    """Return a number, or None for a missing cell, NaN or an infinity."""
    if isinstance(cell, int | float) and math.isfinite(cell):
        return float(cell)
    return None


def whole(cell: object) -> int:
    """Return a count; 0 for a missing one."""
    found = value(cell)
    return 0 if found is None else round(found)


def count_of(cell: object) -> str:
    """Return a count with its thousands apart.

    >>> count_of(12345), count_of(None)
    ('12,345', '–')
    """
    found = value(cell)
    return DASH if found is None else f"{found:,.0f}"


def decimal(cell: object, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals and a true minus.

    >>> decimal(-0.004), decimal(1234.5, 1), decimal(float("nan"))
    ('0.00', '1,234.5', '–')
    """
    found = value(cell)
    if found is None:
        return DASH
    text = f"{found:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")


def signed(cell: object, digits: int = 1) -> str:
    """Return a number with its sign, as a z is written.

    >>> signed(2.31), signed(-0.5), signed(0.0)
    ('+2.3', '−0.5', '0.0')
    """
    text = decimal(cell, digits)
    found = value(cell)
    return f"+{text}" if found is not None and found > 0 and text.strip("0.") else text


def probability(cell: object) -> str:
    """Return a p or q with three decimals, or as less than a thousandth.

    >>> probability(0.0421), probability(0.0002), probability(1.0)
    ('.042', '<.001', '1.000')
    """
    found = value(cell)
    if found is None:
        return DASH
    if found < 0.0005:
        return "<.001"
    text = f"{found:.3f}"
    return text[1:] if text.startswith("0") else text


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> plural(1, "reply", "replies"), plural(0, "text")
    ('1 reply', '0 texts')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def join_words(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


class Name(NamedTuple):
    """How a speaker is shown.

    ``short`` is a label for pictures and column heads, different for different speakers; ``role`` may be empty;
    ``full`` is everything, on one line; ``human`` says that it is a real person among personas.
    """

    short: str
    role: str
    full: str
    human: bool = False


def name_speakers(
    speakers: Iterable[str],
    shown: Mapping[str, tuple[str, str]],
    *,
    humans: Collection[str] = (),
    limit: int = 32,
) -> dict[str, Name]:
    """Return the names of speakers, in their order.

    Parameters
    ----------
    speakers
        Ids, distinct.
    shown
        Id to name and role, either of which may be empty; a speaker without a name is shown by the id.
    humans
        Ids of real people who stand beside personas: wherever their name is, it says so.
    limit
        Characters of a short name. Where two short names would be equal, a number tells them apart.

    Examples
    --------
    >>> name_speakers(["a", "b"], {"a": ("Ada", "a nurse")})["a"]
    Name(short='Ada', role='a nurse', full='Ada, a nurse', human=False)
    """
    names: dict[str, Name] = {}
    taken: set[str] = set()
    for speaker in speakers:
        name, role = shown.get(speaker, ("", ""))
        # A name of nothing but white space names nobody.
        head = one_line(name, 400) or one_line(speaker, 400) or "(no name)"
        tail = one_line(role, 400)
        human = speaker in humans
        kind = HUMAN if human and not head.endswith(HUMAN) else ""
        full = f"{head}{kind}, {tail}" if tail else f"{head}{kind}"
        short = one_line(head, limit - len(kind)) + kind
        turn = 2
        while short in taken:
            mark = f"{kind} ({turn})"
            short = one_line(head, limit - len(mark)) + mark
            turn += 1
        taken.add(short)
        if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in short):
            # A mark on either side, without width, keeps the numbers of the sentence around it in their order.
            short = f"\u200e{short}\u200e"
        names[speaker] = Name(short, tail, full, human)
    return names
