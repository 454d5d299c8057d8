import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.language import (
    DISTINCTIVE_ENTITIES,
    DISTINCTIVE_WORDS,
    LOG_ODDS,
    NotEnoughText,
    compare_counts,
    distinctive_entities,
    distinctive_words,
    list_words,
)

Row = tuple[str, str, int]


def counted(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"speaker": pl.String, "item": pl.String, "count": pl.Int64}, orient="row")


def by_cell(table: pl.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["speaker"], row["item"]): row for row in table.to_dicts()}


@st.composite
def corpora(draw: st.DrawFn, speakers: int | None = None) -> pl.DataFrame:
    """Counts with at least two speakers and two items, of which everybody says something."""
    number = speakers or draw(st.integers(2, 4))
    items = [f"i{n}" for n in range(draw(st.integers(2, 6)))]
    rows = [(f"s{s}", item, draw(st.integers(0, 30))) for s in range(number) for item in items]
    rows += [(f"s{s}", items[s % 2], 1) for s in range(number)]
    return counted(rows).group_by("speaker", "item", maintain_order=True).agg(pl.col("count").sum())


def test_the_formula_by_hand() -> None:
    # ann says 9 of 12, bob 3 of 12: a prior of 8 gives 4 and 4.
    rows = [("ann", "key", 9), ("ann", "row", 3), ("bob", "key", 3), ("bob", "row", 9)]
    found = by_cell(compare_counts(counted(rows), prior=8))["ann", "key"]
    expected = math.log((9 + 4) / (3 + 4)) - math.log((3 + 4) / (9 + 4))
    assert found["log_odds"] == pytest.approx(expected)
    assert found["z"] == pytest.approx(expected / math.sqrt(1 / 13 + 1 / 7))
    assert (found["rate"], found["others_rate"], found["rank"]) == (750.0, 250.0, 1)


def test_the_default_prior_is_what_a_speaker_says_on_average() -> None:
    rows = [("ann", "key", 9), ("ann", "row", 3), ("bob", "key", 2), ("eve", "row", 22)]
    assert compare_counts(counted(rows)).equals(compare_counts(counted(rows), prior=12))


@given(corpora(speakers=2))
def test_of_two_speakers_one_is_the_other_turned_round(counts: pl.DataFrame) -> None:
    found = by_cell(compare_counts(counts))
    for (speaker, item), row in found.items():
        other = found["s1" if speaker == "s0" else "s0", item]
        assert row["log_odds"] == pytest.approx(-other["log_odds"], abs=1e-8)
        assert row["z"] == pytest.approx(-other["z"], abs=1e-8)
        assert row["rate"] == pytest.approx(other["others_rate"])


@given(corpora(), st.integers(2, 9))
def test_a_larger_corpus_in_the_same_proportions(counts: pl.DataFrame, times: int) -> None:
    once, often = (by_cell(compare_counts(counts.with_columns(pl.col("count") * n))) for n in (1, times))
    for cell, row in once.items():
        assert often[cell]["log_odds"] == pytest.approx(row["log_odds"], abs=1e-7)
        assert often[cell]["z"] == pytest.approx(row["z"] * math.sqrt(times), abs=1e-7)


@given(corpora(), st.randoms(use_true_random=False))
def test_the_order_of_rows_decides_the_order_of_speakers_and_nothing_else(counts: pl.DataFrame, random: Any) -> None:
    rows = counts.rows()
    random.shuffle(rows)
    assert by_cell(compare_counts(counted(rows))) == by_cell(compare_counts(counts))


@given(corpora(), st.floats(0.5, 50), st.floats(1.1, 10))
def test_a_larger_prior_draws_log_odds_to_nought(counts: pl.DataFrame, prior: float, times: float) -> None:
    light, heavy = (by_cell(compare_counts(counts, prior=size)) for size in (prior, prior * times))
    for cell, row in light.items():
        assert abs(heavy[cell]["log_odds"]) <= abs(row["log_odds"]) + 1e-8


@given(corpora(), st.integers(1, 4))
def test_the_top_is_the_head_of_the_whole(counts: pl.DataFrame, top: int) -> None:
    whole, head = compare_counts(counts), compare_counts(counts, top=top)
    assert whole.height == counts["speaker"].n_unique() * counts.filter(pl.col("count") > 0)["item"].n_unique()
    assert head.equals(whole.filter(pl.col("rank") <= top, pl.col("z") > 0))
    assert whole.null_count().row(0) == (0,) * whole.width
    assert whole.filter(pl.col("count") == 0)["z"].is_between(-math.inf, 0).all()
    for _, own in whole.group_by("speaker", maintain_order=True):
        assert own["rank"].to_list() == list(range(1, own.height + 1))
        assert own["z"].is_sorted(descending=True)


@given(corpora())
def test_q_rises_with_p_and_none_is_above_one(counts: pl.DataFrame) -> None:
    said = compare_counts(counts).filter(pl.col("count") > 0).sort("z", descending=True)
    assert said["q"].is_sorted()
    assert said["q"].is_between(0, 1).all()


def test_what_was_said_once_stands_behind_what_was_said_often() -> None:
    rows = [("ann", "often", 20), ("ann", "once", 1), ("bob", "often", 4), ("ann", "row", 79), ("bob", "row", 96)]
    found = by_cell(compare_counts(counted(rows), top=9))
    # Only ann says "once", and never does anybody else: its log-odds without a prior would be infinite.
    assert found["ann", "often"]["rank"] == 1
    assert 0 < found["ann", "once"]["z"] < 1.3 < found["ann", "often"]["z"]


@pytest.mark.parametrize("speakers", [2, 6, 11, 40])
def test_what_was_said_once_in_all_has_a_small_z(speakers: int) -> None:
    rows = [(f"s{n}", item, count) for n in range(speakers) for item, count in ((f"once {n}", 1), ("often", 99))]
    once = compare_counts(counted(rows), top=1)
    assert once["item"].to_list() == [f"once {n}" for n in range(speakers)]
    assert once["z"].max() < 1.25  # type: ignore[operator]


def test_a_count_of_nought_is_no_row() -> None:
    rows = [("ann", "key", 3), ("bob", "row", 3)]
    assert compare_counts(counted([*rows, ("eve", "key", 0), ("ann", "gone", 0)])).equals(compare_counts(counted(rows)))


@pytest.mark.parametrize("rows", [[], [("ann", "key", 3), ("ann", "row", 3)], [("ann", "key", 3), ("bob", "key", 1)]])
def test_nothing_to_compare(rows: list[Row]) -> None:
    assert compare_counts(counted(rows)).equals(pl.DataFrame(schema=LOG_ODDS))


def test_refusals() -> None:
    rows = counted([("ann", "key", 3), ("bob", "row", 3)])
    with pytest.raises(ValueError, match="top is 0"):
        compare_counts(rows, top=0)
    for prior in (0, -1, math.nan):
        with pytest.raises(ValueError, match="prior is"):
            compare_counts(rows, prior=prior)
    with pytest.raises(ValueError, match="negative"):
        compare_counts(counted([("ann", "key", -3), ("bob", "row", 3)]))


def mentions(said: dict[str, list[tuple[str, str]]]) -> pl.DataFrame:
    rows = [(speaker, entity, label) for speaker, own in said.items() for entity, label in own]
    return pl.DataFrame(rows, schema=dict.fromkeys(["speaker", "entity", "label"], pl.String), orient="row")


def test_entities_with_their_usual_label() -> None:
    said = {"<b>ann</b>": [("java", "place"), ("java", "keyword"), ("java", "keyword")], "bob": [("poem", "keyword")]}
    table, warnings = distinctive_entities(mentions(said))
    assert table.schema == DISTINCTIVE_ENTITIES
    assert table.select("speaker", "entity", "label", "count", "rank").rows() == [
        ("<b>ann</b>", "java", "keyword", 3, 1),
        ("bob", "poem", "keyword", 1, 1),
    ]
    assert warnings == []


def test_words_of_texts() -> None:
    texts = pl.DataFrame({"speaker": ["ann", "bob", "ann", "eve"], "text": ["A heap, a heap.", "a poem", None, ""]})
    table, warnings = distinctive_words(texts)
    assert table.schema == DISTINCTIVE_WORDS
    assert table.select("speaker", "word").rows() == [("ann", "heap"), ("bob", "poem")]
    assert warnings == []


@pytest.mark.parametrize("said", [{}, {"ann": [("key", "keyword"), ("row", "keyword")]}])
def test_one_speaker_has_nothing_that_is_distinctive(said: dict[str, list[tuple[str, str]]]) -> None:
    table, (why,) = distinctive_entities(mentions(said))
    assert table.equals(pl.DataFrame(schema=DISTINCTIVE_ENTITIES))
    assert isinstance(why, NotEnoughText)
    assert f"speakers with any: {len(said)}, different entities: {2 * len(said)};" in why
    words = pl.DataFrame(
        {"speaker": list(said), "text": ["key row"] * len(said)}, schema_overrides={"speaker": pl.String}
    )
    table, (why,) = distinctive_words(words.cast({"text": pl.String}))
    assert table.equals(pl.DataFrame(schema=DISTINCTIVE_WORDS))
    assert isinstance(why, NotEnoughText)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("😀 — …", []),
        ("It's 3.5 kg, isn’t it?", ["it's", "3.5", "kg", "isn't", "it"]),
        ("i.e. user_id in state-of-the-art C++", ["i.e", "user_id", "in", "state-of-the-art", "c"]),
        ("Cafe\u0301 CAFÉ", ["café", "café"]),
        ("اكتب برنامجا", ["اكتب", "برنامجا"]),
        ("-dash- 'quoted'", ["dash", "quoted"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert list_words(text) == words


def test_a_long_text_takes_no_time() -> None:
    assert len(list_words("a." * 500_000 + " word" * 200_000)) == 200_001
