"""The pilot: real calls that are part of the run, and what they say of the rest."""

from __future__ import annotations

import math
import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.definitions import Study, load_campaign
from simulator.errors import BudgetError
from simulator.running.campaign_run import open_run, run_campaign
from simulator.running.events import Event
from simulator.running.journal import Entry, Journal
from simulator.running.money import Price
from simulator.running.money.prices import load_prices
from simulator.running.plan import RewritePlan
from simulator.running.replies import Reply, Tokens
from simulator.running.size.pilot import Pilot, PilotRow, narrow, run_pilot, share_calls
from simulator.running.size.ranges import Range
from simulator.running.size.size import ONE_USABLE, PlanSize, Rate, SizeRow, add_up, size_of

CAMPAIGN = """
study: personas
seed: 3
tasks: [calculator, todo-api]
prompts:
  personas: [john, priya, kenji]
  iterations: 4
  model: {rewriter}
  max_tokens: 200
generate:
  models: [mock, mock:other]
  sample: 2
  repeats: 3
  max_tokens: 900
"""

PRICES = """
prices:
- {model: mock, input: 10, output: 30}
- {model: 'mock:*', input: 100, output: 300}
"""

HALF = """
from simulator.running.replies import Reply, Tokens

def answer(call):
    if call.repeat % 2:
        return Reply("refused", "I will not.", Tokens(10, 0, 3, 0))
    return Reply("ok", f"Please write me a calculator, number {call.repeat}.", Tokens(10, 0, 12 + call.repeat, 0))
"""


def study_of(folder: Path, rewriter: str = "mock", text: str = CAMPAIGN) -> Study:
    (folder / "prices.yaml").write_text(PRICES, encoding="utf-8")
    (folder / "c.yaml").write_text(text.replace("{rewriter}", rewriter), encoding="utf-8")
    return load_campaign(str(folder / "c.yaml"))


def pilot_of(study: Study, folder: Path, n: int, *, budget: float | None = None) -> tuple[Pilot, list[Event]]:
    events: list[Event] = []
    prices = load_prices(study.root)
    return run_pilot(study, folder, n, prices=prices, budget=budget, report=events.append), events


def asked(events: list[Event]) -> list[str]:
    return [event.call.key for event in events if event.kind == "recorded" and event.call is not None]


@given(st.integers(0, 200), st.lists(st.integers(0, 60), min_size=1, max_size=6))
def test_calls_are_shared_one_after_the_other(n: int, room: list[int]) -> None:
    shares = share_calls(n, room)
    assert sum(shares) == min(n, sum(room))
    assert all(0 <= share <= most for share, most in zip(shares, room, strict=True))
    open_ended = [share for share, most in zip(shares, room, strict=True) if share < most]
    assert max(shares, default=0) <= min(open_ended, default=10**9) + 1
    assert [shares[row] for row in range(len(room)) if shares[row] < room[row]] == sorted(open_ended, reverse=True)


def test_every_model_of_every_stage_gets_its_share(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    pilot, events = pilot_of(study, tmp_path / "run", 12)
    assert [(row.stage, row.number, row.calls) for row in pilot.rows] == [
        ("rewrite", 0, 4),
        ("generate", 0, 4),
        ("generate", 1, 4),
    ]
    assert (pilot.calls, pilot.wanted, pilot.rewrites, pilot.usable) == (12, 12, 4, 4)
    assert len(asked(events)) == len(set(asked(events))) == 12
    for row in pilot.rows:
        assert len(row.read) == len(row.written) == len(row.cost) == len(row.seconds) == row.calls
        assert min(row.read) > 0
        assert min(row.cost) > 0


def test_one_call_is_a_rewrite(tmp_path: Path) -> None:
    pilot, _ = pilot_of(study_of(tmp_path), tmp_path / "run", 1)
    assert [(row.stage, row.calls) for row in pilot.rows] == [("rewrite", 1)]


def test_nothing_is_asked_twice_and_nothing_is_wasted(tmp_path: Path) -> None:
    study, run = study_of(tmp_path), tmp_path / "run"
    first, events = pilot_of(study, run, 9)
    again, none = pilot_of(study, run, 9)
    assert not asked(none)
    assert again == first
    _, more = pilot_of(study, run, 18)
    assert len(asked(more)) == 9
    done = [*asked(events), *asked(more)]
    rest: list[Event] = []
    assert run_campaign(study, run, prices=load_prices(study.root), report=rest.append)
    assert not set(asked(rest)) & set(done)
    with Journal(run) as journal:
        planned = {row.call for stage in ("rewrite", "generate") for row in journal.plan(stage)}
        assert set(done) <= planned
        assert len(planned) == len(done) + len(asked(rest))
    run_campaign(study, tmp_path / "other", prices=load_prices(study.root))
    with Journal(tmp_path / "other") as journal:
        assert planned == {row.call for stage in ("rewrite", "generate") for row in journal.plan(stage)}


def test_nothing_is_wasted_where_many_rewrites_cannot_be_sent(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(HALF, encoding="utf-8")
    study, run = study_of(tmp_path, "mock:half.py"), tmp_path / "run"
    pilot, events = pilot_of(study, run, 45)
    assert pilot.rewrites > pilot.usable > 0
    run_campaign(study, run, prices=load_prices(study.root))
    with Journal(run) as journal:
        planned = {row.call for stage in ("rewrite", "generate") for row in journal.plan(stage)}
    assert set(asked(events)) <= planned


def test_groups_are_tried_in_a_seeded_order_and_each_once_before_any_twice(tmp_path: Path) -> None:
    def lineages(seed: int, run: str) -> list[tuple[str, str, int]]:
        study = study_of(tmp_path, text=CAMPAIGN.replace("seed: 3", f"seed: {seed}"))
        _, events = pilot_of(study, tmp_path / run, 24)
        plan = RewritePlan(study)
        lineage = {one.call.key: (one.task, one.persona, one.replicate) for one in map(plan.at, range(len(plan)))}
        found = [lineage[key] for key in asked(events) if key in lineage]
        for task, persona, replicate in found:
            tried = [one[2] for one in found if one[:2] == (task, persona)]
            assert replicate in plan.draw_order((task, persona))[: len(tried)]
        return found

    first = lineages(3, "a")
    assert sorted(Counter(one[:2] for one in first).values()) == [1, 1, 1, 1, 2, 2]
    assert lineages(3, "b") == first
    assert [one[:2] for one in lineages(4, "c")] != [one[:2] for one in first]


def test_a_reply_that_was_recorded_without_its_variant_gives_one(tmp_path: Path) -> None:
    study, run = study_of(tmp_path), tmp_path / "run"
    plan = RewritePlan(study)
    with open_run(study, run) as journal:
        calls = [plan.at(position).call for position in range(len(plan))]
        reply = Reply("ok", "Please write a calculator, and a REST API for a to-do list.", Tokens(10, 0, 10, 0))
        journal.record([Entry(call, reply, 1.0, 1) for call in calls])
    pilot, events = pilot_of(study, run, 6)
    assert (pilot.rewrites, pilot.usable, pilot.rows[0].seconds) == (2, 2, (1.0, 1.0))
    assert {event.call.stage for event in events if event.kind == "recorded" and event.call} == {"generate"}


def test_without_a_usable_rewrite_nothing_is_generated(tmp_path: Path) -> None:
    (tmp_path / "no.py").write_text("def answer(call):\n    return ''\n", encoding="utf-8")
    study = study_of(tmp_path, "mock:no.py")
    pilot, _ = pilot_of(study, tmp_path / "run", 30)
    assert [(row.stage, row.calls) for row in pilot.rows] == [("rewrite", 10)]
    assert (pilot.rewrites, pilot.usable) == (10, 0)
    size = narrow(size_of(study, load_prices(study.root)), pilot)
    generate = size.rows[1]
    assert generate.calls.low == 0
    assert any("too few rewrites were usable" in warning for warning in size.warnings)
    assert any("It was to make 30" in line for line in size.assumptions)


def test_an_interrupted_pilot_measures_what_it_has(tmp_path: Path) -> None:
    study, run = study_of(tmp_path), tmp_path / "run"
    times: list[int] = []
    sent: list[Event] = []

    def interrupt(event: Event) -> None:
        if event.kind == "recorded" and not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    pilot = run_pilot(study, run, 48, prices=load_prices(study.root), report=interrupt, interrupted=times.append)
    assert times == [1]
    assert 0 < pilot.calls < 48
    again, _ = pilot_of(study, run, 48)
    assert again.calls == 48


def test_a_budget_is_kept_to(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    with pytest.raises(BudgetError):
        pilot_of(study, tmp_path / "run", 12, budget=0.05)
    with Journal(tmp_path / "run") as journal:
        assert journal.spent().cost <= 0.05


def test_a_pilot_narrows_the_plan_of_a_real_run(tmp_path: Path) -> None:
    study, run = study_of(tmp_path), tmp_path / "run"
    prices = load_prices(study.root)
    before = size_of(study, prices)
    pilot, _ = pilot_of(study, run, 48)
    after = narrow(before, pilot)
    run_campaign(study, run, prices=prices)
    with Journal(run) as journal:
        spent, counts = journal.spent(), sum(journal.counts().values())
    for name, real in (
        ("read", spent.tokens_input + spent.tokens_cached),
        ("written", spent.tokens_output + spent.tokens_reasoning),
        ("cost", spent.cost),
        ("calls", counts),
    ):
        old, new = getattr(before, name), getattr(after, name)
        assert new.high - new.low <= old.high - old.low, name
        assert new.low <= real <= new.high, name
    assert (after.cost.high or 0) - (after.cost.low or 0) < ((before.cost.high or 0) - (before.cost.low or 0)) / 3
    assert ONE_USABLE in before.assumptions
    assert ONE_USABLE not in after.assumptions


# What follows needs no calls: measurements are made up.


def row_of(stage: str = "generate", number: int = 0, price: Price | None = None) -> SizeRow:
    return SizeRow(
        stage=stage,  # type: ignore[arg-type]
        number=number,
        model="openai:m",
        calls=Range(100, 300),
        read=Range(100 * 10, 300 * 200),
        written=Range(100 * 20, 300 * 900),
        cost=Range(100 * 0.001, 300 * 0.05) if price else Range(None, None),
        seconds=Range(13, 2300),
        price=price,
        rate=Rate(8),
    )


def plan_of(*rows: SizeRow) -> PlanSize:
    return add_up(rows, assumptions=(ONE_USABLE,), warnings=())


def trial_of(*rows: PilotRow, rewrites: int = 0, usable: int = 0) -> Pilot:
    return Pilot(sum(row.calls for row in rows), rows, rewrites, usable, groups=100, iterations=4, sample=3, repeats=1)


def measured(values: list[float], **fields: object) -> PilotRow:
    row = PilotRow("generate", 0, len(values), tuple(values), tuple(values), (), (2.0,) * len(values))
    return replace(row, **fields)  # type: ignore[arg-type]


def test_a_mean_is_not_taken_from_outside_the_range_that_was_known() -> None:
    size = narrow(plan_of(row_of()), trial_of(measured([15.0, 180.0])))
    assert size.rows[0].read == Range(100 * 10, 300 * 200)
    assert not size.warnings
    assert size.rows[0].cost == Range(None, None)


def test_a_mean_outside_the_range_is_a_warning() -> None:
    size = narrow(plan_of(row_of()), trial_of(measured([1000.0, 1010.0, 990.0])))
    assert (size.rows[0].read.low or 0) > 300 * 200 / 3
    assert [line.partition(":")[2].partition(" by")[0].strip() for line in size.warnings] == [
        "m (generate): tokens read",
        "m (generate): tokens written",
    ]
    assert "990" not in size.warnings[0]
    assert "1,000 on average" in size.warnings[0]


def test_time_outside_the_range_is_a_warning() -> None:
    trial = trial_of(measured([50.0, 60.0, 55.0], seconds=(500.0, 510.0, 490.0)))
    size = narrow(plan_of(row_of()), trial)
    assert size.rows[0].seconds.low == pytest.approx(100 * 475 / 8, rel=0.01)
    assert any("by the pilot it takes" in line for line in size.warnings)


def test_one_call_says_nothing_and_that_is_said() -> None:
    before = plan_of(row_of(), row_of(number=1))
    size = narrow(before, trial_of(measured([50.0])))
    assert size.rows == before.rows
    assert any("one call only" in line for line in size.assumptions)
    assert any("no call in the pilot" in line for line in size.assumptions)


def test_replies_without_a_count_are_told() -> None:
    trial = trial_of(measured([50.0, 60.0, 55.0], calls=5, seconds=(1.0,) * 5))
    assert any(
        "2 of 5 calls of the pilot ended without" in line for line in narrow(plan_of(row_of()), trial).assumptions
    )


def test_generating_calls_follow_from_the_share_of_usable_rewrites() -> None:
    size = narrow(plan_of(row_of()), trial_of(measured([50.0, 60.0, 55.0]), rewrites=40, usable=20))
    calls = size.rows[0].calls
    assert calls.low is not None
    assert calls.high is not None
    half = 100 * (1 * 4 / 16 + 2 * 6 / 16 + 3 * 5 / 16)
    assert 100 < calls.low < half < calls.high < 300
    assert any("35% to 65%" in line for line in size.assumptions)


@pytest.mark.parametrize(("spread", "n", "least"), [(0.3, 5, 0.92), (0.5, 12, 0.91), (0.5, 40, 0.93)])
def test_the_range_of_the_cost_holds_what_a_campaign_costs(spread: float, n: int, least: float) -> None:
    """A thousand calls with known costs, a pilot of some of them, two thousand times."""
    rng = np.random.default_rng(7)
    price = Price(2, 0.5, 8, 8)
    row = replace(row_of(price=price), calls=Range(1000, 1000), cost=Range(1000 * 1e-6, 1000 * 1.0))
    row = replace(row, read=Range(1, 10**9), written=Range(1, 10**9))
    held = 0
    for _ in range(2000):
        costs = rng.lognormal(math.log(0.01), spread, 1000)
        tried = tuple(float(cost) for cost in costs[:n])
        size = narrow(plan_of(row), trial_of(measured([50.0] * n, cost=tried)))
        assert size.cost.low is not None
        assert size.cost.high is not None
        held += size.cost.low <= float(costs.sum()) <= size.cost.high
    assert held / 2000 > least
