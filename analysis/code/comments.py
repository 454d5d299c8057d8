"""Taking comments and docstrings out of a text as the published programs of CodeBLEU do, faults included.

Our own comparison has no need of this: it leaves out nodes of the syntax tree.
"""

from __future__ import annotations

import re
import tokenize
from io import StringIO
from typing import Literal

__all__ = ["CommentRule", "strip_comments"]

CommentRule = Literal["python", "java", "none"]

_MOST_LOOKED_AT = 2_000_000  # characters: one that is no token of Python may cost a look at its whole line
_MARK = re.compile(r"//|/\*|['\"]")
_QUOTED = {quote: re.compile(rf"{quote}(?:[^\\{quote}]|\\.)*{quote}", re.DOTALL) for quote in "'\""}


def strip_comments(text: str, rule: CommentRule) -> str:
    r"""Return a text without comments and blank lines.

    Parameters
    ----------
    text
        Any text.
    rule
        ``python``: without comments and without the strings that begin a line, found by Python's own tokeniser; a text
        that this one refuses stays as it is. ``java``: what is a comment in Java becomes a space, whatever the
        language, so that in Python all behind a ``//`` is lost, and ``#`` and docstrings stay. ``none``: the text.

    Examples
    --------
    >>> strip_comments("x = 7 // 2  # half\n'''Why.'''\n", "python")
    'x = 7 // 2  '
    >>> strip_comments("x = 7 // 2  # half\n'''Why.'''\n", "java")
    "x = 7  \n'''Why.'''"
    """
    if rule == "none":
        return text
    if rule == "java":
        left = _strip_slashes(text)
    else:
        try:
            left = _strip_tokens(text)
        except (tokenize.TokenError, SyntaxError, ValueError):
            return text
    return "\n".join(line for line in left.split("\n") if line.strip())


def _strip_tokens(text: str) -> str:
    kept: list[str] = []
    before, row, column, looked_at = tokenize.INDENT, -1, 0, 0
    for kind, word, start, end, line in tokenize.generate_tokens(StringIO(text).readline):
        looked_at += len(line) if kind == tokenize.ERRORTOKEN else 0
        if looked_at > _MOST_LOOKED_AT:
            raise ValueError
        if start[0] > row:
            column = 0
        if start[1] > column:
            kept.append(" " * (start[1] - column))
        begins = before in {tokenize.INDENT, tokenize.NEWLINE} or not start[1]
        if kind != tokenize.COMMENT and not (kind == tokenize.STRING and begins):
            kept.append(word)
        before, (row, column) = kind, end
    return "".join(kept)


def _strip_slashes(text: str) -> str:
    """Scan once: where one comment or string of a kind is not closed, no later one of that kind is."""
    kept: list[str] = []
    unclosed: set[str] = set()
    place = written = 0
    while (mark := _MARK.search(text, place)) is not None:
        what, begin = mark[0], mark.start()
        place = begin + 1
        if what == "//":
            end = text.find("\n", begin)
            place = len(text) if end < 0 else end
        elif what in unclosed:
            continue
        elif what == "/*":
            end = text.find("*/", begin + 2)
            if end < 0:
                unclosed.add(what)
                continue
            place = end + 2
        else:
            quoted = _QUOTED[what].match(text, begin)
            if quoted is None:
                unclosed.add(what)
            else:
                place = quoted.end()
            continue
        kept += [text[written:begin], " "]
        written = place
    kept.append(text[written:])
    return "".join(kept)
