"""One value of a row as what it should be, or why it is not that."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simulator.imports.left_out import BadRowError
from simulator.running.replies import repair_text

__all__ = ["check_unicode", "has_surrogates", "kind_of", "read_answer", "read_integer", "read_name", "read_text"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNDECODED = re.compile("[\udc80-\udcff]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_INTEGER = re.compile(r"[+-]?\d{1,18}(\.0+)?")


def read_name(fields: Mapping[str, object], column: str, what: str) -> str:
    """Return a name with single spaces inside and none around; empty where there is none. A whole number is a name.

    Raises
    ------
    BadRowError
        It is something else, or not valid Unicode.
    """
    value = fields.get(column)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadRowError(f"{column!r} is {kind_of(value)}, not the name of a {what}")
    name = str(value)
    check_unicode(name, column)
    # No name needs control characters and no XML file can hold them. Joiners and marks of direction stay: scripts and
    # emoji need them, and without them two names could become one.
    return " ".join(_CONTROLS.sub(" ", name).split())


def read_text(fields: Mapping[str, object], column: str) -> str:
    """Return a text as it stands.

    Raises
    ------
    BadRowError
        There is none, it is something else, or not valid Unicode.
    """
    text = fields.get(column)
    if text is not None and not isinstance(text, str):
        raise BadRowError(f"{column!r} is {kind_of(text)}, not a text")
    if text is None or not text.strip():
        raise BadRowError(f"has no text in {column!r}")
    check_unicode(text, column)
    return text


def read_answer(value: object, what: str) -> str:
    """Return what a model wrote, which may be nothing; half a character at which a model was cut becomes U+FFFD.

    Raises
    ------
    BadRowError
        It is absent, something else than a text, or holds bytes that are not UTF-8.
    """
    if not isinstance(value, str):
        raise BadRowError(f"{what} is {kind_of(value)}, not a text")
    if not value.isascii() and _UNDECODED.search(value):
        raise BadRowError(f"{what} holds what is not valid UTF-8")
    return repair_text(value)[0]


def read_integer(fields: Mapping[str, object], column: str) -> int | None:
    """Return a whole number of at most 18 digits, written as a number or a text; None where there is none.

    Raises
    ------
    BadRowError
        It is something else.
    """
    value = fields.get(column)
    if value is None or value == "":
        return None
    if not isinstance(value, bool) and isinstance(value, str | int | float):
        written = str(value).strip()
        if _INTEGER.fullmatch(written):
            return int(written.partition(".")[0])
    raise BadRowError(f"{column!r} is {kind_of(value)}, not a whole number")


def check_unicode(value: str, column: str) -> None:
    """Raise `BadRowError` for a text that no file could hold."""
    if has_surrogates(value):
        raise BadRowError(f"{column!r} holds what is not valid UTF-8, or half a surrogate pair")


def has_surrogates(value: str) -> bool:
    """Whether a text holds halves of surrogate pairs, as which undecodable bytes arrive too."""
    return not value.isascii() and _SURROGATE.search(value) is not None


def kind_of(value: object) -> str:
    """Return in words what a value of JSON is."""
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object", str: "text"}
    return kinds.get(type(value), "null")
