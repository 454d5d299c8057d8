"""Which line of one text stands beside which line of another, and which word beside which word.

Unchanged lines are found by what is rare (lines that occur once in each text: the patience diff of B. Cohen), since a
lone bracket or blank line would match anywhere. Where a stretch is small enough, lines are paired by dynamic
programming over how alike they are, so that a changed line stands beside what it was changed from. The work is bounded:
a stretch too large for that is divided at its equal lines, then evenly, and what is left over stays unpaired.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Match", "Score", "align"]

Score = Callable[[int, int], float]
"""What it is worth to pair an element of ``a`` with one of ``b``, by their positions; 0 or less: never."""

_DEEPEST = 64  # anchors within anchors; hostile texts could nest as many as they have lines


class Match(NamedTuple):
    """What was paired.

    Parameters
    ----------
    pairs
        Positions in ``a`` and ``b``, ascending in both.
    whole
        Whether every stretch was small enough to be compared in full.
    """

    pairs: list[tuple[int, int]]
    whole: bool


class _Span(NamedTuple):
    a: int
    a_end: int
    b: int
    b_end: int

    @property
    def cells(self) -> int:
        return (self.a_end - self.a) * (self.b_end - self.b)


@dataclass(slots=True)
class _Room:
    """How much may still be compared."""

    cells: int
    whole: bool = True

    def take(self, cells: int) -> bool:
        if cells > self.cells:
            self.whole = False
            return False
        self.cells -= cells
        return True


def align(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    score: Score,
    *,
    is_telling: Callable[[int], bool],
    small: int,
    large: int,
    room: int,
) -> Match:
    """Pair the elements of two sequences, in order, so that the pairs are worth most.

    Parameters
    ----------
    a, b
        Elements that are paired where they are equal; whatever `score` says of others.
    score
        Asked by positions.
    is_telling
        Whether the element of ``a`` at a position says enough to be an anchor by itself.
    small
        A stretch of at most so many cells (elements of ``a`` times elements of ``b``) is solved exactly, at once.
    large
        One of more cells is divided at equal elements until it has no more; if it still has, only what is about as
        far from the beginning in both is compared.
    room
        So many cells in all. Time is proportional to this, beside n log n.

    Examples
    --------
    >>> equal = lambda i, j: float("xaby"[i] == "xby"[j])
    >>> align("xaby", "xby", equal, is_telling=lambda i: True, small=100, large=100, room=100)
    Match(pairs=[(0, 0), (2, 1), (3, 2)], whole=True)
    """
    left = _Room(room)
    pairs: list[tuple[int, int]] = []
    late: list[_Span] = []
    todo = [(_Span(0, len(a), 0, len(b)), 0)]
    while todo:
        span, depth = todo.pop()
        span = _trim(a, b, span, pairs)
        if not span.cells:
            continue
        if span.cells <= small and left.take(span.cells):
            pairs += _solve(span, score)
            continue
        anchors = _unique_anchors(a, b, span, is_telling) if depth < _DEEPEST else []
        if not anchors and span.cells > large:
            anchors = _counted_anchors(a, b, span)
        if anchors:
            pairs += anchors
            todo += [(inner, depth + 1) for inner in _between(span, anchors)]
        else:
            late.append(span)
    # The smallest first, so that one huge stretch does not take the room of many small ones.
    for span in sorted(late, key=lambda span: (span.cells, span)):
        if span.cells > large:
            left.whole = False
        for part in _divide(span, small) if span.cells > large else [span]:
            if not left.take(part.cells):
                break
            pairs += _solve(part, score)
    return Match(sorted(pairs), left.whole)


def _trim(a: Sequence[Hashable], b: Sequence[Hashable], span: _Span, pairs: list[tuple[int, int]]) -> _Span:
    """Pair what is equal at both ends, and return what is between."""
    start, a_end, b_start, b_end = span
    while start < a_end and b_start < b_end and a[start] == b[b_start]:
        pairs.append((start, b_start))
        start += 1
        b_start += 1
    while start < a_end and b_start < b_end and a[a_end - 1] == b[b_end - 1]:
        a_end -= 1
        b_end -= 1
        pairs.append((a_end, b_end))
    return _Span(start, a_end, b_start, b_end)


def _unique_anchors(
    a: Sequence[Hashable], b: Sequence[Hashable], span: _Span, is_telling: Callable[[int], bool]
) -> list[tuple[int, int]]:
    """Return pairs of equal elements that occur once on each side of the span, as many as keep their order."""
    times_a = Counter(a[span.a : span.a_end])
    times_b = Counter(b[span.b : span.b_end])
    places = {b[j]: j for j in range(span.b, span.b_end) if times_b[b[j]] == 1}
    found = [
        (i, places[a[i]]) for i in range(span.a, span.a_end) if a[i] in places and times_a[a[i]] == 1 and is_telling(i)
    ]
    return _longest_increasing(found)


def _counted_anchors(a: Sequence[Hashable], b: Sequence[Hashable], span: _Span) -> list[tuple[int, int]]:
    """Pair the first occurrence with the first, the second with the second, as many as keep their order."""
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for j in range(span.b, span.b_end):
        places[b[j]].append(j)
    times: Counter[Hashable] = Counter()
    found = []
    for i in range(span.a, span.a_end):
        turn = times[a[i]]
        if turn < len(places.get(a[i], ())):
            found.append((i, places[a[i]][turn]))
        times[a[i]] += 1
    return _longest_increasing(found)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence whose second parts ascend; the first parts ascend already."""
    tails: list[int] = []  # of the best chain of each length, the last second part
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(j)
            ends.append(index)
        else:
            tails[length] = j
            ends[length] = index
    chain = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _between(span: _Span, anchors: list[tuple[int, int]]) -> Iterator[_Span]:
    a, b = span.a, span.b
    for i, j in [*anchors, (span.a_end, span.b_end)]:
        if i > a and j > b:
            yield _Span(a, i, b, j)
        a, b = i + 1, j + 1


def _divide(span: _Span, small: int) -> Iterator[_Span]:
    """Yield parts along the diagonal, so that a change that runs through a long text is found all the same."""
    high, wide = span.a_end - span.a, span.b_end - span.b
    parts = min(int((4 * span.cells / small) ** 0.5) + 1, high, wide)
    for part in range(parts):
        ends = (high * part // parts, high * (part + 1) // parts, wide * part // parts, wide * (part + 1) // parts)
        yield _Span(span.a + ends[0], span.a + ends[1], span.b + ends[2], span.b + ends[3])


def _solve(span: _Span, score: Score) -> list[tuple[int, int]]:
    """Return the pairs in a span that are worth most together (Needleman and Wunsch, with free gaps)."""
    wide = span.b_end - span.b
    steps = []
    best = [0.0] * (wide + 1)  # of the rows below, from each column on
    for i in range(span.a_end - 1, span.a - 1, -1):
        row = [0.0] * (wide + 1)
        step = bytearray(wide + 1)
        for column in range(wide - 1, -1, -1):
            # On a tie the pair, then the gap in `a` first: what was removed stands above what was added.
            value, move = best[column], 1
            if row[column + 1] > value:
                value, move = row[column + 1], 2
            worth = score(i, span.b + column)
            if worth > 0 and worth + best[column + 1] >= value:
                value, move = worth + best[column + 1], 3
            row[column], step[column] = value, move
        best = row
        steps.append(step)
    steps.reverse()
    pairs, down, column = [], 0, 0
    while down < len(steps) and column < wide:
        move = steps[down][column]
        if move == 3:
            pairs.append((span.a + down, span.b + column))
        down += move != 2
        column += move != 1
    return pairs
