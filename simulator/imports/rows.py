"""The rows of a JSONL or CSV file, plain or gzip, one by one, so that a file of any length can be read.

What is wrong with one row is said by that row, and the next ones are read all the same. What is wrong with the file as
a whole is an error: so is a gzip file that was cut off, because nobody knows what is missing from it, and it is not
missing at random.
"""

from __future__ import annotations

import csv
import io
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from simulator.errors import RecordError
from simulator.imports.files import open_bytes, unreadable
from simulator.imports.left_out import BadRowError

__all__ = ["LONGEST_ROW", "Row", "RowFile", "decode_json", "open_rows"]

LONGEST_ROW = 16 * 1024 * 1024
"""Characters. A longer row is left out, and never in memory as a whole."""


class Row(NamedTuple):
    """A record of a file.

    Parameters
    ----------
    number
        The line on which it begins, from 1.
    fields
        Its values by column.
    problem
        Why it has no fields; empty where it has them.
    """

    number: int
    fields: Mapping[str, object]
    problem: str = ""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"row {self.number}"


class RowFile(NamedTuple):
    """A file that is open: the columns of its header (none for JSONL) and its rows, which can be read once."""

    columns: list[str]
    rows: Iterator[Row]


class _TooLongError(Exception):
    """The line just read is longer than a row may be; it was skipped."""


@contextmanager
def open_rows(path: Path, *, wanted: Collection[str], what: str) -> Iterator[RowFile]:
    """Open a file of records for reading row by row, in memory that does not grow with the file.

    A file is CSV when its name says so (``.csv``, ``.tsv``) or, under any other name than ``.jsonl`` and ``.ndjson``,
    when it does not begin with a brace or bracket. CSV has a header; columns are separated by commas, semicolons or
    tabs, whichever brings out most of the columns wanted; lines end in LF, CRLF or CR. In JSONL one line is one
    object, and only LF ends a line. Gzip is told by its first bytes. Text is UTF-8, with or without a byte-order mark;
    other bytes arrive as lone surrogates, for the row's reader to refuse. Blank lines are no rows.

    A row is a problem when it is not JSON, no object, or names a field twice; when it has another number of cells than
    the header, or its quotation marks do not close (the lines that such a mark would swallow are read as rows of their
    own); and when it is longer than `LONGEST_ROW`.

    Parameters
    ----------
    path
        The file.
    wanted
        Names of columns by which a CSV file's delimiter is found.
    what
        What the file should hold, for errors: ``texts``.

    Raises
    ------
    RecordError
        The file is not there, is a folder, empty or binary; its header is no CSV or names a wanted column twice; later,
        while rows are read, the gzip data are damaged or end too early.
    """
    with open_bytes(path, f"JSONL or CSV file of {what}") as (data, head):
        is_csv = _is_csv(path, head.lstrip())
        text = io.TextIOWrapper(data, "utf-8-sig", errors="surrogateescape", newline="" if is_csv else "\n")
        lines = _Lines(path, text)
        if not lines.skip_blank():
            raise RecordError(f"{path}: the file is empty. Give the path of a JSONL or CSV file of {what}.")
        if is_csv:
            delimiter, header = _read_header(path, lines, wanted)
            yield RowFile(header, _csv_rows(lines, delimiter, header))
        else:
            yield RowFile([], _jsonl_rows(lines))


def _is_csv(path: Path, head: bytes) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".csv", ".tsv"):
        return True
    return kind not in (".jsonl", ".ndjson") and not head.startswith((b"{", b"["))


class _Lines:
    """The lines of a text file. After a line that is too long, or was handed back, the next ones can still be read."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path = path
        self._file = file
        self._returned: list[str] = []
        self.number = 0
        self.taken: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.pop() if self._returned else self._read()
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > LONGEST_ROW:
            rest = line
            while rest and rest[-1] not in "\r\n":
                rest = self._read()
            raise _TooLongError
        self.taken.append(line)
        return line

    def _read(self) -> str:
        try:
            return self._file.readline(LONGEST_ROW + 1)
        except (EOFError, zlib.error, OSError) as error:
            raise unreadable(self._path, error, self.number) from error

    def hand_back(self, count: int) -> None:
        """Let the last lines taken be read again."""
        if count:
            self._returned.extend(reversed(self.taken[-count:]))
            del self.taken[-count:]
            self.number -= count

    def skip_blank(self) -> bool:
        """Go on to the next line that is not blank, and say whether there is one."""
        while True:
            try:
                if next(self).strip():
                    self.hand_back(1)
                    return True
                self.taken.clear()
            except _TooLongError:
                return True
            except StopIteration:
                return False


def _jsonl_rows(lines: _Lines) -> Iterator[Row]:
    while True:
        lines.taken.clear()
        number = lines.number + 1
        try:
            line = next(lines)
        except StopIteration:
            return
        except _TooLongError:
            yield Row(number, {}, _TOO_LONG)
            continue
        if line.isspace():
            continue
        try:
            value = decode_json(line)
        except BadRowError as problem:
            yield Row(number, {}, str(problem))
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            yield Row(number, {}, "is JSON but not an object with named fields")


def decode_json(text: str) -> object:
    """Return what a JSON document says; NaN and the infinities are read as Python writes them.

    Raises
    ------
    BadRowError
        It is not JSON, cannot be held, or names a field twice in an object.
    """
    try:
        return _DECODER.decode(text)
    except _TwiceError as error:
        raise BadRowError(f"names {error.args[0]!r} twice") from None
    except json.JSONDecodeError as error:
        raise BadRowError(f"is not JSON ({error.msg})") from None
    except RecursionError:
        raise BadRowError("is not JSON that can be read (it is nested too deeply)") from None
    except ValueError:
        raise BadRowError("is not JSON that can be read (a number in it has thousands of digits)") from None


class _TwiceError(Exception):
    """An object names a field twice: which of the values is meant nobody can know."""


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _TwiceError(next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1))
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)
_TOO_LONG = f"is longer than {LONGEST_ROW:,} characters"


def _read_header(path: Path, lines: _Lines, wanted: Collection[str]) -> tuple[str, list[str]]:
    """Return the delimiter under which the header holds most of the columns wanted, and that header."""
    head: list[str] = []
    found: dict[str, tuple[list[str], int]] = {}
    while not found or any(size == 0 for _, size in found.values()):
        try:
            lines.taken.clear()
            head.append(next(lines))
        except (StopIteration, _TooLongError):
            break
        found = {delimiter: header for delimiter in (",", ";", "\t") if (header := _cells(head, delimiter)) is not None}
        if not found or sum(map(len, head)) > LONGEST_ROW:
            break
    headers = {delimiter: header for delimiter, header in found.items() if header[1]}
    if not headers:
        raise RecordError(
            f"{path}, row 1: the header is not CSV: a quotation mark is not closed, or it is longer than "
            f"{LONGEST_ROW:,} characters. Begin the file with a line that names its columns."
        )
    best = max(headers, key=lambda one: (len(set(wanted) & set(headers[one][0])), len(headers[one][0])))
    names, size = headers[best]
    lines.taken[:] = head
    lines.hand_back(len(head) - size)
    for name, times in Counter(names).items():
        if times > 1 and name in wanted:
            raise RecordError(f"{path}, row 1: the header names {times} columns {name!r}. Rename all but one.")
    return best, names


def _cells(head: list[str], delimiter: str) -> tuple[list[str], int] | None:
    """Return the header and how many lines it takes: 0 if more than there are; None if it is not CSV."""
    reader = csv.reader(head, delimiter=delimiter, strict=True)
    try:
        return [cell.strip() for cell in next(reader)], reader.line_num
    except csv.Error as error:
        return ([], 0) if "unexpected end of data" in str(error) else None


def _csv_rows(lines: _Lines, delimiter: str, header: list[str]) -> Iterator[Row]:
    # Strict, so that a quotation mark that is never closed is an error and not the end of the records.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.taken.clear()
        number = lines.number + 1
        try:
            # The limit belongs to the process, so it is ours only while we read.
            before = csv.field_size_limit(LONGEST_ROW)
            try:
                cells = next(reader)
            finally:
                csv.field_size_limit(before)
        except StopIteration:
            return
        except _TooLongError:
            yield Row(number, {}, _TOO_LONG)
            continue
        except csv.Error as error:
            # Lines are read at most twice: one that would open a quotation closes the one that is open.
            swallowed = max(len(lines.taken) - 1, 0)
            lines.hand_back(swallowed)
            then = "; the lines after it are read as rows of their own" if swallowed else ""
            yield Row(number, {}, f"is not CSV ({error}){then}")
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) == len(header):
            yield Row(number, dict(zip(header, cells, strict=True)))
        else:
            more = f", up to line {lines.number}," if lines.number > number else ""
            yield Row(number, {}, f"has{more} {len(cells)} cells where the header has {len(header)}")
