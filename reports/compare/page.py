"""The page of a comparison: scores in words, a table of pairs, the texts of the most different ones side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from analysis.code.rules import Rules
from reports.compare.diff import LONGEST_SHOWN, Diff, Fold, Row, diff_texts, fold_rows
from reports.compare.floor import Floor
from reports.compare.lines import Part
from reports.compare.measures import FeatureRow, list_features, tell_codebleu, tell_sizes
from reports.compare.pairs import Pair
from reports.compare.scores import READING, STATUS_MEANINGS, order_pairs, tell_score
from reports.compare.shown import show_parts
from reports.rendering import read_template, render_template
from reports.visible import one_line
from simulator.storage import write_text
from simulator.tables import write_table

__all__ = ["write_comparison"]

_TEMPLATES = Path(__file__).parent.parent / "templates"
_LISTED = 1_000  # pairs in the table of the page
_ROOM = 3_000_000  # bytes of all texts on the page, with what is around them
_ROOM_OF_ONE = 1_000_000
_LEAST_ROOM = 100_000  # with less left, no further pair is begun
_EACH = 230  # bytes of markup around a row, about
_MOST_IN_FOLD = 200  # unchanged lines that a reader can unfold


@dataclass(frozen=True, slots=True)
class _Line:
    """A row as the template shows it."""

    kind: str
    a: int | None
    b: int | None
    a_parts: Sequence[Part]
    b_parts: Sequence[Part]
    a_more: int
    b_more: int
    moved: int | None


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows that are shown, or (``folded``) that are shown as their number, with the rows if there is room for them."""

    folded: int
    rows: list[_Line]


@dataclass(frozen=True, slots=True)
class _Section:
    """One pair's texts side by side."""

    row: Mapping[str, Any]
    diff: Diff
    stretches: list[_Stretch]
    hidden: int  # rows for which there was no room
    features: list[FeatureRow]


def write_comparison(
    pairs: Sequence[Pair],
    frame: pl.DataFrame,
    folder: Path,
    *,
    title: str,
    warnings: Sequence[str],
    floor: Floor | None = None,
    show: int = 50,
    rules: Rules | None = None,
) -> Path:
    """Write ``compare.html`` and the table it is made from, ``compare.parquet`` and ``.csv``.

    Parameters
    ----------
    pairs, frame
        As `compare_pairs` was given and returned them, row by row.
    folder
        Where to write; made where it is missing.
    title
        The heading.
    warnings
        What a reader must know, one paragraph each.
    floor
        What the scores are to be read against, if it is known.
    rules
        Of the features; the built-in ones where there are none.
    show
        Of how many pairs the texts are shown, the most different first, as far as there is room: the page stays under
        five megabytes.

    Returns
    -------
    Path
        Of the page, which asks no network for anything and runs no script. The same arguments give the same bytes.

    Raises
    ------
    simulator.errors.StorageError
        The disk does not take a file.
    """
    write_table(frame, folder / "compare.parquet")
    write_table(frame, folder / "compare.csv")
    rows = [row | {"place": place} for place, row in enumerate(frame.to_dicts())]
    order = order_pairs(frame)
    with_texts = [at for at in order if pairs[at].a_text is not None and pairs[at].b_text is not None]
    sections = _lay_out(pairs, rows, with_texts[:show], rules)
    lost = (
        frame.filter(pl.col("status") != "ok")["status"]
        .value_counts()
        .sort("count", "status", descending=[True, False])
    )
    scored = frame["tsed"].drop_nulls()
    page = folder / "compare.html"
    context = {
        "title": one_line(title, 300),
        "one": rows[0] if len(rows) == 1 else None,
        "listed": [rows[at] for at in order[:_LISTED]],
        "total": len(rows),
        "scored": len(scored),
        "mean": scored.mean(),
        "mean_codebleu": frame["codebleu"].mean(),
        "lost": list(lost.iter_rows()),
        "shown": {section.row["place"] for section in sections},
        "sections": sections,
        "with_texts": len(with_texts),
        "warnings": [warning for warning in dict.fromkeys(warnings) if warning.strip()],
        "reading": READING + (f" {floor}" if floor else ""),
        "meanings": {status: STATUS_MEANINGS.get(status, "") for status, _ in lost.iter_rows()},
    }
    write_text(page, _render(context))
    return page


def _lay_out(
    pairs: Sequence[Pair], rows: Sequence[Mapping[str, Any]], chosen: Sequence[int], rules: Rules | None
) -> list[_Section]:
    """Put the texts of the chosen pairs side by side, until the page is full."""
    sections = list[_Section]()
    left = _ROOM
    for at in chosen:
        diff = diff_texts(pairs[at].a_text or "", pairs[at].b_text or "", limit=LONGEST_SHOWN)
        stretches, hidden, used = _fit(diff, min(left, _ROOM_OF_ONE))
        left -= used
        features = list_features(pairs[at], rules=rules)
        sections.append(_Section(rows[at], diff, stretches, hidden, features))
        if left < _LEAST_ROOM:
            break
    return sections


def _fit(diff: Diff, room: int) -> tuple[list[_Stretch], int, int]:
    """Return what of a diff fits, how many rows do not, and how much room it takes."""
    stretches: list[_Stretch] = []
    used = seen = 0
    for one in fold_rows(diff.rows):
        fold = isinstance(one, Fold)
        rows = one.rows if isinstance(one, Fold) else (one,)
        lines = [_show_row(row) for row in rows] if not fold or len(rows) <= _MOST_IN_FOLD else []
        size = sum(map(_size, lines))
        if fold and used + size > room:
            lines, size = [], 0
        if not fold and used + size > room:
            break
        used += size
        seen += len(rows)
        if fold or not stretches or stretches[-1].folded:
            stretches.append(_Stretch(len(rows) if fold else 0, lines))
        else:
            stretches[-1].rows.extend(lines)
    return stretches, len(diff.rows) - seen, used + _EACH


def _show_row(row: Row) -> _Line:
    same = row.kind == "same"
    (a_parts, a_more), (b_parts, b_more) = (show_parts(parts, same=same) for parts in (row.a_parts, row.b_parts))
    return _Line(row.kind, row.a, row.b, a_parts, b_parts, a_more, b_more, row.moved)


def _size(line: _Line) -> int:
    parts = [*line.a_parts, *line.b_parts]
    return _EACH + sum(len(Markup.escape(part.text).encode()) + (11 if part.marked else 0) for part in parts)


def _render(context: Mapping[str, Any]) -> str:
    style = read_template("style.css", "compare.css")
    words = {"tell_score": tell_score, "tell_codebleu": tell_codebleu, "tell_sizes": tell_sizes}
    return render_template("compare.html.j2", {**context, **words, "style": style})
