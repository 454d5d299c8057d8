"""Every text compared with every other one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.code.tsed import TSED_STATUSES, TsedResult, TsedStatus, tsed_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from analysis.code.trees import Dialect

__all__ = ["TsedMatrix", "tsed_matrix"]

_TILE = 64  # texts a side: what is compared together has most subtrees in common, and its batches are small


@dataclass(frozen=True, slots=True, eq=False)
class TsedMatrix:
    """How alike n programs are; the row is the reference, the column the candidate.

    Parameters
    ----------
    scores
        Shape (n, n), float64: from 0 to 1; NaN where there is none.
    statuses
        Shape (n, n), uint8: positions in `TSED_STATUSES`; 0 is ``ok``.
    distances
        Shape (n, n), float64: edit distances; NaN where there is none.
    nodes
        Shape (n,), int64: the sizes of the trees; 0 where there is none.
    """

    scores: NDArray[np.float64]
    statuses: NDArray[np.uint8]
    distances: NDArray[np.float64]
    nodes: NDArray[np.int64]

    def status(self, reference: int, candidate: int) -> TsedStatus:
        """Return why a cell has no score, or ``ok``."""
        return TSED_STATUSES[int(self.statuses[reference, candidate])]


def tsed_matrix(
    texts: Sequence[str],
    *,
    language: str = "python",
    dialect: Dialect = "typed",
    weights: tuple[float, float, float] | None = None,
    operators: bool = True,
    leaf_text: bool = False,
    hidden: Collection[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> TsedMatrix:
    """Compare every text with every text, itself included.

    Equal texts are compared once, and so is each pair with its reverse, whatever the weights.

    Parameters
    ----------
    texts
        Any texts at all.
    language, dialect, weights, operators, leaf_text, hidden
        As for `tsed`.
    workers
        How many threads compare; every core of this process unless given. The result does not depend on it.
    progress
        Called with how many pairs are compared, and how many there are.

    Raises
    ------
    UsageError, MissingError
        As `tsed`.

    Examples
    --------
    >>> tsed_matrix(["a = 1", "a = b", ""]).scores.round(2).tolist()
    [[1.0, 0.75, nan], [0.75, 1.0, nan], [nan, nan, nan]]
    """
    places: dict[str, int] = {}
    where = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int64)
    distinct = list(places)
    rows, columns = _tile(len(distinct))
    results = tsed_pairs(
        [(distinct[row], distinct[column]) for row, column in zip(rows, columns, strict=True)],
        language=language,
        dialect=dialect,
        weights=weights,
        operators=operators,
        leaf_text=leaf_text,
        hidden=hidden,
        workers=workers or _count_cores(),
        progress=progress,
    )
    return _spread(results, rows, columns, len(distinct), where)


def _tile(count: int) -> tuple[list[int], list[int]]:
    """Return the rows and columns of all cells, a tile and its mirror image after the other."""
    row, column = np.indices((count, count)).reshape(2, -1)
    low, high = np.minimum(row, column), np.maximum(row, column)
    order = np.lexsort((high, low, high // _TILE, low // _TILE))
    return row[order].tolist(), column[order].tolist()


def _spread(
    results: list[TsedResult], rows: list[int], columns: list[int], count: int, where: NDArray[np.int64]
) -> TsedMatrix:
    scores, distances = np.full((2, count, count), np.nan)
    statuses = np.zeros((count, count), dtype=np.uint8)
    nodes = np.zeros(count, dtype=np.int64)
    for row, column, result in zip(rows, columns, results, strict=True):
        statuses[row, column] = TSED_STATUSES.index(result.status)
        nodes[row] = max(nodes[row], result.reference_nodes)
        if result.score is not None:
            scores[row, column], distances[row, column] = result.score, result.distance
    cells = np.ix_(where, where)
    return TsedMatrix(scores[cells], statuses[cells], distances[cells], nodes[where])


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
