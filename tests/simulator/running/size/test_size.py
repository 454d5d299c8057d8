"""How large a campaign is before anything is sent."""

from __future__ import annotations

import tracemalloc
from datetime import date
from pathlib import Path

import pytest

from simulator.definitions import Study, load_campaign
from simulator.errors import UsageError
from simulator.running.money.prices import load_prices
from simulator.running.plan import RewritePlan
from simulator.running.size.ranges import Range
from simulator.running.size.size import PlanSize, Rate, SizeRow, time_for
from simulator.running.size.size import size_of as size_on_a_day

CAMPAIGN = """
study: personas
tasks: [calculator, todo-api]
prompts:
  personas: [john, priya, kenji]
  iterations: 4
  model: {rewriter}
  max_tokens: 100
generate:
  models: [{models}]
  sample: 3
  repeats: 5
  max_tokens: 700
"""


def size_of(study: Study, *, today: date = date(2026, 12, 1)) -> PlanSize:
    return size_on_a_day(study, today=today)


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"):
        monkeypatch.delenv(variable, raising=False)


def study_of(folder: Path, models: str = "mock", rewriter: str = "mock", *, without: str = "", more: str = "") -> Study:
    text = CAMPAIGN.format(models=models, rewriter=rewriter) + more
    (folder / "c.yaml").write_text(text.replace(without, "") if without else text, encoding="utf-8")
    return load_campaign(str(folder / "c.yaml"))


def ends(of: Range) -> tuple[float, float]:
    assert of.low is not None
    assert of.high is not None
    assert of.low <= of.high
    return of.low, of.high


def test_calls_are_counted_by_stage_and_model(tmp_path: Path) -> None:
    size = size_of(study_of(tmp_path, "mock, mock:other"))
    assert [(row.stage, row.model, row.number) for row in size.rows] == [
        ("rewrite", "mock", 0),
        ("generate", "mock", 0),
        ("generate", "mock:other", 1),
    ]
    assert [ends(row.calls) for row in size.rows] == [(24, 24), (30, 90), (30, 90)]
    assert ends(size.calls) == (84, 204)


def test_personas_that_are_described_alike_share_their_calls_where_no_seed_tells_them_apart(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    for name in ("ann", "bob"):
        text = "description: A clerk who knows spreadsheets.\nname: Sam\n"
        (tmp_path / "personas" / f"{name}.yaml").write_text(text, encoding="utf-8")
    text = CAMPAIGN.replace("[john, priya, kenji]", "[ann, bob]")
    for rewriter, calls in (("anthropic:claude-haiku-4-5", 8), ("mock", 16)):
        (tmp_path / "c.yaml").write_text(text.format(models="mock", rewriter=rewriter), encoding="utf-8")
        study = load_campaign(str(tmp_path / "c.yaml"))
        plan = RewritePlan(study)
        assert len({plan.at(position).call.key for position in range(len(plan))}) == calls
        assert ends(size_of(study).rows[0].calls) == (calls, calls)


def test_tasks_that_are_worded_alike_share_their_calls_too(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    for name, short in (("add", "Write a calculator."), ("other", "Write a clock."), ("sum", "Write a calculator.")):
        (tmp_path / "tasks" / f"{name}.yaml").write_text(f"prompt: {short} Please.\nshort: {short}\n", encoding="utf-8")
    text = CAMPAIGN.replace("[calculator, todo-api]", "[add, other, sum]")
    (tmp_path / "c.yaml").write_text(
        text.format(models="mock", rewriter="anthropic:claude-haiku-4-5"), encoding="utf-8"
    )
    study = load_campaign(str(tmp_path / "c.yaml"))
    plan = RewritePlan(study)
    assert len({plan.at(position).call.key for position in range(len(plan))}) == 24
    rewrite, generate = size_of(study).rows
    assert ends(rewrite.calls) == (24, 24)
    assert ends(generate.calls) == (6 * 5, 9 * 3 * 5)


def test_tokens_are_read_and_written(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    size = size_of(study)
    plan = RewritePlan(study)
    characters = sum(len(one.text) for position in range(len(plan)) for one in plan.at(position).call.messages)
    rewrite, generate = size.rows
    assert ends(rewrite.read)[0] == pytest.approx(characters / 6, abs=1)
    assert characters / 3 <= ends(rewrite.read)[1] <= characters / 3 + 24 * 12
    assert ends(rewrite.written) == (24 * 20, 24 * 100)
    assert ends(generate.written) == (30 * 20, 90 * 700)
    both: list[SizeRow | PlanSize] = [*size.rows, size]
    for of in both:
        assert ends(of.tokens) == (ends(of.read)[0] + ends(of.written)[0], ends(of.read)[1] + ends(of.written)[1])
    assert ends(size.written) == (24 * 20 + 30 * 20, 24 * 100 + 90 * 700)


def test_costs_are_reckoned_from_prices(tmp_path: Path) -> None:
    size = size_of(study_of(tmp_path, "openai:gpt-4o", "anthropic:claude-haiku-4-5"))
    rewrite, generate = size.rows
    assert ends(rewrite.cost)[0] == pytest.approx((ends(rewrite.read)[0] * 0.1 + 480 * 5) / 1e6, rel=0.01)
    assert ends(rewrite.cost)[1] == pytest.approx((ends(rewrite.read)[1] * 1 + 2400 * 5) / 1e6, rel=0.01)
    assert ends(generate.cost)[1] == pytest.approx((ends(generate.read)[1] * 2.5 + 63_000 * 10) / 1e6, rel=0.01)
    assert ends(size.cost)[1] == pytest.approx(ends(rewrite.cost)[1] + ends(generate.cost)[1])
    assert not size.warnings
    assert any(load_prices(None).as_of in line and "cache" in line for line in size.assumptions)


def test_what_is_free_says_nothing_of_prices(tmp_path: Path) -> None:
    size = size_of(study_of(tmp_path))
    assert ends(size.cost) == (0.0, 0.0)
    assert not size.warnings
    assert not any("rice" in line for line in size.assumptions)


def test_a_model_without_a_known_price_says_so_instead_of_showing_nothing(tmp_path: Path) -> None:
    size = size_of(study_of(tmp_path, "mock, openai:unheard-of"))
    assert size.cost == size.rows[2].cost == Range(None, None)
    assert ends(size.rows[1].cost) == (0.0, 0.0)
    [warning] = size.warnings
    assert "No price is known for openai:unheard-of" in warning
    assert str(tmp_path / "prices.yaml") in warning
    entry = warning.partition("`- ")[2].partition("`")[0]
    (tmp_path / "prices.yaml").write_text(f"prices:\n- {entry}\n", encoding="utf-8")
    again = size_of(study_of(tmp_path, "mock, openai:unheard-of"))
    assert ends(again.cost)[1] > 0
    assert not again.warnings


def test_a_prompt_that_may_be_too_long_for_a_price_says_so(tmp_path: Path) -> None:
    text = "prices:\n- {model: openai:m, input: 1, output: 1, longest_input: 150}\n"
    (tmp_path / "prices.yaml").write_text(text, encoding="utf-8")
    size = size_of(study_of(tmp_path, "openai:m"))
    assert size.rows[1].cost == Range(None, None)
    assert "prompts of up to 150 tokens" in size.warnings[0]


def test_a_model_without_max_tokens_says_so_where_it_costs(tmp_path: Path) -> None:
    size = size_of(study_of(tmp_path, "openai:gpt-4o, mock", without="  max_tokens: 700\n"))
    [warning] = size.warnings
    assert "openai:gpt-4o has no max_tokens" in warning
    assert "under `generate`" in warning
    assert ends(size.rows[1].written) == (30 * 20, 90 * 4096)


@pytest.mark.parametrize(("today", "old"), [(date(2027, 10, 1), False), (date(2027, 10, 31), True)])
def test_prices_older_than_a_year_are_called_old(today: date, old: bool, tmp_path: Path) -> None:
    study = study_of(tmp_path, "openai:gpt-4o, mock", "openai:o3")
    warnings = size_of(study, today=today).warnings
    assert bool(warnings) == old
    if old:
        assert warnings[0].startswith("The prices of openai:o3, openai:gpt-4o are more than a year old")
        (tmp_path / "prices.yaml").write_text("prices:\n- {model: 'openai:*', input: 1, output: 1}\n", encoding="utf-8")
        assert size_of(study, today=today).warnings == warnings, "an entry with a star comes after a whole name"


def test_time_takes_what_may_be_asked_at_once_and_per_minute(tmp_path: Path) -> None:
    def seconds(choice: str) -> PlanSize:
        return size_of(study_of(tmp_path, f"{{model: openai:gpt-4o, {choice}}}"))

    assert ends(seconds("parallel: 10").rows[1].seconds) == (3, 540)
    assert ends(seconds("parallel: 1000").rows[1].seconds) == (1, 60)
    assert ends(seconds("parallel: 1000, params: {requests_per_minute: 6}").rows[1].seconds) == (300, 900)
    slow = seconds("parallel: 1000, params: {tokens_per_minute: 1000}").rows[1]
    assert ends(slow.seconds)[1] == pytest.approx(ends(slow.tokens)[1] * 60 / 1000, abs=1)


def test_generating_models_are_asked_at_the_same_time_but_share_one_processor(tmp_path: Path) -> None:
    both = size_of(study_of(tmp_path, "openai:gpt-4o, openai:o3, embedded, {model: embedded, temperature: 0.5}"))
    rows = [ends(row.seconds) for row in both.rows[1:]]
    here = (rows[2][0] + rows[3][0], rows[2][1] + rows[3][1])
    assert ends(both.seconds) == (max(rows[0][0], here[0]), max(rows[0][1], here[1]))


def test_nothing_takes_no_time() -> None:
    assert time_for(Range(0, 0), Range(0, 0), Range(1, 60), Rate(8)) == Range(0, 0)
    assert time_for(Range(1, None), Range(0, 0), Range(1, 60), Rate(8)) == Range(1, None)


def test_a_prompt_that_cannot_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    text = (
        "title: Long\nprompt: |\n  " + "write a long program " * 12_000 + "\nshort: |\n  " + "write it " * 25_000 + "\n"
    )
    (tmp_path / "tasks" / "long.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        CAMPAIGN.replace("[calculator, todo-api]", "[long]").format(models="mock", rewriter="embedded"),
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match=r"reads .* at most"):
        size_of(load_campaign(str(tmp_path / "c.yaml")))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_planned_calls(tmp_path: Path) -> None:
    peaks = []
    for iterations in ("4", "10000"):
        study = study_of(tmp_path, "mock", without="")
        prompts = study.campaign.prompts.model_copy(update={"iterations": int(iterations)})
        generate = study.campaign.generate.model_copy(update={"repeats": int(iterations)})
        campaign = study.campaign.model_copy(update={"prompts": prompts, "generate": generate})
        grown = Study(campaign, study.personas, study.tasks, study.root, study.source)
        size_of(grown)
        tracemalloc.start()
        size = size_of(grown)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert ends(size.calls)[1] == 6 * 10_000 + 6 * 3 * 10_000
    assert peaks[1] < 1.3 * peaks[0] + 10_000


@pytest.mark.parametrize("params", ["requests_per_minute: 0", "foo: 1", "seed: -1"])
def test_what_a_run_would_refuse_a_plan_refuses(tmp_path: Path, params: str) -> None:
    study = study_of(tmp_path, f"{{model: mock, params: {{{params}}}}}")
    with pytest.raises(UsageError, match=params.partition(":")[0]):
        size_of(study)
