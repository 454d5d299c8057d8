r"""What a program can be dressed in: its lines are there, but not as a file would have them.

A **session** (``>>> x = 1`` with answers between), a **notebook** (JSON with cells, as Jupyter saves it), **line
numbers**, a **notebook's commands** (``!pip install x``), a closing fence on the last line. A dressing is taken off
only where the lines do not parse with it and do without.
"""

from __future__ import annotations

import json
import re

from simulator.syntax import MAX_CHECKED, parses

__all__ = ["NOTEBOOK_LANGUAGES", "read_notebook", "trim", "undress"]

NOTEBOOK_LANGUAGES = frozenset({"json", "ipynb", "jupyter", "notebook"})
"""What a block that holds a notebook may be named."""

_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |$)")
_BEGUN = re.compile(r"[ \t]*>>> ")
_COMMAND = re.compile(r"[ \t]*[!%]{1,2}[A-Za-z]")
_NUMBERED = re.compile(r"[ \t]*(\d{1,5})(?:[ \t]*[|:.)])?(?: |\t|$)")


def undress(lines: list[str], language: str) -> tuple[str, str]:
    r"""Return the code in some lines, and in words what was taken off it; nothing where nothing was.

    Parameters
    ----------
    lines
        Of a block, or of a whole reply.
    language
        What they are written in. Only Python is undressed: only of Python it can be told whether that was right.

    Examples
    --------
    >>> undress([">>> x = 1", ">>> x", "1"], "python")
    ('x = 1\nx', "without its session's prompts and answers")
    """
    code = trim(lines)
    if language != "python":
        return code, ""
    cells = read_notebook(code)
    if cells is not None:
        inner, how = undress(cells, language)
        return inner, "; ".join(["its notebook's code cells", *([how] if how else [])])
    if parses(code, language):
        return code, ""
    for bare, how in (
        (_without_session(lines), "without its session's prompts and answers"),
        (_without_commands(lines), "without its notebook commands"),
        (_without_numbers(lines), "without its line numbers"),
        (_without_glued_fence(lines), "without the fence at the end of its last line"),
    ):
        found = trim(bare)
        if found and parses(found, language):
            return found, how
    return code, ""


def read_notebook(text: str) -> list[str] | None:
    """Return the lines of a notebook's code cells in order; None where a text is no notebook."""
    if len(text) > 5 * MAX_CHECKED or not text.lstrip().startswith("{") or '"cells"' not in text:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        return None
    lines: list[str] = []
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            parts = source if isinstance(source, list) else [source]
            lines += "".join(part for part in parts if isinstance(part, str)).splitlines()
    return lines


def trim(lines: list[str]) -> str:
    """Join lines without the blank ones at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return "\n".join(lines[first:last])


def _without_session(lines: list[str]) -> list[str]:
    """Take what was typed: the lines after prompts, less these."""
    if not any(_BEGUN.match(line) for line in lines):
        return []
    return [line[match.end() :] for line in lines if (match := _PROMPT.match(line)) is not None]


def _without_commands(lines: list[str]) -> list[str]:
    bare = [line for line in lines if not _COMMAND.match(line)]
    return bare if len(bare) < len(lines) else []


def _without_numbers(lines: list[str]) -> list[str]:
    """Take off numbers that begin every line and count them."""
    bare: list[str] = []
    before: int | None = None
    for line in lines:
        if not line.strip():
            continue
        match = _NUMBERED.match(line)
        if match is None or (before is not None and int(match[1]) != before + 1):
            return []
        before = int(match[1])
        bare.append(line[match.end() :])
    return bare


def _without_glued_fence(lines: list[str]) -> list[str]:
    last = next((number for number in range(len(lines) - 1, -1, -1) if lines[number].strip()), None)
    if last is None or not lines[last].rstrip().endswith("```"):
        return []
    return [*lines[:last], lines[last].rstrip().rstrip("`")]
