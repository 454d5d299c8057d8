from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from simulator.definitions import load_campaign
from simulator.errors import RecordError
from simulator.running.campaign_run import run_campaign
from simulator.running.journal.records import Records
from simulator.running.journal.shards import Shard, journals_of
from simulator.tables import run_tables

CAMPAIGN = """
name: shared
study: personas
tasks: [calculator, bicycle-shop]
prompts: {from: short, personas: [john, harold, ethan], iterations: 3, model: mock, max_tokens: 200}
generate: {models: [mock, "mock:other"], sample: 2, repeats: 2}
seed: 7
"""


def run(folder: Path, name: str, *shards: Shard, text: str = CAMPAIGN) -> dict[str, pl.DataFrame]:
    (folder / "shared.yaml").write_text(text, encoding="utf-8")
    study = load_campaign(str(folder / "shared.yaml"))
    for shard in shards or (None,):
        assert run_campaign(study, folder / name, shard=shard)
    return run_tables(folder / name)


def assert_same(tables: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> None:
    for name, frame in tables.items():
        assert_frame_equal(frame.drop("seconds", strict=False), other[name].drop("seconds", strict=False))


@pytest.mark.parametrize("of", [1, 2, 5])
def test_the_tables_of_all_shards_are_those_of_the_whole(tmp_path: Path, of: int) -> None:
    whole = run(tmp_path, "whole")
    assert whole["asks"].height == 6 * 2 * 2 * 2
    shards = [Shard(number, of) for number in range(of, 0, -1)]
    assert_same(whole, run(tmp_path, "shared", *shards))
    assert len(journals_of(tmp_path / "shared")) == of


def test_the_tables_of_some_shards_are_a_part_of_the_whole(tmp_path: Path) -> None:
    whole, some = run(tmp_path, "whole"), run(tmp_path, "shared", Shard(2, 2))
    assert 0 < some["variants"].height < whole["variants"].height
    kept = whole["variants"].join(some["variants"].select("variant"), on="variant", how="semi", maintain_order="left")
    assert_frame_equal(kept, some["variants"])
    assert set(some["codes"]["code"]) < set(whole["codes"]["code"])


ALIKE = r"""
def answer(call):
    if call.stage == "rewrite":
        return ["Please write me a calculator program", "Could you write a calculator program?"][call.repeat % 2]
    return f"```python\nprint({call.repeat})\n```"
"""


@pytest.mark.parametrize("of", [2, 4])
def test_two_personas_with_one_text_are_one_reply_whichever_shards_they_are_in(tmp_path: Path, of: int) -> None:
    (tmp_path / "alike.py").write_text(ALIKE, encoding="utf-8")
    text = CAMPAIGN.replace("model: mock,", 'model: "mock:alike.py",').replace(
        "[calculator, bicycle-shop]", "calculator"
    )
    whole = run(tmp_path, "whole", text=text)
    assert whole["asks"].height == 3 * 2 * 2 * 2
    assert whole["codes"].height == 2 * 2 * 2  # each of the two texts once for each model and repeat
    shards = [Shard(number, of) for number in range(1, of + 1)]
    assert_same(whole, run(tmp_path, "shared", *shards, text=text))
    with Records(tmp_path / "shared") as records:
        asked = sum(count for (stage, *_), count in records.counts().items() if stage == "generate")
    assert asked > 8  # by each of several shards


def test_shards_of_different_campaigns_have_no_tables(tmp_path: Path) -> None:
    run(tmp_path, "shared", Shard(1, 2))
    with pytest.raises(RecordError, match="hold different campaigns"):
        run(tmp_path, "shared", Shard(2, 2), text=CAMPAIGN.replace("repeats: 2", "repeats: 3"))
