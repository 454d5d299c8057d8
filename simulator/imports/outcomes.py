"""Outcome tables for the audit: what was measured on codes that a model wrote for assigned identities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from simulator.errors import RecordError
from simulator.imports.cells import is_readable, name_cell, number_cell, size_cell, whole_cell
from simulator.imports.columns import Columns, check_columns
from simulator.imports.left_out import LeftOut
from simulator.imports.rows import Row, open_rows
from simulator.imports.values import has_surrogates, kind_of

__all__ = ["KEYS", "OPTIONAL_KEYS", "OutcomeTable", "scan_outcomes"]

KEYS = ("model", "benchmark", "axis", "identity", "task")
"""The columns that every outcome table has."""

OPTIONAL_KEYS = ("wording", "repeat", "model_size")
"""The columns that say more of a row and are no outcomes."""

_BATCH = 50_000
_MOST_COLUMNS = 1_000
_ROW = "\0row"  # no column of a file is likely to be called so
_BAD = "\0bad "
_INDEX = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")  # what pandas calls a column that numbers the rows
_MEND = "Rename it, or say which column holds it."


class OutcomeTable(NamedTuple):
    """An outcome table that can be computed with.

    Parameters
    ----------
    frame
        `KEYS` (texts), those of ``wording`` (text), ``repeat`` (whole number) and ``model_size`` (number) that the file
        has, and the outcomes (numbers, null where missing), in the file's order, without the rows left out.
    outcomes
        The names of the outcome columns.
    warnings
        What was left out.
    """

    frame: pl.LazyFrame
    outcomes: tuple[str, ...]
    warnings: list[str]


def scan_outcomes(
    path: Path | str, *, columns: Mapping[str, str] | None = None, outcomes: Sequence[str] | None = None
) -> OutcomeTable:
    """Open a table of outcomes: Parquet, CSV or JSONL, the latter two plain or gzip.

    Parquet is scanned lazily: it is read in pieces when the result is collected, and may be larger than memory. CSV and
    JSONL are read at once, in batches, and kept as numbers (some 200 bytes a row): write tables of more than a few
    million rows as Parquet.

    Parameters
    ----------
    path
        The file. One row is one code: ``model, benchmark, axis, identity, task``, perhaps ``wording`` (which of the
        paraphrased templates carried the identity), ``repeat`` (which reply to the very same prompt, a whole number;
        without the column every row is a prompt of its own) and ``model_size`` (billions of parameters; ``7``, ``7B``
        and ``350M`` are read), and outcome columns. An outcome is a number, true or false (1 or 0), or missing: null,
        NaN, nothing, ``NA``, ``N/A``, ``null``, ``None``.
    columns
        What the key columns are called in the file, where they are called otherwise: ``{"identity": "persona"}``.
    outcomes
        The outcome columns. By default all other columns whose values are mostly numbers, but for the nameless one
        in which pandas numbers the rows; the rest is ignored, and a warning names it.

    Returns
    -------
    OutcomeTable
        A row is left out, counted and named when it lacks a key, when an outcome or ``model_size`` is a text or
        infinite, when ``repeat`` is no whole number, or for what `simulator.imports.rows.open_rows` says. A missing
        outcome leaves nothing out.

    Raises
    ------
    RecordError
        The file cannot be read, lacks a column, has no outcome or no row that can be used.

    Examples
    --------
    >>> table = scan_outcomes("outcomes.parquet", outcomes=["pass", "codebleu"])  # doctest: +SKIP
    """
    path = Path(path)
    names = {key: key for key in (*KEYS, *OPTIONAL_KEYS)} | dict(columns or {})
    unknown = sorted(names.keys() - {*KEYS, *OPTIONAL_KEYS})
    if unknown:
        raise RecordError(f"{path}: there is no key {unknown[0]!r} to rename. The keys are {', '.join(names)}.")
    chosen = {key for key in OPTIONAL_KEYS if names[key] != key}
    needed = {key: names[key] for key in names if key in KEYS or key in chosen}
    needed |= {f"outcome {name!r}": name for name in outcomes or ()}
    left_out = LeftOut(path.name)
    if _is_parquet(path):
        parsed, ignored = _scan_parquet(path, names, needed)
    else:
        parsed, ignored = _read_rows(path, names, needed, left_out), []
    return _choose(path, parsed, left_out, outcomes, ignored)


def _is_parquet(path: Path) -> bool:
    try:
        if not path.is_file():  # what was read of a pipe would be gone
            return False
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # said in better words when it is opened as text


def _scan_parquet(path: Path, names: Mapping[str, str], needed: Mapping[str, str]) -> tuple[pl.LazyFrame, list[str]]:
    try:
        frame = pl.scan_parquet(path, glob=False)
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(path, error) from error
    check_columns(path, schema.names(), needed, _MEND)
    numbered = frame.with_row_index(_ROW, offset=1)
    unreadable = [name for name, kind in schema.items() if not is_readable(kind)]
    for key in names:
        if names[key] in unreadable:
            raise RecordError(
                f"{path}: the column {names[key]!r} for the {key} is of type {schema[names[key]]}. It must hold texts "
                "or numbers."
            )
    return _parse(numbered, names, {name: schema[name] for name in schema if name not in unreadable}), unreadable


def _damaged(path: Path, error: Exception) -> RecordError:
    reason = str(error).strip().partition("\n")[0]
    return RecordError(f"{path}: cannot be read as a Parquet table ({reason}). Fetch or write the file again.")


def _read_rows(path: Path, names: Mapping[str, str], needed: Mapping[str, str], left_out: LeftOut) -> pl.LazyFrame:
    columns = Columns()
    frames: list[pl.DataFrame] = []
    keys = [names[key] for key in (*KEYS, *OPTIONAL_KEYS)]
    with open_rows(path, wanted=keys, what="outcomes") as (header, rows):
        columns.meet(header)
        check_columns(path, header, needed, _MEND)
        twice = [name for name, times in Counter(header).items() if name and times > 1]
        if twice:
            raise RecordError(f"{path}, row 1: the header names the column {twice[0]!r} twice. Rename all but one.")
        for batch in _batches(rows, keys, left_out, columns if not header else None):
            if len(columns) >= _MOST_COLUMNS:
                raise RecordError(
                    f"{path}: has {_MOST_COLUMNS} columns or more, where one row is one code with a few outcomes. "
                    "Write the outcomes of a code as columns, and nothing else."
                )
            texts = _texts(batch, columns, left_out)
            frames.append(_parse(texts.lazy(), names, dict.fromkeys(columns, pl.String())).collect())
    check_columns(path, columns, needed, _MEND)
    if not frames:
        raise _useless(path, left_out)
    found = pl.concat(frames, how="diagonal")
    flags = [name for name in found.columns if name.startswith(_BAD)]
    return found.lazy().with_columns(pl.col(flags).fill_null(value=False))


def _batches(
    rows: Iterable[Row], keys: Sequence[str], left_out: LeftOut, columns: Columns | None
) -> Iterator[list[Row]]:
    found: list[Row] = []
    for row in rows:
        left_out.read += 1
        if columns is not None:
            columns.meet(row.fields)
        problem = row.problem
        if not problem and columns is not None:
            wrong = next((key for key in keys if isinstance(row.fields.get(key), list | dict)), None)
            problem = f"{wrong!r} is {kind_of(row.fields[wrong])}, not a name" if wrong is not None else ""
        if problem:
            left_out.add(row.place, problem, number=row.number)
            continue
        found.append(row)
        if len(found) == _BATCH:
            yield found
            found = []
    if found:
        yield found


def _texts(rows: list[Row], columns: Iterable[str], left_out: LeftOut) -> pl.DataFrame:
    """Return a batch with every value as it would stand in a CSV file."""
    try:
        return pl.DataFrame(
            {_ROW: [row.number for row in rows]}
            | {name: [_written(row.fields.get(name)) for row in rows] for name in columns},
            schema={_ROW: pl.UInt32, **dict.fromkeys(columns, pl.String)},
        )
    except UnicodeEncodeError:
        whole: list[Row] = []
        for row in rows:
            bad = [
                name for name, value in row.fields.items() if isinstance(value, str) and has_surrogates(name + value)
            ]
            if bad:
                why = f"{bad[0]!r} holds what is not valid UTF-8, or half a surrogate pair"
                left_out.add(row.place, why, number=row.number)
            else:
                whole.append(row)
        return _texts(whole, [name for name in columns if not has_surrogates(name)], left_out)


def _written(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return kind_of(value)  # which is no number
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse(frame: pl.LazyFrame, names: Mapping[str, str], schema: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Select row number, keys, and every other column as numbers, each beside a flag that says where it is none."""
    wanted = [pl.col(_ROW)]
    for key in KEYS:
        if names[key] in schema:
            wanted.append(name_cell(names[key], schema[names[key]]).alias(key))
    if names["wording"] in schema:
        wanted.append(name_cell(names["wording"], schema[names["wording"]]).alias("wording"))
    for key, read in (("repeat", whole_cell), ("model_size", size_cell)):
        if names[key] in schema:
            value, bad = read(names[key], schema[names[key]])
            wanted += [value.alias(key), bad.alias(_BAD + key)]
    taken = {*names, *names.values(), _ROW}
    for name in schema:
        if name not in taken:
            value, bad = number_cell(name, schema[name])
            wanted += [value.alias(name), bad.alias(_BAD + name)]
    return frame.select(wanted)


def _choose(
    path: Path, parsed: pl.LazyFrame, left_out: LeftOut, outcomes: Sequence[str] | None, ignored: list[str]
) -> OutcomeTable:
    """Decide which columns are outcomes and which rows can be used."""
    names = parsed.collect_schema().names()
    candidates = [name for name in names if _BAD + name in names and name not in OPTIONAL_KEYS]
    try:
        counts = (
            parsed.select(
                pl.len().alias(_ROW),
                *(pl.col(name).count() for name in candidates),
                *(pl.col(_BAD + name).sum() for name in candidates),
            )
            .collect(engine="streaming")
            .row(0, named=True)
        )
        if not counts[_ROW]:
            raise _useless(path, left_out)
        if outcomes is None:
            mostly = [name for name in candidates if counts[name] and counts[name] >= counts[_BAD + name]]
            taken = [name for name in mostly if not _INDEX.fullmatch(name)]
        else:
            taken = list(dict.fromkeys(outcomes))
            unfit = [name for name in taken if name not in candidates]
            if unfit:
                raise RecordError(
                    f"{path}: the column {unfit[0]!r} cannot be an outcome: it is a key, or of no type of number."
                )
        ignored = [*ignored, *(name for name in candidates if name not in taken)]
        if not taken:
            raise RecordError(
                f"{path}: has no outcome: no column but the keys holds numbers or yes and no. Its other columns are "
                f"{', '.join(map(repr, ignored[:20])) or 'none'}."
            )
        problem = _problem(names, taken)
        lost = parsed.select(pl.col(_ROW), problem.alias("why")).filter(pl.col("why").is_not_null())
        count = lost.select(pl.len()).collect(engine="streaming").item()
        first = lost.bottom_k(20, by=_ROW).collect().sort(_ROW) if count else None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(path, error) from error
    left_out.read = max(left_out.read, counts[_ROW])  # rows that were read one by one are counted already
    left_out.lost += count
    for number, why in first.iter_rows() if first is not None else ():
        left_out.name(f"row {number}", why, number=number)
    if count == counts[_ROW]:
        raise _useless(path, left_out)
    warnings = left_out.warnings()
    if ignored and outcomes is None:
        shown = ", ".join(map(repr, ignored[:20])) + (", ..." if len(ignored) > 20 else "")
        warnings.append(
            f"{path.name}: not taken as outcomes, because they hold no numbers or only number the rows: {shown}"
        )
    keys = [*KEYS, *(name for name in OPTIONAL_KEYS if name in names)]
    return OutcomeTable(parsed.filter(problem.is_null()).select([*keys, *taken]), tuple(taken), warnings)


def _useless(path: Path, left_out: LeftOut) -> RecordError:
    why = f" {left_out.first}." if left_out.lost else ""
    return RecordError(
        f"{path}: none of its {left_out.read} rows can be used.{why} One row is one code, with the columns "
        f"{', '.join(KEYS)} and outcomes."
    )


def _problem(names: Sequence[str], outcomes: Sequence[str]) -> pl.Expr:
    """Return why a row cannot be used; null where it can."""
    cases = [(pl.col(key).fill_null("") == "", f"has no {key}") for key in KEYS]
    if "repeat" in names:
        cases.append((pl.col(_BAD + "repeat"), "'repeat' is not a whole number"))
        cases.append((pl.col("repeat").is_null(), "has no repeat"))
    if "model_size" in names:
        cases.append((pl.col(_BAD + "model_size"), "'model_size' is not a number"))
    cases += [(pl.col(_BAD + name), f"{name!r} is not a finite number") for name in outcomes]
    return pl.coalesce(pl.when(bad).then(pl.lit(why)) for bad, why in cases)
