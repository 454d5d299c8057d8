"""Whether a text that was parsed is a program: one judgement for all that measures programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from simulator.prose import is_prose

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Judgement", "judge_text"]

Judgement = Literal["ok", "empty", "prose", "unparsable"]

_SAYS_NOTHING = {"expression_statement", "comment"}


def judge_text(text: str, kinds: Iterable[str], *, broken: bool) -> Judgement:
    """Tell what a text is: ``empty`` (white space alone), ``prose``, ``unparsable`` (it had to be repaired) or ``ok``.

    Words alone can parse as expressions (``Hello, world`` is a tuple), but never as any other statement; a text in
    which there is one, and nothing to repair, is a program whatever its lines look like.

    Parameters
    ----------
    text
        What was parsed.
    kinds
        Of the nodes at the top of its syntax tree, those that have names.
    broken
        Whether the parser had to repair it.

    Examples
    --------
    >>> judge_text("print 'a'", ["print_statement"], broken=False)
    'ok'
    >>> judge_text("Hello, world", ["expression_statement"], broken=False)
    'prose'
    """
    if not text.strip():
        return "empty"
    if broken:
        return "prose" if is_prose(text) else "unparsable"
    top = set(kinds)
    states = bool(top - _SAYS_NOTHING) or top == {"comment"}
    return "prose" if not states and is_prose(text, parses=True) else "ok"
