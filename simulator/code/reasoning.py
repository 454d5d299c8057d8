"""Setting aside the reasoning that stands in a reply before the answer."""

from __future__ import annotations

import re

from simulator.code.fences import find_blocks, split_lines
from simulator.syntax import parses

__all__ = ["set_aside_reasoning"]

_NAMES = "think|thinking|thought|reasoning"
_OPENS = rf"<(?P<name>{_NAMES})(?:\s[^<>\n]{{0,100}})?>"
_OPENS_HERE = re.compile(rf"\s*{_OPENS}", re.IGNORECASE)
_OPENS_LATER = re.compile(rf"^[ \t]*{_OPENS}", re.IGNORECASE | re.MULTILINE)
_CLOSES = re.compile(rf"^[ \t]*</(?:{_NAMES})>", re.IGNORECASE | re.MULTILINE)


def set_aside_reasoning(text: str, language: str) -> tuple[str, bool]:
    r"""Return a reply without its reasoning, and whether it has any.

    Reasoning stands in ``<think>``, ``<thinking>``, ``<thought>`` or ``<reasoning>``.
    The opening tag begins the reply, or a line before any fence; some chat templates swallow it, and then the closing
    tag at the beginning of a line ends the reasoning. Reasoning that is never closed reaches to the end of the reply.
    A tag in a program's string is left where it is.

    Parameters
    ----------
    text
        The reply.
    language
        The language that was asked for.

    Examples
    --------
    >>> set_aside_reasoning("<think>A loop?</think>\nx = 1", "python")
    ('\nx = 1', True)
    """
    opened = _OPENS_HERE.match(text)
    if opened is None:
        opened = _OPENS_LATER.search(text)
        closed = _CLOSES.search(text)
        tag = opened or closed
        if tag is None or _is_quoted(text, tag.start(), language):
            return text, False
        if opened is None or (closed is not None and closed.start() < opened.start()):
            return (text[closed.end() :], True) if closed is not None else (text, False)
        if _holds_fence(text, opened.start()):
            return text, False
    before, end = text[: opened.start()], len(text)
    while opened is not None:
        closed = re.compile(f"</{opened['name']}>", re.IGNORECASE).search(text, opened.end())
        if closed is None:
            return before, True
        end = closed.end()
        opened = _OPENS_HERE.match(text, end)
    return before + text[end:], True


def _holds_fence(text: str, end: int) -> bool:
    return text.find("```", 0, end) >= 0 or text.find("~~~", 0, end) >= 0


def _is_quoted(text: str, place: int, language: str) -> bool:
    """Whether a tag stands in a program: in a reply that parses, or in a block that does."""
    if parses(text, language):
        return True
    if not _holds_fence(text, place):
        return False
    line = len(split_lines(text[:place])) - 1
    return any(block.first < line < block.end and parses(block.text, language) for block in find_blocks(text))
