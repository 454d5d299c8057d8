"""What a feature is and by which signs it shows; plain values, so that they can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Feature", "Place", "Rules", "Sign", "SignPlace"]

Place = Literal["code", "reply"]
"""Where the line is that shows a feature."""
SignPlace = Literal["code", "reply", "beside"]
"""Where a text is looked for: in the code, in the whole reply, or in what the reply says beside the code."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One way in which a feature shows: by what is imported, by the syntax, or by the text.

    Parameters
    ----------
    imports
        Dotted names of modules: the sign is there where one of them, or one within it, is imported.
    query
        A tree-sitter query. Each node captured as ``@shown`` shows the feature, unless a match of the same query
        captures it as ``@except``.
    matching
        A regular expression (Rust's dialect, which takes linear time) that a line of the node captured as ``@text``, or
        else ``@shown``, must match.
    text
        A regular expression that a line must match.
    place
        Where `text` is looked for. Where the reply is not known, it is the code; and nothing is beside it, unless there
        is prose in its place.
    given
        Features that must be there by signs of their own for this sign to count.
    """

    imports: tuple[str, ...] = ()
    query: str = ""
    matching: str = ""
    text: str = ""
    place: SignPlace = "code"
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a program has or has not.

    Parameters
    ----------
    name
        Unique among the rules.
    group
        Under which it is listed.
    means
        What it says of a program, in a sentence.
    language
        Of the programs in which `Sign.imports` and `Sign.query` are looked for; a sign by `Sign.text` is looked for in
        all.
    signs
        Any of them shows it.
    unless
        Features that, where they show, leave this one out.
    """

    name: str
    group: str
    means: str
    language: str
    signs: tuple[Sign, ...]
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """Features in the order in which they are listed."""

    features: tuple[Feature, ...]

    def names(self) -> tuple[str, ...]:
        """Return the features' names in their order."""
        return tuple(feature.name for feature in self.features)
