"""Telling sentences from programs, in any programming language, by the signs that a line carries."""

from __future__ import annotations

import re

__all__ = ["begins_program", "is_prose"]

_PROGRAM = re.compile(
    r"\s*(?:(?:async\s+)?def\s+\w+\s*[(\[]|class\s+\w+\s*[:({]|import\s+[\w.{*]+(?:\s*(?:as|,|from|;)|\s*$)|from\s+[\w.]+\s+import\b"
    r"|#include\b|#!|package\s+[\w.]+;?\s*$|func\s+\w+\(|fn\s+\w+\(|(?:public|private|protected)\s+\w+|(?:const|let|var)\s+\w+\s*="
    r"|function\s+\w+\s*\(|<(?:!(?:DOCTYPE|doctype)|html|\?xml|\?php|svg)\b)"
)
_SIGN = re.compile(
    r"[\w)\]]\s?(?:[-+*/%&|^]|\*\*|//|<<|>>)?=\s*\S|[=!<>]=|=>|->|\w\(|[\w)]\[|[;{}]\s*$|^\s*[\])}]|^\s*@\w"
    r"|^\s*(?:if|elif|for|while|with|try|else|except|finally|match|case)\b.*:\s*$|^\s*(?:return|raise|yield|await|del|assert)\s+\S+\s*$"
)
_WORDS = re.compile(r"[\w\s.,:!?'\"()“”‘’…-]*")
_STATEMENT = re.compile(
    r"\s*(?:import|from|return|pass|break|continue|raise|del|assert|global|nonlocal|yield|await|lambda)\b"
)
_SENTENCE = re.compile(r"[^\W\d_]['’\w]*[,;:]? +[^\W\d_]")
_QUOTED = re.compile(r"(?<![\w=(`])(`{1,2})[^`]+\1(?=[\s.,:;!?)]|$)")
_LINES = 2_000
_COLUMNS = 300


def is_prose(text: str, *, parses: bool = False) -> bool:
    r"""Whether a text is sentences rather than a program.

    Without a parser's help: no line begins as only a program does (``def f(``, ``import x as y``), and fewer lines
    carry a sign of a program (an assignment, a call, a bracket at the end) than read like words in a sentence. Where
    the parser accepts the text (``Hello, world`` is a tuple, ``Answer: 42`` an annotation, ``# Title`` a comment), it
    is prose only if it is nothing but words, punctuation and headings, and begins with no statement. The first 2,000
    lines are looked at.

    Parameters
    ----------
    text
        Any text; an empty one is not prose.
    parses
        Whether it is known to parse as a program.

    Examples
    --------
    >>> is_prose("Yes, a loop would do."), is_prose("for i in range(3):\n    print(i")
    (True, False)
    >>> is_prose("Answer: 42", parses=True), is_prose("answer = 42", parses=True)
    (True, False)
    """
    lines = [line[:_COLUMNS] for line in text.split("\n", _LINES)[:_LINES] if line.strip()]
    if not lines:
        return False
    if parses:
        lines = [line for line in lines if not line.startswith("#")]
        return not any(_STATEMENT.match(line) or _SIGN.search(line) or not _WORDS.fullmatch(line) for line in lines)
    if any(_PROGRAM.match(line) for line in lines):
        return False
    lines = [_QUOTED.sub("that", line) for line in lines]  # code that is quoted within a sentence is not the sentence
    signs = sum(_SIGN.search(line) is not None for line in lines)
    sentences = sum(_SIGN.search(line) is None and _SENTENCE.search(line) is not None for line in lines)
    return signs < sentences or not signs


def begins_program(line: str) -> bool:
    """Whether a line begins as only a program's does, in any language: ``def f(``, ``const x =``, ``<!doctype``."""
    return _PROGRAM.match(line[:_COLUMNS]) is not None
