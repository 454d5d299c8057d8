"""The tables of a run, made through an engine."""

import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from batch_functions import extract_deadly, marks

import simulator.engine.mapper
from simulator.definitions import load_campaign
from simulator.engine import Engine, map_in
from simulator.running.campaign_run import run_campaign
from simulator.running.journal.records import Records
from simulator.tables import recorded as making
from simulator.tables import write_run_tables

CAMPAIGN = """
name: small
study: personas
tasks: [calculator, bicycle-shop]
prompts: {from: short, personas: [john, harold], iterations: 4, model: mock, max_tokens: 200}
generate: {models: [mock], sample: 2, repeats: 3}
seed: 7
"""
CODES = 2 * 2 * 2 * 3


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of which each reply is a batch."""
    monkeypatch.setattr(making, "BATCH_ROWS", 1)
    (tmp_path / "small.yaml").write_text(CAMPAIGN, encoding="utf-8")
    assert run_campaign(load_campaign(str(tmp_path / "small.yaml")), tmp_path / "run")
    return tmp_path / "run"


def tables(run: Path, folder: Path, mapped: making.Mapper) -> dict[str, bytes]:
    folder.mkdir()
    with Records(run) as records:
        write_run_tables(records, folder, mapped=mapped)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def deadly(run: Path, folder: Path, engine: Engine, *, kills: int = 1) -> making.Mapper:
    """A mapper of whose workers one is killed in the middle."""

    def mapped(function: making.Function, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        assert function is making.extract_codes
        with Records(run) as records:
            middle = [batch.answers["reply"][0] for batch in making.stream_tables(records) if batch.answers.height]
        dying = partial(extract_deadly, str(folder), middle[CODES // 2], kills)
        yield from map_in(folder / "parts", engine)(dying, batches)

    folder.mkdir()
    return mapped


def test_tables_are_the_same_when_a_worker_of_this_machine_is_killed(run: Path, tmp_path: Path) -> None:
    local = deadly(run, tmp_path / "local", Engine(workers=2))
    assert tables(run, tmp_path / "one", map) == tables(run, tmp_path / "other", local)
    assert len(marks(tmp_path / "local")) == CODES + 1


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_tables_are_the_same_when_a_worker_of_a_cluster_is_killed(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    cluster = deadly(run, tmp_path / "ray", Engine("ray", workers=2))
    assert tables(run, tmp_path / "one", map) == tables(run, tmp_path / "other", cluster)
    assert len(marks(tmp_path / "ray")) == CODES + 1


def test_what_was_extracted_before_is_not_extracted_again(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, whole = Engine(workers=1), tables(run, tmp_path / "whole", map)
    first = deadly(run, tmp_path / "parts-and-marks", engine, kills=0)
    for name, extracted in (("one", CODES), ("two", CODES)):
        assert tables(run, tmp_path / name, first) == whole
        assert len(marks(tmp_path / "parts-and-marks")) == extracted
    monkeypatch.setattr(simulator.engine.mapper, "hash_program", lambda: "another version of the program")
    assert tables(run, tmp_path / "three", first) == whole
    assert len(marks(tmp_path / "parts-and-marks")) == 2 * CODES
    shutil.rmtree(tmp_path / "parts-and-marks")
