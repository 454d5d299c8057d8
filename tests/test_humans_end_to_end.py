"""People's prompts in a campaign, as processes: from the file to the report, killed and resumed, with the file gone."""

import os
from pathlib import Path

import networkx as nx
import polars as pl
import pytest
from test_end_to_end import MODEL, PLAIN, asked, results

from command_line import Sociolect

CAMPAIGN = """
name: people
tasks: [calculator, bicycle-shop]
prompts: {from: short, personas: [john], iterations: 2, model: "mock:model.py"}
humans:
  - texts: answers.csv
    columns: {text: statement}
generate: {models: ["mock:model.py"], sample: 2, temperature: 0}
seed: 7
"""
PEOPLE = """speaker;statement;task
Ann;I need a calculator with VAT and receipts for the shop;calculator
Ann;A calculator that my apprentice can use on a phone;calculator
Ann;Something to book repairs in my bicycle shop;bicycle-shop
عائشة 🙂;calculator with history and big buttons <script>alert(1)</script>;calculator
Bob;;bicycle-shop
"""
REWRITES, SENT = 2 * 2, 2 * 2 + 4


def study(folder: Path, campaign: str = CAMPAIGN) -> Path:
    (folder / "model.py").write_text(MODEL.replace("TEXT", PLAIN), encoding="utf-8")
    (folder / "answers.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "people.yaml").write_text(campaign, encoding="utf-8")
    return folder / "people.yaml"


@pytest.mark.slow
def test_a_run_with_people_that_is_killed_equals_one_that_was_not(tmp_path: Path, sociolect: Sociolect) -> None:
    campaign = study(tmp_path)
    environment = {"ASKED": str(tmp_path / "asked")}
    planned = sociolect("plan", campaign, "--json").document()
    assert planned["calls"] == {"low": REWRITES + 2 + 4, "high": REWRITES + SENT}
    whole = sociolect("run", campaign, "--runs", "whole", "--json", environment=environment)
    assert whole.status == 0, whole.err
    assert "1 of 5 texts by people are not usable as prompts (1 empty)" in " ".join(whole.document()["warnings"])
    calls = sum(asked(tmp_path).values())
    assert calls == REWRITES + SENT
    once = set(asked(tmp_path))
    (tmp_path / "asked").unlink()
    for kill_at in (2, REWRITES + 2, REWRITES + 6):
        killed = sociolect("run", campaign, "--runs", "killed", environment={**environment, "DIE_AT": str(kill_at)})
        assert killed.status == -9
    last = sociolect("run", campaign, "--runs", "killed", "--json", environment=environment)
    assert last.status == 0, last.err
    assert set(asked(tmp_path)) == once
    name = Path(whole.document()["run"]).name
    assert results(tmp_path / "killed" / name) == results(tmp_path / "whole" / name)
    assert sociolect("verify", tmp_path / "killed" / name).status == 0


@pytest.mark.slow
def test_people_alone_are_reported_compared_and_exported(tmp_path: Path, sociolect: Sociolect) -> None:
    text = "\n".join(line for line in CAMPAIGN.splitlines() if not line.startswith("prompts:"))
    campaign = study(tmp_path, text)
    ran = sociolect("run", campaign, "--json", environment={"ASKED": str(tmp_path / "asked")})
    assert ran.status == 0, ran.err
    assert sum(asked(tmp_path).values()) == 4
    run = tmp_path / ran.document()["run"]
    (tmp_path / "answers.csv").unlink()
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Ann (human)" in page
    assert "<script>alert(1)" not in page
    assert sociolect("analyze", run).status == 0
    exported = sociolect("export", run, "--format", "jsonl", "--out", "out", "--json")
    assert exported.status == 0, exported.err
    variants = pl.read_ndjson(tmp_path / "out" / "variants.jsonl", infer_schema_length=None)
    assert set(variants["method"]) == {"human"}
    assert "I need a calculator with VAT and receipts for the shop" in variants["text"].to_list()
    frozen = sociolect("run", run / "campaign.yaml", "--runs", "again", "--json", environment={"ASKED": os.devnull})
    assert frozen.status == 2  # its model is a program of the study, which the record does not hold
    again = sociolect("run", run / "campaign.yaml", "--runs", "again", "--model", "mock", "--json")
    assert again.status == 0, again.err
    assert pl.read_csv(tmp_path / again.document()["run"] / "tables" / "variants.csv").height == 5


@pytest.mark.slow
def test_the_overlap_of_a_run_has_people_and_personas(tmp_path: Path, sociolect: Sociolect) -> None:
    campaign = study(tmp_path)
    ran = sociolect("run", campaign, "--json", environment={"ASKED": str(tmp_path / "asked")})
    run = tmp_path / ran.document()["run"]
    found = sociolect("overlap", run, "--out", "overlap", "--json")
    assert found.status == 0, found.err
    speakers = {row["speaker"]: row["texts"] for row in found.document()["speakers"]}
    assert speakers == {"john": 4, "Ann": 3, "عائشة 🙂": 1}
    graph = nx.read_graphml(tmp_path / "overlap" / "figures" / "overlap.graphml")
    assert {name: bool(node["human"]) for name, node in graph.nodes(data=True)} == {
        "john": False,
        "Ann": True,
        "عائشة 🙂": True,
    }
    assert "Ann (human)" in sociolect("overlap", run, "--out", "overlap").out


def test_what_is_wrong_with_people_s_texts_is_said_before_anything_is_asked(
    tmp_path: Path, sociolect: Sociolect
) -> None:
    campaign = study(tmp_path)
    for people, words in [
        (PEOPLE.replace("bicycle-shop", "bicyle-shop"), "answers.csv:4:1: this row asks for the task `bicyle-shop`"),
        (PEOPLE.replace("Bob", "John"), "answers.csv:6:1: the speaker `John` has the id of the persona `john`"),
        (PEOPLE.replace("statement", "says"), "no column 'statement' for the text"),
        ("", "the file is empty"),
    ]:
        (tmp_path / "answers.csv").write_text(people, encoding="utf-8")
        for verb in ("plan", "run"):
            ended = sociolect(verb, campaign, environment={"ASKED": os.devnull})
            assert ended.status == 2, (words, ended.err)
            assert words in ended.err
            assert "Traceback" not in ended.err
            assert ended.out == ""
    assert not (tmp_path / "runs").exists()
