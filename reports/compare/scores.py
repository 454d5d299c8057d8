"""The scores of pairs as a table, and what they mean in words."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import polars as pl

from analysis.code import TsedResult, tsed_pairs
from analysis.code.codebleu import CodeBleuMode
from analysis.code.rules import Rules
from reports.compare.measures import MEASURED, Weights, measure_pairs
from reports.compare.pairs import Pair
from simulator.errors import MissingError

__all__ = ["COMPARED", "READING", "STATUS_MEANINGS", "compare_pairs", "has_scores", "order_pairs", "tell_score"]

Dialect = Literal["typed", "published"]

_COLUMNS: dict[str, type[pl.DataType] | pl.DataType] = {
    "id": pl.String,
    "a": pl.String,
    "b": pl.String,
    "language": pl.String,
    "tsed": pl.Float64,
    "tsed_published": pl.Float64,
    "status": pl.String,
    "status_published": pl.String,
    "note": pl.String,
    "edits": pl.Float64,
    "a_nodes": pl.Int64,
    "b_nodes": pl.Int64,
    "edits_published": pl.Float64,
    "a_nodes_published": pl.Int64,
    "b_nodes_published": pl.Int64,
    "a_lines": pl.Int64,
    "b_lines": pl.Int64,
    "same_text": pl.Boolean,
    **MEASURED,
}
COMPARED = pl.Schema(_COLUMNS)
"""One row a pair. ``edits`` is the distance of the syntax trees, ``nodes`` their sizes; null where there is none.
``lines`` are all lines of a text; ``code_lines`` and what follows are counted in the program."""

READING = (
    "1 is the same syntax tree, whatever its names, literals and layout. Unrelated programs share much of their syntax "
    "and score well above 0, so a score says something only between its floor (programs for different tasks) and its "
    "ceiling (repeated replies to the same prompt)."
)
"""What to bear in mind with every score."""

STATUS_MEANINGS: Mapping[str, str] = {
    "ok": "compared",
    "no_partner": "a file in one folder only",
    "languages_differ": "two languages, which have no common tree",
    "no_grammar": "the grammar of the language is not installed",
    "empty": "there is nothing but white space",
    "prose": "sentences, not a program",
    "unparsable": "its language does not accept it",
    "too_large": "larger than what is compared",
    "undefined": "there is no part that could be computed",
    "too_long": "longer than what is read",
    "binary": "a file that is no text",
    "not_utf8": "text in another encoding than UTF-8",
    "unreadable": "a file that cannot be read",
}
"""Why a pair has no score. What only `typed` refuses, `published` scores like any other text."""


def compare_pairs(
    pairs: Sequence[Pair], *, mode: CodeBleuMode = "sociolect", weights: Weights = "even", rules: Rules | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Return the scores and measures of pairs, and what a reader must know.

    Parameters
    ----------
    pairs
        As `read_pairs` gives them.
    mode, weights, rules
        As for `reports.compare.measures.measure_pairs`.

    Returns
    -------
    DataFrame
        Of the schema `COMPARED`, in the order of the pairs. A score that there is not is null, and its status says why.
    list of str
        Which grammars are missing, with the mend.
    """
    by_language: defaultdict[str, list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        if pair.status == "ok":
            by_language[pair.language].append(index)
    results: dict[tuple[int, str], TsedResult] = {}
    warnings = []
    for language, chosen in by_language.items():
        texts = [(pairs[index].a_text or "", pairs[index].b_text or "") for index in chosen]
        for dialect in get_args(Dialect):
            try:
                found = tsed_pairs(texts, language=language, dialect=dialect, workers=os.cpu_count() or 1)
            except MissingError as error:
                found = [TsedResult(None, "no_grammar")] * len(texts)
                warnings.append(str(error))
            results |= {(index, dialect): result for index, result in zip(chosen, found, strict=True)}
    rows = [
        _make_row(pair, *(results.get((index, one)) for one in get_args(Dialect))) for index, pair in enumerate(pairs)
    ]
    scores = pl.DataFrame(rows, schema={name: kind for name, kind in COMPARED.items() if name not in MEASURED})
    measured = measure_pairs(pairs, mode=mode, weights=weights, rules=rules)
    return pl.concat([scores, measured], how="horizontal"), list(dict.fromkeys(warnings))


def _make_row(pair: Pair, typed: TsedResult | None, published: TsedResult | None) -> dict[str, object]:
    texts = {"a": pair.a_text, "b": pair.b_text}
    row: dict[str, object] = {
        "id": pair.id,
        "a": pair.a,
        "b": pair.b,
        "language": pair.language,
        "note": pair.note,
        **{f"{side}_lines": None if text is None else _count_lines(text) for side, text in texts.items()},
        "same_text": None if None in texts.values() else pair.a_text == pair.b_text,
    }
    for ending, result in (("", typed), ("_published", published)):
        row |= {
            f"tsed{ending}": result and result.score,
            f"status{ending}": result.status if result else pair.status,
            f"edits{ending}": result and result.distance,
            f"a_nodes{ending}": result and (result.reference_nodes or None),
            f"b_nodes{ending}": result and (result.candidate_nodes or None),
        }
    return row


def _count_lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))


def has_scores(frame: pl.DataFrame) -> bool:
    """Whether every pair has a score in both dialects."""
    return frame["tsed"].null_count() + frame["tsed_published"].null_count() == 0


def order_pairs(frame: pl.DataFrame) -> list[int]:
    """Return the rows' positions, the most different pair first, those without a score last."""
    ordered = frame.select("tsed", "tsed_published").with_row_index("row")
    by = ["tsed", "tsed_published", "row"]
    return ordered.sort(by, nulls_last=True)["row"].to_list()


def tell_score(row: Mapping[str, object], ending: str = "") -> str:
    """Return in words what a score was made of, or why there is none.

    >>> row = {"status": "ok", "tsed": 0.9, "edits": 2.0, "a_nodes": 20, "b_nodes": 18, "same_text": False}
    >>> tell_score(row)
    '2 edits between trees of 20 and 18 nodes'
    """
    status = str(row[f"status{ending}"])
    if status != "ok":
        return STATUS_MEANINGS.get(status, status.replace("_", " "))
    edits, nodes = row[f"edits{ending}"], (row[f"a_nodes{ending}"], row[f"b_nodes{ending}"])
    if row["same_text"]:
        return f"the same text, of {nodes[0]:,} nodes"
    if edits == 0:
        return f"the same to this dialect, {nodes[0]:,} nodes" if ending else f"the same tree, of {nodes[0]:,} nodes"
    what = f"edits that cost {edits:g}" if ending else ("1 edit" if edits == 1 else f"{edits:,.0f} edits")
    return f"{what} between trees of {nodes[0]:,} and {nodes[1]:,} nodes"
