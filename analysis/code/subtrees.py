"""Subtrees numbered by their shape, so that what is computed for one is known for its like. Imports numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.code.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.uint32]

__all__ = ["number_subtrees"]

_U = np.uint64


@compiled
def _intern(key: np.uint64, keys: NDArray[np.uint64], numbers: Indices, new: np.uint32) -> np.uint32:
    """Return the number of a key, `new` for one not met before; ``keys`` is a table with open addresses, 0 is free."""
    mask = _U(len(keys) - 1)
    at = (key * _U(0x9E3779B97F4A7C15)) >> _U(20) & mask
    while keys[at] != _U(0):
        if keys[at] == key:
            return np.uint32(numbers[at])
        at = (at + _U(1)) & mask
    keys[at] = key
    numbers[at] = new
    return new


@compiled
def number_subtrees(
    codes: Indices, sizes: Indices, depths: Indices, starts: Indices, space: int
) -> tuple[Indices, Indices]:
    """Give each distinct subtree of all trees a number, its class: label and sequence of children decide.

    Parameters
    ----------
    codes, sizes, depths
        Shape (nodes of all trees,): the trees in preorder, one after the other.
    starts
        Shape (trees + 1,): where each begins.
    space
        A power of two, at least twice the number of nodes.

    Returns
    -------
    classes, labels
        Shape (nodes,): each node's class; shape (classes,): the label of each class.
    """
    classes = np.empty(len(codes), np.uint32)
    lists = np.empty(len(codes), np.uint32)  # the number of the list of a node and its siblings to the right
    labels = np.empty(len(codes), np.uint32)
    node_keys = np.zeros(space, np.uint64)
    node_numbers = np.empty(space, np.uint32)
    list_keys = np.zeros(space, np.uint64)
    list_numbers = np.empty(space, np.uint32)
    known, listed = np.uint32(0), np.uint32(1)  # list 0 is the empty one
    for tree in range(len(starts) - 1):
        start, end = _U(starts[tree]), _U(starts[tree + 1])
        at = end
        while at > start:
            at -= _U(1)
            children = lists[at + _U(1)] if sizes[at] > 1 else np.uint32(0)
            key = (_U(codes[at]) + _U(1)) << _U(32) | _U(children)
            number = _intern(key, node_keys, node_numbers, known)
            if number == known:
                labels[known] = codes[at]
                known += np.uint32(1)
            classes[at] = number
            after = at + _U(sizes[at])
            rest = lists[after] if after < end and depths[after] == depths[at] else np.uint32(0)
            key = (_U(number) + _U(1)) << _U(32) | _U(rest)
            lists[at] = _intern(key, list_keys, list_numbers, listed)
            if lists[at] == listed:
                listed += np.uint32(1)
    return classes, labels[:known].copy()
