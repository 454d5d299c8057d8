"""The tables of record of a run, made from its journals any time again, in batches.

Rows stand in the order of the plan, not in that in which replies arrived, so that a run that was killed and resumed
gives the same bytes as one that was not; only ``seconds`` and ``attempts`` of ``replies`` are measured anew. A run of
shards gives the tables of the same run in one piece.

In memory is one batch, and the key of each call that has been seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from simulator.code import extract
from simulator.definitions import load_study
from simulator.prompts import human_variants
from simulator.running.calls import Stage
from simulator.running.journal.entries import PlanRow, Recorded
from simulator.running.journal.journal import Journal
from simulator.running.journal.records import Records
from simulator.running.variants import Variant
from simulator.tables.files import writing_table
from simulator.tables.schemas import ASKS, CODES, REPLIES, SCHEMAS, VARIANTS

__all__ = ["ANSWERS", "Batch", "Function", "Mapper", "extract_codes", "run_tables", "stream_tables", "write_run_tables"]

Tables = dict[str, pl.DataFrame]
Function = Callable[[pl.DataFrame], pl.DataFrame]
Mapper = Callable[[Function, Iterable[pl.DataFrame]], Iterable[pl.DataFrame]]
"""Applies a pure function to each of many frames and gives what comes back, in their order, as the builtin ``map``."""

ANSWERS = pl.Schema({"reply": pl.String, "text": pl.String, "language": pl.String})
"""A generating reply and the language that its task asks for: what codes are extracted from."""

BATCH_ROWS = 2_000
BATCH_CHARACTERS = 8_000_000
"""A batch ends with the row with which it has so many rows, or so many characters of replies."""

_PAGE = 100
"""Rows of a plan whose records are read by one query each."""


def run_tables(folder: Path) -> Tables:
    """Return ``variants``, ``asks``, ``replies`` and ``codes`` of a run, as far as it has come, all in memory.

    What is planned but not recorded yet has no row. For large runs there is `write_run_tables`.

    Raises
    ------
    RecordError
        The folder is no run, or its shards have different campaigns.
    """
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in ("variants", "asks", "replies", "codes")}
    with Records(folder) as records:
        for batch in stream_tables(records):
            for name, frame in (*batch.tables.items(), ("codes", extract_codes(batch.answers))):
                found[name].append(frame)
    return {name: pl.concat([pl.DataFrame(schema=SCHEMAS[name]), *frames]) for name, frames in found.items()}


def write_run_tables(records: Records, folder: Path, *, mapped: Mapper = map) -> None:
    """Write the tables of record of a run, as far as it has come, as Parquet and CSV.

    Parameters
    ----------
    records
        Of the run.
    folder
        Where to (`simulator.tables.replacing_tables`).
    mapped
        Extracts the codes, batch by batch.

    Raises
    ------
    RecordError
        The shards of the run have different campaigns.
    StorageError
        The disk does not take it.
    """
    with ExitStack() as stack:
        writers = {
            name: [
                stack.enter_context(writing_table(folder / f"{name}.{kind}", SCHEMAS[name]))
                for kind in ("parquet", "csv")
            ]
            for name in ("variants", "asks", "replies", "codes")
        }

        def write(name: str, frame: pl.DataFrame) -> None:
            for one in writers[name]:
                one(frame)

        def answers() -> Iterator[pl.DataFrame]:
            for batch in stream_tables(records):
                for name, frame in batch.tables.items():
                    write(name, frame)
                if batch.answers.height:
                    yield batch.answers

        for codes in mapped(extract_codes, answers()):
            write("codes", codes)


class Batch(NamedTuple):
    """Some rows of ``variants``, ``asks`` and ``replies``, and the answers among them (`ANSWERS`)."""

    tables: Tables
    answers: pl.DataFrame


def stream_tables(records: Records) -> Iterator[Batch]:
    """Yield the tables of record of a run in batches; a table's rows are those of all batches in their order."""
    study = load_study(records.campaign())
    languages = {task.id: task.language for task in study.tasks.values()}
    rows = _Rows()
    seen: set[str] = set()
    stages: tuple[Stage, ...] = ("rewrite", "generate")
    for stage in stages:
        plan = records.plan(stage)
        while page := list(islice(plan, _PAGE)):
            variants, replies, calls = _read_page(records, page)
            for planned, _ in page:
                variant, recorded = variants.get(planned.variant), replies.get(planned.call)
                if variant is None or recorded is None:
                    continue
                if stage == "rewrite":
                    rows.variants.append(_variant_row(variant))
                else:
                    rows.asks.append((planned.variant, planned.call))
                if planned.call not in seen:
                    seen.add(planned.call)
                    rows.replies.append(_reply_row(calls[planned.call], recorded, planned.variant))
                    if stage == "generate":
                        language = languages.get(variant.task, "python")
                        rows.answers.append((recorded.call, recorded.reply.text, language))
                    rows.characters += len(recorded.reply.text)
                if rows.are_many():
                    yield rows.take()
        if stage == "rewrite":  # what people wrote stands in the frozen campaign: nothing had to be asked for it
            for variant in (variant for texts in study.humans for variant in human_variants(texts)):
                rows.variants.append(_variant_row(variant))
                if rows.are_many():
                    yield rows.take()
    yield rows.take()


def extract_codes(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``codes`` for some answers (the columns of `ANSWERS`), in their order."""
    rows = []
    for reply, text, language in answers.iter_rows():
        found = extract(text, language=language)
        place = (found.blocks, found.chosen, found.left_out)
        rows.append((reply, reply, found.status, found.language, found.text, *place))
    return pl.DataFrame(rows, schema=CODES, orient="row")


class _Rows:
    """The rows of the batch that is being made."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.variants: list[tuple[Any, ...]] = []
        self.asks: list[tuple[str, str]] = []
        self.replies: list[tuple[Any, ...]] = []
        self.answers: list[tuple[str, str, str]] = []
        self.characters = 0

    def are_many(self) -> bool:
        rows = max(len(self.variants), len(self.asks), len(self.replies))
        return rows >= BATCH_ROWS or self.characters >= BATCH_CHARACTERS

    def take(self) -> Batch:
        """Return the batch, and begin the next one."""
        made = ((self.variants, VARIANTS), (self.asks, ASKS), (self.replies, REPLIES), (self.answers, ANSWERS))
        variants, asks, replies, answers = (pl.DataFrame(rows, schema=of, orient="row") for rows, of in made)
        self._clear()
        return Batch({"variants": variants, "asks": asks, "replies": replies}, answers)


def _read_page(
    records: Records, page: list[tuple[PlanRow, Journal]]
) -> tuple[dict[str, Variant], dict[str, Recorded], dict[str, dict[str, Any]]]:
    """Return what is recorded for some rows of a plan: their variants, replies and calls, by id."""
    planned_in: dict[Journal, list[str]] = {}
    for row, journal in page:
        planned_in.setdefault(journal, []).append(row.variant)
    variants: dict[str, Variant] = {}
    for journal, names in planned_in.items():
        variants |= journal.variants(names)
    keys = list(dict.fromkeys(row.call for row, _ in page))
    return variants, records.replies_to(keys), records.calls(keys)


def _variant_row(variant: Variant) -> tuple[Any, ...]:
    return tuple(getattr(variant, name, None) for name in VARIANTS)


def _reply_row(call: Mapping[str, Any], recorded: Recorded, variant: str) -> tuple[Any, ...]:
    reply, tokens = recorded.reply, recorded.reply.tokens
    row = {
        "reply": recorded.call,
        "call": recorded.call,
        "variant": variant,
        "stage": call["stage"],
        "model": call["model"],
        "params": _as_json(call["params"]),
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
        "sent": _as_json(reply.sent),
    }
    return tuple(row[name] for name in REPLIES)


_as_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
