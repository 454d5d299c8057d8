"""Definitions as YAML that reads back equal, byte-stable, whatever the text in them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["dump_yaml", "quote", "to_plain"]

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*")
_MEANT_OTHERWISE = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"})


def to_plain(definition: BaseModel) -> dict[str, object]:
    """Return a definition as dicts, lists and scalars under the keys that users write, without what is not filled."""
    return _filled(definition.model_dump(by_alias=True, exclude_none=True))


def _filled(value: Mapping[str, object]) -> dict[str, object]:
    filled: dict[str, object] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            inner = _filled(inner)  # noqa: PLW2901
        elif isinstance(inner, (list, tuple)):
            inner = [_filled(item) if isinstance(item, dict) else item for item in inner]  # noqa: PLW2901
        if inner not in ({}, []):
            filled[key] = inner
    return filled


def dump_yaml(value: Mapping[str, object]) -> str:
    """Write a mapping of mappings, sequences and scalars as block YAML in the order given.

    Text is written plain only where no YAML reader of any version could take it for something else, as an indented
    block where it has several ordinary lines, and in double quotes with escapes everywhere else.
    """
    return "\n".join(_mapping(value, 0)) + "\n"


def _mapping(value: Mapping[str, object], indent: int) -> list[str]:
    lines: list[str] = []
    for key, inner in value.items():
        lines.extend(_entry(f"{' ' * indent}{quote(key)}:", inner, indent + 2))
    return lines


def _entry(head: str, value: object, indent: int) -> list[str]:
    if isinstance(value, dict):
        return [head, *_mapping(value, indent)] if value else [f"{head} {{}}"]
    if isinstance(value, (list, tuple)):
        return [head, *_sequence(value, indent)] if value else [f"{head} []"]
    if isinstance(value, str) and _is_block(value):
        lines = value.removesuffix("\n").split("\n")
        mark = "|" if value.endswith("\n") else "|-"
        return [f"{head} {mark}", *(f"{' ' * indent}{line}" if line else "" for line in lines)]
    return [f"{head} {_scalar(value)}"]


def _sequence(value: Sequence[object], indent: int) -> list[str]:
    lines: list[str] = []
    for item in value:
        if isinstance(item, dict) and item:
            inner = _mapping(item, indent + 2)
            lines += [f"{' ' * indent}- {inner[0].lstrip(' ')}", *inner[1:]]
        else:
            lines.extend(_entry(f"{' ' * indent}-", item, indent + 2))
    return lines


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return quote(str(value))


def quote(text: str) -> str:
    """Write a text in one line: plain where no reader could take it for anything else, else in double quotes."""
    if _WORD.fullmatch(text) and text.casefold() not in _MEANT_OTHERWISE and len(text) <= 100:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(character if character.isprintable() else _escape(character) for character in quoted)


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _is_block(text: str) -> bool:
    if "\n" not in text.removesuffix("\n") or text.endswith("\n\n") or text[0] in " \n":
        return False
    return all(line.isprintable() and not line.endswith(" ") for line in text.removesuffix("\n").split("\n"))
