"""Comparing code with code: trees, exact edit distance, and the similarity made from it (TSED).

numba and the grammars are imported at the first comparison, not here.
"""

from __future__ import annotations

from analysis.code.distance import Costs, edit_distance
from analysis.code.trees import Dialect, Tree, make_tree, parse_tree
from analysis.code.tsed import PUBLISHED_WEIGHTS, TSED_STATUSES, TsedResult, TsedStatus, tsed, tsed_pairs

__all__ = [
    "PUBLISHED_WEIGHTS",
    "TSED_STATUSES",
    "Costs",
    "Dialect",
    "Tree",
    "TsedResult",
    "TsedStatus",
    "edit_distance",
    "make_tree",
    "parse_tree",
    "tsed",
    "tsed_pairs",
]
