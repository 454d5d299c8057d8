"""A campaign with people's prompts, with personas and without: planned, run, amended, shared, tabulated."""

from pathlib import Path

import polars as pl
import pytest

from simulator.definitions import Study, load_campaign
from simulator.prompts import draw_texts
from simulator.running.campaign_run import frozen_study, run_campaign
from simulator.running.journal import Journal
from simulator.running.journal.shards import Shard
from simulator.running.money.prices import load_prices
from simulator.running.plan import GeneratePlan, RewritePlan
from simulator.running.size import Range, size_of
from simulator.running.size.pilot import narrow, run_pilot
from simulator.running.status import read_status, shards_to_go, verify_records
from simulator.tables import run_tables

CAMPAIGN = """
name: people
tasks: [calculator, todo-api]
prompts: {personas: [john, priya], iterations: 2, model: mock}
humans: [{texts: people.csv}]
generate: {models: [mock, "mock:other"], sample: 2, repeats: 3}
seed: 5
"""
ONLY = CAMPAIGN.replace("prompts: {personas: [john, priya], iterations: 2, model: mock}\n", "")
PEOPLE = """speaker,text,task
Ann,one,calculator
Ann,two,calculator
Ann,three,calculator
Bob,one,calculator
Bob,,calculator
Bob,four,todo-api
Cy, ,todo-api
"""
SENT = 2 + 1 + 1
"""Texts drawn: two of Ann's, and Bob's two."""


def study_of(folder: Path, campaign: str = CAMPAIGN, people: str = PEOPLE) -> Study:
    (folder / "c.yaml").write_text(campaign, encoding="utf-8")
    (folder / "people.csv").write_text(people, encoding="utf-8")
    return load_campaign(str(folder / "c.yaml"))


def sent_texts(run: Path) -> dict[str, set[str]]:
    """Return by speaker the texts of people that code was generated from."""
    tables = run_tables(run)
    human = tables["variants"].filter(pl.col("method") == "human")
    asked = tables["asks"].join(human, on="variant").group_by("persona").agg(pl.col("text").unique())
    return {speaker: set(texts) for speaker, texts in asked.iter_rows()}


@pytest.mark.parametrize("campaign", [CAMPAIGN, ONLY], ids=["with personas", "alone"])
def test_a_plan_is_as_large_as_its_run(tmp_path: Path, campaign: str) -> None:
    study = study_of(tmp_path, campaign)
    size = size_of(study)
    assert run_campaign(study, tmp_path / "run")
    status = read_status(tmp_path / "run")
    done = sum(status.counts.values())
    assert size.calls.low is not None
    assert size.calls.high is not None
    assert size.calls.low <= done <= size.calls.high
    assert status.to_ask == {"rewrite": 0, "generate": 0}
    different = len({variant.text for texts in study.humans for variant in draw_texts(texts, sample=2, seed=5)})
    if campaign == ONLY:
        assert [row.stage for row in size.rows] == ["generate", "generate"]
        assert done == size.calls.low == size.calls.high == different * 3 * 2
        assert not any("rewrite" in line for line in size.assumptions)
    assert f"3 people wrote 7 texts, of which {different} different ones" in " ".join(size.assumptions)
    assert verify_records(tmp_path / "run").problems == []


def test_positions_of_people_are_none_of_the_personas(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    rewrites, plan = RewritePlan(study), GeneratePlan(study)
    found = set()
    for index, texts in enumerate(study.humans):
        for position, variant, call in plan.calls(plan.human_group(index), draw_texts(texts, sample=2, seed=5)):
            assert plan.at(position, variant) == call
            found.add(position)
    assert len(found) == SENT * 3 * 2
    each = len(plan) // 2
    assert all(position % each >= len(rewrites.groups) * 2 * 3 for position in found)
    assert max(found) < len(plan)


def test_every_text_is_in_the_tables_and_the_drawn_ones_have_codes(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    assert run_campaign(study, tmp_path / "run")
    tables = run_tables(tmp_path / "run")
    human = tables["variants"].filter(pl.col("method") == "human")
    assert human.select("persona", "task", "replicate", "text", "status").rows() == [
        ("Ann", "calculator", 0, "one", "ok"),
        ("Ann", "calculator", 1, "two", "ok"),
        ("Ann", "calculator", 2, "three", "ok"),
        ("Bob", "calculator", 0, "one", "ok"),
        ("Bob", "calculator", 1, "", "empty"),
        ("Bob", "todo-api", 0, "four", "ok"),
        ("Cy", "todo-api", 0, " ", "empty"),
    ]
    assert human["made_by"].to_list() == [""] * 7
    assert tables["variants"].height == 7 + 8
    asks = tables["asks"].filter(pl.col("variant").is_in(human["variant"].to_list()))
    assert asks.height == SENT * 3 * 2
    assert asks.join(tables["codes"], on="reply").height == asks.height
    with Journal(tmp_path / "run") as journal:
        assert len(journal.variants(human["variant"].to_list())) == 7


def test_without_its_file_a_run_goes_on_from_what_is_frozen(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    assert run_campaign(study, tmp_path / "run")
    before = run_tables(tmp_path / "run")
    (tmp_path / "people.csv").unlink()
    assert frozen_study(tmp_path / "run") == study
    again = load_campaign(str(tmp_path / "run" / "campaign.yaml"))
    assert run_campaign(again, tmp_path / "again")
    drop = ("seconds", "attempts")
    for name, frame in run_tables(tmp_path / "again").items():
        assert frame.drop(*drop, strict=False).equals(before[name].drop(*drop, strict=False)), name


def test_an_edited_file_is_noticed_and_only_what_is_new_is_asked(tmp_path: Path) -> None:
    assert run_campaign(study_of(tmp_path, ONLY), tmp_path / "run")
    asked = sum(read_status(tmp_path / "run").counts.values())
    assert run_campaign(study_of(tmp_path, ONLY), tmp_path / "run")
    assert sum(read_status(tmp_path / "run").counts.values()) == asked
    assert run_campaign(study_of(tmp_path, ONLY, PEOPLE.replace("four", "4")), tmp_path / "run")
    assert sum(read_status(tmp_path / "run").counts.values()) == asked + 3 * 2
    assert sent_texts(tmp_path / "run")["Bob"] == {"one", "4"}
    reordered = "\n".join([PEOPLE.splitlines()[0], *PEOPLE.replace("four", "4").splitlines()[:0:-1]])
    kept = sent_texts(tmp_path / "run")
    assert run_campaign(study_of(tmp_path, ONLY, reordered), tmp_path / "run")
    assert sum(read_status(tmp_path / "run").counts.values()) == asked + 3 * 2
    assert sent_texts(tmp_path / "run") == kept


def test_a_person_more_changes_nothing_that_was_asked(tmp_path: Path) -> None:
    alone = CAMPAIGN.replace("humans: [{texts: people.csv}]\n", "")
    assert run_campaign(study_of(tmp_path, alone), tmp_path / "run")
    before = run_tables(tmp_path / "run")
    assert run_campaign(study_of(tmp_path), tmp_path / "run")
    after = run_tables(tmp_path / "run")
    for name, key in (("variants", "variant"), ("replies", "reply"), ("codes", "code")):
        kept = after[name].join(before[name].select(key), on=key, how="semi", maintain_order="left")
        assert kept.drop("seconds", strict=False).equals(before[name].drop("seconds", strict=False)), name


def test_shards_give_the_tables_of_the_whole(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    assert run_campaign(study, tmp_path / "whole")
    for number in (1, 2, 3):
        assert shards_to_go(tmp_path / "parts") if number > 1 else True
        assert run_campaign(study, tmp_path / "parts", shard=Shard(number, 3))
    assert shards_to_go(tmp_path / "parts") == []
    whole, parts = run_tables(tmp_path / "whole"), run_tables(tmp_path / "parts")
    for name in whole:
        drop = ("seconds", "attempts")
        assert parts[name].drop(*drop, strict=False).equals(whole[name].drop(*drop, strict=False)), name


@pytest.mark.parametrize("campaign", [CAMPAIGN, ONLY], ids=["with personas", "alone"])
def test_a_pilot_is_part_of_the_run(tmp_path: Path, campaign: str) -> None:
    study = study_of(tmp_path, campaign)
    pilot = run_pilot(study, tmp_path / "run", 30, prices=load_prices(study.root))
    narrowed = narrow(size_of(study), pilot)
    tried = sum(read_status(tmp_path / "run").counts.values())
    assert run_campaign(study, tmp_path / "run")
    done = sum(read_status(tmp_path / "run").counts.values())
    assert tried == pilot.calls
    assert 0 < tried <= 30
    assert narrowed.calls.low is not None
    assert narrowed.calls.high is not None
    assert narrowed.calls.low <= done <= narrowed.calls.high
    if campaign == ONLY:
        assert narrowed.calls == Range(done, done)
