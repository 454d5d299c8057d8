"""Whether a speaker's texts are alike: found where they are, not found where they are not."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.language import extract_entities
from analysis.stability import (
    RELIABILITY,
    STABILITY,
    compare_code_matrices,
    compare_text_matrices,
    measure_stability,
)

WORDS = ["menu", "table", "user", "file", "list", "show", "button", "colour", "price", "order", "date", "number"]
NOBODY = pl.DataFrame(schema={"text_id": pl.String, "entity": pl.String})


def measure(
    texts: pl.DataFrame, entities: pl.DataFrame, codes: pl.DataFrame | None = None, *, seed: int, permutations: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Leave out what is measured only where an extra is installed; `language/test_semantic.py` has that."""
    found, reliable = measure_stability(texts, entities, codes, seed=seed, permutations=permutations)
    return found.filter(pl.col("measure") != "semantic"), reliable


def talk(*, own: int = 0, speakers: int = 3, tasks: int = 4, each: int = 3, seed: int = 1) -> pl.DataFrame:
    """Texts of ten drawn words, of which the first ``own`` are the same in all texts of a speaker."""
    draw = np.random.default_rng(seed)
    habits = [draw.choice(WORDS, 10) for _ in range(speakers)]
    rows: list[tuple[str, str, str, str]] = []
    for speaker in range(speakers):
        for task in range(tasks):
            for _ in range(each):
                words = [*habits[speaker][:own], *draw.choice(WORDS, 10 - own)]
                rows.append((f"t{len(rows):04}", f"s{speaker}", f"task{task}", " ".join(words) + "."))
    return pl.DataFrame(rows, schema=["text_id", "speaker", "task", "text"], orient="row")


def mentioned(texts: pl.DataFrame) -> pl.DataFrame:
    return texts.select("text_id", entity=pl.col("text").str.strip_chars(".").str.split(" ")).explode("entity")


def test_means_by_hand() -> None:
    texts = pl.DataFrame(
        {
            "text_id": ["1", "2", "3", "4"],
            "speaker": ["ann", "ann", "bob", "bob"],
            "task": ["t"] * 4,
            "text": ["a", "b", "c", "d"],
        }
    )
    said = {"1": "uv", "2": "uv", "3": "uw", "4": "x"}
    entities = pl.DataFrame(
        [(one, name) for one, names in said.items() for name in names], schema=["text_id", "entity"], orient="row"
    )
    found, _ = measure(texts, entities, seed=7, permutations=9)
    rows = {row["speaker"]: row for row in found.filter(pl.col("measure") == "entities").iter_rows(named=True)}
    assert rows["ann"]["within"] == 1.0
    assert rows["ann"]["between"] == rows["bob"]["between"] == pytest.approx((1 / 3 + 0 + 1 / 3 + 0) / 4)
    assert rows["bob"]["within"] == 0.0
    assert rows[None]["within"] == 0.5
    assert rows[None]["difference"] == pytest.approx(0.5 - 1 / 6)
    assert rows[None]["low"] is None


def test_habits_are_found_for_everybody_and_each() -> None:
    texts = talk(own=6)
    found, _ = measure(texts, mentioned(texts), seed=7, permutations=199)
    assert found.schema == STABILITY
    everybody = found.filter(pl.col("speaker").is_null())
    assert everybody["measure"].to_list() == ["bleu", "entities"]
    assert (everybody["p"] == 0.005).all()
    assert (everybody["low"] > 0).all()
    assert (found["q"].drop_nulls() < 0.05).all()
    assert (found["tasks"] == 4).all()


def test_the_order_of_the_rows_is_nothing() -> None:
    texts = talk(own=2)
    mixed = texts.sample(fraction=1, shuffle=True, seed=3)
    one, other = (measure(some, mentioned(some), seed=7, permutations=49) for some in (texts, mixed))
    assert one[0].equals(other[0])
    assert one[1].equals(other[1])


@pytest.mark.parametrize(
    "texts",
    [talk().clear(), talk(speakers=1), talk(each=1), talk().with_columns(text=pl.lit("🙂")), talk(tasks=1, each=1)],
)
def test_too_little_is_said_in_every_row(texts: pl.DataFrame) -> None:
    found, reliable = measure(texts, NOBODY, seed=7, permutations=9)
    assert found.schema == STABILITY
    assert reliable.schema == RELIABILITY
    assert set(found["status"]) <= {"not_enough"}
    assert found["within"].is_null().all()
    assert set(reliable["status"]) == {"not_enough"}


def test_a_text_without_entities_is_no_likeness() -> None:
    found, _ = measure(talk(), NOBODY, seed=7, permutations=9)
    assert set(found.filter(pl.col("measure") == "entities")["status"]) == {"not_enough"}
    assert set(found.filter(pl.col("measure") == "bleu")["status"]) == {"ok"}


def test_programs_of_a_speaker_are_compared_by_model_and_language() -> None:
    loop, shop = "for i in range(3):\n    print(i)\n", "class Shop:\n    def open(self):\n        return 1\n"
    rows = [
        (speaker, "t", model, "python", text + f"x = {n}\n" * n)
        for speaker, text in (("ann", loop), ("bob", shop))
        for model in ("one", "two")
        for n in range(2)
    ]
    codes = pl.DataFrame(rows, schema=["speaker", "task", "model", "language", "text"], orient="row")
    texts = pl.DataFrame({"text_id": ["1", "2"], "speaker": ["ann", "bob"], "task": ["t"] * 2, "text": ["a b", "a c"]})
    found, _ = measure(texts, NOBODY, codes, seed=7, permutations=9)
    row = found.filter((pl.col("measure") == "tsed") & pl.col("speaker").is_null()).row(0, named=True)
    assert (row["tasks"], row["status"]) == (2, "ok")
    assert row["within"] > row["between"]


def test_likeness_matrices_are_symmetric_with_nothing_on_the_diagonal() -> None:
    for alike in (
        compare_text_matrices(["Write a menu.", "Write a table for the menu.", "שלום 🙂"]),
        compare_code_matrices(["x = 1", "x = f(1)", "(("], "python"),
    ):
        assert np.array_equal(alike, alike.T, equal_nan=True)
        assert np.isnan(np.diag(alike)).all()
    assert np.isnan(compare_code_matrices(["a", "b"], "cobol")).all()


def test_of_many_texts_for_a_task_some_are_drawn() -> None:
    texts = talk(speakers=40, tasks=1, each=4)
    found, _ = measure(texts, mentioned(texts), seed=7, permutations=9)
    assert found.filter(pl.col("speaker").is_null())["status"].to_list() == ["ok", "ok"]


def rejections(corpora: int) -> int:
    found = 0
    for n in range(corpora):
        texts = talk(seed=n, tasks=2)
        row = measure(texts, mentioned(texts), seed=n, permutations=39)[0].row(0, named=True)
        found += row["p"] <= 0.05
    return found


@pytest.mark.slow
def test_p_rejects_no_more_than_its_level() -> None:
    assert rejections(40) <= 6  # binomial(40, .05) exceeds 6 once in 200


@pytest.mark.prove
def test_p_rejects_no_more_than_its_level_in_500_corpora() -> None:
    assert rejections(500) <= 38  # binomial(500, .05) exceeds 38 once in 200


@pytest.mark.slow
def test_recorded_rewrites_only_the_teacher_is_recognisable(shared_data: Path) -> None:
    lines = (shared_data / "recorded" / "persona_rewrites" / "rewrites.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = pl.DataFrame(
        [(f"{i:03}", row["speaker"], row["task"], row["text"]) for i, row in enumerate(rows)],
        schema=["text_id", "speaker", "task", "text"],
        orient="row",
    )
    found, reliable = measure(texts, extract_entities(texts), seed=7, permutations=199)
    alike = found.filter(pl.col("q") < 0.05)
    assert set(alike["speaker"]) == {"harold-english-teacher"}
    assert set(alike["measure"]) == {"bleu", "entities"}
    assert reliable.filter(pl.col("measure") == "words")["icc"][0] == pytest.approx(0.72, abs=0.01)
