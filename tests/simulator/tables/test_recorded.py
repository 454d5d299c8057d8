from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import simulator.running.plan
from simulator.definitions import load_campaign
from simulator.running.calls import Call, Message, Parameter
from simulator.running.campaign_run import open_run, run_campaign
from simulator.running.journal.records import Records
from simulator.running.models import ModelInfo, describe_model
from simulator.tables import SCHEMAS, read_table, run_tables, scan_batches, stream_tables, write_run_tables
from simulator.tables import recorded as making

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


@pytest.mark.parametrize(("rows", "characters"), [(1, 10**9), (3, 10**9), (10**9, 1), (10**9, 700)])
def test_a_table_is_the_same_in_any_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, characters: int
) -> None:
    whole = run(tmp_path)
    monkeypatch.setattr(making, "BATCH_ROWS", rows)
    monkeypatch.setattr(making, "BATCH_CHARACTERS", characters)
    monkeypatch.setattr(making, "_PAGE", 2)
    with Records(tmp_path / "run") as records:
        batches = list(stream_tables(records))
        write_run_tables(records, tmp_path)
    assert len(batches) > 2
    assert all(frame.height <= rows for batch in batches for frame in batch.tables.values())
    for name, frame in whole.items():
        assert read_table(tmp_path / f"{name}.parquet").equals(frame)
        assert read_table(tmp_path / f"{name}.csv", SCHEMAS[name]).equals(frame)
        assert pl.concat(scan_batches(tmp_path / f"{name}.parquet")).equals(frame)


def test_codes_may_be_extracted_anywhere_as_long_as_they_come_in_order(tmp_path: Path) -> None:
    whole = run(tmp_path)
    answered: list[int] = []

    def mapped(function: making.Function, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for batch in batches:
            answered.append(batch.height)
            yield function(batch)

    with Records(tmp_path / "run") as records:
        write_run_tables(records, tmp_path, mapped=mapped)
    assert sum(answered) == whole["codes"].height
    assert read_table(tmp_path / "codes.parquet").equals(whole["codes"])


def test_a_run_without_replies_has_tables_without_rows(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(CAMPAIGN, encoding="utf-8")
    with open_run(load_campaign(str(tmp_path / "small.yaml")), tmp_path / "run"):
        pass
    with Records(tmp_path / "run") as records:
        write_run_tables(records, tmp_path)
    for name in ("variants", "asks", "replies", "codes"):
        for kind in ("parquet", "csv"):
            frame = read_table(tmp_path / f"{name}.{kind}", SCHEMAS[name])
            assert (frame.height, frame.schema) == (0, SCHEMAS[name])
