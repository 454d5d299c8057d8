"""The pilot: a few real calls of a campaign, which narrow what its plan says and are part of its run.

Each model of each stage gets as many of the calls as the others. Rewriting is tried on groups (a task and a persona)
in a seeded order, with the first replicate of each group's draw order, then the second, and so on: so the first usable
ones are certainly in the group's sample, and whatever is generated from them belongs to the campaign. All is recorded
in the run's journal, and `run` asks none of it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from simulator.definitions import Study
from simulator.prompts import draw_texts
from simulator.running.asks import rewrite_ask
from simulator.running.calls import Call, Stage, derive_seed
from simulator.running.campaign_run import execute_stage, open_money, open_run
from simulator.running.events import Event
from simulator.running.interrupts import run_draining
from simulator.running.journal import Journal
from simulator.running.lines import Ask
from simulator.running.money import Money, Price, check_budget
from simulator.running.money.prices import PriceTable
from simulator.running.patience import Patience
from simulator.running.plan import GeneratePlan, PlannedRewrite, RewritePlan, models_of
from simulator.running.size.estimates import CONFIDENCE, expect_drawn, mean_interval, share_interval
from simulator.running.size.ranges import Range, divide
from simulator.running.size.size import ONE_USABLE, PlanSize, SizeRow, add_up, human_prompts, time_for
from simulator.running.variants import Variant

__all__ = ["Pilot", "PilotRow", "narrow", "run_pilot", "share_calls"]


@dataclass(frozen=True, slots=True)
class PilotRow:
    """What was measured of one model in one stage, a number a call.

    Parameters
    ----------
    stage, number
        Which one: of `models_of` the stage's ``number``-th.
    calls
        How many have a reply.
    read, written
        Tokens, of the calls that counted them.
    cost
        US dollars, of the calls whose cost is known.
    seconds
        How long each took.
    """

    stage: Stage
    number: int
    calls: int
    read: tuple[float, ...] = ()
    written: tuple[float, ...] = ()
    cost: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Pilot:
    """A pilot's measurements.

    Parameters
    ----------
    wanted
        How many calls it was to make.
    rows
        What was measured; a model that got no call has none.
    rewrites, usable
        How many rewrites were made, and how many of them can be sent.
    groups, iterations, sample, repeats
        The campaign's own numbers, by which the generating calls follow from the share of usable rewrites.
    humans
        Different texts of people that each model is sent besides.
    """

    wanted: int
    rows: tuple[PilotRow, ...]
    rewrites: int
    usable: int
    groups: int
    iterations: int
    sample: int
    repeats: int
    humans: int = 0

    @property
    def calls(self) -> int:
        """How many calls have a reply, those recorded before included."""
        return sum(row.calls for row in self.rows)


def run_pilot(
    study: Study,
    folder: Path,
    n: int,
    *,
    prices: PriceTable,
    budget: float | None = None,
    patience: Patience | None = None,
    report: Callable[[Event], None] = lambda _event: None,
    interrupted: Callable[[int], None] = lambda _times: None,
) -> Pilot:
    """Make ``n`` calls of a campaign, those included that its run has already, and measure them.

    Parameters
    ----------
    study
        The campaign with its definitions.
    folder
        The run's folder, in whose journal the calls are recorded.
    n
        How many, over all models and stages.
    prices
        What models cost.
    budget
        US dollars that the run may spend in all, earlier starts included.
    patience
        How failed attempts are repeated.
    report
        Told of each event.
    interrupted
        As for `simulator.running.campaign_run.run_campaign`; an interrupted pilot measures what it has.

    Raises
    ------
    JournalLockedError, StorageError, QuotaError, AccessError, OutageError, BudgetError, MissingError, UsageError
        As their docstrings say; what was recorded is kept.
    """
    if budget is not None:  # before anything is made
        check_budget(study, prices)
    with open_run(study, folder) as journal:
        money = open_money(study, journal, prices, budget=budget)
        trial = _Trial(study, journal, money, prices, patience, report)
        return run_draining(partial(_run, trial, n), interrupted)


def share_calls(n: int, room: list[int]) -> list[int]:
    """Share ``n`` calls over rows that have room for so many each, one after the other.

    >>> share_calls(8, [10, 1, 10])
    [4, 1, 3]
    """
    shares = [0] * len(room)
    rows = list(range(len(room)))
    while n > 0 and (rows := [row for row in rows if shares[row] < room[row]]):
        each = max(1, min(n // len(rows), *(room[row] - shares[row] for row in rows)))
        for row in rows[:n]:
            shares[row] += each
            n -= each
    return shares


def narrow(size: PlanSize, pilot: Pilot) -> PlanSize:
    """Return a campaign's size as it is after a pilot: what one call reads, writes, costs and takes is measured.

    The mean of each is taken from Student's t interval over the pilot's calls, and not from outside the range that was
    reckoned with before, unless the measured mean itself lies outside, which is then a warning. A model with fewer than
    two calls keeps its range. How many generating calls there are follows from Jeffreys' interval of the share of
    usable rewrites.
    """
    measured = {(row.stage, row.number): row for row in pilot.rows}
    notes = _Notes(list(size.warnings))
    share = share_interval(pilot.usable, pilot.rewrites)
    rows = []
    for row in size.rows:
        calls = row.calls
        if row.stage == "generate" and share.low is not None and share.high is not None:
            drawn = Range(*(expect_drawn(pilot.sample, pilot.iterations, end) for end in (share.low, share.high)))
            people = float(pilot.humans * pilot.repeats)
            calls = drawn * float(pilot.groups * pilot.repeats) + Range(people, people)
        rows.append(_narrow_row(row, measured.get((row.stage, row.number)), calls, notes))
    lines = [line for line in size.assumptions if line != ONE_USABLE or not pilot.rewrites]
    lines.append(_describe(pilot, share))
    return add_up(tuple(rows), assumptions=(*lines, *notes.assumptions), warnings=tuple(notes.warnings))


@dataclass(slots=True)
class _Notes:
    warnings: list[str]
    assumptions: list[str] = field(default_factory=list)


def _narrow_row(row: SizeRow, measured: PilotRow | None, calls: Range, notes: _Notes) -> SizeRow:
    name = f"{row.model} ({row.stage})"
    if (row.calls.low or 0.0) > (calls.high or 0.0):
        notes.warnings.append(
            f"{name}: fewer calls than the plan reckoned with, since too few rewrites were usable in the pilot. See "
            f"what the rewriting model answered, or raise `iterations`."
        )
    if measured is None or measured.calls < 2:
        few = "no call" if measured is None or not measured.calls else "one call only"
        notes.assumptions.append(f"{name}: {few} in the pilot, so that what a call takes stays as it was reckoned.")
        return _with_calls(row, calls)
    read = _narrow_mean(divide(row.read, row.calls), measured.read, f"{name}: tokens read by a call", notes)
    written = _narrow_mean(divide(row.written, row.calls), measured.written, f"{name}: tokens written by a call", notes)
    cost = row.cost
    if row.price is not None and not row.price.is_free:
        cost = calls * _narrow_mean(divide(row.cost, row.calls), measured.cost, f"{name}: dollars of a call", notes)
    if missing := measured.calls - len(measured.written):
        notes.assumptions.append(
            f"{name}: {missing} of {measured.calls} calls of the pilot ended without a count of tokens, as an error "
            "does, and are in no mean of tokens."
        )
    narrowed = replace(row, calls=calls, read=(calls * read).rounded(), written=(calls * written).rounded(), cost=cost)
    return replace(narrowed, seconds=_narrow_seconds(row, narrowed, measured, notes))


def _with_calls(row: SizeRow, calls: Range) -> SizeRow:
    """Return a row with another number of calls, each as before."""
    if calls == row.calls:
        return row
    return replace(
        row,
        calls=calls,
        read=(calls * divide(row.read, row.calls)).rounded(),
        written=(calls * divide(row.written, row.calls)).rounded(),
        cost=calls * divide(row.cost, row.calls),
        seconds=(calls * divide(row.seconds, row.calls)).rounded(),
    )


def _narrow_mean(before: Range, values: tuple[float, ...], what: str, notes: _Notes) -> Range:
    """Return the interval of a mean, cut to the range from before if the mean lies in that."""
    found = mean_interval(values)
    if found.low is None or found.high is None:
        return before
    if before.low is None or before.high is None:
        return found
    mean = (sum(values)) / len(values)
    if before.low <= mean <= before.high:
        return Range(max(before.low, found.low), min(before.high, found.high))
    notes.warnings.append(
        f"{what}: {mean:,.6g} on average in the pilot, outside of the {before.low:,.6g} to {before.high:,.6g} that the "
        "plan reckoned with. The pilot's range is shown."
    )
    return found


def _narrow_seconds(row: SizeRow, narrowed: SizeRow, measured: PilotRow, notes: _Notes) -> Range:
    each = mean_interval(measured.seconds)
    if each.low is None or not row.seconds.high:  # a mock takes no time worth telling
        return row.seconds
    found = time_for(narrowed.calls, narrowed.tokens, each, row.rate).rounded()
    if found.low is not None and (found.low > row.seconds.high or (found.high or 0.0) < (row.seconds.low or 0.0)):
        notes.warnings.append(
            f"{row.model} ({row.stage}): by the pilot it takes {found.low:,.0f} to {found.high:,.0f} s, outside of the "
            f"{row.seconds.low:,.0f} to {row.seconds.high:,.0f} s that the plan reckoned with. The pilot's range is "
            "shown."
        )
    return found


def _describe(pilot: Pilot, share: Range) -> str:
    text = f"A pilot of {pilot.calls:,} calls: ranges of means are Student's t intervals of {CONFIDENCE:.0%}"
    if share.low is not None:
        text += (
            f"; {pilot.usable} of {pilot.rewrites} rewrites were usable, so that {share.low:.0%} to {share.high:.0%} "
            f"are (Jeffreys' interval of {CONFIDENCE:.0%})"
        )
    if pilot.calls < pilot.wanted:
        text += f". It was to make {pilot.wanted:,}: there was no more to ask from what it had"
    return f"{text}."


@dataclass(frozen=True, slots=True)
class _Trial:
    study: Study
    journal: Journal
    money: Money
    prices: PriceTable
    patience: Patience | None
    report: Callable[[Event], None]


async def _run(trial: _Trial, n: int, stop: asyncio.Event) -> Pilot:
    study, stage, seed = trial.study, trial.study.campaign.generate, trial.study.campaign.seed
    plan, generate = RewritePlan(study), GeneratePlan(study)
    models = models_of(study)["generate"]
    written = [variant for texts in study.humans for variant in draw_texts(texts, sample=stage.sample, seed=seed)]
    humans = len(human_prompts(study))
    most = (len(plan.groups) * stage.sample + humans) * stage.repeats
    shares = share_calls(n, [len(plan), *[most] * len(models)])
    chosen = list(_choose_rewrites(plan, shares[0]))
    asks = [rewrite_ask(plan, planned) for planned in chosen]
    trial.journal.add_variants(_known_variants(trial.journal, chosen, asks))
    if plan.groups:
        await _execute(trial, "rewrite", [asks], stop)
    found = [variant for planned in chosen if (variant := trial.journal.variant(planned.variant)) is not None]
    calls = [
        list(_choose_calls(generate, number, [*_drawn(found, stage.sample), *written], stage.repeats, share))
        for number, share in enumerate(shares[1:])
    ]
    if not stop.is_set():
        await _execute(trial, "generate", [[Ask(call) for call in some] for some in calls], stop)
    rows = [_measure(trial, "rewrite", 0, [planned.call for planned in chosen])] if plan.groups else []
    rows += [_measure(trial, "generate", number, some) for number, some in enumerate(calls)]
    return Pilot(
        wanted=n,
        rows=tuple(row for row in rows if row.calls),
        rewrites=len(found),
        usable=sum(variant.status == "ok" for variant in found),
        groups=len(plan.groups),
        iterations=plan.iterations,
        sample=stage.sample,
        repeats=stage.repeats,
        humans=humans,
    )


def _choose_rewrites(plan: RewritePlan, share: int) -> Iterator[PlannedRewrite]:
    """Yield so many rewrites with calls of their own: in each round one of every group, in a seeded order."""
    seed = plan.study.campaign.seed
    order = sorted(range(len(plan.groups)), key=lambda one: (derive_seed(seed, "pilot", *plan.groups[one]), one))
    taken: set[str] = set()
    for round_ in range(plan.iterations):
        for group in order:
            if len(taken) >= share:
                return
            replicate = plan.draw_order(plan.groups[group])[round_]
            planned = plan.at(plan.positions(group)[replicate])
            if planned.call.key not in taken:
                taken.add(planned.call.key)
                yield planned


def _known_variants(journal: Journal, chosen: list[PlannedRewrite], asks: list[Ask]) -> list[Variant]:
    """Return the variants that replies give which were recorded for an earlier form of the campaign."""
    lacking = [ask for planned, ask in zip(chosen, asks, strict=True) if journal.variant(planned.variant) is None]
    known = [(ask, journal.reply_to(ask.call.key)) for ask in lacking]
    return [variant for ask, one in known if one is not None for variant in ask.make_variants(one.reply)]


def _drawn(found: list[Variant], sample: int) -> list[Variant]:
    """Return the usable variants that are certainly drawn: each group's come in its draw order, none left out."""
    counts: dict[tuple[str | None, str], int] = {}
    drawn = []
    for variant in found:
        group = (variant.persona, variant.task)
        if variant.status == "ok" and counts.get(group, 0) < sample:
            counts[group] = counts.get(group, 0) + 1
            drawn.append(variant)
    return drawn


def _choose_calls(plan: GeneratePlan, number: int, drawn: list[Variant], repeats: int, share: int) -> Iterator[Call]:
    """Yield so many different calls of one generating model: each variant once, then each a second time, and so on."""
    taken: set[str] = set()
    for repeat in range(repeats):
        for variant in drawn:
            if len(taken) >= share:
                return
            call = plan.call(number, variant, repeat)
            if call.key not in taken:
                taken.add(call.key)
                yield call


async def _execute(trial: _Trial, stage: Stage, asks: list[list[Ask]], stop: asyncio.Event) -> None:
    await execute_stage(
        trial.study,
        stage,
        [iter(some) for some in asks],
        trial.journal,
        stop=stop,
        report=trial.report,
        patience=trial.patience,
        money=trial.money,
    )


def _measure(trial: _Trial, stage: Stage, number: int, calls: list[Call]) -> PilotRow:
    choice, params = models_of(trial.study)[stage][number]
    price: Price | None = trial.prices.price(choice.model, params)
    recorded = [one for call in calls if (one := trial.journal.reply_to(call.key)) is not None]
    counted = [one.reply.tokens for one in recorded if one.reply.tokens.output is not None]
    costs = [price.cost(one.reply.tokens) for one in recorded] if price is not None else []
    return PilotRow(
        stage=stage,
        number=number,
        calls=len(recorded),
        read=tuple(float((tokens.input or 0) + (tokens.cached or 0)) for tokens in counted),
        written=tuple(float((tokens.output or 0) + (tokens.reasoning or 0)) for tokens in counted),
        cost=tuple(cost for cost in costs if cost is not None),
        seconds=tuple(one.seconds for one in recorded),
    )
