"""Sharing a campaign between machines: which part of it each one walks, and in which journal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from simulator.errors import RecordError, UsageError
from simulator.running.calls import derive_seed

__all__ = ["Shard", "check_shards", "journal_path", "journals_of"]

_MOST_SHARDS = 10_000
_NAME = re.compile(r"journal(?:-([1-9][0-9]*)-of-([1-9][0-9]*))?\.sqlite", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """One of several equal parts of a campaign, counted from 1.

    Raises
    ------
    UsageError
        There is no such part.

    Examples
    --------
    >>> Shard.parse("2/4")
    Shard(number=2, of=4)
    >>> print(Shard(2, 4))
    2/4
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of <= _MOST_SHARDS:
            raise UsageError(
                f"There is no shard {self.number} of {self.of}. Name one of 1/n to n/n, n at most {_MOST_SHARDS:,}, "
                f"such as `--shard 1/4` on the first of four machines."
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``i/n``.

        Raises
        ------
        UsageError
            The text is something else.
        """
        found = re.fullmatch(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*", text, re.ASCII)
        if found is None:
            raise UsageError(
                f"`{text}` is no shard. Write which of how many, such as `--shard 1/4` on the first of four machines."
            )
        return cls(int(found[1]), int(found[2]))

    def takes(self, task: str, persona: str) -> bool:
        """Whether what a persona asks of a task is this shard's, of all shards exactly one's.

        It depends on the two names alone, so that other personas and tasks may come and go.
        """
        return derive_seed("shard", task, persona) % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def journal_path(folder: Path, shard: Shard | None) -> Path:
    """Return where in a run's folder the journal of a shard is, or that of a whole campaign."""
    return folder / ("journal.sqlite" if shard is None else f"journal-{shard.number}-of-{shard.of}.sqlite")


def journals_of(folder: Path) -> list[Shard | None]:
    """Return the shards whose journals a run's folder holds, in order; None stands for that of a whole campaign.

    Raises
    ------
    RecordError
        A journal's name says that it is a shard of fewer than its number.
    """
    found: list[Shard | None] = []
    for path in folder.iterdir() if folder.is_dir() else ():
        named = _NAME.fullmatch(path.name)
        if named is None or not path.is_file():
            continue
        try:
            found.append(None if named[1] is None else Shard(int(named[1]), int(named[2])))
        except UsageError as error:
            raise RecordError(f"{path} has the name of no shard's journal. Give it back the name it had.") from error
    return sorted(found, key=lambda shard: (0, 0) if shard is None else (shard.of, shard.number))


def check_shards(folder: Path, shard: Shard | None) -> None:
    """Refuse to write to a run that is, or would become, shared in two ways at once.

    Raises
    ------
    UsageError
        The run is whole and a shard is given, or the other way round, or it is shared among another number.
    """
    for other in journals_of(folder):
        if (None if other is None else other.of) == (None if shard is None else shard.of):
            continue
        there = "as a whole" if other is None else f"in {other.of} shards"
        mend = (
            "Leave --shard out" if other is None else f"Give --shard with one of 1/{other.of} to {other.of}/{other.of}"
        )
        raise UsageError(
            f"{folder} was begun {there} ({journal_path(folder, other).name}), which cannot be changed: calls would be "
            f"asked twice. {mend}, or begin the campaign under another name."
        )
