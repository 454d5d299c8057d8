"""What is recorded in a run, read without planning anything anew; and whether it is whole.

``status --json`` prints

=================== ==================================================================================================
``run``             the folder; ``campaign``: the name
``replies``         ``stage``, ``model``, ``status`` and ``count`` of the calls whose latest reply has that status
``stages``          ``stage``, ``calls`` (distinct) and ``done``; null where the stage is not planned yet
``to_ask``          by stage, the calls without a reply; null likewise
``tokens``          ``input``, ``cached``, ``output``, ``reasoning``: of all replies, also of calls asked again
``cost``            in US dollars ``known`` and ``at_most``; how many replies and failed attempts are ``unpriced``
``failed_attempts`` how many attempts gave no reply
``shards``          ``present`` and ``missing``, such as ``2/4``; empty where the campaign is not shared
``warnings``        sentences
=================== ==================================================================================================

``verify --json`` prints ``run``, ``calls``, ``replies`` (all of them, also those asked again), ``problems`` (sentences)
and ``warnings``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from simulator.errors import JournalDamagedError
from simulator.running.amounts import dollars, plural
from simulator.running.calls import Stage
from simulator.running.journal.entries import Planned, Spent
from simulator.running.journal.journal import Journal
from simulator.running.journal.records import Records
from simulator.running.journal.shards import Shard, journals_of

__all__ = ["RunStatus", "Verified", "count_failed", "read_status", "shards_to_go", "verify_records"]


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What a run's records say of it.

    Parameters
    ----------
    run, campaign
        The folder, and the name of its campaign.
    counts
        Calls by stage, model and the status of their latest reply.
    planned
        Each stage's plan in sum; None where it is not known yet.
    spent
        By all replies and failed attempts.
    failed_attempts
        How many attempts gave no reply.
    present, missing
        The shards whose journals are there, and those whose are not; none of a campaign that is walked as a whole.
    """

    run: Path
    campaign: str
    counts: dict[tuple[str, str, str], int]
    planned: dict[Stage, Planned | None]
    spent: Spent
    failed_attempts: int
    present: list[Shard]
    missing: list[Shard]

    @property
    def to_ask(self) -> dict[Stage, int | None]:
        """How many calls of each stage have no reply yet; None where the stage is not planned yet."""
        return {stage: None if plan is None else plan.calls - plan.done for stage, plan in self.planned.items()}

    @property
    def warnings(self) -> list[str]:
        """What keeps the run from being complete and known."""
        known = sum(count or 0 for count in self.to_ask.values())
        warnings = [f"{plural(known, 'call')} {'is' if known == 1 else 'are'} still to ask."] if known else []
        if self.missing:
            names = ", ".join(map(str, self.missing))
            warnings.append(f"The journals of these shards are not here: {names}. Copy them into {self.run}.")
        if self.spent.unpriced:
            unpriced = plural(self.spent.unpriced, "reply or failed attempt", "replies and failed attempts")
            warnings.append(f"The price of {unpriced} is not known: the cost is that of the others.")
        return warnings

    def sentences(self) -> list[str]:
        """Return for people what the table of counts does not say."""
        lines = [f"{stage}: {_to_ask(plan)}" for stage, plan in self.planned.items()]
        tokens = self.spent
        lines.append(
            f"Tokens: {tokens.tokens_input:,} read, {tokens.tokens_cached:,} more read from a cache, "
            f"{tokens.tokens_output:,} written, {tokens.tokens_reasoning:,} thought."
        )
        lines.append(f"Spent: {_spent(tokens)}.")
        lines.append(f"{plural(self.failed_attempts, 'attempt')} failed." if self.failed_attempts else "")
        if self.present:
            lines.append(f"Shards here: {', '.join(map(str, self.present))}.")
        return [line for line in lines if line]

    def document(self) -> dict[str, Any]:
        """Return what ``status --json`` prints."""
        tokens = self.spent
        return {
            "run": str(self.run),
            "campaign": self.campaign,
            "replies": [
                {"stage": stage, "model": model, "status": word, "count": count}
                for (stage, model, word), count in self.counts.items()
            ],
            "stages": [
                {"stage": stage, "calls": plan and plan.calls, "done": plan and plan.done}
                for stage, plan in self.planned.items()
            ],
            "to_ask": self.to_ask,
            "tokens": {
                "input": tokens.tokens_input,
                "cached": tokens.tokens_cached,
                "output": tokens.tokens_output,
                "reasoning": tokens.tokens_reasoning,
            },
            "cost": {"known": round(tokens.cost, 6), "at_most": round(tokens.at_most, 6), "unpriced": tokens.unpriced},
            "failed_attempts": self.failed_attempts,
            "shards": {"present": list(map(str, self.present)), "missing": list(map(str, self.missing))},
            "warnings": self.warnings,
        }


def read_status(folder: Path) -> RunStatus:
    """Return what a run's records say of it, at once however many there are.

    Raises
    ------
    RecordError
        The folder is no run.
    """
    with Records(folder) as records:
        return RunStatus(
            run=folder,
            campaign=records.name(),
            counts=records.counts(),
            planned={stage: records.planned(stage) for stage in get_args(Stage)},
            spent=records.spent(),
            failed_attempts=sum(journal.last_attempt for journal in records.journals),
            present=[journal.shard for journal in records.journals if journal.shard is not None],
            missing=records.missing_shards(),
        )


def shards_to_go(folder: Path) -> list[Shard]:
    """Return the shards of a run whose journals are not there or not complete, in order."""
    with Records(folder) as records:
        begun = [
            journal.shard
            for journal in records.journals
            if journal.shard is not None
            and any(plan is None or plan.done < plan.calls for plan in map(journal.planned, get_args(Stage)))
        ]
        return sorted([*records.missing_shards(), *begun])


def count_failed(folder: Path, shard: str) -> int:
    """Return how many calls of a shard ended in a reply that is not ok."""
    with Records(folder) as records:
        counts = next(journal.counts() for journal in records.journals if journal.shard == Shard.parse(shard))
        return sum(count for (_, _, word), count in counts.items() if word != "ok")


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of every record found; ``problems`` are sentences."""

    calls: int
    replies: int
    problems: list[str]


def verify_records(folder: Path) -> Verified:
    """Hash every record of a run again.

    Raises
    ------
    RecordError
        The folder is no run.
    """
    problems: list[str] = []
    calls = replies = 0
    try:
        with Records(folder) as records:
            problems += records.check()
            replies = sum(journal.last_reply for journal in records.journals)
            calls = sum(records.counts().values())
    except JournalDamagedError as error:  # one of the journals is too damaged to be opened, or to be counted
        if not problems:
            problems = [str(error), *_check_each(folder)]
    return Verified(calls, replies, list(dict.fromkeys(problems)))


def _check_each(folder: Path) -> Iterator[str]:
    """Yield what is wrong with each journal of a run that cannot be opened as a whole."""
    for shard in journals_of(folder):
        try:
            with Journal(folder, shard=shard) as journal:
                yield from journal.check()
        except JournalDamagedError as error:
            yield str(error)


def _to_ask(plan: Planned | None) -> str:
    if plan is None:
        return "not planned yet."
    left = plan.calls - plan.done
    return f"{plan.done:,} of {plural(plan.calls, 'call')} done, " + (f"{left:,} to ask." if left else "complete.")


def _spent(spent: Spent) -> str:
    if not spent.at_most and spent.unpriced:
        return "price not known"
    most = f", at most {dollars(spent.at_most)}" if dollars(spent.at_most) != dollars(spent.cost) else ""
    return f"{dollars(spent.cost)}{most}"
