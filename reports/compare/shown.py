"""The parts of a line as they are shown: short enough, and with nothing in a mark that cannot be seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reports.compare.lines import Part
from reports.visible import visible

__all__ = ["show_parts"]

# Spaces other than the usual, joiners and marks of direction: two lines can differ in nothing else.
_UNSEEN = re.compile("[\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u202f\u205f-\u2064\u3000\ufe00-\ufe0f]")
_COMBINING = re.compile("[\u0300-\u036f]")  # an accented letter can be one character or two
_BLANKS = str.maketrans({" ": "·", "\t": "→\t"})


def show_parts(parts: Sequence[Part], *, same: bool = False, limit: int = 2_000) -> tuple[list[Part], int]:
    r"""Return the parts to show, and how many characters of the line were left out.

    Parameters
    ----------
    parts
        Of a line.
    same
        Whether the other text has the same line, so that nothing that cannot be seen makes a difference.
    limit
        Characters that are shown.

    Examples
    --------
    >>> show_parts([Part("a", False), Part("  ", True)])
    ([Part(text='a', marked=False), Part(text='··', marked=True)], 0)
    """
    shown: list[Part] = []
    left = limit
    for text, marked in parts:
        kept = text[: max(left, 0)]
        left -= len(text)
        if not kept:
            continue
        if not same:
            kept = _UNSEEN.sub(_name, kept)
        if marked:
            kept = _COMBINING.sub(_name, kept)
            kept = kept.translate(_BLANKS) if kept.isspace() else kept
        shown.append(Part(visible(kept), marked))
    return shown, max(-left, 0)


def _name(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match.group()):04X}⟩"
