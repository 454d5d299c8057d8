"""What a verb prints: one JSON document, or a table for people. Text from data never becomes markup."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

__all__ = ["console", "print_error", "print_json", "print_table", "print_text", "printable"]


_NARROWEST = 40
"""Columns below which text is not squeezed: a terminal that is narrower breaks the lines itself."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that is plain where there is no terminal, and heeds NO_COLOR; text in it is never markup.

    Print data with ``console().print(printable(text))``: markup, emoji codes and highlighting are off.
    """
    from rich.console import Console  # noqa: PLC0415 - only what prints needs rich

    class Here(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - called while the error is handled; rich would end the process, with its own status

    file = cast("IO[str]", _Unfailing(sys.stderr)) if stderr and sys.stderr is not None else None
    found = Here(stderr=stderr, file=file, markup=False, emoji=False, highlight=False)
    found.width = max(found.width, _NARROWEST)  # COLUMNS=0 would leave nothing of a text
    return found


class _Unfailing:
    """Standard error, to which writing never fails: whoever reads it may have gone, or its disk may be full.

    What is done goes on all the same, since what it is done for is recorded elsewhere.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def print_error(text: str) -> None:
    """Print a text on standard error as it is; where that is closed, full or read by nobody, do nothing."""
    if sys.stderr is not None:
        file = _Unfailing(sys.stderr)
        file.write(text + "\n")
        file.flush()


def print_json(document: object) -> None:
    """Print one JSON document on standard output, in UTF-8 whatever the locale."""
    _write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False, default=str) + "\n")


def print_text(text: str) -> None:
    """Print a text on standard output as it is, in UTF-8, neither wrapped nor coloured."""
    _write(text if text.endswith("\n") else text + "\n")


def _write(text: str) -> None:
    if sys.stdout is None:  # closed by whoever started us
        return
    data = text.encode("utf-8", "replace")
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8"))
    else:
        sys.stdout.flush()
        buffer.write(data)
    sys.stdout.flush()


def printable(text: str) -> str:
    """Return text without the characters that could move a terminal's cursor, change its colours or turn its lines."""
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table for people on standard output; cells are data, wrapped where the terminal is narrow."""
    from rich.table import Table  # noqa: PLC0415 - only what prints needs rich
    from rich.text import Text  # noqa: PLC0415 - only what prints needs rich

    table = Table(
        title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for index, column in enumerate(columns):
        table.add_column(Text(column), overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    console().print(table)
