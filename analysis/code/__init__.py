"""Comparing and measuring code: exact tree edit distance and TSED, CodeBLEU, size and form, and features in words.

numba and the grammars are imported at the first comparison, not here.
"""

from __future__ import annotations

from analysis.code.characters import similarity
from analysis.code.codebleu import (
    CODEBLEU_MODES,
    CODEBLEU_WEIGHTS,
    CodeBleuChoices,
    CodeBleuResult,
    TokenBleuResult,
    codebleu,
    codebleu_pairs,
    token_bleu,
)
from analysis.code.distance import Costs, edit_distance, edit_distances
from analysis.code.features import Evidence, feature_table, find_features, find_in_codes
from analysis.code.form import Form, measure_codes, measure_form
from analysis.code.matrix import TsedMatrix, tsed_matrix
from analysis.code.outcomes import collect_features, gather_codes, measure_outcomes
from analysis.code.parsing import describe_grammar, parse_tree
from analysis.code.rules import Rules, builtin_rules, read_rules
from analysis.code.trees import Dialect, Tree, make_tree
from analysis.code.tsed import PUBLISHED_WEIGHTS, TSED_STATUSES, TsedResult, TsedStatus, tsed, tsed_pairs

__all__ = [
    "CODEBLEU_MODES",
    "CODEBLEU_WEIGHTS",
    "PUBLISHED_WEIGHTS",
    "TSED_STATUSES",
    "CodeBleuChoices",
    "CodeBleuResult",
    "Costs",
    "Dialect",
    "Evidence",
    "Form",
    "Rules",
    "TokenBleuResult",
    "Tree",
    "TsedMatrix",
    "TsedResult",
    "TsedStatus",
    "builtin_rules",
    "codebleu",
    "codebleu_pairs",
    "collect_features",
    "describe_grammar",
    "edit_distance",
    "edit_distances",
    "feature_table",
    "find_features",
    "find_in_codes",
    "gather_codes",
    "make_tree",
    "measure_codes",
    "measure_form",
    "measure_outcomes",
    "parse_tree",
    "read_rules",
    "similarity",
    "token_bleu",
    "tsed",
    "tsed_matrix",
    "tsed_pairs",
]
