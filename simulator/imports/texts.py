"""Texts by speakers, from a JSONL or CSV file of anybody's."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from simulator.errors import RecordError
from simulator.imports.columns import Columns, check_columns
from simulator.imports.ids import ContentIds
from simulator.imports.left_out import BadRowError, LeftOut
from simulator.imports.rows import Row, open_rows
from simulator.imports.values import read_integer, read_name, read_text

__all__ = ["TEXTS", "read_texts"]

TEXTS = pl.Schema(
    {"text_id": pl.String, "speaker": pl.String, "task": pl.String, "iteration": pl.Int64, "text": pl.String}
)
"""A text by a speaker. ``task`` is empty and ``iteration`` null where the file does not say."""

_OPTIONAL = {"task": "task", "iteration": "iteration"}
_BATCH = 50_000
_MEND = "Name the one that holds it: --{what} COLUMN."


def read_texts(
    path: Path | str, *, speaker: str = "speaker", text: str = "text", task: str = "task", iteration: str = "iteration"
) -> tuple[pl.DataFrame, list[str]]:
    """Read texts by speaker from a JSONL or CSV file, or from a gzip of either (see `simulator.imports.rows`).

    Parameters
    ----------
    path
        The file. One row is one text: ``{"speaker": "ann", "task": "calculator", "iteration": 1, "text": "..."}``.
    speaker, text, task, iteration
        The columns that hold each; other columns are ignored. ``task`` and ``iteration`` may be absent under these
        names: the task is then empty (all texts answer the same task) and the iteration null. Under a name that you
        choose they must be there.

    Returns
    -------
    DataFrame
        The columns of `TEXTS`, in the file's order. Texts are as they stand in the file; speakers and tasks have no
        white space around them and single spaces inside. ``text_id`` is a hash of the row's speaker, task, iteration
        and text, and of how many equal rows come before it, so it is unique and does not change when rows are added
        or sorted.
    list of str
        One warning a row that was left out (the first 20; then how many more), after one that counts them. A row is
        left out when it is not JSON or has the wrong number of cells, when it has no speaker or no text, when a value
        has the wrong type, or when it holds what is not valid Unicode.

    Raises
    ------
    RecordError
        The file is not there, cannot be read, is empty, binary or a damaged gzip, lacks a column, or has no row that
        can be used.

    Examples
    --------
    >>> texts, warnings = read_texts("people.csv", text="statement")  # doctest: +SKIP
    """
    path = Path(path)
    names = {"speaker": speaker, "text": text, "task": task, "iteration": iteration}
    needed = {what: name for what, name in names.items() if _OPTIONAL.get(what) != name}
    left_out, ids = LeftOut(path.name), ContentIds(digits=16)
    columns = Columns()
    frames: list[pl.DataFrame] = []
    records: list[tuple[str, str, str, int | None, str]] = []
    with open_rows(path, wanted=list(names.values()), what="texts") as (header, rows):
        columns.meet(header)
        check_columns(path, header, needed, _MEND)
        for row in rows:
            left_out.read += 1
            columns.meet(row.fields)
            try:
                values = _read_row(row, names)
            except BadRowError as problem:
                left_out.add(row.place, problem, number=row.number)
                continue
            records.append((ids.make(values), *values))
            if len(records) == _BATCH:
                frames.append(pl.DataFrame(records, schema=TEXTS, orient="row"))
                records.clear()
    check_columns(path, columns, needed, _MEND)
    if not (records or frames):
        why = f" {left_out.first}." if left_out.lost else ""
        raise RecordError(
            f"{path}: none of its {left_out.read} rows can be used as a text by a speaker.{why} "
            'One row is one text: {"speaker": ..., "text": ...} a line, or a CSV file with these columns.'
        )
    frames.append(pl.DataFrame(records, schema=TEXTS, orient="row"))
    return pl.concat(frames), left_out.warnings()


def _read_row(row: Row, names: dict[str, str]) -> tuple[str, str, int | None, str]:
    if row.problem:
        raise BadRowError(row.problem)
    speaker = read_name(row.fields, names["speaker"], "speaker")
    if not speaker:
        raise BadRowError(f"has no speaker in {names['speaker']!r}")
    text = read_text(row.fields, names["text"])
    return speaker, read_name(row.fields, names["task"], "task"), read_integer(row.fields, names["iteration"]), text
