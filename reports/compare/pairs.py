"""The pairs to compare: two files, the files of two folders by their paths, or the rows of one file.

A pair that cannot be compared stays, with a status that says why; only a row of which nothing can be read is left out,
counted and named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

from reports.visible import one_line, visible
from simulator.errors import RecordError, UsageError
from simulator.imports.columns import Columns, check_columns
from simulator.imports.left_out import BadRowError, LeftOut
from simulator.imports.rows import LONGEST_ROW, Row, open_rows
from simulator.imports.values import read_answer, read_name

__all__ = ["LANGUAGES", "Pair", "Pairs", "ReadStatus", "language_of", "read_pairs"]

ReadStatus = Literal["ok", "no_partner", "binary", "not_utf8", "too_long", "unreadable", "languages_differ"]

LANGUAGES: Mapping[str, str] = {
    ".py": "python",
    ".pyi": "python",
    ".pyw": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hpp": "cpp",
    ".cs": "c-sharp",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
    ".kt": "kotlin",
    ".swift": "swift",
    ".scala": "scala",
    ".lua": "lua",
    ".sh": "bash",
    ".hs": "haskell",
    ".ml": "ocaml",
    ".jl": "julia",
}
"""Suffix to the language as its grammar's package is called, ``tree-sitter-<language>``."""

_NAMED = 10
_SKIPPED = frozenset({"__pycache__", "node_modules"})
_MEND = 'One row is one pair: {{"a": "def f(): ...", "b": "def g(): ..."}}; name other columns with --a and --b.'


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts to compare, or why they cannot be.

    Parameters
    ----------
    id
        What tells it from the others: the path in both folders, or the row's.
    a, b
        Where each text is: a file, or a file with row and column; None where there is none.
    a_text, b_text
        Valid Unicode; None where it could not be read.
    language
        Of both; empty where they differ.
    status
        ``ok``: both texts are there. ``no_partner``: a file in one folder only. ``binary``, ``not_utf8``, ``too_long``,
        ``unreadable``: what a file is. ``languages_differ``: two files in two languages.
    note
        The reason in words, where there is more to say.
    """

    id: str
    a: str | None
    b: str | None
    a_text: str | None
    b_text: str | None
    language: str
    status: ReadStatus = "ok"
    note: str = ""


class Pairs(NamedTuple):
    """What was read.

    Parameters
    ----------
    pairs
        In the order of the rows, or of the paths.
    warnings
        What was left out, and what else a reader must know.
    lost
        How many rows could not be read as pairs.
    """

    pairs: list[Pair]
    warnings: list[str]
    lost: int = 0


def language_of(path: PurePath) -> str:
    """Return the language that a file's suffix tells, or nothing.

    >>> language_of(PurePath("src/Main.java")), language_of(PurePath("README"))
    ('java', '')
    """
    return LANGUAGES.get(path.suffix.lower(), "")


def read_pairs(
    a: Path, b: Path | None = None, *, language: str | None = None, a_column: str = "a", b_column: str = "b"
) -> Pairs:
    """Read what is to be compared.

    Parameters
    ----------
    a, b
        Two files, or two folders; or one JSONL (or CSV) file of pairs, gzip or not, alone.
    language
        Of all texts, whatever their files' suffixes say; of a row, unless its column ``language`` says another. By
        default what the suffixes say, and Python for rows.
    a_column, b_column
        The columns of a file of pairs. A column ``id`` names a pair, otherwise its row's number does.

    Raises
    ------
    UsageError
        A file and a folder, or a folder alone.
    RecordError
        A file is not there, cannot be read or is no text; a file of pairs lacks a column or has no usable row; there is
        no program in the folders.
    """
    if b is None:
        if a.is_dir():
            raise UsageError(
                f"{a} is a folder, and there is nothing to compare it with. Give two folders, whose files are compared "
                "by their paths, or two files, or one JSONL file of pairs."
            )
        if language_of(a):
            raise UsageError(
                f"{a} is one program, and there is nothing to compare it with. Give two files or two folders, or one "
                "JSONL file of pairs with columns a and b."
            )
        return _read_rows(a, language or "python", a_column, b_column)
    for path in (a, b):
        if not path.exists():
            raise RecordError(f"{path}: there is no such file or folder. Give two files or two folders.")
    if a.is_dir() and b.is_dir():
        return _pair_folders(a, b, language)
    if a.is_dir() or b.is_dir():
        folder, file = (a, b) if a.is_dir() else (b, a)
        raise UsageError(f"{folder} is a folder and {file} is not. Give two files or two folders.")
    return Pairs([_pair_files(a, b, language)], [])


def _read_rows(path: Path, language: str, a_column: str, b_column: str) -> Pairs:
    left_out, columns, pairs = LeftOut(path.name), Columns(), list[Pair]()
    needed = {"first program": a_column, "second program": b_column}
    with open_rows(path, wanted=(a_column, b_column), what="pairs") as (header, rows):
        check_columns(path, header, needed, _MEND)
        for row in rows:
            left_out.read += 1
            columns.meet(row.fields)
            try:
                pairs.append(_read_row(row, visible(path.name), language, a_column, b_column))
            except BadRowError as problem:
                left_out.add(row.place, problem, number=row.number)
    check_columns(path, columns, needed, _MEND)
    if not pairs:
        why = f" {left_out.first}." if left_out.lost else ""
        raise RecordError(f"{path}: none of its {left_out.read} rows can be used as a pair.{why} " + _MEND.format())
    return Pairs(pairs, left_out.warnings(), left_out.lost)


def _read_row(row: Row, source: str, language: str, a_column: str, b_column: str) -> Pair:
    if row.problem:
        raise BadRowError(row.problem)
    for column in (a_column, b_column):
        if row.fields.get(column) is None:
            raise BadRowError(f"has no text in {column!r}")
    texts = [read_answer(row.fields[column], repr(column)) for column in (a_column, b_column)]
    spoken = read_name(row.fields, "language", "language").lower() or language
    name = read_name(row.fields, "id", "pair") or row.place
    places = [f"{source}:{row.number}:{visible(column)}" for column in (a_column, b_column)]
    return Pair(one_line(name, 200), places[0], places[1], texts[0], texts[1], one_line(spoken, 40))


class _Read(NamedTuple):
    """What is in a file, or why it is not known."""

    text: str | None
    status: ReadStatus = "ok"
    note: str = ""


def _pair_files(a: Path, b: Path, language: str | None) -> Pair:
    """Pair two files that somebody named: one that is no text is an error."""
    if language is None and not language_of(a) and not language_of(b):
        rows = " One JSONL file of pairs is given alone." if ".jsonl" in a.suffixes + b.suffixes else ""
        raise UsageError(
            f"Neither {a} nor {b} says by its suffix in which language it is. Say so, for example with: --language "
            f"python.{rows}"
        )
    texts = []
    for path in (a, b):
        read = _read_file(path)
        if read.status != "ok":
            raise RecordError(f"{path}: {read.note}. Give two files that hold a program's text in UTF-8.")
        texts.append(read.text)
    pair = Pair(visible(f"{a} and {b}"), visible(str(a)), visible(str(b)), texts[0], texts[1], language or "")
    if language is not None:
        return pair
    spoken = dict.fromkeys(found for found in map(language_of, (a, b)) if found)
    if len(spoken) == 1:
        return replace(pair, language=next(iter(spoken)))
    return replace(pair, status="languages_differ", note=f"{' and '.join(spoken)} have no common syntax tree")


def _pair_folders(a: Path, b: Path, language: str | None) -> Pairs:
    warnings: list[str] = []
    found_a, found_b = (_list_files(folder, warnings) for folder in (a, b))
    paths = sorted(found_a.keys() | found_b.keys())
    programs = [path for path in paths if language is not None or language_of(path)]
    others = [path for path in paths if language is None and not language_of(path)]
    if others:
        named = ", ".join(visible(str(path)) for path in others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        warnings.append(
            f"{len(others):,} of {len(paths):,} files are no programs by their suffix and are left out: {named}; with "
            "--language they are compared as programs in that language"
        )
    if not programs:
        raise RecordError(
            f"{a} and {b}: there is no program in them, by the suffixes of their {len(paths):,} files. Give two "
            "folders of programs, or say with --language in which language the files are."
        )
    return Pairs([_pair_path(a, b, path, path in found_a, path in found_b, language) for path in programs], warnings)


def _pair_path(a: Path, b: Path, path: PurePath, in_a: bool, in_b: bool, language: str | None) -> Pair:
    reads = [_read_file(folder / path) if there else None for folder, there in ((a, in_a), (b, in_b))]
    names = [visible(str(folder / path)) if there else None for folder, there in ((a, in_a), (b, in_b))]
    texts = [None if read is None else read.text for read in reads]
    bad = next((read for read in reads if read is not None and read.status != "ok"), None)
    status: ReadStatus = "ok"
    note = ""
    if not (in_a and in_b):
        status, note = "no_partner", f"only in {visible(str(a if in_a else b))}"
    elif bad is not None:
        status, note = bad.status, f"{names[reads.index(bad)]} {bad.note}"
    spoken = language or language_of(path)
    return Pair(visible(str(path)), names[0], names[1], texts[0], texts[1], spoken, status, note)


def _list_files(folder: Path, warnings: list[str]) -> dict[PurePath, None]:
    """Return the paths, below the folder, of its regular files, but for hidden ones and what tools keep for themselves.

    No link to a folder is followed: it could lead in a circle.
    """

    def tell(error: OSError) -> None:
        warnings.append(f"{visible(str(error.filename))} cannot be looked into ({error.strerror}) and is left out")

    found: dict[PurePath, None] = {}
    for root, folders, files in os.walk(folder, onerror=tell):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        for name in sorted(folders):
            if Path(root, name).is_symlink():
                warnings.append(f"{visible(str(Path(root, name)))} is a link to a folder and is left out")
        for name in sorted(files):
            path = Path(root, name)
            if name.startswith("."):
                continue
            if _is_regular(path):
                found[path.relative_to(folder)] = None
            else:
                warnings.append(f"{visible(str(path))} is no regular file and is left out")
    return found


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:  # a link that leads nowhere: it is listed, and reading it says what is wrong
        return True


def _read_file(path: Path) -> _Read:
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_ROW + 1)
    except FileNotFoundError:
        return _Read(None, "unreadable", "there is no such file")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        return _Read(None, "unreadable", f"cannot be read ({getattr(error, 'strerror', None) or error})")
    return _decode(data)


def _decode(data: bytes) -> _Read:
    if len(data) > LONGEST_ROW:
        return _Read(None, "too_long", f"is longer than {LONGEST_ROW:,} bytes")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _Read(None, "not_utf8", "is in UTF-16, not in UTF-8")
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\0" not in data:
            return _Read(None, "not_utf8", f"is not UTF-8 (line {data[: error.start].count(10) + 1})")
        text = "\0"
    return _Read(None, "binary", "is binary: it holds zero bytes") if "\0" in text else _Read(text)
