"""A campaign that is split over several processes gives the tables of one that was not."""

from pathlib import Path

import polars as pl
import pytest

from command_line import Sociolect, start, wait_for
from simulator.errors import RecordError
from simulator.running.journal import Journal
from simulator.running.journal.records import Records
from simulator.running.journal.shards import Shard, journal_path

CAMPAIGN = """
name: split
study: personas
tasks: [calculator, bicycle-shop, todo-api, lifts]
prompts: {from: short, personas: [john, harold, ethan], iterations: 3, model: mock}
generate: {models: [mock, "mock:other"], sample: 2, repeats: 2}
seed: 7
"""
SHARDS = 3
MEASURED = ("seconds", "attempts")


def tables(run: Path) -> dict[str, bytes]:
    """Every table as the bytes of its files, but for the two columns that are measured anew."""
    files = [path for path in sorted((run / "tables").iterdir()) if path.suffix in {".csv", ".parquet"}]
    found = {path.name: path.read_bytes() for path in files if path.stem != "replies"}
    replies = pl.read_parquet(run / "tables" / "replies.parquet").drop(MEASURED)
    return {**found, "replies": replies.write_csv().encode()}


@pytest.mark.slow
def test_three_shards_make_the_tables_of_the_whole(tmp_path: Path, sociolect: Sociolect) -> None:
    (tmp_path / "split.yaml").write_text(CAMPAIGN, encoding="utf-8")
    started = [
        start(tmp_path, "run", "split.yaml", "--runs", "shards", "--shard", f"{number}/{SHARDS}")
        for number in range(1, SHARDS + 1)
    ]
    ended = [wait_for(process) for process in started]
    assert all(one.status in {0, 3} for one in ended), ended
    whole = sociolect("run", "split.yaml", "--runs", "whole")
    assert whole.status in {0, 3}, whole
    (split,), (unsplit,) = ((tmp_path / name).iterdir() for name in ("shards", "whole"))
    assert sociolect("analyze", split).status == 0
    assert tables(split) == tables(unsplit)
    with Records(split) as records:
        assert len(list(split.glob("journal*.sqlite"))) == SHARDS
        assert list(records.check()) == []
    mixed = sociolect("run", "split.yaml", "--runs", "shards")
    assert mixed.status == 2
    assert "shard" in mixed.err
    other = sociolect("run", "split.yaml", "--runs", "shards", "--shard", f"1/{SHARDS + 1}")
    assert other.status == 2


def test_a_journal_that_is_only_being_made_is_read_as_missing(tmp_path: Path) -> None:
    first, second = Shard(1, 2), Shard(2, 2)
    with Journal(tmp_path, write=True, shard=first) as journal:
        journal.begin("campaign", "name")
    journal_path(tmp_path, second).touch()
    with Records(tmp_path) as records:
        assert records.name() == "name"
        assert records.missing_shards() == [second]
    journal_path(tmp_path, first).unlink()
    with pytest.raises(RecordError, match="schema 0"):
        Records(tmp_path)
