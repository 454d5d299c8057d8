"""Comparing code with code: trees, exact edit distance, and the similarity made from it (TSED).

numba and the grammars are imported at the first comparison, not here.
"""

from __future__ import annotations

from analysis.code.distance import Costs, edit_distance, edit_distances
from analysis.code.matrix import TsedMatrix, tsed_matrix
from analysis.code.parsing import describe_grammar, parse_tree
from analysis.code.trees import Dialect, Tree, make_tree
from analysis.code.tsed import PUBLISHED_WEIGHTS, TSED_STATUSES, TsedResult, TsedStatus, tsed, tsed_pairs

__all__ = [
    "PUBLISHED_WEIGHTS",
    "TSED_STATUSES",
    "Costs",
    "Dialect",
    "Tree",
    "TsedMatrix",
    "TsedResult",
    "TsedStatus",
    "describe_grammar",
    "edit_distance",
    "edit_distances",
    "make_tree",
    "parse_tree",
    "tsed",
    "tsed_matrix",
    "tsed_pairs",
]
