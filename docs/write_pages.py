"""Write the pages of this folder that are made from the code: ``cli.md`` and ``tables.md``.

``cli.md`` is what ``--help`` prints, and what the modules say that ``--json`` prints; ``tables.md`` is what the schemas
say. With ``--check`` only say whether the pages are up to date.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import typer.main
from typer.testing import CliRunner

from simulator.running import status
from simulator.running.progress import events as progress_events
from simulator.tables import TABLES
from sociolect import build_app

HERE = Path(__file__).parent


def main() -> int:
    """Write or check the pages; 0 when they are up to date afterwards."""
    pages: dict[str, Callable[[], str]] = {"cli.md": render_cli, "tables.md": render_tables}
    stale = []
    for name, render in pages.items():
        path, page = HERE / name, render()
        if "--check" not in sys.argv[1:]:
            path.write_text(page, encoding="utf-8", newline="\n")
        elif not path.exists() or path.read_text(encoding="utf-8") != page:
            stale.append(f"docs/{name}")
    if stale:
        print(f"Not what the code says any more: {', '.join(stale)}. Run: make docs", file=sys.stderr)  # noqa: T201
    return 1 if stale else 0


def render_cli() -> str:
    """Return the help of the program, of each verb and of each verb's verbs."""
    os.environ.update(COLUMNS="100", TERMINAL_WIDTH="100", NO_COLOR="1")
    app = build_app()
    command = typer.main.get_command(app)
    paths: list[list[str]] = [[]]
    for name, verb in getattr(command, "commands", {}).items():
        paths.append([name])
        paths.extend([name, inner] for inner in getattr(verb, "commands", {}))
    sections = ["# The command line\n\nGenerated from `--help` by `make docs`; do not edit.\n"]
    for path in paths:
        result = CliRunner().invoke(app, [*path, "--help"], prog_name="sociolect")
        if result.exit_code:
            raise RuntimeError(f"sociolect {' '.join(path)} --help failed: {result.output}")
        title = " ".join(["sociolect", *path])
        body = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
        sections.append(f"## {title}\n\n```text\n{body}\n```\n")
    for title, module in (("run --json", progress_events), ("status --json and verify --json", status)):
        sections.append(f"## What {title} prints\n\n```text\n{(module.__doc__ or '').strip()}\n```\n")
    return "\n".join(sections)


def render_tables() -> str:
    """Return the tables of record, column by column."""
    sections = [
        "# The tables of record\n\nGenerated from `simulator/tables/schemas.py` by `make docs`; do not edit. Each is "
        "`tables/<name>.parquet` and `tables/<name>.csv` in a run folder.\n"
    ]
    kinds = {"String": "text", "Int64": "whole number", "Float64": "number"}
    for name, table in TABLES.items():
        lines = [f"## {name}", "", table.row, "", "| column | type | what it says |", "| --- | --- | --- |"]
        lines += [f"| `{column}` | {kinds[str(kind())]} | {says} |" for column, (kind, says) in table.columns.items()]
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)


if __name__ == "__main__":
    sys.exit(main())
