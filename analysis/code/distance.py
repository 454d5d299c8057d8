r"""The exact edit distance between two ordered labelled trees.

With constant costs of deleting, inserting and renaming a node,

.. math:: d(a, b) = del\,|a| + ins\,|b| - S(a, b),

where :math:`S` is the largest total saving of a mapping that keeps ancestors and order: :math:`del + ins` for each
pair of equal labels, :math:`del + ins - rename` for each renamed pair. :math:`S` is what is computed: it has zero
borders, is the same in both directions, and is an integer where the costs are.

References
----------
K. Zhang and D. Shasha, "Simple fast algorithms for the editing distance between trees and related problems",
SIAM Journal on Computing 18(6), 1989. https://doi.org/10.1137/0218082
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from simulator.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from analysis.code.trees import Tree

__all__ = ["MAX_CELLS", "Backend", "Costs", "PairTooLargeError", "edit_distance"]

Backend = Literal["numba", "apted"]

MAX_CELLS = 4_000_000_000
"""A pair that needs more is not compared: a few seconds. Ordinary code of 5,000 nodes needs about an eighth of it."""

_APTED_NODES = 1_000  # the reference recurses and takes 25 s at 920 nodes
_APTED_DEPTH = 200
_DIGITS = 6


class PairTooLargeError(Exception):
    """Two trees whose distance needs more than `MAX_CELLS`; becomes the status ``too_large``."""


class Costs(NamedTuple):
    """What it costs to delete a node of the first tree, to insert one of the second, and to rename one."""

    delete: float = 1.0
    insert: float = 1.0
    rename: float = 1.0


class _Scaled(NamedTuple):
    delete: int
    insert: int
    rename: int
    scale: int


class _Order(NamedTuple):
    """A tree in postorder from one side: what the algorithm by Zhang and Shasha walks on."""

    codes: NDArray[np.uint32]
    first: NDArray[np.uint32]  # the position at which each node's subtree begins
    keys: NDArray[np.uint32]  # the key roots: for each value of `first` the last node that has it
    cells: int  # the nodes of all key roots' subtrees


def edit_distance(a: Tree, b: Tree, costs: Costs = Costs(), *, backend: Backend = "numba") -> float:  # noqa: B008
    """Return the least total cost of edits that turn the tree ``a`` into the tree ``b``.

    Parameters
    ----------
    costs
        At least 0 each, with at most six digits after the point, so that the sum is exact.
    backend
        ``numba``: compiled, any depth. ``apted``: the library of that name, thousands of times slower, for comparison;
        version 1.0.3 can give less than the distance where ``rename`` is over three times ``delete`` or ``insert``.

    Raises
    ------
    UsageError
        A cost that is negative, not finite or has more digits.
    PairTooLargeError
        Over `MAX_CELLS`; for ``apted``, over 1,000 nodes or a depth of 200.

    Examples
    --------
    >>> from analysis.code.trees import make_tree
    >>> edit_distance(make_tree(["f", "a", "b"], [-1, 0, 0]), make_tree(["f", "b"], [-1, 0]))
    1.0
    """
    scaled = _scale(costs)
    if backend == "apted":
        return _ask_apted(a, b, costs)
    numbers = {label: code for code, label in enumerate(a.vocabulary)}
    table = np.array([numbers.setdefault(label, len(numbers)) for label in b.vocabulary], dtype=np.uint32)
    b_codes = table[b.codes]
    if len(a) == len(b) and np.array_equal(a.sizes, b.sizes) and np.array_equal(a.codes, b_codes):
        return 0.0
    lefts = _from_left(a, a.codes), _from_left(b, b_codes)
    rights = _from_right(a, a.codes), _from_right(b, b_codes)
    one, two = min(rights, lefts, key=lambda pair: pair[0].cells * pair[1].cells)
    if one.cells * two.cells > MAX_CELLS:
        raise PairTooLargeError(f"{one.cells * two.cells} cells are more than {MAX_CELLS}")
    best = scaled.delete + scaled.insert
    kind = np.int32 if best * (min(len(a), len(b)) + 1) < 2**31 else np.int64
    saved = _compile()(
        one.codes,
        one.first,
        one.keys,
        two.codes,
        two.first,
        two.keys,
        kind(best),
        kind(max(best - scaled.rename, 0)),
        np.zeros((len(a), len(b)), dtype=kind),
        np.zeros((len(a) + 1, len(b) + 1), dtype=kind),
    )
    return (scaled.delete * len(a) + scaled.insert * len(b) - int(saved)) / scaled.scale


@lru_cache(maxsize=64)
def _scale(costs: Costs) -> _Scaled:
    """Return the costs as the smallest integers in the same proportion, with the factor."""
    whole: list[int] = []
    for name, cost in zip(costs._fields, costs, strict=True):
        try:
            number = Decimal(str(cost)).scaleb(_DIGITS)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or not 0 <= number <= 10 ** (2 * _DIGITS) or number != number.to_integral_value():
            raise UsageError(
                f"The cost to {name} a node is {cost!r}, which is not a number from 0 to {10**_DIGITS} with at most "
                f"{_DIGITS} digits after the point. Distances are summed exactly, in integers; round the weight, for "
                "example to 0.8."
            )
        whole.append(int(number))
    factor = gcd(10**_DIGITS, *whole)
    delete, insert, rename = (cost // factor for cost in whole)
    return _Scaled(delete, insert, rename, 10**_DIGITS // factor)


def _from_right(tree: Tree, codes: NDArray[np.uint32]) -> _Order:
    """Postorder with children from right to left: preorder, reversed."""
    return _order(codes[::-1].copy(), tree.sizes[::-1])


def _from_left(tree: Tree, codes: NDArray[np.uint32]) -> _Order:
    """Postorder: before a node stands all that stands before it in preorder, less its ancestors, and its subtree."""
    places = np.arange(len(tree), dtype=np.int64) - tree.depths + tree.sizes - 1
    order = np.empty(len(tree), dtype=np.int64)
    order[places] = np.arange(len(tree))
    return _order(codes[order], tree.sizes[order])


def _order(codes: NDArray[np.uint32], sizes: NDArray[np.uint32]) -> _Order:
    places = np.arange(len(codes), dtype=np.int64)
    first = places - sizes + 1
    last = np.full(len(codes), -1, dtype=np.int64)
    last[first] = places  # numpy keeps the last of several assignments to one place
    keys = np.sort(last[last >= 0])
    return _Order(
        codes=np.ascontiguousarray(codes, dtype=np.uint32),
        first=first.astype(np.uint32),
        keys=keys.astype(np.uint32),
        cells=int(sizes[keys].sum(dtype=np.int64)),
    )


def _save(
    a_codes: NDArray[np.uint32],
    a_first: NDArray[np.uint32],
    a_keys: NDArray[np.uint32],
    b_codes: NDArray[np.uint32],
    b_first: NDArray[np.uint32],
    b_keys: NDArray[np.uint32],
    equal: np.int32,
    renamed: np.int32,
    trees: NDArray[np.int32],
    forests: NDArray[np.int32],
) -> np.int32:
    """Return the largest saving between two whole trees; compiled, and plain Python where it is read.

    ``trees[i, j]`` becomes the saving between the subtrees of i and j; ``forests`` is the work space of one pair of key
    roots: row x and column y stand for the first x and y nodes of their subtrees. Indices are unsigned because a signed
    one costs a check for wrap-around in every cell.
    """
    zero = np.uint32(0)
    one = np.uint32(1)
    for a_key in a_keys:
        a_start = a_first[a_key]
        a_count = a_key - a_start + one
        for b_key in b_keys:
            b_start = b_first[b_key]
            b_count = b_key - b_start + one
            for y in range(b_count + one):
                forests[zero, y] = 0
            for x in range(one, a_count + one):
                i = a_start + x - one
                above = forests[x - one]
                row = forests[x]
                before = forests[a_first[i] - a_start]
                known = trees[i]
                row[zero] = 0
                best = row[zero]
                on_path = a_first[i] == a_start
                for y in range(one, b_count + one):
                    j = b_start + y - one
                    best = max(best, above[y])
                    if on_path and b_first[j] == b_start:
                        best = max(best, above[y - one] + (equal if a_codes[i] == b_codes[j] else renamed))
                        known[j] = best
                    else:
                        best = max(best, before[b_first[j] - b_start] + known[j])
                    row[y] = best
    saved: np.int32 = trees[len(a_codes) - 1, len(b_codes) - 1]
    return saved


@lru_cache(maxsize=1)
def _compile() -> Callable[..., np.int32]:
    """Compile `_save`; half a second from the cache, a few seconds the first time on a machine."""
    import numba  # noqa: PLC0415 - takes half a second

    try:
        compiled: Callable[..., np.int32] = numba.njit(nogil=True, cache=True)(_save)
    except RuntimeError:  # nowhere to keep a cache: a read-only installation and no home
        compiled = numba.njit(nogil=True)(_save)
    return compiled


class _Named:
    """A node as the apted library wants it."""

    __slots__ = ("children", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: list[_Named] = []


def _ask_apted(a: Tree, b: Tree, costs: Costs) -> float:
    for tree in (a, b):
        if len(tree) > _APTED_NODES or int(tree.depths.max()) > _APTED_DEPTH:
            raise PairTooLargeError(
                f"the apted library is asked up to {_APTED_NODES} nodes and a depth of {_APTED_DEPTH}"
            )
    from apted import APTED, PerEditOperationConfig  # noqa: PLC0415 - the reference, seldom asked

    return float(APTED(_link(a), _link(b), PerEditOperationConfig(*costs)).compute_edit_distance())


def _link(tree: Tree) -> _Named:
    path: list[_Named] = []
    for code, depth in zip(tree.codes.tolist(), tree.depths.tolist(), strict=True):
        del path[depth:]
        node = _Named(tree.vocabulary[code])
        if path:
            path[-1].children.append(node)
        path.append(node)
    return path[0]
