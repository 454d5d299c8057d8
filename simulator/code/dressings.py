r"""What a program can be dressed in: its lines are there, but not as a file would have them.

A **session** (``>>> x = 1`` with answers between, or IPython's ``In [1]: x = 1``), a **notebook** (JSON with cells, as
Jupyter saves it), **line numbers**, a **notebook's commands** (``!pip install x``), a
closing fence on the last line, the **language's name** on the first. A dressing is taken off only where the lines do
not parse with it and do without; the last and IPython's prompts also where they parse, as nothing means them.
"""

from __future__ import annotations

import json
import re
from textwrap import dedent

from simulator.code.fences import split_lines
from simulator.syntax import MAX_CHECKED, parses

__all__ = ["find_notebook", "foreign_cell", "is_named_first", "read_notebook", "trim", "undress"]

_PROMPT = re.compile(r"[ \t]*(?:>>> ?|\.\.\.(?: |$))")
_BEGUN = re.compile(r"[ \t]*>>> ?\S")
_CELL_PROMPT = re.compile(r"[ \t]*In ?\[[\d ]*\]: ?")
_CELL_GOES_ON = re.compile(r"[ \t]*\.{3,}: ?")
_COMMAND = re.compile(r"[ \t]*(?:[\w.]+[ \t]*=[ \t]*)?[!%]{1,2}[A-Za-z]|[ \t]*\?{0,2}[A-Za-z_][\w.]*\?{1,2}[ \t]*$")
_FOREIGN = re.compile(r"%%(bash|sh|cmd|script|html|javascript|js|latex|markdown|perl|ruby|svg|sql|R|cython)\b")
_NUMBERED = re.compile(r"[ \t]*(\d{1,5})(?:[ \t]*[|:.)])?(?: |\t|$)")
_NAMES = frozenset({"python", "python3", "py"})


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
    if cells:
        inner, how = undress(cells, language)
        return inner, "; ".join(["its notebook's code cells", *([how] if how else [])])
    if is_named_first(code) and (bare := trim(code.split("\n")[1:])) and parses(bare, language):
        return bare, "without the language's name on its first line"
    if not _CELL_PROMPT.match(code) and parses(code, language):
        return code, ""
    for found, how in (
        (trim(_without_session(lines)), "without its session's prompts and answers"),
        (trim(_without_commands(lines)), "without its notebook commands"),
        (dedent(trim(_without_numbers(lines))), "without its line numbers"),
        (trim(_without_glued_fence(lines)), "without the fence at the end of its last line"),
        (code.removeprefix("\ufeff"), "without its byte order mark"),
    ):
        if found and found != code and parses(found, language):
            return found, how
    return code, ""


def read_notebook(text: str) -> list[str] | None:
    """Return the lines of a notebook's Python cells in order; None where a text is no notebook."""
    found = find_notebook(text) if text.lstrip().startswith("{") else None
    return found[0] if found is not None and not found[2] else None


def find_notebook(text: str) -> tuple[list[str], int, bool] | None:
    """Find a notebook that begins on a line of its own.

    Returns
    -------
    The lines of its Python cells in order, the line on which it begins, counted from 0, and whether there are words
    around it; None where there is no notebook.
    """
    begins = re.search(r"^[ \t]*\{", text, re.MULTILINE) if '"cells"' in text else None
    if begins is None or len(text) > 5 * MAX_CHECKED:
        return None
    try:
        document, end = json.JSONDecoder().raw_decode(text, begins.end() - 1)
    except (ValueError, RecursionError):
        return None
    cells = document.get("cells")
    if not isinstance(cells, list):
        return None
    lines: list[str] = []
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            parts = source if isinstance(source, list) else [source]
            written = "".join(part for part in parts if isinstance(part, str))
            if written.strip() and not foreign_cell(written):
                lines += split_lines(written)
    around = bool(text[: begins.start()].strip() or text[end:].strip())
    return lines, text.count("\n", 0, begins.end()), around


def foreign_cell(text: str) -> str:
    """Return the language of a notebook's cell that its first line hands to another one; nothing for Python's own."""
    match = _FOREIGN.match(text.lstrip())
    return match[1].lower() if match is not None else ""


def is_named_first(text: str) -> bool:
    """Whether the first line is only the language's name, as a page's copied code block begins."""
    return text.lstrip().partition("\n")[0].strip().lower() in _NAMES


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
    if any(_CELL_PROMPT.match(line) for line in lines):
        begun, goes_on = _CELL_PROMPT, _CELL_GOES_ON
    elif any(_BEGUN.match(line) for line in lines):
        begun = goes_on = _PROMPT
    else:
        return []
    typed = ((line, begun.match(line) or goes_on.match(line)) for line in lines)
    return [line[match.end() :] for line, match in typed if match is not None]


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
