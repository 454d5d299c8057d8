"""What else is measured of pairs: CodeBLEU, tokens, characters, the size of each program, and what each is in words."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from analysis.code.characters import similarity
from analysis.code.codebleu import CODEBLEU_WEIGHTS, CodeBleuMode, CodeBleuResult, codebleu_pairs
from analysis.code.features import Evidence, find_features, find_in_codes
from analysis.code.form import Form, measure_form
from analysis.code.rules import Rules, builtin_rules
from reports.compare.pairs import Pair
from simulator.engine import Engine, map_in
from simulator.errors import MissingError
from simulator.running.replies import repair_text

__all__ = [
    "MEASURED",
    "SIZES",
    "FeatureRow",
    "Weights",
    "list_features",
    "measure_pairs",
    "tell_codebleu",
    "tell_sizes",
]

Weights = Literal["even", "structural"]

SIZES: Mapping[str, str] = {
    "code_lines": "lines of code",
    "comment_lines": "comment lines",
    "blank_lines": "blank lines",
    "functions": "functions",
    "classes": "classes",
    "imports": "imports",
    "complexity": "complexity",
}
"""What is counted in each program, and how it is called."""

_COLUMNS: dict[str, type[pl.DataType] | pl.DataType] = {
    "codebleu": pl.Float64,
    "codebleu_ngram": pl.Float64,
    "codebleu_weighted_ngram": pl.Float64,
    "codebleu_syntax": pl.Float64,
    "codebleu_dataflow": pl.Float64,
    "status_codebleu": pl.String,
    "token_bleu": pl.Float64,
    "character_similarity": pl.Float64,
    **{f"{side}_{name}": pl.Int64 for name in SIZES for side in ("a", "b")},
    "features_both": pl.List(pl.String),
    "features_a": pl.List(pl.String),
    "features_b": pl.List(pl.String),
}
MEASURED = pl.Schema(_COLUMNS)
"""What `measure_pairs` returns: ``a`` is the reference of CodeBLEU; ``features_a`` has those that only ``a`` has."""

_PARTS = {"n-grams": "ngram", "weighted": "weighted_ngram", "syntax": "syntax", "data flow": "dataflow"}
_ASKED = pl.Schema({"language": pl.String, "a": pl.String, "b": pl.String, "status": pl.String})
_BATCH = 250


class FeatureRow(NamedTuple):
    """A feature that one program of a pair has, or both, each with the line that shows it."""

    feature: str
    means: str
    a: Evidence | None
    b: Evidence | None


def measure_pairs(
    pairs: Sequence[Pair], *, mode: CodeBleuMode = "sociolect", weights: Weights = "even", rules: Rules | None = None
) -> pl.DataFrame:
    """Measure pairs; many of them on every core of this machine.

    Parameters
    ----------
    pairs
        As `read_pairs` gives them.
    mode, weights
        Of CodeBLEU; see `analysis.code.codebleu.codebleu`.
    rules
        Of the features; the built-in ones where there are none.

    Returns
    -------
    DataFrame
        Of the schema `MEASURED`, in the order of the pairs. Whatever could not be measured is null.
    """
    asked = pl.DataFrame(
        [(pair.language, _mend(pair.a_text), _mend(pair.b_text), pair.status) for pair in pairs],
        schema=_ASKED,
        orient="row",
    )
    measure = partial(_measure, mode=mode, weights=weights, rules=rules)
    if len(pairs) <= _BATCH:
        return measure(asked)
    with tempfile.TemporaryDirectory(prefix="sociolect-") as folder:
        return pl.concat(map_in(Path(folder) / "parts", Engine())(measure, asked.iter_slices(_BATCH)))


def _measure(asked: pl.DataFrame, *, mode: CodeBleuMode, weights: Weights, rules: Rules | None) -> pl.DataFrame:
    scores = _score(asked, mode, weights)
    tokens = scores if mode == "sociolect" else _score(asked, "sociolect", weights)
    kinds = [_list_names(asked, side, rules) for side in ("a", "b")]
    rows = []
    for index, row in enumerate(asked.iter_rows(named=True)):
        result, words = scores[index], tokens[index]
        forms = [_form(row[side], row["language"]) for side in ("a", "b")]
        both = [one for one in kinds[0][index] if one in kinds[1][index]]
        compared = result is not None and result.status not in ("empty", "prose")
        rows.append(
            {
                "codebleu": result and result.score,
                **{f"codebleu_{part}": result and getattr(result, part) for part in _PARTS.values()},
                "status_codebleu": result.status
                if result
                else row["status"]
                if row["status"] != "ok"
                else "no_grammar",
                "token_bleu": words and words.ngram,
                "character_similarity": similarity(row["a"], row["b"]) if compared else None,
                **{
                    f"{side}_{name}": getattr(form, "lines" if name == "code_lines" else name)
                    for side, form in zip(("a", "b"), forms, strict=True)
                    for name in SIZES
                },
                "features_both": both,
                "features_a": [one for one in kinds[0][index] if one not in both],
                "features_b": [one for one in kinds[1][index] if one not in both],
            }
        )
    return pl.DataFrame(rows, schema=MEASURED)


def _mend(text: str | None) -> str | None:
    return None if text is None else repair_text(text)[0]


def _score(asked: pl.DataFrame, mode: CodeBleuMode, weights: Weights) -> list[CodeBleuResult | None]:
    """Return CodeBLEU of each pair; None where there is no grammar, or one of the texts is not there."""
    results: list[CodeBleuResult | None] = [None] * asked.height
    by_language: defaultdict[str, list[int]] = defaultdict(list)
    for index, (language, status) in enumerate(asked.select("language", "status").iter_rows()):
        if status == "ok":
            by_language[language].append(index)
    for language, chosen in by_language.items():
        try:
            found = codebleu_pairs(
                asked.select("a", "b")[chosen].rows(), language=language, mode=mode, weights=CODEBLEU_WEIGHTS[weights]
            )
        except MissingError:
            continue
        for index, result in zip(chosen, found, strict=True):
            results[index] = result
    return results


def _form(text: str | None, language: str) -> Form:
    return Form("empty") if text is None else measure_form(text, language=language)


def _list_names(asked: pl.DataFrame, side: Literal["a", "b"], rules: Rules | None) -> list[list[str]]:
    """Return the features of each program on one side."""
    codes = asked.select("language", text=side).with_row_index("code").with_columns(pl.col("code").cast(pl.String))
    names: list[list[str]] = [[] for _ in range(asked.height)]
    for code, feature in find_in_codes(codes, rules=rules).select("code", "feature").iter_rows():
        if asked[side][int(code)] is not None:
            names[int(code)].append(feature)
    return names


def list_features(pair: Pair, *, rules: Rules | None = None) -> list[FeatureRow]:
    """Return the features of a pair's programs, with the lines that show them: those of one alone first."""
    meanings = {feature.name: feature.means for feature in (rules or builtin_rules()).features}
    sides = [
        {} if text is None else {one.feature: one for one in find_features(text, language=pair.language, rules=rules)}
        for text in (pair.a_text, pair.b_text)
    ]
    rows = [
        FeatureRow(name, meanings.get(name, ""), sides[0].get(name), sides[1].get(name))
        for name in dict.fromkeys([*sides[0], *sides[1]])
    ]
    return sorted(rows, key=lambda row: (row.a is not None) + (row.b is not None))


def tell_codebleu(row: Mapping[str, object]) -> str:
    """Return the parts of CodeBLEU in words, or nothing where there is no score.

    >>> tell_codebleu({"codebleu": 0.5, "codebleu_ngram": 0.25, "codebleu_weighted_ngram": 0.25,
    ...                "codebleu_syntax": 1.0, "codebleu_dataflow": None})
    'n-grams 0.250, weighted 0.250, syntax 1.000, data flow –'
    """
    if row["codebleu"] is None:
        return ""
    cells = ((name, row[f"codebleu_{part}"]) for name, part in _PARTS.items())
    return ", ".join(f"{name} {score:.3f}" if isinstance(score, float) else f"{name} –" for name, score in cells)


def tell_sizes(row: Mapping[str, object]) -> Iterator[tuple[str, object, object]]:
    """Yield what was counted in at least one of the programs: its name, and the counts of both."""
    for name, called in SIZES.items():
        a, b = row[f"a_{name}"], row[f"b_{name}"]
        if a is not None or b is not None:
            yield called, a, b
