"""A range of what is not known exactly: from a low to a high, or nothing known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

__all__ = ["NOTHING", "UNKNOWN", "Range", "add_ranges", "divide", "longest"]


@dataclass(frozen=True, slots=True)
class Range:
    """From ``low`` to ``high``; None where nothing is known."""

    low: float | None
    high: float | None

    def __add__(self, other: Range) -> Range:
        return Range(_sum(self.low, other.low), _sum(self.high, other.high))

    def __mul__(self, other: Range | float) -> Range:
        """Multiply two ranges of what is never negative, low by low and high by high."""
        by = other if isinstance(other, Range) else Range(other, other)
        return Range(_product(self.low, by.low), _product(self.high, by.high))

    def rounded(self) -> Range:
        """Return the range in whole numbers."""
        return Range(*(None if end is None else round(end) for end in (self.low, self.high)))


NOTHING: Final = Range(0.0, 0.0)
UNKNOWN: Final = Range(None, None)


def add_ranges(ranges: Iterable[Range]) -> Range:
    """Return the sum; an end that is unknown in one is unknown in it."""
    return reduce(Range.__add__, ranges, NOTHING)


def longest(ranges: Iterable[Range]) -> Range:
    """Return the range of the greatest, of what is never negative."""
    return reduce(lambda one, other: Range(_most(one.low, other.low), _most(one.high, other.high)), ranges, NOTHING)


def divide(of: Range, by: Range) -> Range:
    """Return the range of one of many, low by low and high by high; unknown where there is none.

    >>> divide(Range(10, 60), Range(2, 3))
    Range(low=5.0, high=20.0)
    """
    low = of.low / by.low if of.low is not None and by.low else None
    high = of.high / by.high if of.high is not None and by.high else None
    return Range(low, high)


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a * b


def _most(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else max(a, b)
