"""Two texts side by side: rows of lines that belong together, with the words in them that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reports.compare.alignment import align
from reports.compare.lines import Line, Marker, Part, likeness

__all__ = ["LONGEST_SHOWN", "Diff", "Fold", "Row", "RowKind", "diff_texts", "fold_rows"]

LONGEST_SHOWN = 300_000
"""Characters of a text that are set side by side where people look at it: some 8,000 lines."""

RowKind = Literal["same", "changed", "removed", "added"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

_SMALL, _LARGE, _ROOM = 10_000, 90_000, 300_000  # cells of lines: 300 by 300 lines that have nothing in common


@dataclass(frozen=True, slots=True)
class Row:
    """A line of each text, or of one of them.

    Parameters
    ----------
    kind
        ``same``: equal but for how the lines end; ``changed``: two versions of one line; ``removed``: only in ``a``;
        ``added``: only in ``b``.
    a, b
        Line numbers, from 1; None where that side has no line.
    a_parts, b_parts
        The lines without their ends; joined they are the lines exactly.
    a_end, b_end
        How each line ends: a newline, a carriage return with it, or nothing.
    moved
        For ``removed`` and ``added``: the number under which the same line stands in the other text, if it was moved.
    """

    kind: RowKind
    a: int | None
    b: int | None
    a_parts: tuple[Part, ...] = ()
    b_parts: tuple[Part, ...] = ()
    a_end: str = ""
    b_end: str = ""
    moved: int | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """A stretch of unchanged rows that is shown as their number."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """Two texts side by side.

    Parameters
    ----------
    rows
        In the order of both texts.
    notes
        What the rows do not show, a sentence each: how the lines end, and whether the texts were too long for every
        changed line to be looked for.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def total(self, kind: RowKind) -> int:
        """Return how many rows are of a kind."""
        return sum(row.kind == kind for row in self.rows)


def diff_texts(a: str, b: str, *, limit: int | None = None) -> Diff:
    r"""Put two texts side by side, line by line.

    Lines end at newlines only. Lines that are alike by their words stand beside one another, in an
    order that both texts keep, and their differing words are marked. A line that was moved is removed in one place and
    added in another, and each says where the other is.

    Parameters
    ----------
    a, b
        Any text at all.
    limit
        Characters of each that are looked at; all unless given. What was cut is said in a note.

    Returns
    -------
    Diff
        The parts and ends of its rows give back both texts exactly. Time grows as n log n, beside a bounded number of
        lines that are compared with one another; where that bound is met, a note says so.

    Examples
    --------
    >>> [(row.kind, row.a, row.b) for row in diff_texts("x = 1\nprint(x)\n", "x = 2\nprint(x)\nx\n").rows]
    [('changed', 1, 1), ('same', 2, 2), ('added', None, 3)]
    """
    cut = limit is not None and max(len(a), len(b)) > limit
    a_lines, b_lines = ([Line(raw) for raw in _LINE.findall(text[:limit])] for text in (a, b))
    a_keys, b_keys = ([line.text for line in lines] for lines in (a_lines, b_lines))

    def score(i: int, j: int) -> float:
        one, two = a_lines[i], b_lines[j]
        if one.text == two.text:
            return 2.0 * one.weight
        return likeness(one.words, two.words) ** 2 * min(one.weight, two.weight)

    found = align(
        a_keys,
        b_keys,
        score,
        is_telling=lambda i: a_lines[i].weight > 0.5,
        small=_SMALL,
        large=_LARGE,
        room=_ROOM,
    )
    moved = _find_moved(a_lines, b_lines, found.pairs)
    marker = Marker()
    rows = tuple(_make_rows(a_lines, b_lines, found.pairs, moved, marker))
    notes = [] if cut else list(_tell_ends(a_lines, b_lines))
    if cut:
        notes.append(
            f"Only the first {limit:,} characters of each are set side by side; they have {len(a):,} and {len(b):,}."
        )
    if not found.whole:
        notes.append(
            "The texts are too long and too different for every line to be compared with every other: some changed "
            "lines are shown as removed and added."
        )
    if marker.left < 0:
        notes.append("There are too many changed lines to mark the words in all of them.")
    return Diff(rows, tuple(notes))


def _find_moved(
    a: Sequence[Line], b: Sequence[Line], pairs: Sequence[tuple[int, int]]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return, for unpaired lines that stand once, unpaired, in the other text as well, where that is."""
    taken_a, taken_b = {i for i, _ in pairs}, {j for _, j in pairs}
    left_a = [i for i in range(len(a)) if i not in taken_a]
    left_b = [j for j in range(len(b)) if j not in taken_b]
    times_a, times_b = Counter(a[i].text for i in left_a), Counter(b[j].text for j in left_b)
    places = {b[j].text: j for j in left_b if times_b[b[j].text] == 1 and b[j].weight > 0.5}
    there = {i: places[a[i].text] for i in left_a if times_a[a[i].text] == 1 and a[i].text in places}
    return there, {j: i for i, j in there.items()}


def _make_rows(
    a: Sequence[Line],
    b: Sequence[Line],
    pairs: Sequence[tuple[int, int]],
    moved: tuple[dict[int, int], dict[int, int]],
    marker: Marker,
) -> Iterator[Row]:
    i = j = 0
    for to_i, to_j in [*pairs, (len(a), len(b))]:
        for at in range(i, to_i):
            there = moved[0].get(at)
            where = None if there is None else there + 1
            yield Row("removed", at + 1, None, _plain(a[at].text), a_end=a[at].end, moved=where)
        for at in range(j, to_j):
            there = moved[1].get(at)
            where = None if there is None else there + 1
            yield Row("added", None, at + 1, b_parts=_plain(b[at].text), b_end=b[at].end, moved=where)
        if to_i < len(a) and to_j < len(b):
            one, two = a[to_i], b[to_j]
            same = one.text == two.text
            sides = (_plain(one.text), _plain(two.text)) if same else marker.mark(one.text, two.text)
            yield Row("same" if same else "changed", to_i + 1, to_j + 1, *sides, one.end, two.end)
        i, j = to_i + 1, to_j + 1


def _plain(text: str) -> tuple[Part, ...]:
    return (Part(text, False),) if text else ()


def _tell_ends(a: Sequence[Line], b: Sequence[Line]) -> Iterator[str]:
    names = {"\n": "LF", "\r\n": "CRLF"}
    ends = [{names[line.end] for line in lines if line.end} for lines in (a, b)]
    if all(ends) and ends[0] != ends[1]:
        one, two = (" and ".join(sorted(kinds)) for kinds in ends)
        yield f"The lines of a end in {one}, those of b in {two}."
    if a and b and bool(a[-1].end) != bool(b[-1].end):
        yield f"The last line of {'a' if b[-1].end else 'b'} does not end in a newline, that of the other does."


def fold_rows(rows: Sequence[Row], *, context: int = 3, least: int = 4) -> list[Row | Fold]:
    r"""Fold stretches of unchanged rows, but for a few beside each change.

    Parameters
    ----------
    context
        Unchanged rows that are kept before and after a change.
    least
        A stretch of fewer rows is not folded.

    Examples
    --------
    >>> text = "".join(f"{n}\n" for n in range(20))
    >>> [len(one.rows) if isinstance(one, Fold) else one.kind for one in fold_rows(diff_texts(text, text + "x").rows)]
    [17, 'same', 'same', 'same', 'added']
    """
    near = set[int]()
    for index, row in enumerate(rows):
        if row.kind != "same":
            near.update(range(index - context, index + context + 1))
    shown: list[Row | Fold] = []
    stretch: list[Row] = []
    for index, row in enumerate(rows):
        if index not in near:
            stretch.append(row)
            continue
        shown += [*_fold(stretch, least), row]
        stretch = []
    return [*shown, *_fold(stretch, least)]


def _fold(stretch: Sequence[Row], least: int) -> Sequence[Row | Fold]:
    return [Fold(tuple(stretch))] if len(stretch) >= least else stretch
