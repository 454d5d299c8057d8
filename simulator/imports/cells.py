"""Columns of an outcome table, of whatever type a file has them, as names and numbers: polars expressions."""

from __future__ import annotations

import polars as pl

__all__ = ["is_readable", "name_cell", "number_cell", "size_cell", "whole_cell"]

_MISSING = ["", "na", "n/a", "nan", "null", "none", "<na>"]
_CONTROLS = r"[\x00-\x1f\x7f-\x9f\x{fffe}\x{ffff}]"
_LARGEST = 2.0**53  # up to here every whole number is a float of its own


def is_readable(kind: pl.DataType) -> bool:
    """Whether a column of this type can hold names or numbers."""
    return kind.is_numeric() or kind in (pl.Boolean, pl.String, pl.Categorical, pl.Enum, pl.Null)


def name_cell(column: str, kind: pl.DataType) -> pl.Expr:
    """Return a column as names, with single spaces inside and none around; empty where there is none."""
    value = pl.col(column)
    if kind.is_float():  # a column of whole numbers with a gap in it
        whole = value.is_finite() & (value == value.floor()) & (value.abs() < _LARGEST)
        integers = pl.when(whole).then(value).cast(pl.Int64).cast(pl.String)
        text = pl.coalesce(integers, value.fill_nan(None).cast(pl.String))
    else:
        text = value.cast(pl.String)
    return text.str.replace_all(_CONTROLS, " ").str.replace_all(r"\s+", " ").str.strip_chars().fill_null("")


def number_cell(column: str, kind: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """Return a column as finite numbers, null where missing or none, and where it is neither missing nor one."""
    return _finite(_text(column), column, kind)


def size_cell(column: str, kind: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """Return a column of model sizes in billions of parameters, as `number_cell`: ``7``, ``7B``, ``350M``."""
    text = _text(column)
    letter = text.str.extract(r"^[0-9.]+\s*([bm])$")
    unit = pl.when(letter == "m").then(1e3).otherwise(1.0)
    number, bad = _finite(
        pl.when(letter.is_null()).then(text).otherwise(text.str.head(-1).str.strip_chars()), column, kind
    )
    return (number if _is_number(kind) else number / unit), bad


def whole_cell(column: str, kind: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """Return a column as whole numbers of less than 2**53 in size, as `number_cell`."""
    number, bad = number_cell(column, kind)
    wrong = bad | ((number != number.floor()) | (number.abs() >= _LARGEST)).fill_null(value=False)
    return pl.when(~wrong).then(number).cast(pl.Int64), wrong


def _text(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).str.strip_chars().str.to_lowercase()


def _is_number(kind: pl.DataType) -> bool:
    return kind.is_numeric() or kind in (pl.Boolean, pl.Null)


def _finite(text: pl.Expr, column: str, kind: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    if _is_number(kind):
        number = pl.col(column).cast(pl.Float64).fill_nan(None)
        bad = number.is_infinite().fill_null(value=False)
    else:
        missing = text.is_null() | text.is_in(_MISSING)
        read = (
            pl.when(text == "true")
            .then(1.0)
            .when(text == "false")
            .then(0.0)
            .otherwise(text.cast(pl.Float64, strict=False))
        )
        number = pl.when(~missing).then(read)
        bad = ~missing & ~number.is_finite().fill_null(value=False)
    # Minus zero is zero: two writers of one table need not agree on it.
    return pl.when(~bad).then(number + 0.0), bad
