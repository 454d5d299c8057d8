"""Fenced blocks in a reply, by CommonMark's rules where models keep them and by what they mean where they do not.

CommonMark (https://spec.commonmark.org/0.31.2/#fenced-code-blocks): a fence is at least three backticks or tildes; it
is closed by a line of at least as many of the same character and nothing else, or by the end of the reply; the
indentation of the opening fence is taken off every line. Five things differ, because replies are written by models:

- a fence may be indented by any amount (models put fences under list items without counting columns);
- where the first line is indented less than its fence, only so much is taken off (models indent the fence alone);
- a fence may follow words on the same line when it names a language (``Here it is: ```python``);
- what follows the fence may be the first line of the program itself (```` ```import os ````);
- a block whose language is Markdown holds blocks of its own, even when its fence is no longer than theirs.

One pass over the lines, no back-tracking: the time is linear in the length of any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from simulator.code.languages import read_info

__all__ = ["Block", "find_blocks", "split_lines"]

_LINE_END = re.compile(r"\r\n|\n|\r")
_OPENING = re.compile(
    r"(?P<lead>(?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<fence>`{3,}|~{3,})(?P<info>.*)", re.DOTALL
)
_NAMING = re.compile(r"(?P<fence>`{3,})(?P<info>[A-Za-z][\w+#.-]*)[ \t]*")
_PROGRAM_BEGINS = re.compile(
    r"(?:async +)?def \w+\(|class \w+[:(]|import \w|from [\w.]+ import |print\(|@\w|if __name__|[a-z_]\w* = "
)
_MARKDOWN = frozenset({"markdown", "md", "mdx"})
_TAB = 4


@dataclass(slots=True)
class Block:
    """One fenced block.

    Parameters
    ----------
    info
        What stands after the opening fence.
    first
        The line of the opening fence, counted from 0.
    lines
        The lines between the fences, without the opening fence's indentation.
    end
        The line after the block, and after its closing fence where it has one.
    closed
        Whether a closing fence was found.
    tildes
        Whether its fence is of tildes rather than backticks.
    within
        Whether it stands inside a block of Markdown.
    goes_on
        Whether one of its strings holds a fence as long as its own (`simulator.code.pieces.read_on`).
    """

    info: str
    first: int
    lines: list[str] = field(default_factory=list)
    end: int = 0
    closed: bool = False
    tildes: bool = False
    within: bool = False
    goes_on: bool = False

    @property
    def text(self) -> str:
        """The block's text, lines joined by a newline."""
        return "\n".join(self.lines)

    @property
    def language(self) -> str:
        """The language that `info` names, as `simulator.code.languages.read_info` reads it."""
        return read_info(self.info)


@dataclass(slots=True)
class _Fence:
    character: str
    length: int
    column: int
    quotes: int
    block: Block | None  # None for Markdown, whose lines are looked through for blocks


def split_lines(text: str) -> list[str]:
    r"""Split at ``\n``, ``\r\n`` and ``\r`` alone: a form feed or U+2028 in a program's string stays where it is."""
    return _LINE_END.split(text)


def find_blocks(text: str) -> list[Block]:
    r"""Return the fenced blocks of a reply, in order.

    Examples
    --------
    >>> [(block.language, block.text) for block in find_blocks("Here:\n```python\nx = 1\n```\nDone.")]
    [('python', 'x = 1')]
    """
    blocks: list[Block] = []
    fences: list[_Fence] = []
    lines = split_lines(text)
    for number, line in enumerate(lines):
        current = fences[-1] if fences else None
        if current is not None:
            body = _take_quotes(line, current.quotes)
            if body is None and current.block is not None and not current.block.lines:
                current.quotes, body = 0, line  # only its fence is quoted
            if body is None:  # the quotation ended, and the block with it
                for fence in fences:
                    _finish(fence, number)
                fences.clear()
                current = None
            elif _closes(body, current):
                if current.block is not None:
                    current.block.closed = True
                _finish(fences.pop(), number + 1)
                continue
            elif current.block is not None:
                current.block.lines.append(body)
                continue
        opened = _opens(line)
        if opened is None:
            continue
        fence, info = opened
        block = Block(info=info, first=number, tildes=fence.character == "~", within=bool(fences))
        if info and _PROGRAM_BEGINS.match(info):
            block.info, block.lines = "", [" " * fence.column + info]
        if info and not fences and block.language in _MARKDOWN:
            fences.append(fence)
            continue
        fence.block = block
        fences.append(fence)
        blocks.append(block)
    for fence in fences:
        _finish(fence, len(lines))
    return blocks


def _finish(fence: _Fence, end: int) -> None:
    """Write where a block ends, and take the fence's indentation off its lines."""
    block = fence.block
    if block is None:
        return
    block.end = end
    if not fence.column:
        return
    first = next((line for line in block.lines if line.strip()), "")
    columns = min(fence.column, _indentation(first))
    block.lines = [_take_indent(line, columns) for line in block.lines]


def _opens(line: str) -> tuple[_Fence, str] | None:
    if "```" not in line and "~~~" not in line:
        return None
    match = _OPENING.match(line)
    if match is not None:
        lead, run, info = match["lead"], match["fence"], match["info"]
        if run[0] == "`" and "`" in info:
            return None  # code within a line of prose
        quotes = lead.count(">")
        return _Fence(
            run[0], len(run), _width(lead[lead.rfind(">") + 1 :]) if quotes else _width(lead), quotes, None
        ), info
    words = line.find("`")
    match = _NAMING.fullmatch(line, words) if words > 0 and line[:words].strip() else None
    return (_Fence("`", len(match["fence"]), 0, 0, None), match["info"]) if match is not None else None


def _closes(line: str, fence: _Fence) -> bool:
    stripped = line.strip(" \t")
    if len(stripped) < fence.length or stripped.strip(fence.character):
        return False
    return _indentation(line) <= fence.column + 3


def _take_quotes(line: str, count: int) -> str | None:
    """Take off the marks of a quotation; None where there are fewer."""
    if not count:
        return line
    place = 0
    for _ in range(count):
        mark = line.find(">", place)
        if mark < 0 or line[place:mark].strip(" \t"):
            return None
        place = mark + 1
    return line[place:]


def _take_indent(line: str, columns: int) -> str:
    """Take off at most that many columns of white space; a tab reaches to the next multiple of four."""
    width = place = 0
    while place < len(line) and width < columns and line[place] in " \t":
        width = width + 1 if line[place] == " " else (width // _TAB + 1) * _TAB
        if width > columns:
            break
        place += 1
    return line[place:]


def _indentation(line: str) -> int:
    return _width(line[: len(line) - len(line.lstrip(" \t"))])


def _width(lead: str) -> int:
    width = 0
    for character in lead:
        width = (width // _TAB + 1) * _TAB if character == "\t" else width + 1
    return width
