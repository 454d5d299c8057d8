"""Other people's records into this program's own tables. So far: texts by speaker.

A file is read as a whole: its kind (JSONL or CSV, plain or gzip) is found from its name and its first bytes. A row
that cannot be used loses only itself and is named; a file from which nothing can be used is an error that says what
is in it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from simulator.errors import RecordError
from simulator.running.calls import canonical_json

__all__ = ["TEXTS", "read_texts"]

TEXTS = pl.Schema(
    {"text_id": pl.String, "speaker": pl.String, "task": pl.String, "iteration": pl.Int64, "text": pl.String}
)
"""A text by a speaker. ``task`` is empty and ``iteration`` null where the file does not say."""

_NAMED_ROWS = 20  # so many bad rows are named one by one; of the others their number
_OPTIONAL = {"task": "task", "iteration": "iteration"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_INTEGER = re.compile(r"[+-]?\d{1,18}(\.0+)?")


class _Row(NamedTuple):
    """A record of the file: its place, and its fields or why it has none."""

    place: str
    fields: Mapping[str, object]
    problem: str = ""


class _BadRowError(ValueError):
    """Why one row cannot be used."""


def read_texts(
    path: Path | str, *, speaker: str = "speaker", text: str = "text", task: str = "task", iteration: str = "iteration"
) -> tuple[pl.DataFrame, list[str]]:
    """Read texts by speaker from a JSONL or CSV file, or from a gzip of either.

    A file is CSV when its name says so (``.csv``, ``.tsv``) or, under any other name than ``.jsonl`` and ``.ndjson``,
    when it does not begin with a brace. CSV has a header; columns are separated by commas, semicolons or tabs,
    whichever brings out the columns asked for. Everything is UTF-8, with or without a byte-order mark.

    Parameters
    ----------
    path
        The file.
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
        The file is not there, cannot be read, is empty or binary, lacks a column, or has no row that can be used.

    Examples
    --------
    >>> texts, warnings = read_texts("people.csv", text="statement")  # doctest: +SKIP
    """
    path = Path(path)
    content = _decode(path, _read_bytes(path))
    names = {"speaker": speaker, "text": text, "task": task, "iteration": iteration}
    rows = list(_csv_rows(path, content, names) if _is_csv(path, content) else _jsonl_rows(content))
    _check_columns(path, rows, names)
    records: list[tuple[str, str, str, int | None, str]] = []
    problems: list[str] = []
    seen: Counter[str] = Counter()
    for row in rows:
        try:
            values = _read_row(row, names)
        except _BadRowError as problem:
            problems.append(f"{path.name}, {row.place}: {problem}; left out")
            continue
        key = canonical_json(values)
        digest = hashlib.sha256(f"{seen[key]} {key}".encode()).hexdigest()[:16]
        seen[key] += 1
        records.append((digest, *values))
    if not records:
        why = f" {problems[0].removesuffix('; left out')}." if problems else ""
        raise RecordError(
            f"{path}: none of its {len(rows)} rows can be used as a text by a speaker.{why} "
            'One row is one text: {"speaker": ..., "text": ...} a line, or a CSV file with these columns.'
        )
    return pl.DataFrame(records, schema=TEXTS, orient="row"), _summarize(path, problems, len(rows))


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise RecordError(f"{path}: there is no such file. Give the path of a JSONL or CSV file of texts.") from None
    except IsADirectoryError:
        raise RecordError(f"{path}: is a folder, not a file. Give the path of a JSONL or CSV file of texts.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordError(f"{path}: the gzip file is damaged or cut off ({error}). Fetch or pack it again.") from error
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not data.strip():
        raise RecordError(f"{path}: the file is empty. One row is one text by a speaker.")
    return data


def _decode(path: Path, data: bytes) -> str:
    """Decode UTF-8; a byte that is none becomes a lone surrogate, which costs its row."""
    if b"\0" in data[:65536] or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise RecordError(
            f"{path}: is a binary file or is not in UTF-8 (it holds zero bytes). "
            "Export the texts as CSV or JSONL in UTF-8; a spreadsheet or Parquet file cannot be read here."
        )
    return data.decode("utf-8-sig", "surrogateescape")


def _is_csv(path: Path, content: str) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".csv", ".tsv"):
        return True
    return kind not in (".jsonl", ".ndjson") and not content.lstrip().startswith(("{", "["))


def _jsonl_rows(content: str) -> Iterator[_Row]:
    # Only line feeds end a row: U+2028 and its like may stand inside a text.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"row {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
            yield _Row(place, {}, f"is not JSON ({reason})")
            continue
        if isinstance(value, dict):
            yield _Row(place, value)
        else:
            yield _Row(place, {}, "is JSON but not an object with named fields")


def _csv_rows(path: Path, content: str, names: Mapping[str, str]) -> Iterator[_Row]:
    """Yield the records of a CSV file; the place is the line on which a record begins."""
    # csv counts characters of a field against a limit that belongs to the process: restored when all is read.
    limit = csv.field_size_limit(len(content) + 1)
    try:
        delimiter, header = _find_delimiter(path, content, names)
        # Strict, so that a quotation mark that is never closed is an error and not the end of the records.
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
        next(reader)
        while True:
            place = f"row {reader.line_num + 1}"
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield _Row(place, {}, f"is not CSV ({error})")
                continue
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                yield _Row(place, {}, f"has {len(cells)} cells where the header has {len(header)}")
                continue
            yield _Row(place, dict(zip(header, cells, strict=True)))
    finally:
        csv.field_size_limit(limit)


def _find_delimiter(path: Path, content: str, names: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the delimiter under which the header holds most of the columns asked for, and that header."""
    headers: dict[str, list[str]] = {}
    for delimiter in (",", ";", "\t"):
        try:
            cells = next(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        headers[delimiter] = [cell.strip() for cell in cells]
    if not headers:
        raise RecordError(f"{path}, row 1: the header is not CSV: a quotation mark is not closed.")
    wanted = set(names.values())
    best = max(headers, key=lambda delimiter: (len(wanted & set(headers[delimiter])), len(headers[delimiter])))
    for name, times in Counter(headers[best]).items():
        if times > 1 and name in wanted:
            raise RecordError(f"{path}, row 1: the header names {times} columns {name!r}. Rename all but one.")
    return best, headers[best]


def _check_columns(path: Path, rows: list[_Row], names: Mapping[str, str]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row.fields))
    if not columns:
        return
    for what, name in names.items():
        if name in columns or _OPTIONAL.get(what) == name:
            continue
        found = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
        raise RecordError(
            f"{path}: there is no column {name!r} for the {what}. The columns are {found}. "
            f"Name the one that holds it: --{what} COLUMN."
        )


def _read_row(row: _Row, names: Mapping[str, str]) -> tuple[str, str, int | None, str]:
    if row.problem:
        raise _BadRowError(row.problem)
    speaker = _read_name(row, names["speaker"], "speaker")
    if not speaker:
        raise _BadRowError(f"has no speaker in {names['speaker']!r}")
    text = row.fields.get(names["text"])
    if text is not None and not isinstance(text, str):
        raise _BadRowError(f"{names['text']!r} is {_kind(text)}, not a text")
    if text is None or not text.strip():
        raise _BadRowError(f"has no text in {names['text']!r}")
    _check_unicode(text, names["text"])
    return speaker, _read_name(row, names["task"], "task"), _read_iteration(row, names["iteration"]), text


def _read_name(row: _Row, column: str, what: str) -> str:
    value = row.fields.get(column)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _BadRowError(f"{column!r} is {_kind(value)}, not the name of a {what}")
    name = str(value)
    _check_unicode(name, column)
    return " ".join(_without_controls(name).split())


def _read_iteration(row: _Row, column: str) -> int | None:
    value = row.fields.get(column)
    if value is None or value == "":
        return None
    if not isinstance(value, bool) and isinstance(value, str | int | float):
        written = str(value).strip()
        if _INTEGER.fullmatch(written):
            return int(written.partition(".")[0])
    raise _BadRowError(f"{column!r} is {_kind(value)}, not a whole number")


def _check_unicode(value: str, column: str) -> None:
    if _SURROGATE.search(value):
        raise _BadRowError(f"{column!r} holds what is not valid UTF-8, or half a surrogate pair")


def _without_controls(name: str) -> str:
    """Control characters, which no name needs and no XML file can hold, as spaces.

    Joiners and marks of direction stay: scripts and emoji need them, and without them two names could become one.
    """
    return _CONTROLS.sub(" ", name)


def _kind(value: object) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object", str: "text"}
    return kinds.get(type(value), "null")


def _summarize(path: Path, problems: list[str], rows: int) -> list[str]:
    if not problems:
        return []
    more = len(problems) - _NAMED_ROWS
    return [
        f"{path.name}: {len(problems)} of {rows} rows were left out; the others are used",
        *problems[:_NAMED_ROWS],
        *([f"{path.name}: {more} more rows were left out"] if more > 0 else []),
    ]
