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

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from simulator.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from analysis.code.trees import Tree

__all__ = ["MAX_CELLS", "Backend", "Costs", "PairTooLargeError", "edit_distance", "edit_distances"]

Backend = Literal["numba", "apted"]

MAX_CELLS = 4_000_000_000
"""A pair that needs more is not compared: a few seconds. Ordinary code of 5,000 nodes needs about an eighth of it."""

_MAX_PRODUCT = 100_000_000  # of the sizes: half a gigabyte; only trees made by hand are so large
_APTED_NODES = 1_000  # the reference recurses and takes 25 s at 920 nodes
_APTED_DEPTH = 200
_DIGITS = 6

_MEMO_CLASSES = 2_048  # distinct subtrees of a batch: 16 MB a thread
_BATCH_NODES = 20_000  # replies to one task: about a twentieth of their subtrees are distinct
_BATCH_PAIRS = 1_000
_BATCH_CELLS = 2e9  # about a second
_THE_PAIR = np.array([[0, 1]])


class PairTooLargeError(Exception):
    """Two trees that need more than `MAX_CELLS`, or of 100 million pairs of nodes; becomes ``too_large``."""


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

    @property
    def equal(self) -> int:
        """What mapping a node to an equal one saves."""
        return self.delete + self.insert

    @property
    def renamed(self) -> int:
        """What mapping a node to another one saves."""
        return max(self.equal - self.rename, 0)


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
        Over `MAX_CELLS`, or of 100 million pairs of nodes; for ``apted``, over 1,000 nodes or a depth of 200.

    Examples
    --------
    >>> from analysis.code.trees import make_tree
    >>> edit_distance(make_tree(["f", "a", "b"], [-1, 0, 0]), make_tree(["f", "b"], [-1, 0]))
    1.0
    """
    if backend == "apted":
        _scale(costs)
        return _ask_apted(a, b, costs)
    scaled = _scale(costs)
    cells = [one * other for one, other in zip(_count_cells(a), _count_cells(b), strict=True)]
    if min(cells) > MAX_CELLS or len(a) * len(b) > _MAX_PRODUCT:
        raise PairTooLargeError(
            f"{len(a)} and {len(b)} nodes need more than {MAX_CELLS} cells, or are more than {_MAX_PRODUCT} pairs"
        )
    saved = _save_pairs([a, b], _THE_PAIR, scaled, left=cells[1] < cells[0])
    return (scaled.delete * len(a) + scaled.insert * len(b) - int(saved[0])) / scaled.scale


def edit_distances(
    trees: Sequence[Tree],
    pairs: NDArray[np.int64] | Sequence[tuple[int, int]],
    costs: Costs = Costs(),  # noqa: B008
    *,
    workers: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[np.float64]:
    """Return the distances of many pairs, which share what is known of their common subtrees.

    Parameters
    ----------
    trees
        Each tree once.
    pairs
        Shape (pairs, 2): positions in ``trees``, first the tree to edit, then what it becomes. Neighbours share most
        where they have trees in common. A pair and its reverse are computed once, whatever the costs.
    workers
        How many threads compare; the result does not depend on it.
    progress
        Called after each of the batches with how many distinct pairs are done, and how many there are.

    Returns
    -------
    array
        Shape (pairs,): NaN for a pair that is too large; see `PairTooLargeError`.

    Raises
    ------
    UsageError
        See `edit_distance`.
    """
    scaled = _scale(costs)
    wanted = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    distinct, places = _find_distinct(np.sort(wanted, axis=1), len(trees))
    sides = np.array([_count_cells(tree) for tree in trees], dtype=np.float64).reshape(-1, 2)
    cells = sides[distinct[:, 0]] * sides[distinct[:, 1]]  # decomposed from the right, and from the left
    saved = np.full(len(distinct), -1, dtype=np.int64)
    batches = list(_batch_pairs(trees, distinct, cells))
    done = 0

    def save(batch: _Batch) -> NDArray[np.int64]:
        return _save_batch(trees, distinct[batch.pairs], scaled, left=batch.left)

    with ThreadPoolExecutor(max(workers, 1)) if workers > 1 and len(batches) > 1 else nullcontext() as pool:
        for batch, savings in zip(batches, (pool.map if pool else map)(save, batches), strict=True):
            saved[batch.pairs] = savings
            done += len(batch.pairs)
            if progress:
                progress(done, len(distinct))
    counts = np.array([len(tree) for tree in trees], dtype=np.int64)
    most = scaled.delete * counts[wanted[:, 0]] + scaled.insert * counts[wanted[:, 1]]
    mapped = saved[places]
    return np.where(mapped < 0, np.nan, (most - mapped) / scaled.scale)


class _Batch(NamedTuple):
    pairs: NDArray[np.int64]
    left: bool


def _find_distinct(pairs: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs in the order in which they first occur, and the place of each given pair among them."""
    _, firsts, places = np.unique(pairs[:, 0] * count + pairs[:, 1], return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return pairs[firsts[order]], ranks[places]


@lru_cache(maxsize=4096)
def _count_cells(tree: Tree) -> tuple[int, int]:
    """Return how many nodes the subtrees of all key roots have, for rightmost and for leftmost paths."""
    count = len(tree)
    after = np.arange(count) + tree.sizes
    deeper = np.append(tree.depths, 0)[after] == tree.depths  # it has a sibling to its right
    first = np.append(False, tree.depths[1:] == tree.depths[:-1] + 1)
    first[0] = False
    return (
        count + int(tree.sizes[1:][deeper[1:]].sum(dtype=np.int64)),
        count + int(tree.sizes[1:][~first[1:]].sum(dtype=np.int64)),
    )


def _batch_pairs(trees: Sequence[Tree], pairs: NDArray[np.int64], cells: NDArray[np.float64]) -> Iterator[_Batch]:
    """Cut the pairs into batches of about a second at most, each of one side, leaving out those that are too large."""
    counts = np.array([len(tree) for tree in trees], dtype=np.float64)
    fits = (cells.min(axis=1) <= MAX_CELLS) & (counts[pairs[:, 0]] * counts[pairs[:, 1]] <= _MAX_PRODUCT)
    for left in (False, True):
        better = cells[:, 1] < cells[:, 0]
        chosen: list[int] = []
        held: set[int] = set()
        nodes, work = 0, 0.0
        for pair in np.flatnonzero(fits & (better == left)).tolist():
            one, other = pairs[pair].tolist()
            new = sum(len(trees[tree]) for tree in {one, other} - held)
            if chosen and (nodes + new > _BATCH_NODES or work > _BATCH_CELLS or len(chosen) >= _BATCH_PAIRS):
                yield _Batch(np.array(chosen), left)
                chosen, held, nodes, work = [], set(), 0, 0.0
                new = sum(len(trees[tree]) for tree in {one, other})
            chosen.append(pair)
            held |= {one, other}
            nodes += new
            work += cells[pair].min()
        if chosen:
            yield _Batch(np.array(chosen), left)


def _save_batch(trees: Sequence[Tree], pairs: NDArray[np.int64], scaled: _Scaled, *, left: bool) -> NDArray[np.int64]:
    """Return the largest savings of pairs of some of the trees."""
    used, places = np.unique(pairs, return_inverse=True)
    return _save_pairs([trees[tree] for tree in used.tolist()], places.reshape(-1, 2), scaled, left=left)


def _save_pairs(trees: list[Tree], pairs: NDArray[np.int64], scaled: _Scaled, *, left: bool) -> NDArray[np.int64]:
    """Return the largest savings of pairs; where their subtrees are too many to remember, of halves of the pairs."""
    from analysis.code.kernel import save_pairs  # noqa: PLC0415 - imports numba
    from analysis.code.subtrees import number_subtrees  # noqa: PLC0415 - imports numba

    numbers: dict[str, int] = {}
    codes = [
        np.array([numbers.setdefault(label, len(numbers)) for label in tree.vocabulary], dtype=np.uint32)[tree.codes]
        for tree in trees
    ]
    sizes = np.concatenate([tree.sizes for tree in trees])
    depths = np.concatenate([tree.depths for tree in trees])
    starts = np.cumsum([0, *map(len, trees)]).astype(np.uint32)
    classes, labels = number_subtrees(np.concatenate(codes), sizes, depths, starts, 1 << (2 * len(sizes)).bit_length())
    if len(labels) > _MEMO_CLASSES and len(pairs) > 1:
        half = len(pairs) // 2
        return np.concatenate([_save_batch(trees, part, scaled, left=left) for part in (pairs[:half], pairs[half:])])
    remembered = len(labels) if len(pairs) > 1 else 0
    kind = np.int32 if scaled.equal * (max(map(len, trees)) + 1) < 2**31 else np.int64
    memo = np.full((remembered, remembered), -1, dtype=kind)
    local = pairs.astype(np.uint32)
    saved: NDArray[np.int64] = save_pairs(
        classes, sizes, depths, starts, labels, local, left, scaled.equal, scaled.renamed, memo
    )
    return saved


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
