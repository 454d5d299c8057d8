"""The file of one table, as its suffix says: ``.parquet``, ``.csv`` or ``.jsonl``; written batch by batch, read back.

**CSV** is for people and spreadsheets. A text that a spreadsheet would run as a formula (it begins with ``=``, ``+``,
``-`` or ``@``, a tab or a carriage return) is preceded by an apostrophe, and so is one that has apostrophes before
such a character, so that reading back takes away exactly what was put there. Nothing between two commas is null,
``""`` is the empty text. Lists of texts are joined by ``"; "``, and are not split again. (CSV injection: OWASP,
https://owasp.org/www-community/attacks/CSV_Injection.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from simulator.errors import RecordError
from simulator.storage import replacing

__all__ = ["read_table", "scan_batches", "write_table", "writing_table"]

_RUN_BY_SPREADSHEETS = r"^'*[=+\-@\t\r]"
_WRITTEN = r"^'+[=+\-@\t\r]"
_TEXTS = pl.List(pl.String)

Write = Callable[[pl.DataFrame], object]


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a whole table, or leave the old file.

    Raises
    ------
    StorageError
        The disk does not take it.
    """
    with writing_table(path, frame.schema) as write:
        write(frame)


@contextmanager
def writing_table(path: Path, schema: pl.Schema) -> Iterator[Write]:
    """Give a function that writes a table batch by batch; the file is there, whole, when the block has ended well.

    Parameters
    ----------
    path
        Where; the suffix says how.
    schema
        Of every batch. Without any batch the table has no rows.

    Raises
    ------
    StorageError
        The disk does not take it; an old file is still there.
    """
    kind = {".parquet": _parquet, ".csv": _csv}.get(path.suffix, _jsonl)
    with replacing(path) as part, part.open("wb") as file, kind(file, schema) as write:
        yield write


@contextmanager
def _parquet(file: IO[bytes], schema: pl.Schema) -> Iterator[Write]:
    from pyarrow import parquet  # noqa: PLC0415 - only who writes tables needs it

    arrow = pl.DataFrame(schema=schema).to_arrow().schema
    with parquet.ParquetWriter(file, arrow, compression="zstd", write_statistics=False) as writer:
        yield lambda batch: writer.write_table(batch.to_arrow())


# What polars writes goes through memory, so that a failing disk is met by Python, which says of it what can be told on.


@contextmanager
def _csv(file: IO[bytes], schema: pl.Schema) -> Iterator[Write]:
    file.write(_for_spreadsheets(pl.DataFrame(schema=schema)).write_csv().encode())
    yield lambda batch: file.write(_for_spreadsheets(batch).write_csv(include_header=False).encode())


@contextmanager
def _jsonl(file: IO[bytes], _: pl.Schema) -> Iterator[Write]:
    yield lambda batch: file.write(batch.write_ndjson().encode())


def _for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    joined = frame.with_columns(pl.col(name).list.join("; ") for name, kind in frame.schema.items() if kind == _TEXTS)
    texts = [pl.col(name) for name, kind in joined.schema.items() if kind == pl.String]
    return joined.with_columns(
        pl.when(text.str.contains(_RUN_BY_SPREADSHEETS))
        .then(pl.concat_str(pl.lit("'"), text))
        .otherwise(text)
        .name.keep()
        for text in texts
    )


def read_table(path: Path, schema: pl.Schema | None = None, *, columns: list[str] | None = None) -> pl.DataFrame:
    """Read a table that `write_table` wrote.

    Parameters
    ----------
    path
        Its file.
    schema
        Its schema, which CSV and JSON lines do not hold themselves. A list of texts comes back from CSV as one text.
    columns
        Those to read; by default all. Of Parquet the others are not even loaded.

    Raises
    ------
    RecordError
        The file is no such table.
    """
    try:
        with path.open("rb") as file:  # a path would be a pattern to polars: `*`, `?`, `[1]` and `~` are in names, too
            if path.suffix == ".parquet":
                return pl.read_parquet(file, columns=columns)
            if path.suffix == ".csv":
                kinds = schema and {name: pl.String if kind == _TEXTS else kind for name, kind in schema.items()}
                return _as_written(pl.read_csv(file, schema=kinds, columns=columns))
            return pl.read_ndjson(file, schema=schema).select(columns or pl.all())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RecordError(
            f"{path} cannot be read as a table: {error}. If it is of a run, make it again from the journal: sociolect "
            f"analyze {path.parent.parent}"
        ) from error


def _as_written(read: pl.DataFrame) -> pl.DataFrame:
    """Take off the apostrophes that `_for_spreadsheets` has put before texts."""
    return read.with_columns(
        pl.when(pl.col(name).str.contains(_WRITTEN)).then(pl.col(name).str.slice(1)).otherwise(pl.col(name))
        for name, kind in read.schema.items()
        if kind == pl.String
    )


def scan_batches(path: Path) -> Iterator[pl.DataFrame]:
    """Yield a Parquet table in the batches in which it was written, one in memory at a time.

    Raises
    ------
    RecordError
        The file is no Parquet table.
    """
    from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415 - only who reads tables needs it

    try:
        with path.open("rb") as file, parquet.ParquetFile(file) as table:
            for number in range(table.num_row_groups):
                yield pl.DataFrame(table.read_row_group(number))
    except (ArrowInvalid, OSError) as error:
        raise RecordError(f"{path} cannot be read as a table: {error}.") from error
