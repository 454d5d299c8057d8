"""Text of models and users as something that can be shown: every character seen, none of it obeyed.

A model can answer with NUL, with a terminal's escape codes, or with an override that reorders what a reader sees. None
of these is dropped, for then the page would show other text than the table holds; each is written as ``⟨U+0000⟩``.
Escaping for HTML is not done here but by the template, which escapes everything.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["Cut", "cut_text", "estimate_width", "fit_width", "one_line", "visible", "wrap_width", "xml_text"]

# Controls except tab and newline; what XML cannot hold; embeddings, overrides and isolates, which can make code read as
# other code; separators that some programs take for a newline.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")


def _name_character(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match.group()):04X}⟩"


def visible(text: str) -> str:
    r"""Return the text with every character that would be invisible or obeyed written as its code point.

    Newlines become ``\n`` whichever way they were written. Applying it twice changes nothing.

    >>> visible("a\x00b\r\nc\u202e")
    'a⟨U+0000⟩b\nc⟨U+202E⟩'
    """
    return _HIDDEN.sub(_name_character, text.replace("\r\n", "\n"))


def xml_text(text: str) -> str:
    r"""Return the text with only what XML 1.0 cannot hold written as its code point; for GraphML, which is data.

    >>> xml_text("a\x00\u202e") == "a⟨U+0000⟩\u202e"
    True
    """
    return _NOT_XML.sub(_name_character, text)


def one_line(text: str, limit: int | None = None) -> str:
    r"""Return the text, visible, on one line, of at most ``limit`` characters with an ellipsis where it was cut.

    >>> one_line("a\n  b", 3), one_line("abcdef", 4)
    ('a b', 'abc…')
    """
    # Cutting before the work keeps a name of ten million characters cheap.
    line = " ".join(visible(text[: 8 * limit] if limit else text).split())
    if limit is None or len(line) <= limit:
        return line
    return line[: limit - 1].rstrip() + "…"


class Cut(NamedTuple):
    """A text as shown, and how many characters it has in full."""

    text: str
    shown: int
    full: int

    @property
    def is_cut(self) -> bool:
        """Whether something was left out."""
        return self.shown < self.full


def cut_text(text: str, limit: int) -> Cut:
    """Return the first ``limit`` characters of a text, made visible, with its full length.

    Parameters
    ----------
    text
        Of any length.
    limit
        Characters of the text, counted before they are made visible; at least 1.
    """
    kept = text if len(text) <= limit else text[:limit]
    return Cut(visible(kept), len(kept), len(text))


_NARROW = frozenset("iljI.,:;'|!`()[]{}\"/\\ ft-r")
_WIDE = frozenset("mwMWQ@%&—…")


def estimate_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide a line of text is drawn at most, in the units of ``size``.

    The picture is laid out here but drawn by whatever sans-serif font the reader has, so this errs on the wide side:
    the advance widths of DejaVu Sans, the widest of the usual ones. That no label overlaps another is then true in
    narrower fonts as well.
    """
    width = 0.0
    for character in text:
        if character in _NARROW:
            width += 0.41
        elif character in _WIDE:
            width += 1.0
        elif character.isascii():
            width += 0.7 if character.isupper() else 0.64
        elif unicodedata.combining(character) or unicodedata.category(character) == "Cf":
            continue
        elif unicodedata.east_asian_width(character) in {"W", "F"} or ord(character) > 0xFFFF:
            width += 1.3
        else:
            width += 0.85
    return width * size * (1.12 if bold else 1.0)


def fit_width(text: str, size: float, limit: float, *, bold: bool = False) -> str:
    """Return the longest beginning of a line that is at most ``limit`` wide, with an ellipsis where it was cut."""
    line = one_line(text, 400)
    if estimate_width(line, size, bold=bold) <= limit:
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_width(line[:middle].rstrip() + "…", size, bold=bold) <= limit:
            low = middle
        else:
            high = middle - 1
    return line[:low].rstrip() + "…"


_BREAKS = frozenset(" -_/.:")


def wrap_width(text: str, size: float, limit: float, *, bold: bool = False) -> tuple[str, ...]:
    """Return a line as it is where it is at most ``limit`` wide, else as two, each cut where it is still too wide.

    It breaks after a space or a mark inside a name where both halves then fit, else anywhere but inside a character;
    of the possible places the one that leaves the wider half narrowest.
    """
    line = one_line(text, 400)
    if estimate_width(line, size, bold=bold) <= limit:
        return (line,)

    def halve(place: int) -> tuple[str, str]:
        return line[:place].rstrip(), line[place:].lstrip()

    def widest(place: int) -> float:
        return max(estimate_width(half, size, bold=bold) for half in halve(place))

    places = [place for place in range(1, len(line)) if all(halve(place)) and _is_between(line, place)]
    marks = [place for place in places if line[place - 1] in _BREAKS]
    best = min(marks, key=widest, default=0)
    if best and widest(best) <= limit:
        first, second = halve(best)
        return first, second
    # Nothing fits whole: the first line takes what it can, at a space or a mark of its second half if there is one.
    full = [place for place in places if estimate_width(halve(place)[0], size, bold=bold) <= limit]
    if not full:
        return (fit_width(line, size, limit, bold=bold),)
    late = [place for place in full if line[place - 1] in _BREAKS and 2 * place > full[-1]]
    first, second = halve((late or full)[-1])
    return first, fit_width(second, size, limit, bold=bold)


def _is_between(line: str, place: int) -> bool:
    """Whether a line can be broken before ``place`` without taking a character apart."""
    return not (
        unicodedata.combining(line[place])
        or unicodedata.category(line[place]) in {"Cf", "Mn", "Mc", "Me", "Sk"}
        or line[place - 1] == "\u200d"
    )
