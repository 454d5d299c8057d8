"""How a pair of trees is laid out for the kernel: what can be left out, postorder, key roots. Imports numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.code.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.uint32]

__all__ = ["NONE", "arrange", "chain", "clear", "count_open", "list_keys", "number_lines", "strip"]

NONE = np.uint32(2**32 - 1)

_U = np.uint64


@compiled
def _find_children(sizes: Indices, root: np.uint64, found: Indices) -> np.uint64:
    count = _U(0)
    at, end = root + _U(1), root + _U(sizes[root])
    while at < end:
        found[count] = at
        count += _U(1)
        at += _U(sizes[at])
    return count


@compiled
def strip(
    classes: Indices, sizes: Indices, labels: Indices, a: np.uint64, b: np.uint64, a_kids: Indices, b_kids: Indices
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """Leave out what some best mapping maps to its like: equal roots, and below them the equal first and last children.

    A mapping cannot cross: if nodes of the first child of one root go beyond the first child of the other, then nothing
    from beyond goes into that one. So mapping equal first children to each other loses nothing; nor do last ones.

    Returns
    -------
    a_low, a_high, b_low, b_high, mapped
        The ranges of nodes that stay, a forest each, and how many nodes of either are mapped.
    """
    mapped = _U(0)
    while True:
        a_low, a_high = a, a + _U(sizes[a])
        b_low, b_high = b, b + _U(sizes[b])
        if labels[classes[a]] != labels[classes[b]]:
            break
        mapped += _U(1)
        a_count = _find_children(sizes, a, a_kids)
        b_count = _find_children(sizes, b, b_kids)
        a_low += _U(1)
        b_low += _U(1)
        first = _U(0)
        while first < a_count and first < b_count and classes[a_kids[first]] == classes[b_kids[first]]:
            size = _U(sizes[a_low])
            a_low, b_low, mapped = a_low + size, b_low + size, mapped + size
            first += _U(1)
        while (
            a_count > first and b_count > first and classes[a_kids[a_count - _U(1)]] == classes[b_kids[b_count - _U(1)]]
        ):
            a_count -= _U(1)
            b_count -= _U(1)
            a_high, b_high = _U(a_kids[a_count]), _U(b_kids[b_count])
            mapped += _U(sizes[a_high])
        if a_count != first + _U(1) or b_count != first + _U(1):
            break
        a, b = a_low, b_low
    return a_low, a_high, b_low, b_high, mapped


@compiled
def arrange(
    classes: Indices,
    sizes: Indices,
    depths: Indices,
    left: bool,
    low: np.uint64,
    high: np.uint64,
    order: Indices,
    first: Indices,
    last: Indices,
) -> np.uint64:
    """Write the classes of the forest from node low to node high in postorder; return how many nodes it has.

    From the right, children in reverse, it is preorder reversed. From the left, before a node stands all that stands
    before it in preorder, less its ancestors, and its subtree. ``first`` is the position at which each node's subtree
    begins; one more stands for a root above all. ``last`` is, at such a position, the last node whose subtree begins
    there: a key root.
    """
    count = high - low
    for at in range(low, high):
        size = _U(sizes[at])
        preceding = at - low + size - _U(1) - (_U(depths[at]) - _U(depths[low]))
        place = preceding if left else high - _U(1) - at
        order[place] = classes[at]
        first[place] = place + _U(1) - size
    first[count] = 0
    for at in range(count):
        last[first[at]] = at
    return count


@compiled
def list_keys(order: Indices, first: Indices, last: Indices, count: np.uint64, met: Indices, keys: Indices) -> int:
    """List the key roots of each class once, smaller ones first; return how many. ``met`` is left as it was."""
    found = 0
    for at in range(count):
        if last[first[at]] == at and met[order[at]] == NONE:
            met[order[at]] = 0
            keys[found] = at
            found += 1
    for at in range(found):
        met[order[keys[at]]] = NONE
    return found


@compiled
def count_open(first: Indices, last: Indices, count: np.uint64) -> int:
    """Return how many key roots' subtrees are begun and not ended at once, at most."""
    opened, most = 0, 1
    for at in range(count):
        opened += first[at] == at
        most = max(most, opened)
        opened -= last[first[at]] == at
    return most


@compiled
def number_lines(order: Indices, line: Indices) -> int:
    """Give each class a line, in the order in which they occur; return how many."""
    lines = 0
    for number in order:
        if line[_U(number)] == NONE:
            line[_U(number)] = lines
            lines += 1
    return lines


@compiled
def chain(order: Indices, head: Indices, before: Indices) -> None:
    """Link all nodes of a class, from the last one, which is its head, to the first."""
    for at in range(len(order)):
        before[at] = head[_U(order[at])]
        head[_U(order[at])] = at


@compiled
def clear(order: Indices, of_classes: Indices) -> None:
    """Forget what was written for each class."""
    for number in order:
        of_classes[_U(number)] = NONE
