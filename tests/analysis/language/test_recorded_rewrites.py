"""What 200 recorded rewrites by five personas say: the published claim about overlap, and whether they can be told."""

import json
from pathlib import Path

import polars as pl
import pytest

from analysis.language import count_pairs, distinctive_entities, extract_entities, overlap_speakers, separate_speakers

TECHNICAL = ("john", "brad", "emmet")


@pytest.fixture
def rewrites(shared_data: Path) -> pl.DataFrame:
    lines = (shared_data / "recorded" / "persona_rewrites" / "rewrites.jsonl").read_text("utf-8").splitlines()
    rows = [
        (f"r{number}", row["speaker"].split("-")[0], row["task"], row["text"])
        for number, row in enumerate(map(json.loads, lines))
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(["text_id", "speaker", "task", "text"], pl.String), orient="row")


@pytest.mark.slow
def test_the_technical_overlap_more_with_each_other_than_with_the_teacher(rewrites: pl.DataFrame) -> None:
    entities = extract_entities(rewrites)
    found = overlap_speakers(rewrites, entities, count_pairs(entities), seed=7, shuffles=499)
    teacher = (pl.col("a") == "harold") | (pl.col("b") == "harold")
    technical = found.filter(pl.col("a").is_in(TECHNICAL), pl.col("b").is_in(TECHNICAL))
    assert (technical.height, found.filter(teacher).height) == (3, 4)
    for measure in ("shared_entities", "shared_pairs", "jaccard", "rarefied", "z"):
        # Each two of them share more than any of the others shares with the teacher, however it is counted.
        assert technical[measure].min() > found.filter(teacher)[measure].max()  # type: ignore[operator]
    assert found.filter(teacher)["z"].max() < -4  # type: ignore[operator]
    assert found.filter(teacher)["q"].max() < 0.01  # type: ignore[operator]
    # But more than chance john and brad share; brad and emmet do not, and john and emmet are a close call (q = 0.036
    # with 9,999 shuffles).
    q = {(a, b): value for a, b, value in technical.select("a", "b", "q").iter_rows()}
    assert q["john", "brad"] < 0.05 < q["brad", "emmet"]
    assert q["john", "emmet"] < 0.1
    table, _ = distinctive_entities(entities, top=2)
    assert table.filter(pl.col("speaker") == "harold")["entity"].to_list() == ["computer", "instruction"]


@pytest.mark.slow
def test_the_teacher_is_told_and_the_astrophysicist_is_not(rewrites: pl.DataFrame) -> None:
    found = separate_speakers(rewrites, seed=7, permutations=199)
    row = found.summary.row(0, named=True)
    assert row["accuracy"] == pytest.approx(0.52, abs=0.01)
    assert row["p"] == 0.005
    assert 0.2 < row["low"] < row["accuracy"] < row["high"]
    own = dict(found.confusion.filter(pl.col("speaker") == pl.col("predicted")).select("speaker", "share").rows())
    assert own["harold"] > 0.9
    assert own["emmet"] < 0.25
    undecided = found.pairs.filter(pl.col("q") > 0.05).select("a", "b").rows()
    assert undecided == [("john", "emmet"), ("emmet", "harvey")]
    assert "computer" in found.words.filter(pl.col("speaker") == "harold", pl.col("rank") <= 3)["word"].to_list()
