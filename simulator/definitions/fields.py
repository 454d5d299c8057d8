"""What the fields of every definition have in common: text that stays what was written, lists that may be one, ids."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from simulator.definitions.yaml_reading import NO_TEXT, is_null, shorten

__all__ = ["Definition", "Identifier", "Items", "Key", "RawText", "Text", "check_id", "fold_id"]

MAX_ID_CHARACTERS = 64
MAX_ID_BYTES = 200  # with an ending, below the 255 bytes that a file's name may have

_RESERVED = frozenset(
    {"all", "con", "prn", "aux", "nul"} | {f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"}
)


def fold_id(text: str) -> str:
    """Return the form in which two ids are compared: NFC, casefolded, NFC again.

    >>> fold_id("Zoe\u0308") == fold_id("ZOË")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def check_id(text: str) -> str:
    """Return an id in NFC, or refuse one that is not a safe file name on every system.

    Letters and digits of any script, hyphen and underscore, at most 64 characters; the first a letter or a digit.

    Raises
    ------
    ValueError
        With what is wrong and a mend.
    """
    identifier = unicodedata.normalize("NFC", text.strip())
    if not identifier:
        raise ValueError("the id is empty; write a short word, such as `john`")
    if len(identifier) > MAX_ID_CHARACTERS or len(identifier.encode("utf-8", "replace")) > MAX_ID_BYTES:
        raise ValueError(f"the id {shorten(identifier, 20)} is longer than {MAX_ID_CHARACTERS} characters; shorten it")
    for position, character in enumerate(identifier):
        category = unicodedata.category(character)
        if category[0] == "L" or category == "Nd" or (position and (category in ("Mn", "Mc") or character in "-_")):
            continue
        shown = f"`{character}`" if character.isprintable() and character != " " else f"U+{ord(character):04X}"
        where = "" if position else " at its beginning"
        raise ValueError(
            f"the id {shorten(identifier)} has {shown}{where}; an id is also the name of a file: use letters, digits, "
            "hyphens and underscores, beginning with a letter or a digit"
        )
    if identifier.casefold() in _RESERVED:
        raise ValueError(f"the id `{identifier}` is reserved (by Sociolect or by Windows); choose another")
    return identifier


def _text(value: object) -> object:
    if not isinstance(value, str):
        return value
    if broken := NO_TEXT.search(value):
        raise ValueError(f"the text holds U+{ord(broken[0]):04X}, which is no character of any text; remove it")
    return str(value)  # an exact str, whatever was written without quotes


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


RawText = Annotated[str, BeforeValidator(_text)]
"""Text to the last blank, as written."""
Text = Annotated[RawText, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text without white space around it; never empty."""
Key = Annotated[
    str,
    BeforeValidator(_text),
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(lambda text: unicodedata.normalize("NFC", text)),
]
"""The name of something that the schema does not name."""
Items = Annotated[tuple[Text, ...], BeforeValidator(_one_or_many, json_schema_input_type=str | list[str])]
"""A list of texts; a single text is a list of one."""
Identifier = Annotated[RawText, AfterValidator(check_id), Field(max_length=MAX_ID_CHARACTERS)]
"""An id that is a safe file name, in NFC."""


class Definition(BaseModel):
    """The base of all that users write: frozen, closed to unknown keys; an empty optional field is an absent one."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        optional = {
            name
            for key, info in cls.model_fields.items()
            if not info.is_required()
            for name in (key, info.alias or key)
        }
        return {key: value for key, value in data.items() if not (key in optional and is_null(value))}
