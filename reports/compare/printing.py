"""A comparison on the terminal: the scores in words, and the texts side by side or, where it is narrow, as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, get_character_cell_size
from rich.text import Text

from reports.cells import DASH, count_of, decimal, plural
from reports.compare.diff import LONGEST_SHOWN, Diff, Fold, Row, diff_texts, fold_rows
from reports.compare.floor import Floor
from reports.compare.lines import Part
from reports.compare.measures import FeatureRow, list_features, tell_codebleu, tell_sizes
from reports.compare.pairs import Pair
from reports.compare.scores import READING, STATUS_MEANINGS, order_pairs, tell_score
from reports.compare.shown import show_parts
from reports.statuses import status_words
from reports.visible import one_line, visible
from simulator.terminal import console, print_table, print_text

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from analysis.code.rules import Rules

__all__ = ["SIDE_BY_SIDE", "print_diff", "print_pair", "print_pairs"]

SIDE_BY_SIDE = 100
"""Columns of a terminal from which two texts stand side by side."""

_MOST_ROWS = 5_000
_SIGNS = {"same": (" ", " "), "changed": ("~", "~"), "removed": ("-", " "), "added": (" ", "+")}
_COLOURS = ("yellow", "cyan")  # told apart with any kind of colour vision; the signs say the same without colour
_MARK = "reverse"
_TAB = 4


def print_pair(pair: Pair, row: Mapping[str, Any], *, rules: Rules | None = None) -> None:
    """Print the scores of one pair, what they mean, what each program is, and the texts side by side."""
    screen = console()
    with screen.capture() as captured:
        width = screen.width
        for side in ("a", "b"):
            lines = row[f"{side}_lines"]
            screen.print(
                Text(f"{side}  {row[side] or '-'}" + ("" if lines is None else f"  ({plural(lines, 'line')})"))
            )
        screen.print()
        for name, ending in (("TSED", ""), ("published", "_published")):
            screen.print(Text(f"{name:<12}{decimal(row[f'tsed{ending}'], 3):<7}{tell_score(row, ending)}"))
        why = tell_codebleu(row) or STATUS_MEANINGS.get(row["status_codebleu"], "")
        screen.print(Text(f"{'CodeBLEU':<12}{decimal(row['codebleu'], 3):<7}{why}"))
        screen.print(Text(f"{'tokens':<12}{decimal(row['token_bleu'], 3):<7}BLEU of tokens"))
        screen.print(Text(f"{'characters':<12}{decimal(row['character_similarity'], 3):<7}in common, in order"))
        _print_sizes(row, screen)
        _print_features(list_features(pair, rules=rules), screen)
        screen.print()
        screen.print(Text(row["note"] or READING, style="dim"), width=min(width, 100))
        if pair.a_text is not None and pair.b_text is not None:
            screen.print()
            print_diff(diff_texts(pair.a_text, pair.b_text, limit=LONGEST_SHOWN), screen)
    # Captured, so that it is written in UTF-8 whatever the terminal's encoding is said to be.
    print_text(captured.get())


def _print_sizes(row: Mapping[str, Any], screen: Console) -> None:
    sizes = list(tell_sizes(row))
    if sizes:
        screen.print()
        screen.print(Text(f"{'':<16}{'a':>8}{'b':>8}", style="bold"))
    for called, a, b in sizes:
        screen.print(Text(f"{called:<16}{count_of(a):>8}{count_of(b):>8}"))


def _print_features(rows: Sequence[FeatureRow], screen: Console) -> None:
    """Print what each program is, with the line that shows it; what both are, by name alone."""
    for side, heading in (("a", "only a"), ("b", "only b")):
        own = [row for row in rows if (row.a is None) != (row.b is None) and getattr(row, side) is not None]
        if own:
            screen.print()
            screen.print(Text(heading, style="bold"))
        for row in own:
            shown = getattr(row, side)
            line = f"  {row.feature:<24}{'' if shown.line is None else f'{shown.line:>5}  '}{visible(shown.text or '')}"
            screen.print(Text(line), no_wrap=True, overflow="ellipsis")
    shared = [row.feature for row in rows if row.a is not None and row.b is not None]
    if shared:
        screen.print()
        screen.print(Text("both", style="bold"))
        screen.print(Text("  " + ", ".join(shared)), width=min(screen.width, 100))


def print_pairs(frame: pl.DataFrame, floor: Floor | None, *, show: int) -> None:
    """Print a table of pairs, the most different first, and how many have what status."""
    rows = frame.to_dicts()
    order = order_pairs(frame)
    chosen = [rows[index] for index in order[:show]]
    columns = ["pair", "TSED", "published", "CodeBLEU", "edits", "nodes"]
    cells = [_cells(row) for row in chosen]
    if any(row["status"] != "ok" for row in chosen):
        columns.append("why there is no score")
        cells = [
            [*some, "" if row["status"] == "ok" else row["note"] or tell_score(row)]
            for some, row in zip(cells, chosen, strict=True)
        ]
    print_table(columns, cells)
    scored = frame["tsed"].drop_nulls()
    parts = [f"{plural(len(rows), 'pair')}, {len(scored):,} with a score"]
    if len(scored):
        parts.append(f"mean TSED {decimal(scored.mean(), 3)}")
    if frame["codebleu"].count():
        parts.append(f"mean CodeBLEU {decimal(frame['codebleu'].mean(), 3)}")
    lost = (
        frame.filter(frame["status"] != "ok")["status"].value_counts().sort("count", "status", descending=[True, False])
    )
    parts += [f"{count:,} {status_words(status)}" for status, count in lost.iter_rows()]
    hidden = (
        f" {len(rows) - show:,} more pairs are not listed; --show {len(rows)} lists all." if show < len(rows) else ""
    )
    screen = console()
    with screen.capture() as captured:
        for text in (f"{'; '.join(parts)}.{hidden}", READING + (f" {floor}" if floor else "")):
            screen.print()
            screen.print(Text(text), width=min(screen.width, 100))
    print_text(captured.get())


def _cells(row: Mapping[str, Any]) -> list[str]:
    scores = (("tsed", 3), ("tsed_published", 3), ("codebleu", 3), ("edits", 0))
    numbers = [decimal(row[name], digits) for name, digits in scores]
    nodes = [count_of(row[name]) for name in ("a_nodes", "b_nodes")]
    return [one_line(row["id"], 200), *numbers, " / ".join(dict.fromkeys(nodes) if nodes == [DASH, DASH] else nodes)]


def print_diff(diff: Diff, screen: Console) -> None:
    """Print two texts: side by side where the screen is wide enough, else each changed line under the other."""
    counts = [f"{diff.total(kind):,} {kind}" for kind in ("same", "changed", "removed", "added")]
    screen.print(Text("lines: " + ", ".join(counts), style="bold"))
    numbers = [number for row in diff.rows for number in (row.a, row.b) if number]
    digits = max(len(str(max(numbers, default=0))), 3)
    rows = diff.rows[:_MOST_ROWS]
    shown = fold_rows(rows)
    lines = _beside if screen.width >= SIDE_BY_SIDE else _stacked
    room = max(screen.width - digits - 3, 10)
    if lines is _beside:  # no wider than what stands in it, so that the eye has less far to go
        longest = max((_width(parts) for row in rows for parts in (row.a_parts, row.b_parts)), default=0)
        room = min((room - digits - 6) // 2, max(longest, 30))
    for one in shown:
        if isinstance(one, Fold):
            screen.print(Text(f"{'⋮':>{digits}}  {plural(len(one.rows), 'unchanged line')}", style="dim"))
        else:
            for line in lines(one, room, digits):
                screen.print(line, no_wrap=True, overflow="ignore", crop=False)
    if len(rows) < len(diff.rows):
        rest = plural(len(diff.rows) - len(rows), "more row is", "more rows are")
        screen.print(Text(f"{rest} not shown; --out FOLDER writes a page.", style="dim"))
    for note in diff.notes:
        screen.print(Text(note, style="dim"), width=min(screen.width, 100))


def _beside(row: Row, room: int, digits: int) -> Iterator[Text]:
    """Yield a row as lines of the screen, two columns each."""
    sides = [_wrap(parts, row, side, room) for side, parts in enumerate((row.a_parts, row.b_parts))]
    for turn in range(max(1, *map(len, sides))):
        line = Text()
        for side, lines in enumerate(sides):
            line.append(_gutter(row, side, digits, first=turn == 0))
            piece = lines[turn] if turn < len(lines) else Text()
            line.append(piece)
            if side == 0:
                line.append(" " * (room - piece.cell_len) + " │ ", style="dim")
        line.rstrip()
        yield line


def _stacked(row: Row, room: int, digits: int) -> Iterator[Text]:
    """Yield a row as lines of the screen: a changed one as two, like a removed and an added one."""
    for side, parts in enumerate((row.a_parts, row.b_parts)):
        if (row.a, row.b)[side] is None or (row.kind == "same" and side):
            continue
        sign = " " if row.kind == "same" else "-+"[side]
        for turn, piece in enumerate(_wrap(parts, row, side, room) or [Text()]):
            line = _gutter(row, side, digits, first=turn == 0, sign=sign)
            line.append(piece)
            line.rstrip()
            yield line


def _gutter(row: Row, side: int, digits: int, *, first: bool, sign: str | None = None) -> Text:
    number = (row.a, row.b)[side]
    mark = _SIGNS[row.kind][side] if sign is None else sign
    told = f"{number if number and first else '':>{digits}}", f" {mark if first else ' '} "
    gutter = Text().append(told[0], style="dim")
    gutter.append(told[1], style="" if row.kind == "same" else _COLOURS[side])
    return gutter


def _width(parts: Sequence[Part]) -> int:
    return cell_len(visible("".join(part.text for part in parts)[:500]).expandtabs(_TAB))


def _wrap(parts: Sequence[Part], row: Row, side: int, room: int) -> list[Text]:
    if (row.a, row.b)[side] is None:
        return []
    colour = "" if row.kind == "same" else _COLOURS[side]
    shown, more = show_parts(parts, same=row.kind == "same")
    text = Text()
    for piece, marked in shown:
        text.append(piece, style=f"{colour} {_MARK}" if marked else colour)
    if more:
        text.append(f" … {more:,} more characters", style="dim")
    if row.moved is not None:
        text.append(f"  (moved {'to' if side == 0 else 'from'} {row.moved})", style="dim")
    text.expand_tabs(_TAB)
    # Cut at any character, as an editor wraps code: a line is then exactly what it was.
    cuts, width = list[int](), 0
    for at, character in enumerate(text.plain):
        size = get_character_cell_size(character)
        if width + size > room and width:
            cuts.append(at)
            width = 0
        width += size
    return list(text.divide(cuts))
