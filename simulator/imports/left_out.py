"""What could not be used of a file: each bad row is counted, and the first ones are named."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["BadRowError", "LeftOut"]

_NAMED = 20  # so many are named one by one; of the others their number


class BadRowError(ValueError):
    """Why one row cannot be used: a phrase of which the row is the subject. Never leaves this package."""


@dataclass(slots=True)
class LeftOut:
    """Counts what was read of a file and what of it was left out.

    Parameters
    ----------
    source
        The file's name, as warnings give it.
    unit
        What is counted, in the plural: ``rows``, ``replies``.
    read
        How many there were, the unusable ones included.
    lost
        How many were left out.
    """

    source: str
    unit: str = "rows"
    read: int = 0
    lost: int = 0
    _named: list[tuple[int, str]] = field(default_factory=list)

    def add(self, place: str, why: object, *, number: int = 0) -> None:
        """Leave one out. ``number`` is its row: the first rows are named, in whatever order they are found."""
        self.lost += 1
        self.name(place, why, number=number)

    def name(self, place: str, why: object, *, number: int = 0) -> None:
        """Name one that was counted already."""
        self._named.append((number, f"{self.source}, {place}: {why}; left out"))
        self._named.sort(key=lambda one: one[0])
        del self._named[_NAMED:]

    @property
    def first(self) -> str:
        """The first that was named, without its last words; empty where all could be used."""
        return self._named[0][1].removesuffix("; left out") if self._named else ""

    def warnings(self) -> list[str]:
        """Return the count, the first 20 by name, and how many more there were; nothing where all could be used."""
        if not self.lost:
            return []
        more = self.lost - len(self._named)
        return [
            f"{self.source}: {self.lost} of {self.read} {self.unit} were left out; the others are used",
            *(text for _, text in self._named),
            *([f"{self.source}: {more} more {self.unit} were left out"] if more > 0 else []),
        ]
