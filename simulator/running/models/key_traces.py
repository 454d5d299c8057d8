"""A key in a text, whole or in part, also as JSON, HTML, an address or a Python program writes its characters."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import quote

__all__ = ["SHORTEST_KEY", "SHORTEST_PART", "cut_parts", "cut_whole"]

SHORTEST_KEY: Final = 12
"""Characters of a key from which it is looked for; a shorter one may be a word."""
SHORTEST_PART: Final = 8
"""Characters of a part of a key from which it is cut out of texts about failures."""

_Writing = Callable[[str], str]


def _as_json(one: str) -> str:
    return json.dumps(one)[1:-1]


def _as_python(one: str) -> str:
    return {"\\": "\\\\", "'": "\\'"}.get(one, one)


_WRITINGS: Final[tuple[_Writing, ...]] = (
    lambda one: one,
    _as_json,
    html.escape,
    _as_python,
    lambda one: one.replace("\\", "\\\\"),
    lambda one: quote(one, safe="/"),
    lambda one: quote(one, safe=""),
    lambda one: f"\\u{ord(one):04x}" if one in "<>&" else _as_json(one),
    lambda one: f"\\u{ord(one):04x}" if one in "<>&'" else _as_json(one),
    # One inside another: JSON in a page, in JSON, in the text of an exception.
    lambda one: html.escape(_as_json(one)),
    lambda one: "".join(map(_as_json, _as_json(one))),
    lambda one: "".join(map(_as_python, _as_json(one))),
)
"""What becomes of one character of a key."""


def cut_whole(text: str, key: str, mark: str = "[key]") -> str:
    r"""Return a text with a mark in place of a key, in whatever form its characters are written.

    >>> cut_whole(r'a "say\"hello\"there"', 'say"hello"there')
    'a "[key]"'
    """
    if len(key) < SHORTEST_KEY:
        return text
    for form in _forms(key):
        text = text.replace(form, mark)
    return text


def cut_parts(text: str, key: str, mark: str = "[key]") -> str:
    """Return a text with a mark in place of every part of a key that has `SHORTEST_PART` characters or more.

    >>> cut_parts("the key abcdefghij...uvwxyz is wrong", "abcdefghijklmnopqrstuvwxyz")
    'the key [key]...uvwxyz is wrong'
    """
    if len(key) < SHORTEST_KEY:
        return text
    spans: list[list[int]] = []
    windows = _windows(key)
    for at in range(len(text) - SHORTEST_PART + 1):
        length = max((size for size, found in windows if text[at : at + size] in found), default=0)
        if not length:
            continue
        if spans and at <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], at + length)
        else:
            spans.append([at, at + length])
    for start, end in reversed(spans):
        text = text[:start] + mark + text[end:]
    return text


@lru_cache(maxsize=16)
def _forms(key: str) -> list[str]:
    forms = {"".join(map(write, key)) for write in _WRITINGS}
    return sorted(forms, key=lambda form: (-len(form), form))


@lru_cache(maxsize=16)
def _windows(key: str) -> list[tuple[int, frozenset[str]]]:
    """Return every part of `SHORTEST_PART` characters of a key in every form, by length."""
    found: dict[int, set[str]] = {}
    for write in _WRITINGS:
        written = [write(one) for one in key]
        for at in range(len(key) - SHORTEST_PART + 1):
            part = "".join(written[at : at + SHORTEST_PART])
            found.setdefault(len(part), set()).add(part)
    return [(size, frozenset(parts)) for size, parts in sorted(found.items())]
