"""The largest saving of a mapping between two trees, for many pairs of trees. Imports numba.

Zhang and Shasha's algorithm, with what makes it fast and leaves it exact: each pair of distinct subtrees is computed
once; equal roots are taken off first, so that a pair whose parts are known is one comparison of two forests; of a
forest only the row in work is kept, and one for each key root that is open; a row becomes the running maximum of its
cells only where another one reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.code.compiling import compiled, inlined
from analysis.code.decomposition import NONE, arrange, chain, clear, count_open, list_keys, number_lines, strip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.uint32]
    Savings = NDArray[np.int32] | NDArray[np.int64]
    Saving = np.int32 | np.int64

__all__ = ["save_pairs"]

_U = np.uint64


@inlined
def _climb(row: Savings, start: np.uint64, end: np.uint64, best: Saving) -> Saving:
    """Make each of a row's cells the largest of it, of all before it, and of `best`; four cells a step of the chain."""
    at = start
    while at + _U(4) <= end:
        a, b, c, d = row[at], row[at + _U(1)], row[at + _U(2)], row[at + _U(3)]
        ab, cd = max(a, b), max(c, d)
        abc, abcd = max(ab, c), max(ab, cd)
        row[at] = max(best, a)
        row[at + _U(1)] = max(best, ab)
        row[at + _U(2)] = max(best, abc)
        best = max(best, abcd)
        row[at + _U(3)] = best
        at += _U(4)
    while at < end:
        best = max(best, row[at])
        row[at] = best
        at += _U(1)
    return best


@inlined
def _map_path(
    known: np.uint64,
    a_class: np.uint64,
    b_start: np.uint64,
    b_order: Indices,
    head: Indices,
    before: Indices,
    labels: Indices,
    equal: int,
    renamed: int,
    trees: Savings,
    memo: Savings,
    row: Savings,
    corner: Savings,
    path: Indices,
    steps: np.uint64,
    width: np.uint64,
) -> None:
    """Go along the row of a node on the path to its key root: where b is on its path too, two whole subtrees meet."""
    kind = memo.dtype.type
    best, begin = kind(0), _U(1)
    for step in range(steps):
        place = b_start + _U(path[step])
        end = _U(path[step]) + _U(1)
        best = _climb(row, begin, end, best)
        begin = end + _U(1)
        b_class = _U(b_order[place])
        saving = equal if labels[a_class] == labels[b_class] else renamed
        best = max(best, row[end], kind(corner[step] + saving))
        row[end] = best
        if trees[known, place] < 0:
            if len(memo):
                memo[a_class, b_class] = best
                memo[b_class, a_class] = best
            alike = head[b_class]
            while alike != NONE:
                trees[known, _U(alike)] = best
                alike = before[_U(alike)]
    _climb(row, begin, width + _U(1), best)


@compiled
def _lay_columns(first: Indices, start: np.uint64, width: np.uint64, jump: Indices, path: Indices) -> np.uint64:
    """Write the jump of each column of a key root, and which columns are on its path; return how many those are."""
    steps = _U(0)
    for column in range(width):
        jump[column] = _U(first[start + column]) - start
        if jump[column] == 0:
            path[steps] = column
            steps += _U(1)
    return steps


@compiled
def _fill(
    a_start: np.uint64,
    a_end: np.uint64,
    a_order: Indices,
    a_first: Indices,
    a_last: Indices,
    line: Indices,
    b_start: np.uint64,
    width: np.uint64,
    b_order: Indices,
    head: Indices,
    before: Indices,
    labels: Indices,
    equal: int,
    renamed: int,
    trees: Savings,
    memo: Savings,
    opened: Savings,
    row: Savings,
    corner: Savings,
    jump: Indices,
    path: Indices,
    steps: np.uint64,
) -> None:
    """Go through the forest of a from a_start to a_end; ``row`` is then what it saves with each beginning of that of b.

    The columns of ``row`` are the forest of b; its values follow that of a. A node that is on no path to a key root
    adds to what its subtree saves what stands before the two subtrees: for b that is the cell ``jump`` (cell 0 is for
    nothing); for a the row that was kept, with its columns jumped, when the subtree began, on top of ``opened``.
    Between two reads of ``row`` nodes of a only raise cells; then the row climbs.

    Arrays are indexed with all their axes: a view of one costs an atomic count of its references.
    """
    kind = memo.dtype.type
    one = _U(1)
    row[: width + one] = 0
    top = _U(0)
    for i in range(a_start, a_end):
        a_class = _U(a_order[i])
        known = _U(line[a_class])
        start = _U(a_first[i])
        if start == a_start:
            for step in range(steps):
                corner[step] = row[_U(path[step])]
            for y in range(width):
                row[y + one] = max(row[y + one], trees[known, b_start + y])
            _map_path(
                known,
                a_class,
                b_start,
                b_order,
                head,
                before,
                labels,
                equal,
                renamed,
                trees,
                memo,
                row,
                corner,
                path,
                steps,
                width,
            )
            continue
        if start == i:
            for y in range(width):
                opened[top, y] = row[_U(jump[y])]
            top += one
        kept = top - one
        for y in range(width):
            row[y + one] = max(row[y + one], kind(opened[kept, y] + trees[known, b_start + y]))
        if _U(a_last[start]) == i:
            top -= one
        after = _U(a_first[i + one])
        if after == i + one or after == a_start:
            _climb(row, one, width + one, kind(0))


@compiled
def _compare(
    a_count: np.uint64,
    a_order: Indices,
    a_first: Indices,
    a_last: Indices,
    a_keys: Indices,
    line: Indices,
    b_count: np.uint64,
    b_order: Indices,
    b_first: Indices,
    b_keys: Indices,
    head: Indices,
    before: Indices,
    labels: Indices,
    equal: int,
    renamed: int,
    trees: Savings,
    memo: Savings,
    opened: Savings,
    row: Savings,
    corner: Savings,
    jump: Indices,
    path: Indices,
) -> np.int64:
    """Return the largest saving between two forests.

    ``trees`` has a line for each class of a and a column for each node of b: the saving between the two subtrees; -1 is
    unknown. A key root whose subtree is known brings its whole path with it, for one was computed with the other.
    """
    zero, one = _U(0), _U(1)
    for b_at in b_keys:
        b_key = _U(b_at)
        b_start = _U(b_first[b_key])
        width = b_key - b_start + one
        steps = _lay_columns(b_first, b_start, width, jump, path)
        for a_at in a_keys:
            a_key = _U(a_at)
            if trees[_U(line[_U(a_order[a_key])]), b_key] < 0:
                _fill(
                    _U(a_first[a_key]),
                    a_key + one,
                    a_order,
                    a_first,
                    a_last,
                    line,
                    b_start,
                    width,
                    b_order,
                    head,
                    before,
                    labels,
                    equal,
                    renamed,
                    trees,
                    memo,
                    opened,
                    row,
                    corner,
                    jump,
                    path,
                    steps,
                )
    if a_first[a_count - one] == 0 and b_first[b_count - one] == 0:  # a tree each
        return np.int64(trees[_U(line[_U(a_order[a_count - one])]), b_count - one])
    steps = _lay_columns(b_first, zero, b_count, jump, path)
    _fill(
        zero,
        a_count,
        a_order,
        a_first,
        a_last,
        line,
        zero,
        b_count,
        b_order,
        head,
        before,
        labels,
        equal,
        renamed,
        trees,
        memo,
        opened,
        row,
        corner,
        jump,
        path,
        steps,
    )
    return np.int64(row[b_count])


@compiled
def _recall(order: Indices, columns: Indices, memo: Savings, line: Indices, trees: Savings) -> None:
    """Write what is known of each class of ``order`` in its line, and -1 for the rest."""
    filled = 0
    for at in range(len(order)):
        number = _U(order[at])
        if line[number] != filled:
            continue
        if len(memo):
            for column in range(len(columns)):
                trees[filled, column] = memo[number, _U(columns[column])]
        else:
            trees[filled, : len(columns)] = -1
        filled += 1


@compiled
def save_pairs(
    classes: Indices,
    sizes: Indices,
    depths: Indices,
    starts: Indices,
    labels: Indices,
    pairs: Indices,
    left: bool,
    equal: int,
    renamed: int,
    memo: Savings,
) -> NDArray[np.int64]:
    """Return the largest saving of a mapping between the trees of each pair.

    Parameters
    ----------
    sizes, depths, starts
        As for `number_subtrees`.
    classes, labels
        From there.
    pairs
        Shape (pairs, 2): the positions of trees.
    left
        Whether to decompose by leftmost paths rather than by rightmost ones.
    equal, renamed
        What mapping two nodes of equal, and of different labels saves.
    memo
        Shape (classes, classes), or (0, 0) for none: the savings between subtrees known so far, -1 where unknown. It
        must come from calls with the same ``left``. Its kind is the one that is calculated in.

    Returns
    -------
    array
        Shape (pairs,), int64.
    """
    found = np.empty(len(pairs), np.int64)
    most = np.int64(np.diff(starts).max()) + 1
    a_nodes, b_nodes = np.empty((4, most), np.uint32), np.empty((4, most), np.uint32)
    a_order, a_first, a_last, a_keys = a_nodes[0], a_nodes[1], a_nodes[2], a_nodes[3]
    b_order, b_first, b_last, b_keys = b_nodes[0], b_nodes[1], b_nodes[2], b_nodes[3]
    work = np.empty((3, most), np.uint32)
    rows = np.empty((2, most), memo.dtype)
    line = np.full(len(labels), NONE, np.uint32)  # of each class of a: its line of `trees`
    head = np.full(len(labels), NONE, np.uint32)  # of each class of b: its last node; `before` leads to the others
    trees, opened = np.empty((0, 0), memo.dtype), np.empty((0, 0), memo.dtype)
    for pair in range(len(pairs)):
        a, b = _U(starts[_U(pairs[pair, 0])]), _U(starts[_U(pairs[pair, 1])])
        if classes[a] == classes[b]:
            found[pair] = equal * np.int64(sizes[a])
            continue
        a_low, a_high, b_low, b_high, mapped = strip(classes, sizes, labels, a, b, a_keys, b_keys)
        found[pair] = equal * np.int64(mapped)
        if a_low == a_high or b_low == b_high:
            continue
        a_count = arrange(classes, sizes, depths, left, a_low, a_high, a_order, a_first, a_last)
        b_count = arrange(classes, sizes, depths, left, b_low, b_high, b_order, b_first, b_last)
        a_found = list_keys(a_order, a_first, a_last, a_count, line, a_keys)
        b_found = list_keys(b_order, b_first, b_last, b_count, head, b_keys)
        chain(b_order[:b_count], head, work[0])
        lines = number_lines(a_order[:a_count], line)
        if len(trees) < lines or trees.shape[1] < b_count:
            trees = np.empty((lines, b_count), memo.dtype)
        depth = count_open(a_first, a_last, a_count)
        if len(opened) < depth or opened.shape[1] < b_count:
            opened = np.empty((depth, b_count), memo.dtype)
        _recall(a_order[:a_count], b_order[:b_count], memo, line, trees)
        found[pair] += _compare(
            a_count,
            a_order,
            a_first,
            a_last,
            a_keys[:a_found],
            line,
            b_count,
            b_order,
            b_first,
            b_keys[:b_found],
            head,
            work[0],
            labels,
            equal,
            renamed,
            trees,
            memo,
            opened,
            rows[0],
            rows[1],
            work[1],
            work[2],
        )
        clear(a_order[:a_count], line)
        clear(b_order[:b_count], head)
    return found
