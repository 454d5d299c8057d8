"""What the tables of record hold: what a row is, and the type and meaning of each column.

The page ``docs/tables.md`` is written from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

__all__ = [
    "ASKS",
    "CHECKS",
    "CODES",
    "COMPARISONS",
    "OUTCOMES",
    "REPLIES",
    "SCHEMAS",
    "TABLES",
    "VARIANTS",
    "Table",
]

_Column = tuple[type[pl.DataType], str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of record.

    Parameters
    ----------
    row
        What one row is, in a sentence or two.
    columns
        The polars type and the meaning of each, in their order.
    """

    row: str
    columns: Mapping[str, _Column]

    @property
    def schema(self) -> pl.Schema:
        """Names and types of the columns, in their order."""
        return pl.Schema({name: kind for name, (kind, _) in self.columns.items()})


_TEXT, _WHOLE, _REAL = pl.String, pl.Int64, pl.Float64

TABLES: dict[str, Table] = {
    "variants": Table(
        "A text to send in place of a task's prompt, with its lineage. Columns that its method has no use for are "
        "null.",
        {
            "variant": (_TEXT, "its id"),
            "task": (_TEXT, "the task that it asks for"),
            "dataset": (_TEXT, "the set of tasks that this one is from; null for the built-in and the user's own"),
            "method": (_TEXT, "how it was made: original, rewrite, typos, synonyms, paraphrase, identity, human"),
            "persona": (_TEXT, "who asks (method rewrite), or who asked (human)"),
            "axis": (_TEXT, "the axis of the identity (method identity), such as occupation"),
            "identity": (_TEXT, "the value on that axis, such as nurse"),
            "wording": (_TEXT, "which of the templates carries the identity"),
            "rate": (_REAL, "the rate of change asked for, 0 to 1 (typos, synonyms, paraphrase)"),
            "realised": (_REAL, "the rate of change that was made, 0 to 1"),
            "replicate": (_WHOLE, "which of several variants made in the same way, from 0"),
            "seed": (_WHOLE, "of the random numbers that it was made with"),
            "similarity": (_REAL, "to the original, 0 to 1, by the measure of its method"),
            "text": (_TEXT, "the text"),
            "made_by": (_TEXT, "the call whose reply it is from; empty where no model made it"),
            "status": (
                _TEXT,
                "ok, or why it is not sent: a reply's status, or too_long, answered, code, echo, off_task",
            ),
            "note": (_TEXT, "what else is to be said of it, in words"),
        },
    ),
    "asks": Table(
        "A variant sent in a call. Two variants with the same text share one reply.",
        {"variant": (_TEXT, "what was sent"), "reply": (_TEXT, "what came back")},
    ),
    "replies": Table(
        "An answer of a model, the latest to its call.",
        {
            "reply": (_TEXT, "its id: that of its call, which has one reply that counts"),
            "call": (_TEXT, "the hash of everything that determines it"),
            "variant": (_TEXT, "the one it made (stage rewrite), or the first it was asked for (stage generate)"),
            "stage": (_TEXT, "rewrite or generate"),
            "model": (_TEXT, "as the campaign names it"),
            "params": (_TEXT, "what it was asked with, as a JSON object"),
            "repeat": (_WHOLE, "which of several replies to the same text, from 0"),
            "status": (_TEXT, "ok, empty, refused, truncated, filtered, error"),
            "text": (_TEXT, "what the model wrote"),
            "tokens_input": (_WHOLE, "tokens read afresh; null where the provider does not say"),
            "tokens_cached": (_WHOLE, "tokens read from the provider's cache"),
            "tokens_output": (_WHOLE, "tokens written that can be seen"),
            "tokens_reasoning": (_WHOLE, "tokens written in thought"),
            "cost": (_REAL, "US dollars; null where it is not known"),
            "seconds": (_REAL, "wall-clock of the answered attempt, without any waiting"),
            "attempts": (_WHOLE, "how often it was asked, failed attempts included"),
            "error": (_TEXT, "why there is no answer (status error)"),
            "finish": (_TEXT, "why the model stopped, in the provider's word"),
            "model_reported": (_TEXT, "which model the provider says has answered"),
            "sent": (_TEXT, "the parameters as they were sent, as a JSON object"),
        },
    ),
    "codes": Table(
        "What was extracted from a generating reply: one row for each of them, whatever its status.",
        {
            "code": (_TEXT, "its id"),
            "reply": (_TEXT, "what it is from"),
            "status": (_TEXT, "ok, no_code, unparsable, empty"),
            "language": (_TEXT, "what it is written in, or was asked in where there is none"),
            "text": (_TEXT, "the code"),
            "blocks": (_WHOLE, "fenced blocks in the reply"),
            "chosen": (_TEXT, "which part of the reply was taken and why, in words"),
            "left_out": (_TEXT, "what was not taken, in words"),
        },
    ),
    "checks": Table(
        "A code against a suite of tests (base, plus, own), which passes when every one of them does; plus is the "
        "further tests alone.",
        {
            "code": (_TEXT, "what was run"),
            "task": (_TEXT, "whose tests"),
            "suite": (_TEXT, "base, plus, own"),
            "status": (_TEXT, "pass, fail, error, timeout, memory, crashed, not_run"),
            "failed_input": (_TEXT, "the first input on which it failed; null where that is not known"),
            "expected": (_TEXT, "what should have come back"),
            "got": (_TEXT, "what did"),
            "seconds": (_REAL, "wall-clock of the suite"),
            "exception": (_TEXT, "what was raised"),
        },
    ),
    "comparisons": Table(
        "A pair of codes and how alike they are.",
        {
            "reference": (_TEXT, "the code compared against"),
            "candidate": (_TEXT, "the code compared"),
            "kind": (_TEXT, "rate0, repeat, floor, persona"),
            "metric": (_TEXT, "such as tsed"),
            "dialect": (_TEXT, "typed or published"),
            "score": (_REAL, "0 to 1; null where there is none"),
            "status": (_TEXT, "ok, or why there is no score"),
        },
    ),
    "outcomes": Table(
        "A code's measures, wide: any of them can be an outcome of the audit. A yes is 1, a no is 0; null where it was "
        "not or could not be measured. A table recorded by others may have more columns.",
        {
            "code": (_TEXT, "what was measured"),
            "pass": (_REAL, "whether it passes its tests"),
            "codebleu": (_REAL, "CodeBLEU to the reference solution, 0 to 1"),
            "codebleu_ngram": (_REAL, "its n-gram part"),
            "codebleu_weighted_ngram": (_REAL, "its part of n-grams weighted by keywords"),
            "codebleu_syntax": (_REAL, "its part of subtrees"),
            "codebleu_dataflow": (_REAL, "its part of data flow"),
            "token_bleu": (_REAL, "BLEU of tokens to the reference solution, 0 to 1"),
            "lines": (_REAL, "lines of code"),
            "comment_lines": (_REAL, "lines of comment"),
            "complexity": (_REAL, "cyclomatic complexity"),
            "reference_similarity": (_REAL, "similarity of characters to the reference solution, 0 to 1"),
            "imports": (_REAL, "imported modules"),
            "seconds": (_REAL, "wall-clock of its tests"),
            "refused": (_REAL, "whether the model refused"),
            "unparsable": (_REAL, "whether it does not parse; null where there is no code"),
            "blank_lines": (_REAL, "blank lines"),
            "docstring_lines": (_REAL, "lines of strings that stand by themselves as statements"),
            "functions": (_REAL, "functions and methods defined"),
            "classes": (_REAL, "classes defined"),
            "form_status": (_TEXT, "ok, or why its size is null: empty, prose, unparsable, too_large, no_grammar"),
            "codebleu_status": (
                _TEXT,
                "ok, or why CodeBLEU is null: no_reference, no_code, empty, prose, unparsable, too_large, undefined, "
                "no_grammar",
            ),
        },
    ),
}
"""The tables of record by name."""

SCHEMAS: dict[str, pl.Schema] = {name: table.schema for name, table in TABLES.items()}
"""Their schemas by name."""

VARIANTS = SCHEMAS["variants"]
ASKS = SCHEMAS["asks"]
REPLIES = SCHEMAS["replies"]
CODES = SCHEMAS["codes"]
CHECKS = SCHEMAS["checks"]
COMPARISONS = SCHEMAS["comparisons"]
OUTCOMES = SCHEMAS["outcomes"]
