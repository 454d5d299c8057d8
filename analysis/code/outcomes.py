"""The measures of every code of a run: the table of outcomes, and the features with the lines that show them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from analysis.code.codebleu import CodeBleuResult, codebleu_pairs
from analysis.code.features import FEATURES_SCHEMA, find_in_codes
from analysis.code.form import measure_codes
from simulator.errors import MissingError
from simulator.tables import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from analysis.code.rules import Rules
    from simulator.tables import Mapper

__all__ = ["GATHERED", "collect_features", "gather_codes", "measure_outcomes"]

GATHERED = pl.Schema(
    {
        "code": pl.String,
        "status": pl.String,
        "language": pl.String,
        "text": pl.String,
        "reply_status": pl.String,
        "reply_text": pl.String,
        "reference": pl.String,
    }
)
"""A code with all that is needed to measure it: the reply that it is from, and the reference solution of its task."""

_ROWS = 250
"""Codes of a batch: a second or two of work, so that few of them are enough for every core."""

_SCORES = (
    *("codebleu", "codebleu_ngram", "codebleu_weighted_ngram", "codebleu_syntax", "codebleu_dataflow", "token_bleu"),
    "codebleu_status",
)
_NOTHING = (None,) * 6


def gather_codes(
    tables: Mapping[str, pl.DataFrame], replies: Iterable[pl.DataFrame], references: Mapping[str, str]
) -> Iterator[pl.DataFrame]:
    """Put each code of a run beside its reply and the reference solution of its task, in batches.

    Parameters
    ----------
    tables
        ``variants`` (``variant``, ``task``) and ``codes``.
    replies
        The table ``replies`` (``reply``, ``variant``, ``status``, ``text``), in batches as it was written, so that not
        all texts are in memory at once.
    references
        A task's reference solution by the task's id; a task may have none.

    Yields
    ------
    frame
        With the columns of `GATHERED`, in the order of the replies.
    """
    tasks = tables["variants"].select("variant", "task")
    solutions = pl.DataFrame(
        {"task": list(references), "reference": list(references.values())},
        schema={"task": pl.String, "reference": pl.String},
    )
    for batch in replies:
        asked = batch.select("reply", "variant", reply_status="status", reply_text="text")
        joined = (
            asked.join(tables["codes"], on="reply", how="inner", maintain_order="left")
            .join(tasks, on="variant", how="left", maintain_order="left")
            .join(solutions, on="task", how="left", maintain_order="left")
        )
        yield from joined.select(GATHERED.names()).cast(GATHERED).iter_slices(_ROWS)


def measure_outcomes(batches: Iterable[pl.DataFrame], *, mapped: Mapper = map) -> pl.DataFrame:
    """Measure each code: its size and form, and how alike it is to the reference solution of its task.

    CodeBLEU is that of the mode ``sociolect`` with even weights; ``token_bleu`` is its n-gram part by itself.

    Parameters
    ----------
    batches
        As `gather_codes` yields.
    mapped
        Measures them, batch by batch.

    Returns
    -------
    DataFrame
        The table ``outcomes``, a row for each code in their order. What is not there to be measured is null: everything
        of a reply without code; CodeBLEU, token BLEU and the similarity of a code whose task has no reference solution;
        ``pass`` and ``seconds``, which come with running the codes; ``unparsable`` where there is no code.
    """
    return pl.concat([pl.DataFrame(schema=OUTCOMES), *mapped(_measure, batches)])


def collect_features(
    batches: Iterable[pl.DataFrame], *, rules: Rules | None = None, mapped: Mapper = map
) -> pl.DataFrame:
    """Say what each code is, in words, with the line that shows it.

    Parameters
    ----------
    batches
        As `gather_codes` yields.
    rules
        See `analysis.code.rules.read_rules`; the built-in ones where there are none.
    mapped
        Looks for them, batch by batch.

    Returns
    -------
    DataFrame
        The columns of `analysis.code.features.FEATURES_SCHEMA`.
    """
    return pl.concat([pl.DataFrame(schema=FEATURES_SCHEMA), *mapped(partial(find_in_codes, rules=rules), batches)])


def _measure(codes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``outcomes`` for one batch."""
    whole = pl.col("status").is_in(["ok", "unparsable"])
    found = codes.with_columns(text=pl.when(whole).then("text"))
    parses = {"unparsable": 1.0, "ok": 0.0}
    measured = measure_codes(found).with_columns(
        unparsable=codes["status"].replace_strict(parses, default=None, return_dtype=pl.Float64),
        refused=(codes["reply_status"] == "refused").cast(pl.Float64),
        **{"pass": pl.lit(None, pl.Float64), "seconds": pl.lit(None, pl.Float64)},
    )
    both = pl.concat([measured, _compare(found)], how="horizontal")
    return both.select(OUTCOMES.names()).cast(OUTCOMES)


def _compare(codes: pl.DataFrame) -> pl.DataFrame:
    """Return how alike each code is to its reference; each language by its own grammar."""
    rows: list[tuple[float | str | None, ...]] = [
        (*_NOTHING, "no_code" if text is None else "no_reference") for text in codes["text"]
    ]
    asked = codes.with_row_index("row").drop_nulls(["text", "reference"])
    for (language,), some in asked.group_by("language", maintain_order=True):
        try:
            scored = codebleu_pairs(some.select("reference", "text").rows(), language=str(language))
        except MissingError:
            scored = None
        for place, row in enumerate(some["row"]):
            rows[row] = _cells(scored[place]) if scored else (*_NOTHING, "no_grammar")
    return pl.DataFrame(rows, schema={name: OUTCOMES[name] for name in _SCORES}, orient="row")


def _cells(result: CodeBleuResult) -> tuple[float | str | None, ...]:
    parts = (result.ngram, result.weighted_ngram, result.syntax, result.dataflow)
    return (result.score, *parts, result.ngram, result.status)
