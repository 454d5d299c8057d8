from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from made_texts import made_texts

from analysis.language import NotEnoughText, Separability, separate_speakers
from analysis.language.separability import CONFUSION, SEPARABILITY, SEPARATED_PAIRS, SEPARATING_WORDS

SCHEMAS = {"summary": SEPARABILITY, "confusion": CONFUSION, "pairs": SEPARATED_PAIRS, "words": SEPARATING_WORDS}


def framed(rows: Sequence[tuple[str, str | None, str | None]]) -> pl.DataFrame:
    """Speaker, task, text."""
    numbered = [(f"x{i:04}", *row) for i, row in enumerate(rows)]
    return pl.DataFrame(numbered, schema=dict.fromkeys(["text_id", "speaker", "task", "text"], pl.String), orient="row")


def told(texts: pl.DataFrame, *, seed: int = 7, permutations: int = 99, pairs: bool = True) -> Separability:
    found = separate_speakers(texts, seed=seed, permutations=permutations, pairs=pairs)
    for name, schema in SCHEMAS.items():
        assert getattr(found, name).schema == schema
    return found


PLANTED = made_texts(
    np.random.default_rng(11),
    4,
    tasks=4,
    each=5,
    markers={0: "kindly", 1: "kindly", 2: "scalable", 3: "ascii"},
)


def test_a_planted_word_is_found() -> None:
    found = told(PLANTED)
    row = found.summary.row(0, named=True)
    assert (row["speakers"], row["texts"], row["tasks"], row["held_out"], row["folds"]) == (4, 80, 4, "task", 4)
    assert row["chance"] == 0.25
    assert row["accuracy"] > 0.6
    assert row["low"] < row["accuracy"] < row["high"]
    assert row["expected"] == pytest.approx(0.25, abs=0.05)
    assert row["p"] == 0.01
    best = found.words.filter(pl.col("rank") == 1, pl.col("speaker").is_in(["s2", "s3"]))
    assert best.select("word", "texts", "others_texts", "stability").rows() == [
        ("scalable", 20, 0, 1.0),
        ("ascii", 20, 0, 1.0),
    ]
    kindly = found.words.filter(pl.col("word") == "kindly", pl.col("speaker").is_in(["s0", "s1"]))
    assert kindly.select("texts", "others_texts").unique().rows() == [(20, 20)]
    assert "they can be told apart" in found.sentence
    assert f"in {row['accuracy']:.0%} of their texts" in found.sentence
    assert found.warnings == []


def test_two_who_talk_alike_are_not_separated_and_the_others_are() -> None:
    pairs = {row["a"] + row["b"]: row for row in told(PLANTED).pairs.to_dicts()}
    assert list(pairs) == ["s0s1", "s0s2", "s0s3", "s1s2", "s1s3", "s2s3"]
    assert pairs["s0s1"]["p"] > 0.04
    assert pairs["s0s1"]["accuracy"] < 0.7
    for name in ("s0s2", "s0s3", "s1s2", "s1s3", "s2s3"):
        assert pairs[name]["accuracy"] > 0.7
        assert pairs[name]["p"] == 0.01
        assert pairs[name]["p"] <= pairs[name]["q"] <= 0.02


def test_the_confusion_adds_up_to_the_accuracy() -> None:
    found = told(PLANTED)
    assert found.confusion.height == 16
    assert found.confusion["count"].sum() == 80
    shares = found.confusion.group_by("speaker").agg(pl.col("share").sum())["share"]
    assert shares.to_list() == pytest.approx([1] * 4)
    own = found.confusion.filter(pl.col("speaker") == pl.col("predicted"))["share"]
    assert found.summary["accuracy"].item() == pytest.approx(own.mean())


def test_the_order_of_rows_moves_nothing() -> None:
    found = told(PLANTED)
    mixed = told(PLANTED.sample(fraction=1, shuffle=True, seed=4))
    assert mixed.summary.equals(found.summary)
    for name, keys in (("confusion", ["speaker", "predicted"]), ("words", ["speaker", "rank"])):
        assert getattr(mixed, name).sort(keys).equals(getattr(found, name).sort(keys))

    def either_way(pairs: pl.DataFrame) -> pl.DataFrame:
        a, b = pl.min_horizontal("a", "b"), pl.max_horizontal("a", "b")
        return pairs.select(a.alias("a"), b.alias("b"), "texts", "tasks", "accuracy", "p", "q").sort("a", "b")

    assert either_way(mixed.pairs).equals(either_way(found.pairs))


def test_seeds() -> None:
    noise = made_texts(np.random.default_rng(5), 3)
    assert told(noise).summary.equals(told(noise).summary)
    assert told(noise).summary["expected"].item() != told(noise, seed=8).summary["expected"].item()
    assert told(noise).summary["accuracy"].item() == told(noise, seed=8).summary["accuracy"].item()
    assert "not beyond chance" in told(noise).sentence


def test_nobody_is_told_by_the_words_of_a_task() -> None:
    # Each answers two tasks, all of them overlapping, in nothing but the words of the task.
    rng = np.random.default_rng(6)
    plan = {"ann": ["one", "two"], "bob": ["two", "three"], "eve": ["three", "one"]}
    rows = [
        (speaker, task, " ".join(f"{task}{word}" for word in rng.integers(0, 30, 12)))
        for speaker, tasks in plan.items()
        for task in tasks
        for _ in range(8)
    ]
    found = told(framed(rows), permutations=199)
    assert found.summary["p"].item() > 0.05
    # No two of them have two tasks in common.
    assert found.pairs.select("accuracy", "p", "q").null_count().row(0) == (3, 3, 3)
    assert found.pairs["tasks"].to_list() == [1, 1, 1]


def test_many_texts_make_nobody_more_likely() -> None:
    rng = np.random.default_rng(8)
    many = made_texts(rng, 3, tasks=4, each=12, markers={0: "kindly", 1: "scalable", 2: "ascii"})
    keep = (pl.col("speaker") == "s0") | pl.col("text_id").str.split("-").list.last().cast(pl.Int64).lt(2)
    found = told(many.filter(keep))
    assert found.confusion.filter(pl.col("speaker") == pl.col("predicted"))["share"].min() > 0.55  # type: ignore[operator]
    noise = told(made_texts(rng, 3, tasks=4, each=12).filter(keep))
    assert noise.confusion.filter(pl.col("predicted") == "s0")["share"].mean() < 0.6  # type: ignore[operator]


def test_one_task_holds_out_texts_and_says_what_that_cannot_tell() -> None:
    one = made_texts(np.random.default_rng(9), 2, tasks=1, each=25, markers={0: "if you would be so kind"})
    for texts in (one, one.with_columns(task=pl.lit("")), one.with_columns(task=pl.lit(None, pl.String))):
        found = told(texts)
        row = found.summary.row(0, named=True)
        assert (row["held_out"], row["tasks"], row["folds"], row["low"], row["high"]) == ("text", 1, 10, None, None)
        assert row["accuracy"] > 0.8
        assert row["p"] == 0.01
        assert found.pairs.row(0)[:4] == ("s0", "s1", 50, 1)
        assert found.pairs["accuracy"].item() == pytest.approx(row["accuracy"], abs=0.1)
        (warning,) = found.warnings
        assert "whether the speakers would be told on another task is unknown" in warning
        assert "in texts it had not seen" in found.sentence


TWICE = [("ann", "one", "a b"), ("ann", "two", "a c"), ("bob", "one", "d b"), ("bob", "two", "d c")]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "of 0 speakers 0 answered"),
        ([("ann", "", "one text")], "of 1 speaker 0 answered with two texts"),
        ([("ann", "", "one text"), ("bob", "", "another")], "of 2 speakers 0 answered"),
        ([("ann", "one", "a"), ("ann", "two", "b")], "of 1 speaker 1 answered with texts on two tasks"),
        ([("ann", "", ""), ("ann", "", "😀"), ("bob", "", "a b"), ("bob", "", "c d")], "of 2 speakers 1 answered"),
        ([("ann", "one", "a"), ("ann", "one", "b"), ("bob", "two", "c"), ("bob", "two", "d")], "0 answered with texts"),
        (
            [("ann", "one", "a"), ("ann", "two", "b"), ("bob", "three", "c"), ("bob", "four", "d")],
            "no task was answered by two speakers",
        ),
        ([("ann", "", None), ("bob", "", None), ("bob", "", " ")], "of 2 speakers 0 answered"),
    ],
)
def test_too_little_is_said(rows: list[tuple[str, str, str]], why: str) -> None:
    found = told(framed(rows))
    for name in SCHEMAS:
        assert getattr(found, name).height == 0
    assert isinstance(found.sentence, NotEnoughText)
    assert found.warnings[-1] is found.sentence
    assert why in found.sentence


def test_the_smallest_corpus_that_can_be_judged() -> None:
    found = told(framed(TWICE))
    assert found.summary.select("accuracy", "low", "high").row(0) == (1.0, 1.0, 1.0)
    assert found.summary["p"].item() > 0.05


def test_who_is_left_out_is_named() -> None:
    found = told(framed([*TWICE, ("<i>zoe</i>", "one", "e"), ("max", "two", ""), ("bob", "two", "…")]))
    assert found.summary.select("speakers", "texts").row(0) == (2, 4)
    assert any("2 of 7 texts have no word" in warning for warning in found.warnings)
    assert any("without texts on two tasks: 1 speaker (<i>zoe</i>)" in w for w in found.warnings)


def test_markup_and_emoji_in_names_and_a_text_of_two_megabytes() -> None:
    names = {"ann": "<script>alert(1)</script>", "bob": "🤖 \u202ebob"}
    rows = [(names[speaker], task, text) for speaker, task, text in TWICE]
    found = told(framed([*rows, (names["ann"], "two", "a lot of words " * 140_000)]), permutations=9)
    assert found.summary["texts"].item() == 5
    assert found.confusion["speaker"].unique(maintain_order=True).to_list() == list(names.values())


def test_equal_texts_are_told_by_nothing() -> None:
    rows = [(speaker, task, "the same words") for speaker in ("ann", "bob", "eve") for task in ("one", "two", "three")]
    found = told(framed(rows))
    assert found.summary.select("accuracy", "chance", "p").row(0) == pytest.approx((1 / 3, 1 / 3, 1.0))
    assert found.words.height == 0


def test_more_texts_than_are_judged_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.language.separability._MOST_TEXTS", 24)
    found = told(PLANTED)
    assert found.summary.select("speakers", "texts", "tasks").row(0) == (4, 24, 4)
    assert found.confusion.group_by("speaker").agg(pl.col("count").sum())["count"].to_list() == [6, 6, 6, 6]
    assert "a sample of 24" in found.warnings[0]
    assert found.summary.equals(told(PLANTED.sample(fraction=1, shuffle=True, seed=2)).summary)


def test_too_many_pairs_are_not_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.language.separability._MOST_PAIRS", 5)
    found = told(PLANTED)
    assert found.pairs.height == 0
    assert "4 speakers make 6 pairs" in found.warnings[0]
    assert told(PLANTED, pairs=False).warnings == []


def test_more_tasks_than_folds() -> None:
    found = told(made_texts(np.random.default_rng(2), 2, tasks=13, each=3, markers={0: "kindly"}), pairs=False)
    assert found.summary.select("tasks", "folds").row(0) == (13, 10)
    assert found.summary["p"].item() == 0.01


@pytest.mark.slow
def test_a_thousand_speakers() -> None:
    found = told(made_texts(np.random.default_rng(1), 1000, tasks=2, each=1), permutations=3)
    assert found.summary.select("speakers", "texts").row(0) == (1000, 2000)
    assert found.summary["accuracy"].item() < 0.05
    assert found.confusion.height == 1_000_000
    assert "499,500 pairs" in found.warnings[0]


def test_refusals() -> None:
    for wrong in ({"permutations": 0}, {"top": 0}):
        with pytest.raises(ValueError, match="at least one"):
            separate_speakers(PLANTED, seed=7, **wrong)  # type: ignore[arg-type]
