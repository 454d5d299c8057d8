"""The verb `compare`: code beside code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from simulator.options import JsonOption, RulesOption
from simulator.terminal import console, print_json, print_text, printable

__all__ = ["register"]

_SOME_FAILED = 3
_MANY = 200


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("compare")(compare)


def compare(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="A file, a folder, or alone: pairs as JSONL or CSV (.gz too).")
    ],
    b: Annotated[Path | None, typer.Argument(metavar="B", help="The file or folder to compare it with.")] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Of all texts; by default what the suffix says, Python for rows.")
    ] = None,
    a_column: Annotated[str, typer.Option("--a", metavar="COLUMN", help="Of JSONL: the first program.")] = "a",
    b_column: Annotated[str, typer.Option("--b", metavar="COLUMN", help="Of JSONL: the second program.")] = "b",
    codebleu: Annotated[
        Literal["sociolect", "pypi", "codexglue"],
        typer.Option("--codebleu", help="Ours, or equal to the published program of that name."),
    ] = "sociolect",
    weights: Annotated[
        Literal["even", "structural"],
        typer.Option("--weights", help="Of CodeBLEU's parts: .25 each, or .1, .1, .4, .4."),
    ] = "even",
    rules: RulesOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the page and the tables.")] = None,
    show: Annotated[int, typer.Option("--show", min=1, help="Pairs to list and to show, most different first.")] = 50,
    json: JsonOption = False,
) -> None:
    """Tell how alike programs are. TSED in both dialects, CodeBLEU, size, what each is in words; with an aligned diff.

    A is the reference of CodeBLEU. A and B are two files, or two folders, whose files are paired by their paths. A
    JSONL file alone has a pair a row: columns a and b, and perhaps id and language. Ends with status 3 when a pair has
    no TSED; its status says why.

    Example: sociolect compare before.py after.py

    Example: sociolect compare replies-a replies-b --out compared
    """
    from analysis.code.rules import read_rules
    from reports.compare.floor import find_floor
    from reports.compare.pairs import read_pairs
    from reports.compare.scores import compare_pairs, has_scores

    found = read_pairs(a, b, language=language, a_column=a_column, b_column=b_column)
    err = console(stderr=True)
    if len(found.pairs) > _MANY:
        err.print(f"comparing {len(found.pairs):,} pairs")
    looked_for = None if rules is None else read_rules(rules)
    frame, more = compare_pairs(found.pairs, mode=codebleu, weights=weights, rules=looked_for)
    warnings = [*found.warnings, *more]
    floor = find_floor(found.pairs, frame)
    page = None
    if out is not None:
        from reports.compare.page import write_comparison

        page = write_comparison(
            found.pairs, frame, out, title=_title(a, b), warnings=warnings, floor=floor, show=show, rules=looked_for
        )
    if json:
        document = {"pairs": frame.to_dicts(), "floor": floor and floor._asdict(), "warnings": warnings}
        print_json(document | ({"page": str(page)} if page else {}))
    else:
        from reports.compare.printing import print_pair, print_pairs

        if len(found.pairs) == 1 and b is not None:
            print_pair(found.pairs[0], frame.row(0, named=True), rules=looked_for)
        else:
            print_pairs(frame, floor, show=show)
        for warning in warnings:
            err.print(f"Note: {printable(warning)}")
        if page is not None:
            print_text(str(page))
    if found.lost or not has_scores(frame):
        raise typer.Exit(_SOME_FAILED)


def _title(a: Path, b: Path | None) -> str:
    return a.name if b is None else f"{a} and {b}"
