"""The records of a run read as one, be they in one journal or in one for each shard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from pathlib import Path
from typing import Any, Self

from simulator.errors import RecordError
from simulator.running.calls import Stage
from simulator.running.journal.entries import Planned, PlanRow, Recorded, Spent
from simulator.running.journal.file import UnmadeJournalError
from simulator.running.journal.journal import Journal
from simulator.running.journal.shards import Shard, journals_of

__all__ = ["Records"]


class Records:
    """All journals of a run, open for reading. What they say together is what one journal would say.

    A call that two shards asked (two personas with the same text) has a reply in each: the lower shard's is the one
    that `reply_to` gives; `counts`, `planned` and `spent` count both, since both were asked.

    Parameters
    ----------
    folder
        The run folder.

    Raises
    ------
    RecordError
        The folder is no run, or its journals are not of one sharing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shards = journals_of(folder) or [None]
        numbers = {0 if shard is None else shard.of for shard in shards}
        if len(numbers) > 1:
            raise RecordError(
                f"{folder} holds journals of a campaign shared in different ways ({_names(shards)}), which cannot be "
                f"read as one. Move those that do not belong here to a folder of their own."
            )
        with ExitStack() as stack:
            self.journals = tuple(stack.enter_context(journal) for journal in _open(folder, shards))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all journals."""
        self._stack.close()

    def missing_shards(self) -> list[Shard]:
        """Return the shards whose journals are not in the folder, in order; none of a whole campaign."""
        there = [journal.shard for journal in self.journals if journal.shard is not None]
        return [] if not there else sorted({Shard(n + 1, there[0].of) for n in range(there[0].of)} - set(there))

    def campaign(self) -> str:
        """Return the current frozen campaign.

        Raises
        ------
        RecordError
            None was begun, or two shards have different ones.
        """
        begun = self._begun()
        text = begun[0].campaign()
        for other in begun[1:]:
            if other.campaign() != text:
                raise RecordError(
                    f"{begun[0].path} and {other.path.name} hold different campaigns: one of the two has not been run "
                    f"since the campaign was changed. Run the campaign as it is now with --shard for each of them."
                )
        return text or ""

    def name(self) -> str:
        """Return the current campaign's name; raises as `campaign` does."""
        self.campaign()
        return self._begun()[0].name() or ""

    def _begun(self) -> list[Journal]:
        begun = [journal for journal in self.journals if journal.campaign() is not None]
        if not begun:
            raise RecordError(f"{self.folder} holds a journal in which no campaign was begun. Run the campaign again.")
        return begun

    def plan(self, stage: Stage) -> Iterator[tuple[PlanRow, Journal]]:
        """Yield what the current campaign plans in a stage, in order, with the journal in which it is planned."""
        return merge(*(_rows(journal, stage) for journal in self.journals), key=lambda one: one[0].position)

    def planned(self, stage: Stage) -> Planned | None:
        """Return the sum of a stage's plans; None where one of the journals has none yet, or one out of date."""
        found: list[Planned] = []
        for journal in self.journals:
            planned = journal.planned(stage)
            if planned is None:
                return None
            found.append(planned)
        fingerprint = " ".join(planned.fingerprint for planned in found)
        return Planned(fingerprint, sum(one.calls for one in found), sum(one.done for one in found))

    def call(self, key: str) -> dict[str, Any]:
        """Return the document of a recorded call (`Journal.call`).

        Raises
        ------
        KeyError
            It is not recorded.
        """
        return self.calls([key])[key]

    def calls(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the documents of those of some calls that are recorded."""
        found: dict[str, dict[str, Any]] = {}
        for journal in self.journals:
            found |= journal.calls([key for key in keys if key not in found])
        return found

    def reply_to(self, key: str) -> Recorded | None:
        """Return the latest reply to a call in the first journal that has one, or None where none has."""
        return self.replies_to([key]).get(key)

    def replies_to(self, keys: Sequence[str]) -> dict[str, Recorded]:
        """Return what `reply_to` gives for each of some calls that has a reply."""
        found: dict[str, Recorded] = {}
        for journal in self.journals:
            found |= journal.replies_to([key for key in keys if key not in found])
        return found

    def counts(self) -> dict[tuple[str, str, str], int]:
        """Return how many calls have which latest status: ``{(stage, model, status): calls}``."""
        total: Counter[tuple[str, str, str]] = Counter()
        for journal in self.journals:
            total.update(journal.counts())
        return dict(sorted(total.items()))

    def spent(self) -> Spent:
        """Return what all replies and failed attempts used."""
        return Spent(*(sum(column) for column in zip(*(journal.spent() for journal in self.journals), strict=True)))

    def state(self) -> dict[str, int]:
        """Return what tells whether the tables would be others now, each journal's numbers by their names."""
        if self.journals[0].shard is None:
            return self.journals[0].state()
        return {
            f"{journal.path.stem} {what}": number
            for journal in self.journals
            for what, number in journal.state().items()
        }

    def check(self) -> Iterator[str]:
        """Yield what is wrong with what is recorded, journal by journal (`Journal.check`)."""
        for journal in self.journals:
            yield from journal.check()


def _rows(journal: Journal, stage: Stage) -> Iterator[tuple[PlanRow, Journal]]:
    for row in journal.plan(stage):
        yield row, journal


def _open(folder: Path, shards: list[Shard | None]) -> Iterator[Journal]:
    """Open the journals of a run, but for those of other shards that are only being made."""
    unmade: UnmadeJournalError | None = None
    opened = 0
    for shard in shards:
        try:
            journal = Journal(folder, shard=shard)
        except UnmadeJournalError as error:
            unmade = error
            continue
        opened += 1
        yield journal
    if unmade is not None and not opened:
        raise unmade


def _names(shards: list[Shard | None]) -> str:
    return ", ".join("the whole" if shard is None else str(shard) for shard in shards)
