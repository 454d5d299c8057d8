"""Whether a file has the columns that are needed; if not, an error that shows the way to them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path

from simulator.errors import RecordError

__all__ = ["Columns", "check_columns"]

_SHOWN = 20
_MOST = 1_000


class Columns(dict[str, None]):
    """The names of the columns met so far in a JSONL file, in the order in which they came; never more than 1,000."""

    def meet(self, names: Collection[str]) -> None:
        """Add the names of a row's fields."""
        if len(self) < _MOST:
            self.update(dict.fromkeys(names))


def check_columns(path: Path, columns: Collection[str], needed: Mapping[str, str], mend: str) -> None:
    """Check that a file has columns.

    Parameters
    ----------
    path
        The file.
    columns
        Those that it has, in its order. A file of which nothing is known has nothing to be checked.
    needed
        What each needed column holds, in words, with its name.
    mend
        What to do about it; ``{what}`` stands for what the column would hold.

    Raises
    ------
    RecordError
        One is missing. Names those that are there, and the nearest to it.
    """
    if not columns:
        return
    for what, name in needed.items():
        if name in columns:
            continue
        found = ", ".join(map(repr, list(columns)[:_SHOWN])) + (", ..." if len(columns) > _SHOWN else "")
        lowered = {column.lower(): column for column in columns}
        near = difflib.get_close_matches(name.lower(), lowered, n=1)
        nearest = f" Nearest is {lowered[near[0]]!r}." if near else ""
        raise RecordError(
            f"{path}: there is no column {name!r} for the {what}. The columns are {found}.{nearest} "
            + mend.format(what=what)
        )
