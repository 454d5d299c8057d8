"""A line of a text: how much it says, how like another it is, and which of its words another has not."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from reports.compare.alignment import align

__all__ = ["Line", "Marker", "Part", "Words", "likeness"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W_]|[^\w\s]")  # of snake_case and camelCase each word

_LONGEST = 2_000  # characters; of a longer one only so many are looked at, and no words in it are marked
_LENGTHS = 0.3  # of two lines, the shorter one's share below which they are not compared, twice
_ALIKE, _ALIKE_IN_KIND = 0.5, 0.4  # two lines that are less alike are not one that was changed
_WORD_SMALL, _WORD_LARGE, _WORD_ROOM = 2_500, 10_000, 20_000  # cells of words in two lines
_ALL_WORDS = 1_000_000  # cells of words in all lines of a pair of texts

_OTHER_KEYWORDS = (
    "boolean case catch char const default delete double do enum extends final float fn func function implements int "
    "interface let long new null package private protected public static string struct super switch this throw throws "
    "true false undefined use using var void"
)
_KEYWORDS = frozenset(keyword.kwlist) | frozenset(_OTHER_KEYWORDS.split())


class Part(NamedTuple):
    """A piece of a line; ``marked`` where the other side has something else."""

    text: str
    marked: bool


class Words(NamedTuple):
    """The pieces of a line's words and the kinds of its words, how often each; the pieces' size, the words' number."""

    words: Counter[str]
    kinds: Counter[str]
    size: int
    number: int


class Line:
    """A line, and what is needed to tell how much another is like it, which most lines are never asked."""

    __slots__ = ("_weight", "_words", "end", "text")

    def __init__(self, raw: str) -> None:
        self.text = raw.removesuffix("\n").removesuffix("\r") if raw.endswith("\n") else raw
        self.end = raw[len(self.text) :]
        self._words: Words | None = None
        self._weight = 0.0

    @property
    def words(self) -> Words:
        """What is in it."""
        if self._words is None:
            text = self.text[:_LONGEST]
            pieces = _PIECE.findall(text)
            found = [word for word in _WORD.findall(text) if not word.isspace()]
            kinds = Counter(word if word in _KEYWORDS or not word[0].isalnum() else _class(word) for word in found)
            self._words = Words(Counter(pieces), kinds, sum(map(len, pieces)), len(found))
        return self._words

    @property
    def weight(self) -> float:
        """How much it says, from .1 for a bracket or nothing to 1 for eight letters or more."""
        if not self._weight:
            letters = sum(character.isalnum() for character in self.text[:_LONGEST])
            self._weight = 0.1 + 0.9 * min(letters, 8) / 8
        return self._weight


def _class(word: str) -> str:
    return "0" if word[0].isdigit() else "w"


def likeness(one: Words, two: Words) -> float:
    """Return how alike two lines are, from 0 to 1; 0 where one is not a version of the other.

    Of their characters those in words that both have, and, with a third of that weight, of their words those of kinds
    that both have. Lines of the same kinds of words may be less alike than others, for a variable can be renamed.
    """
    both = one.size + two.size
    if not one.size or not two.size or 2 * min(one.size, two.size) < _LENGTHS * both:
        return 0.0
    small, large = (one.words, two.words) if len(one.words) <= len(two.words) else (two.words, one.words)
    same = sum(len(word) * min(times, large[word]) for word, times in small.items() if word in large)
    kind = sum(min(times, two.kinds[kind]) for kind, times in one.kinds.items() if kind in two.kinds)
    total = one.number + two.number
    alike = 1.5 * same / both + 0.5 * kind / total
    return alike if alike >= (_ALIKE_IN_KIND if 2 * kind == total else _ALIKE) else 0.0


class Marker:
    """Marks the words that differ in two lines, as long as there is room."""

    def __init__(self) -> None:
        self.left = _ALL_WORDS

    def mark(self, a: str, b: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        """Return two lines in parts; in a line that is too long, all between the common ends is one mark."""
        if self.left < 0 or max(len(a), len(b)) > _LONGEST:
            return _between_ends(a, b)
        a_words, b_words = _WORD.findall(a), _WORD.findall(b)
        self.left -= min(len(a_words) * len(b_words), _WORD_ROOM)

        def score(i: int, j: int) -> float:
            word = a_words[i]
            return (0.1 if word.isspace() else float(len(word))) if word == b_words[j] else 0.0

        pairs = align(
            a_words,
            b_words,
            score,
            is_telling=lambda i: len(a_words[i]) > 1 and not a_words[i].isspace(),
            small=_WORD_SMALL,
            large=_WORD_LARGE,
            room=_WORD_ROOM,
        ).pairs
        return _parts(a_words, {i for i, _ in pairs}), _parts(b_words, {j for _, j in pairs})


def _parts(words: Sequence[str], kept: set[int]) -> tuple[Part, ...]:
    """Join words to parts; white space between two marked words is marked with them, so that a phrase is one mark."""
    marks = [index not in kept for index in range(len(words))]
    for index in range(1, len(words) - 1):
        if words[index].isspace() and marks[index - 1] and marks[index + 1]:
            marks[index] = True
    parts: list[Part] = []
    for word, marked in zip(words, marks, strict=True):
        if parts and parts[-1].marked == marked:
            parts[-1] = Part(parts[-1].text + word, marked)
        else:
            parts.append(Part(word, marked))
    return tuple(parts)


def _between_ends(a: str, b: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Mark what is between the common beginning and the common end of two lines that are too long for more."""
    short = min(len(a), len(b))
    start = next((at for at in range(short) if a[at] != b[at]), short)
    end = next((at for at in range(short - start) if a[-1 - at] != b[-1 - at]), short - start)

    def cut(text: str) -> tuple[Part, ...]:
        stop = len(text) - end
        pieces = ((text[:start], False), (text[start:stop], True), (text[stop:], False))
        return tuple(Part(piece, marked) for piece, marked in pieces if piece)

    return cut(a), cut(b)
