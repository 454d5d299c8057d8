"""The personas study: which tables it makes from which.

From ``variants``, ``asks``, ``replies`` and ``codes`` of a run, or from ``texts`` of any speakers, to everything that
the report draws. Pure: frames in, frames out; the columns are listed in ``docs/architecture.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, islice

import polars as pl

from analysis.code import tsed_pairs
from analysis.language import EntityRules
from analysis.texts import analyze_texts
from simulator.errors import MissingError
from simulator.imports import TEXTS
from simulator.syntax import load_grammar
from simulator.tables import COMPARISONS, Mapper

__all__ = [
    "COUNTS",
    "PERSONA_TSED",
    "analyze_personas",
    "compare_personas",
    "count_statuses",
    "describe_losses",
    "rewrites_as_texts",
]

PERSONA_TSED = pl.Schema(
    {
        "a": pl.String,
        "b": pl.String,
        "task": pl.String,
        "model": pl.String,
        "params": pl.String,
        "pairs": pl.Int64,
        "scored": pl.Int64,
        "mean": pl.Float64,
    }
)
"""Two personas' codes for one task by one model with one set of parameters (``params``, JSON as in ``replies``): the
number of pairs, of those with a score, and the mean of these."""

COUNTS = pl.Schema(
    {
        "stage": pl.String,
        "model": pl.String,
        "persona": pl.String,
        "task": pl.String,
        "what": pl.String,
        "status": pl.String,
        "count": pl.Int64,
    }
)
"""How many replies, variants, codes and texts by people (``what``) ended with which status. A person's text has no
stage and no model: both are empty."""


_PAIRS = pl.Schema(
    dict.fromkeys(
        [
            *("a", "b", "task", "model", "params"),
            *("reference", "reference_language", "reference_status", "reference_text"),
            *("candidate", "candidate_language", "candidate_status", "candidate_text"),
        ],
        pl.String,
    )
)
_SCORED = pl.Schema(
    {
        **dict.fromkeys(["a", "b", "task", "model", "params", "reference", "candidate"], pl.String),
        "score": pl.Float64,
        "status": pl.String,
    }
)
_PAIRS_AT_ONCE = 2_000
"""Pairs of a batch."""


def analyze_personas(
    tables: Mapping[str, pl.DataFrame],
    *,
    seed: int,
    shuffles: int = 1000,
    rules: EntityRules | None = None,
    requests: Mapping[str, str] | None = None,
    step: Callable[[str], None] = print,
    mapped: Mapper = map,
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Make the tables of the personas study from those of a run.

    Every usable rewrite is a text of its persona, every usable text of a person one of theirs. Codes are compared
    between them, within task and model.

    Parameters
    ----------
    tables
        ``variants``, ``asks``, ``codes``, and of ``replies`` all but ``text`` and ``sent``.
    seed, shuffles, rules, requests, step
        As in `analyze_texts`.
    mapped
        Compares the codes, batch by batch.

    Returns
    -------
    dict of str to DataFrame, list of str
        Those of `analyze_texts` and ``comparisons``, ``persona_tsed`` and ``counts``; and warnings.
    """
    texts = rewrites_as_texts(tables["variants"])
    codes = _asked_codes(tables).filter(code_status="ok")
    spoken = codes.select(
        "task", "language", speaker="persona", model=pl.col("model") + "\0" + pl.col("params"), text="code_text"
    )
    found, warnings = analyze_texts(
        texts, seed=seed, codes=spoken, shuffles=shuffles, rules=rules, requests=requests, step=step
    )
    step("code")
    comparisons, persona_tsed = compare_personas(tables, mapped=mapped)
    if comparisons["status"].is_in(["no_grammar"]).any():
        missing = _missing_grammars(tables["codes"])
        warnings += [f"Programs in {language} have no TSED: {why}" for language, why in missing.items()]
    counts = count_statuses(tables)
    return {**found, "comparisons": comparisons, "persona_tsed": persona_tsed, "counts": counts}, warnings


def rewrites_as_texts(variants: pl.DataFrame) -> pl.DataFrame:
    """Return the usable variants as texts by who asks, in their order (the columns of `simulator.imports.TEXTS`)."""
    usable = variants.filter(pl.col("status") == "ok")
    columns = {"text_id": "variant", "speaker": "persona", "task": "task", "iteration": "replicate", "text": "text"}
    return usable.select(**columns).cast(TEXTS)


def compare_personas(tables: Mapping[str, pl.DataFrame], *, mapped: Mapper = map) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare the codes of every two personas for one task by one model with the same parameters, as TSED.

    The dialect is ``typed``, under the grammar of the codes' language. A pair without a score is counted all the same;
    its status says why: that of the first code that is not ``ok`` (``no_code`` and so on), ``languages_differ`` where
    the two are in different languages, ``no_grammar`` where the grammar of theirs is not installed, or one of the
    statuses of `analysis.code.tsed`. A reply that two personas share is compared with itself.

    Parameters
    ----------
    tables
        ``variants``, ``asks``, ``replies`` and ``codes``.
    mapped
        Scores the pairs, batch by batch.

    Returns
    -------
    DataFrame, DataFrame
        ``comparisons`` (one row a pair of codes) and ``persona_tsed`` (their means; the columns of `PERSONA_TSED`).
        Tasks, models and personas stand in the order of ``asks``.
    """
    scored = pl.concat([pl.DataFrame(schema=_SCORED), *mapped(_score_pairs, _pair_batches(_asked_codes(tables)))])
    comparisons = scored.select(
        "reference",
        "candidate",
        pl.lit("persona").alias("kind"),
        pl.lit("tsed").alias("metric"),
        pl.lit("typed").alias("dialect"),
        "score",
        "status",
    )
    means = scored.group_by("a", "b", "task", "model", "params", maintain_order=True).agg(
        pairs=pl.len(), scored=pl.col("score").count(), mean=pl.col("score").mean()
    )
    return comparisons.cast(COMPARISONS), means.cast(PERSONA_TSED)


def _asked_codes(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the codes that each persona got, with task, model and parameters, in the order of ``asks``."""
    return (
        tables["asks"]
        .join(tables["variants"].select("variant", "persona", "task"), on="variant", how="inner", maintain_order="left")
        .join(
            tables["codes"].select(
                "reply", "code", pl.col("language").fill_null(""), code_status="status", code_text="text"
            ),
            on="reply",
            how="inner",
            maintain_order="left",
        )
        .join(tables["replies"].select("reply", "model", "params"), on="reply", how="inner", maintain_order="left")
    )


def _pair_batches(codes: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the pairs of codes of different personas by task, model and parameters (the columns of `_PAIRS`)."""
    columns = ["code", "language", "code_status", "code_text"]
    for (task, model, params), group in codes.group_by(["task", "model", "params"], maintain_order=True):
        by_persona = {str(name): part for (name,), part in group.group_by(["persona"], maintain_order=True)}
        pairs = (
            (a, b, task, model, params, *one, *other)
            for a, b in combinations(by_persona, 2)
            for one in by_persona[a].select(columns).iter_rows()
            for other in by_persona[b].select(columns).iter_rows()
        )
        while some := list(islice(pairs, _PAIRS_AT_ONCE)):
            yield pl.DataFrame(some, schema=_PAIRS, orient="row")


def _score_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return score and status of pairs of codes (`_SCORED`); each language is scored under its own grammar."""
    missing = _missing_grammars(pairs.select(language="reference_language", status="reference_status"))
    results: list[tuple[float | None, str]] = []
    by_language: dict[str, list[int]] = {}
    rows = pairs.rows(named=True)
    for index, row in enumerate(rows):
        lost = [row[status] for status in ("reference_status", "candidate_status") if row[status] != "ok"]
        language = row["reference_language"]
        if lost:
            status = lost[0]
        elif language != row["candidate_language"]:
            status = "languages_differ"
        elif language in missing:
            status = "no_grammar"
        else:
            status = "ok"
            by_language.setdefault(language, []).append(index)
        results.append((None, status))
    for language, indices in by_language.items():
        texts = [(rows[index]["reference_text"], rows[index]["candidate_text"]) for index in indices]
        for index, result in zip(indices, tsed_pairs(texts, language=language), strict=True):
            results[index] = (result.score, result.status)
    scores = pl.DataFrame(results, schema={"score": pl.Float64, "status": pl.String}, orient="row")
    return pairs.with_columns(scores.get_columns()).select(_SCORED.names())


def _missing_grammars(codes: pl.DataFrame) -> dict[str, str]:
    """Return the languages of whole codes that have no grammar here, and of each why and the mend."""
    missing = {}
    for language in codes.filter(pl.col("status") == "ok")["language"].fill_null("").unique(maintain_order=True):
        try:
            load_grammar(language)
        except (MissingError, ValueError) as error:  # ValueError: installed, but of a version that cannot be read
            missing[language] = str(error)
    return missing


def count_statuses(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Count rewrites, people's texts, replies and codes by status, persona, task and model: every denominator."""
    lineage = tables["variants"].select("variant", "persona", "task")
    replies = tables["replies"].select("reply", "variant", "stage", "model", reply_status="status")
    replies = replies.join(lineage, on="variant", how="left", maintain_order="left")
    codes = tables["codes"].select("reply", code_status="status").join(replies, on="reply", how="inner")
    made = tables["variants"].select("persona", "task", "method", "made_by", variant_status="status")
    written = made.filter(pl.col("method") == "human").with_columns(stage=pl.lit(""), model=pl.lit(""))
    made = made.filter(pl.col("method").ne_missing("human")).join(
        replies.select("reply", "stage", "model"), left_on="made_by", right_on="reply", how="left"
    )
    parts = [
        frame.group_by("stage", "model", "persona", "task", status, maintain_order=True)
        .agg(count=pl.len())
        .select(
            "stage", "model", "persona", "task", pl.lit(what).alias("what"), pl.col(status).alias("status"), "count"
        )
        for frame, what, status in (
            (replies, "reply", "reply_status"),
            (made, "variant", "variant_status"),
            (written, "text", "variant_status"),
            (codes, "code", "code_status"),
        )
    ]
    return pl.concat([part.cast(COUNTS) for part in parts]).sort("what", "stage", "model", "persona", "task", "status")


def describe_losses(counts: pl.DataFrame) -> list[str]:
    """Say in sentences how many rewrites and programs are not what they should be, with their statuses."""
    warnings = []
    for what, sentence in (
        ("variant", "{lost} of {total} rewrites are not usable as prompts ({words}); they are shown and left out"),
        ("text", "{lost} of {total} texts by people are not usable as prompts ({words}); they are shown and left out"),
        ("code", "{lost} of {total} replies gave no whole program ({words}); their pairs have no TSED"),
    ):
        rows = counts.filter(pl.col("what") == what)
        total = int(rows["count"].sum())
        lost = rows.filter(pl.col("status") != "ok").group_by("status").agg(pl.col("count").sum()).sort("status")
        if lost.height:
            words = ", ".join(f"{count} {status}" for status, count in lost.iter_rows())
            warnings.append(sentence.format(lost=int(lost["count"].sum()), total=total, words=words))
    return warnings
