"""Flat trees: three integers a node, no recursion, so that depth is no limit; and what counts as too large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_CHARACTERS",
    "MAX_NODES",
    "MAX_PRINTED_DEPTH",
    "NEWER_FIELDS",
    "WRAPPERS",
    "Dialect",
    "Tree",
    "TreeTooLargeError",
    "make_tree",
]

Dialect = Literal["typed", "published"]

MAX_NODES = 5_000
"""A tree of more nodes is not compared: about 900 lines of Python, up to 0.1 GB and half a second a pair."""

MAX_CHARACTERS = 150_000
"""A longer text is not parsed: a parser that repairs errors needs up to 15 s for 1 MB of hostile text."""

MAX_PRINTED_DEPTH = 1_000
"""In ``published`` a deeper tree is not compared: printing it recurses, and so does the published program."""

WRAPPERS = frozenset({"expression_statement"})
"""Nodes that say nothing: in ``typed`` their children stand in their place.

Grammars of Python up to 0.25 wrap every expression that is a statement, newer ones do not. Without the wrapper a score
is the same under both.
"""
NEWER_FIELDS = frozenset({"except_clause.value"})
"""Fields that grammars of Python have named since the scores of others were made: in ``published`` they are not read.

Printed trees of 3,497 recorded replies and 2,453 files of Python's library under tree-sitter-languages 1.10.2 and under
tree-sitter-python 0.25 differ in nothing else that is frequent.
"""


class TreeTooLargeError(Exception):
    """The text or its tree is over `MAX_CHARACTERS` or `MAX_NODES`; becomes the status ``too_large``."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An ordered labelled tree in preorder.

    Parameters
    ----------
    codes
        Shape (n,), uint32: each node's label, as an index into `vocabulary`.
    sizes
        Shape (n,), uint32: how many nodes its subtree has, itself included; the root's is n.
    depths
        Shape (n,), uint32: how many ancestors it has.
    vocabulary
        The distinct labels, in the order in which they first occur.
    length
        What a score is divided by: n in ``typed``; in ``published`` the closing parentheses of the printed tree.
    broken
        Whether the parser had to repair the text.
    prose
        Whether the text is sentences and no program; in ``published`` nobody asks.
    """

    codes: NDArray[np.uint32]
    sizes: NDArray[np.uint32]
    depths: NDArray[np.uint32]
    vocabulary: tuple[str, ...]
    length: int
    broken: bool = False
    prose: bool = False

    def __len__(self) -> int:
        return len(self.codes)


def make_tree(labels: list[str], parents: list[int], *, length: int | None = None, broken: bool = False) -> Tree:
    """Return the tree whose nodes are given in preorder.

    Parameters
    ----------
    labels
        Each node's label.
    parents
        Each node's parent's position, -1 for the root, which comes first.
    length
        See `Tree`; the number of nodes unless given.

    Examples
    --------
    >>> make_tree(["f", "a", "b"], [-1, 0, 0]).sizes.tolist()
    [3, 1, 1]
    """
    count = len(labels)
    sizes = [1] * count
    for node in range(count - 1, 0, -1):
        sizes[parents[node]] += sizes[node]
    depths = [0] * count
    for node in range(1, count):
        depths[node] = depths[parents[node]] + 1
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in labels]
    return Tree(
        codes=np.array(codes, dtype=np.uint32),
        sizes=np.array(sizes, dtype=np.uint32),
        depths=np.array(depths, dtype=np.uint32),
        vocabulary=tuple(numbers),
        length=count if length is None else length,
        broken=broken,
    )
