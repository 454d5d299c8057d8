"""Write docs/cli.md from what ``--help`` prints and from what the modules say that ``--json`` prints.

With ``--check`` only say whether it is up to date.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer.main
from typer.testing import CliRunner

from simulator.running import status
from simulator.running.progress import events as progress_events
from sociolect import build_app

PAGE = Path(__file__).parent / "cli.md"
HEAD = "# The command line\n\nGenerated from `--help` by `make docs`; do not edit.\n"


def main() -> int:
    """Write or check the page; 0 when it is up to date afterwards."""
    page = render()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8", newline="\n")
        return 0
    if PAGE.read_text(encoding="utf-8") == page:
        return 0
    print("docs/cli.md is not what --help prints. Run: make docs", file=sys.stderr)  # noqa: T201
    return 1


def render() -> str:
    """Return the page: the help of the program, of each verb and of each verb's verbs."""
    os.environ.update(COLUMNS="100", TERMINAL_WIDTH="100", NO_COLOR="1")
    app = build_app()
    command = typer.main.get_command(app)
    paths: list[list[str]] = [[]]
    for name, verb in getattr(command, "commands", {}).items():
        paths.append([name])
        paths.extend([name, inner] for inner in getattr(verb, "commands", {}))
    sections = [HEAD]
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


if __name__ == "__main__":
    sys.exit(main())
