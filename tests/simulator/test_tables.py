import csv
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import simulator.running.plan
from simulator.definitions import load_campaign
from simulator.errors import StorageError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.campaign_run import run_campaign
from simulator.running.models import ModelInfo, describe_model
from simulator.tables import SCHEMAS, read_tables, run_tables, write_table, write_tables

CAMPAIGN = """
name: small
study: personas
tasks: [calculator, bicycle-shop]
prompts: {from: short, personas: [john, harold], iterations: 3, model: mock, max_tokens: 200}
generate: {models: [mock], sample: 1, repeats: 2}
seed: 7
"""


def run(folder: Path, text: str = CAMPAIGN) -> dict[str, pl.DataFrame]:
    (folder / "small.yaml").write_text(text, encoding="utf-8")
    assert run_campaign(load_campaign(str(folder / "small.yaml")), folder / "run")
    return run_tables(folder / "run")


def test_every_row_has_its_place(tmp_path: Path) -> None:
    tables = run(tmp_path)
    assert {name: frame.height for name, frame in tables.items()} == {
        "variants": 12,
        "asks": 8,
        "replies": 12 + 8,
        "codes": 8,
    }
    for name, frame in tables.items():
        assert frame.schema == SCHEMAS[name]
    assert set(tables["asks"]["variant"]) <= set(tables["variants"].filter(pl.col("status") == "ok")["variant"])
    assert set(tables["variants"]["made_by"]) == set(tables["replies"].filter(pl.col("stage") == "rewrite")["reply"])
    assert set(tables["replies"]["cost"]) == {0.0}


def test_an_old_run_keeps_its_tables_when_the_program_would_plan_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run(tmp_path)

    def render(*_: object, **__: object) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        return (Message("user", "another template of a later version"),), ()

    monkeypatch.setattr(simulator.running.plan, "render_rewrite", render)
    after = run_tables(tmp_path / "run")
    for name, frame in before.items():
        assert frame.equals(after[name]), name


def test_an_amended_campaign_asks_for_what_is_new_and_its_tables_are_its_own(tmp_path: Path) -> None:
    first = run(tmp_path)
    more = run(tmp_path, CAMPAIGN.replace("[john, harold]", "[john, harold, ethan]"))
    assert more["variants"].height == 18
    assert set(first["variants"]["variant"]) < set(more["variants"]["variant"])
    fewer = run(tmp_path, CAMPAIGN.replace("[calculator, bicycle-shop]", "[calculator]"))
    assert set(fewer["variants"]["task"]) == {"calculator"}
    again = run(tmp_path)
    assert again["replies"].drop("seconds").equals(first["replies"].drop("seconds"))


def test_two_rewrites_that_are_one_call_are_two_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two tasks with the same words, sent to a model that takes no seed.
    def describe_seedless(name: str, params: dict[str, Parameter]) -> ModelInfo:
        return replace(describe_model(name, params), takes_seed=False)

    monkeypatch.setattr(simulator.running.plan, "describe_model", describe_seedless)
    (tmp_path / "tasks").mkdir()
    for name in ("one", "two"):
        (tmp_path / "tasks" / f"{name}.yaml").write_text(
            f"id: {name}\ntitle: Sums\ntopic: algorithms\nshort: Write code to add numbers up\nlanguage: python\n",
            encoding="utf-8",
        )
    tables = run(tmp_path, CAMPAIGN.replace("[calculator, bicycle-shop]", "[one, two]"))
    study = load_campaign(str(tmp_path / "small.yaml"))
    plan = simulator.running.plan.RewritePlan(study)
    assert len({plan.at(position).call.key for position in range(len(plan))}) == 6
    assert tables["variants"].height == 12
    assert tables["replies"].filter(pl.col("stage") == "rewrite").height == 6
    # The same campaign with another task: its variants are made from the replies that are there.
    monkeypatch.setattr(simulator.running.plan, "render_generate", lambda *_, **__: (Message("user", "x"),))
    (tmp_path / "tasks" / "three.yaml").write_text(
        "id: three\ntitle: Sums\ntopic: algorithms\nshort: Write code to add numbers up\nlanguage: python\n",
        encoding="utf-8",
    )
    tables = run(tmp_path, CAMPAIGN.replace("[calculator, bicycle-shop]", "[one, two, three]"))
    assert tables["variants"].height == 18
    assert tables["replies"].filter(pl.col("stage") == "generate").height == 2


def test_spreadsheets_get_no_formulas_and_parquet_gets_the_text(tmp_path: Path) -> None:
    texts = ["=cmd()", "+1", "-1", "@x", "\tx", "plain", "'quoted", ""]
    frame = pl.DataFrame({"text": texts, "names": [["=a", "b"]] * 8, "number": [-1.5] * 8})
    write_table(frame, tmp_path / "t.csv")
    write_table(frame, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == ["'=cmd()", "'+1", "'-1", "'@x", "'\tx", "plain", "'quoted", ""]
    assert rows[0]["names"] == "'=a; b"
    assert rows[0]["number"] == "-1.5"
    assert pl.read_parquet(tmp_path / "t.parquet").equals(frame)


def test_tables_are_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    one, two = pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})
    write_tables({"x": one, "y": one}, folder)
    (folder / "notes.txt").write_text("mine")

    class Broken(dict[str, pl.DataFrame]):
        def items(self):  # type: ignore[no-untyped-def]
            yield "x", two
            raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="no space is left"):
        write_tables(Broken(), folder)
    assert read_tables(folder)["x"].equals(one)
    write_tables({"x": two}, folder)
    assert list(read_tables(folder)) == ["x"]
    assert read_tables(folder)["x"].equals(two)
    assert (folder / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables"]


def test_what_is_asked_does_not_hang_on_how_patiently(tmp_path: Path) -> None:
    def keys(parallel: int) -> list[str]:
        text = CAMPAIGN.replace("models: [mock]", f"models: [{{model: mock, parallel: {parallel}}}]")
        (tmp_path / "small.yaml").write_text(text, encoding="utf-8")
        study = load_campaign(str(tmp_path / "small.yaml"))
        variant = simulator.running.plan.RewritePlan(study).at(0).call
        params = simulator.running.plan.generation_params(study, study.campaign.generate.models[0])
        sent = simulator.running.plan._deciding("mock", params)
        return [Call("generate", "mock", variant.messages, params=sent).key, str(params["parallel"])]

    assert keys(2)[0] == keys(8)[0]
    assert keys(2)[1] != keys(8)[1]
