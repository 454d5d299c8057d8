"""The tables of a run, made from its journal any time again; reading and writing tables.

Rows stand in the order of the plan, not in that in which replies arrived, so that a run that was killed and resumed
gives the same bytes as one that was not; only ``seconds`` and ``attempts`` of ``replies`` are measured anew.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from simulator.code import extract
from simulator.definitions import load_study
from simulator.errors import RecordError
from simulator.running.journal.entries import Recorded
from simulator.running.journal.records import Records
from simulator.running.variants import Variant
from simulator.storage import one_at_a_time, storing, write_bytes, write_text

__all__ = ["SCHEMAS", "making_results", "read_state", "read_tables", "run_tables", "write_table", "write_tables"]

VARIANTS = pl.Schema(
    {
        "variant": pl.String,
        "task": pl.String,
        "dataset": pl.String,
        "method": pl.String,
        "persona": pl.String,
        "axis": pl.String,
        "identity": pl.String,
        "wording": pl.String,
        "rate": pl.Float64,
        "realised": pl.Float64,
        "replicate": pl.Int64,
        "seed": pl.Int64,
        "similarity": pl.Float64,
        "text": pl.String,
        "made_by": pl.String,
        "status": pl.String,
        "note": pl.String,
    }
)
"""A text to send. Columns that a method has no use for are null."""

ASKS = pl.Schema({"variant": pl.String, "reply": pl.String})
"""A variant sent in a call; two variants with the same text share one reply."""

REPLIES = pl.Schema(
    {
        "reply": pl.String,
        "call": pl.String,
        "variant": pl.String,
        "stage": pl.String,
        "model": pl.String,
        "params": pl.String,
        "repeat": pl.Int64,
        "status": pl.String,
        "text": pl.String,
        "tokens_input": pl.Int64,
        "tokens_cached": pl.Int64,
        "tokens_output": pl.Int64,
        "tokens_reasoning": pl.Int64,
        "cost": pl.Float64,
        "seconds": pl.Float64,
        "attempts": pl.Int64,
        "error": pl.String,
        "finish": pl.String,
        "model_reported": pl.String,
        "sent": pl.String,
    }
)
"""An answer. ``variant`` is the one it made (stage rewrite) or the first one it was asked for (stage generate);
``params`` and ``sent`` are JSON; ``cost`` in US dollars, null where no price is known; ``seconds`` are wall-clock, of
the answered attempt alone."""

CODES = pl.Schema(
    {
        "code": pl.String,
        "reply": pl.String,
        "status": pl.String,
        "language": pl.String,
        "text": pl.String,
        "blocks": pl.Int64,
        "chosen": pl.String,
        "left_out": pl.String,
    }
)
"""What was extracted from a generating reply, one row for each of them whatever its status."""

CHECKS = pl.Schema(
    {
        "code": pl.String,
        "task": pl.String,
        "suite": pl.String,
        "status": pl.String,
        "failed_input": pl.String,
        "expected": pl.String,
        "got": pl.String,
        "seconds": pl.Float64,
        "exception": pl.String,
    }
)
"""A code against a suite of tests (``base``, ``plus``, ``own``), which passes when every one of them does. ``plus`` is
the further tests alone. ``failed_input`` is the first input on which the code failed, ``expected`` and ``got`` are what
should and did come back; null where that is not known."""

COMPARISONS = pl.Schema(
    {
        "reference": pl.String,
        "candidate": pl.String,
        "kind": pl.String,
        "metric": pl.String,
        "dialect": pl.String,
        "score": pl.Float64,
        "status": pl.String,
    }
)
"""A pair of codes and their similarity in [0, 1]; null where ``status`` says that there is none."""

OUTCOMES = pl.Schema(
    {
        "code": pl.String,
        "pass": pl.Float64,
        "codebleu": pl.Float64,
        "codebleu_ngram": pl.Float64,
        "codebleu_weighted_ngram": pl.Float64,
        "codebleu_syntax": pl.Float64,
        "codebleu_dataflow": pl.Float64,
        "token_bleu": pl.Float64,
        "lines": pl.Float64,
        "comment_lines": pl.Float64,
        "complexity": pl.Float64,
        "reference_similarity": pl.Float64,
        "imports": pl.Float64,
        "seconds": pl.Float64,
        "refused": pl.Float64,
        "unparsable": pl.Float64,
    }
)
"""A code's measures, wide. Every one is a number, a yes or no being 1 or 0, so that any of them can be an outcome of
the audit; null where it was not or could not be measured. A table recorded by others may have more columns."""

SCHEMAS: dict[str, pl.Schema] = {
    "variants": VARIANTS,
    "asks": ASKS,
    "replies": REPLIES,
    "codes": CODES,
    "checks": CHECKS,
    "comparisons": COMPARISONS,
    "outcomes": OUTCOMES,
}
"""The tables of record by name, columns in order."""


_STATE = "made-from.json"


def run_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Make ``variants``, ``asks``, ``replies`` and ``codes`` from the records of a run, as far as it has come.

    A run shared by shards gives the tables of the same run in one piece.

    Parameters
    ----------
    folder
        The run folder.

    Returns
    -------
    dict of str to DataFrame
        In the order above. What is planned but not recorded yet has no row.

    Raises
    ------
    RecordError
        The folder is no run, or its shards have different campaigns.
    """
    variants: list[dict[str, Any]] = []
    asks: list[tuple[str, str]] = []
    replies: dict[str, dict[str, Any]] = {}
    codes: list[dict[str, Any]] = []
    with Records(folder) as records:
        languages = {task.id: task.language for task in load_study(records.campaign()).tasks.values()}
        for (_, name, key, _), journal in records.plan("rewrite"):
            variant, recorded = journal.variant(name), records.reply_to(key)
            if variant is not None and recorded is not None:
                variants.append(_variant_row(variant))
                if key not in replies:
                    replies[key] = _reply_row(records.call(key), recorded, name)
        for (_, name, key, _), journal in records.plan("generate"):
            variant, recorded = journal.variant(name), records.reply_to(key)
            if variant is None or recorded is None:
                continue
            asks.append((name, key))
            if key not in replies:
                replies[key] = _reply_row(records.call(key), recorded, name)
                codes.append(_code_row(key, recorded, language=languages.get(variant.task, "python")))
    return {
        "variants": pl.DataFrame(variants, schema=VARIANTS),
        "asks": pl.DataFrame(asks, schema=ASKS, orient="row"),
        "replies": pl.DataFrame(list(replies.values()), schema=REPLIES),
        "codes": pl.DataFrame(codes, schema=CODES),
    }


def _variant_row(variant: Variant) -> dict[str, Any]:
    known = {name: getattr(variant, name) for name in VARIANTS if hasattr(variant, name)}
    return {name: known.get(name) for name in VARIANTS}


def _reply_row(call: dict[str, Any], recorded: Recorded, variant: str) -> dict[str, Any]:
    reply, tokens = recorded.reply, recorded.reply.tokens
    return {
        "reply": recorded.call,
        "call": recorded.call,
        "variant": variant,
        "stage": call["stage"],
        "model": call["model"],
        "params": json.dumps(call["params"], sort_keys=True, ensure_ascii=False),
        "repeat": call["repeat"],
        "status": reply.status,
        "text": reply.text,
        "tokens_input": tokens.input,
        "tokens_cached": tokens.cached,
        "tokens_output": tokens.output,
        "tokens_reasoning": tokens.reasoning,
        "cost": recorded.cost,
        "seconds": round(recorded.seconds, 3),
        "attempts": recorded.attempts,
        "error": reply.error,
        "finish": reply.finish,
        "model_reported": reply.model_reported,
        "sent": json.dumps(reply.sent, sort_keys=True, ensure_ascii=False),
    }


def _code_row(key: str, recorded: Recorded, *, language: str) -> dict[str, Any]:
    found = extract(recorded.reply.text, language=language)
    return {
        "code": key,
        "reply": key,
        "status": found.status,
        "language": found.language,
        "text": found.text,
        "blocks": found.blocks,
        "chosen": found.chosen,
        "left_out": found.left_out,
    }


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path, *, state: Mapping[str, int] | None = None) -> None:
    """Write each table as ``<name>.parquet`` and ``<name>.csv`` into a folder: all of them, or the old ones stay.

    ``state`` is the journal's (`Journal.state`) at the time that the tables were made from it.

    Raises
    ------
    StorageError
        The disk does not take it.
    """
    made, old = folder.with_name(f".{folder.name}-new"), folder.with_name(f".{folder.name}-old")
    with storing(folder):
        for left in (made, old):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        made.mkdir(parents=True)
        for name, frame in tables.items():
            write_table(frame, made / f"{name}.parquet")
            write_table(frame, made / f"{name}.csv")
        if state is not None:
            write_text(made / _STATE, json.dumps(dict(state), sort_keys=True) + "\n")
        if folder.exists():
            for path in folder.iterdir():  # what is not ours stays
                if path.suffix not in (".parquet", ".csv") and path.name != _STATE:
                    path.replace(made / path.name)
            folder.replace(old)
        made.replace(folder)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def making_results(folder: Path) -> Iterator[None]:
    """Hold a run's results (tables, figures, report) while they are made or read; other processes wait.

    Raises
    ------
    RecordError
        The folder is no run.
    """
    with Records(folder):
        pass  # before a file is made in it
    with one_at_a_time(folder / "results.lock"):
        yield


def read_state(folder: Path) -> dict[str, int] | None:
    """Return the state of the journal that a folder's tables were made from; None where that is not known."""
    try:
        state: dict[str, int] = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write one table as its suffix says: ``.parquet``, ``.csv`` or ``.jsonl``.

    In CSV, lists are joined by ``"; "``, and a text that a spreadsheet would run as a formula (it begins with ``=``,
    ``+``, ``-`` or ``@``, a tab or a carriage return) is preceded by an apostrophe.
    """
    written = io.BytesIO()  # so that a failing disk is met by us, not by a library that has other words for it
    if path.suffix == ".parquet":
        frame.write_parquet(written, compression="zstd", statistics=False)
    elif path.suffix == ".csv":
        _for_spreadsheets(frame).write_csv(written)
    else:
        frame.write_ndjson(written)
    write_bytes(path, written.getvalue())


def _for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    joined = frame.with_columns(
        pl.col(name).list.join("; ") for name, kind in frame.schema.items() if kind == pl.List(pl.String)
    )
    texts = [pl.col(name) for name, kind in joined.schema.items() if kind == pl.String]
    return joined.with_columns(
        pl.when(text.str.contains(r"^[=+\-@\t\r]")).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).name.keep()
        for text in texts
    )


def read_tables(folder: Path, names: Iterable[str] | None = None) -> dict[str, pl.DataFrame]:
    """Read the Parquet tables of a folder by name; all of them where no names are given.

    Raises
    ------
    RecordError
        A file that is no Parquet table.
    """
    wanted = sorted(path.stem for path in folder.glob("*.parquet")) if names is None else list(names)
    return dict(_read(folder, wanted))


def _read(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in names:
        path = folder / f"{name}.parquet"
        try:
            yield name, pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise RecordError(
                f"{path} cannot be read as a table: {error}. Make it again from the journal: sociolect analyze "
                f"{folder.parent}"
            ) from error
