"""A run: the folder of one campaign, and the walk through its stages that fills the journal."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import chain
from pathlib import Path

from simulator.definitions import Study, dump_study, load_study
from simulator.errors import UsageError
from simulator.running.asks import generate_asks, generate_rows, record_humans, rewrite_asks, rewrite_rows
from simulator.running.calls import KEY_VERSION, Stage, canonical_json
from simulator.running.events import Event, StageProgress
from simulator.running.execution import execute
from simulator.running.interrupts import run_draining
from simulator.running.journal import Journal, PlanRow
from simulator.running.journal.records import Records
from simulator.running.journal.shards import Shard
from simulator.running.lines import Ask
from simulator.running.manifest import hash_templates, make_manifest
from simulator.running.models import Model, check_model, locate_model, open_model
from simulator.running.money import Money, check_budget
from simulator.running.money.prices import PriceTable, load_prices
from simulator.running.patience import Patience
from simulator.running.plan import GeneratePlan, RewritePlan, label_of, models_of
from simulator.running.replies import REPLY_STATUSES
from simulator.storage import write_text

__all__ = [
    "NOT_OK",
    "check_models",
    "execute_stage",
    "frozen_study",
    "open_money",
    "open_run",
    "run_campaign",
    "run_folder",
]

NOT_OK = frozenset(REPLY_STATUSES) - {"ok"}
"""The reply statuses that ``--retry`` asks for again."""


def run_folder(study: Study, runs: Path, *, model: str | None = None) -> Path:
    """Return the folder of a campaign's run: ``<runs>/<campaign>-<short hash>``.

    The hash is of what makes another campaign of it (name, study, seed, a model given in place of its own), not of what
    may be amended (more personas, repeats, models): an amended campaign goes on in its folder and asks for what is new.
    """
    campaign = study.campaign
    identity = canonical_json([campaign.name, campaign.study, campaign.seed, model])
    return runs / f"{campaign.name}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def check_models(study: Study) -> None:
    """Refuse, before the first call, a model that cannot be reached or a parameter that it does not accept.

    Raises
    ------
    UsageError
        An unknown provider or a parameter that it does not accept.
    MissingError
        No key, or a package that is not installed.
    """
    for models in models_of(study).values():
        for choice, params in models:
            check_model(locate_model(choice.model, study.root, given=study.given), params)


def frozen_study(folder: Path) -> Study:
    """Return the campaign as a run recorded it, with every persona and task that it used.

    Raises
    ------
    RecordError
        The folder is no run, or nothing was begun in it.
    """
    with Records(folder) as records:
        return load_study(records.campaign())


@contextmanager
def open_run(study: Study, folder: Path, *, shard: Shard | None = None) -> Iterator[Journal]:
    """Open a campaign's run for writing, with the campaign frozen in it; made where there is none.

    Raises
    ------
    JournalLockedError, StorageError, MissingError, UsageError
        As their docstrings say.
    """
    check_models(study)
    with Journal(folder, write=True, shard=shard) as journal:
        text = dump_study(study)
        journal.begin(text, study.campaign.name)
        write_text(folder / "campaign.yaml", text)
        write_text(folder / "manifest.json", make_manifest(study))
        yield journal


def run_campaign(
    study: Study,
    folder: Path,
    *,
    retry: bool = False,
    patience: Patience | None = None,
    budget: float | None = None,
    prices: PriceTable | None = None,
    shard: Shard | None = None,
    begin_stage: Callable[[StageProgress], None] = lambda _progress: None,
    report: Callable[[Event], None] = lambda _event: None,
    interrupted: Callable[[int], None] = lambda _times: None,
) -> bool:
    """Execute or resume a campaign; return whether it was walked to its end.

    Parameters
    ----------
    study
        The campaign with its definitions.
    folder
        The run folder (`run_folder`).
    retry
        Ask again for replies that are not ``ok``.
    patience
        How failed attempts are repeated.
    budget
        US dollars that the run may spend in all, earlier starts included; of several shards each may spend its share.
    prices
        What models cost; by default the built-in table and the study's own.
    shard
        The part of the campaign to walk; by default the whole.
    begin_stage, report
        Told how the run goes on.
    interrupted
        Called at each of the first two Ctrl-C, with 1 or 2. After the first one what is in flight is finished; at the
        second one the callee may end the process at once, since every reply that counts as done is on the disk.

    Raises
    ------
    JournalLockedError, StorageError, QuotaError, AccessError, OutageError, BudgetError, MissingError, UsageError
        As their docstrings say; what was recorded is kept.
    """
    table = load_prices(study.root, None) if prices is None else prices
    if budget is not None:  # before anything is made
        check_budget(study, table)
    with open_run(study, folder, shard=shard) as journal:
        share = budget if budget is None or shard is None else budget / shard.of
        money = open_money(study, journal, table, budget=share)
        again = NOT_OK if retry else frozenset[str]()
        walk = _Walk(study, journal, shard, again, patience, money, begin_stage, report)
        return run_draining(partial(_walk, walk), interrupted)


def open_money(study: Study, journal: Journal, prices: PriceTable, *, budget: float | None) -> Money:
    """Return the money of a run: what its models cost, what it has spent, and what it may spend.

    Whether a budget can be kept to at all, `check_budget` says before.

    Raises
    ------
    UsageError
        There is a budget, and what the run has cost so far cannot be reckoned.
    """
    chosen = [one for models in models_of(study).values() for one in models]
    priced = {label_of(choice, params): prices.price(choice.model, params) for choice, params in chosen}
    spent = journal.spent()
    if budget is not None and spent.unpriced:
        raise UsageError(
            f"{journal.path} holds {spent.unpriced:,} replies of which no price was known when they came, so that "
            f"no budget can be kept to. Leave --budget out, or begin the campaign under another name."
        )
    return Money(priced, budget=budget, spent=spent.at_most)


@dataclass(frozen=True, slots=True)
class _Walk:
    study: Study
    journal: Journal
    shard: Shard | None
    again: frozenset[str]
    patience: Patience | None
    money: Money
    begin_stage: Callable[[StageProgress], None]
    report: Callable[[Event], None]

    def fingerprint(self, stage: Stage) -> str:
        """What a recorded plan depends on; another one is made when it differs."""
        program = metadata.version("sociolect")
        parts = [stage, KEY_VERSION, program, str(self.shard), hash_templates(), self.journal.campaign()]
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


async def _walk(walk: _Walk, stop: asyncio.Event) -> bool:
    await _rewrite(walk, stop)
    if not stop.is_set():
        await _generate(walk, stop)
    return not stop.is_set()


async def _rewrite(walk: _Walk, stop: asyncio.Event) -> None:
    plan = RewritePlan(walk.study)
    if not await _plan(walk, "rewrite", lambda: rewrite_rows(plan, walk.journal, walk.shard), stop):
        return

    def asks(positions: range) -> Iterator[Ask]:
        return rewrite_asks(plan, _missing(walk, "rewrite", positions))

    if plan.groups:
        await _execute(walk, "rewrite", [range(len(plan))], asks, stop)


async def _generate(walk: _Walk, stop: asyncio.Event) -> None:
    rewrites, plan, journal = RewritePlan(walk.study), GeneratePlan(walk.study), walk.journal
    record_humans(walk.study, journal, walk.shard)
    if not await _plan(walk, "generate", lambda: generate_rows(rewrites, plan, journal, walk.shard), stop):
        return

    def asks(positions: range) -> Iterator[Ask]:
        return generate_asks(plan, journal, _missing(walk, "generate", positions))

    models = range(len(walk.study.campaign.generate.models))
    await _execute(walk, "generate", [plan.positions(model) for model in models], asks, stop)


async def _plan(walk: _Walk, stage: Stage, rows: Callable[[], Iterator[PlanRow]], stop: asyncio.Event) -> bool:
    """Record a stage's plan unless it is; return whether it is now. A large one takes long and can be stopped."""
    fingerprint = walk.fingerprint(stage)
    planned = walk.journal.planned(stage)
    if planned is None or planned.fingerprint != fingerprint:
        try:
            await asyncio.to_thread(walk.journal.set_plan, stage, fingerprint, _until(stop, rows()))
        except _StoppedError:
            return False
    return True


class _StoppedError(Exception):
    """A plan was given up because the run is to end."""


def _until(stop: asyncio.Event, rows: Iterator[PlanRow]) -> Iterator[PlanRow]:
    for row in rows:
        if stop.is_set():
            raise _StoppedError
        yield row


def _missing(walk: _Walk, stage: Stage, positions: range) -> Iterator[PlanRow]:
    journal = walk.journal
    first, last = positions.start, positions.stop
    return journal.missing(stage, first=first, last=last, again=walk.again, since=journal.last_reply)


async def _execute(
    walk: _Walk, stage: Stage, ranges: list[range], asks: Callable[[range], Iterator[Ask]], stop: asyncio.Event
) -> None:
    """Ask what a stage's plan has and the journal has not, each model's part of it in a line of its own."""
    total, done = _count(walk, stage)
    walk.begin_stage(StageProgress(stage, total, done, walk.journal.spent(), walk.money.budget))
    await execute_stage(
        walk.study,
        stage,
        [asks(positions) for positions in ranges],
        walk.journal,
        stop=stop,
        report=walk.report,
        again=walk.again,
        patience=walk.patience,
        money=walk.money,
    )


async def execute_stage(
    study: Study,
    stage: Stage,
    asks: Sequence[Iterator[Ask]],
    journal: Journal,
    *,
    stop: asyncio.Event,
    report: Callable[[Event], None],
    again: frozenset[str] = frozenset(),
    patience: Patience | None = None,
    money: Money | None = None,
) -> None:
    """Open a stage's models and `execute` what each is asked; entries of one model that are alike share a line.

    Parameters
    ----------
    study, stage
        Which models: those of `models_of`.
    asks
        What is asked of each of them, in their order.
    journal, stop, report, again, patience, money
        As of `execute`, which says what is raised.
    """
    lines: dict[str, Iterator[Ask]] = {}
    models: dict[str, Model] = {}
    async with AsyncExitStack() as stack:
        for wanted, (choice, params) in zip(asks, models_of(study)[stage], strict=True):
            label = label_of(choice, params)
            lines[label] = chain(lines.get(label, ()), wanted)
            if label not in models:
                models[label] = open_model(locate_model(choice.model, study.root, given=study.given), params)
                stack.push_async_callback(models[label].close)
        await execute(lines, models, journal, stop=stop, report=report, again=again, patience=patience, money=money)


def _count(walk: _Walk, stage: Stage) -> tuple[int, int]:
    """Return how many calls a stage has, and how many of them are not to be asked."""
    planned = walk.journal.planned(stage)
    total, done = (0, 0) if planned is None else (planned.calls, planned.done)
    if walk.again and done:
        done = total - walk.journal.count_missing(stage, again=walk.again)
    return total, done
