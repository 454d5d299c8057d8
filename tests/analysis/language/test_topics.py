import logging
import warnings

import numpy as np
import polars as pl
import pytest

from analysis.language import (
    TOPIC_MAP,
    TOPIC_MODELS,
    TOPIC_SHARES,
    TOPIC_WORDS,
    TOPICS,
    NotEnoughText,
    extract_entities,
    fit_topics,
    list_nouns,
    match_topics,
    pipeline,
)

GARDEN = ["rose", "garden", "flower", "tree", "soil", "seed", "water", "leaf", "spade", "root", "branch", "lawn"]
MONEY = [
    "bank",
    "money",
    "loan",
    "interest",
    "account",
    "credit",
    "payment",
    "invoice",
    "tax",
    "budget",
    "price",
    "debt",
]


def write_texts(count: int) -> pl.DataFrame:
    """Ann writes of gardens, bob of money, and eve says nothing that counts."""
    rng = np.random.default_rng(3)
    rows = []
    for number in range(count):
        for speaker, words in (("ann", GARDEN), ("bob", MONEY)):
            drawn = rng.choice(words, 8)
            rows.append((speaker, "The " + " and the ".join(drawn) + f" were there in {number}."))
    rows += [("eve", ""), ("eve", "Did she?")]
    return pl.DataFrame(rows, schema=["speaker", "text"], orient="row")


def test_topics_of_two_subjects() -> None:
    texts = write_texts(20)
    topics, shares, models, _, _, found = fit_topics(texts, seed=7)
    assert found == []
    assert (topics.schema, shares.schema, models.schema) == (TOPICS, TOPIC_SHARES, TOPIC_MODELS)
    assert topics["topic"].unique().sort().to_list() == list(range(1, topics["topic"].n_unique() + 1))
    for (number,), rows in topics.group_by(["topic"]):
        assert rows["rank"].to_list() == list(range(1, 11))
        assert rows["label"].unique().to_list() == [", ".join(rows["word"].head(3))]
        assert set(rows["word"].head(3)) <= set(GARDEN) or set(rows["word"].head(3)) <= set(MONEY), number
    assert set(shares["speaker"]) == {"ann", "bob"}
    assert shares.group_by("speaker").agg(pl.col("share").sum())["share"].to_list() == [pytest.approx(1, abs=1e-5)] * 2
    gardens = [n for (n,), rows in topics.group_by(["topic"]) if rows["word"][0] in GARDEN]
    of_gardens = shares.filter(pl.col("topic").is_in(gardens)).group_by("speaker").agg(pl.col("share").sum())
    assert dict(of_gardens.rows())["ann"] > 0.9
    assert dict(of_gardens.rows()).get("bob", 0) < 0.1


def test_the_same_seed_gives_the_same_topics_and_no_global_state_moves() -> None:
    texts = write_texts(10)
    np.random.seed(1)
    state, filters, level = np.random.get_state()[1].tolist(), list(warnings.filters), logging.root.level  # type: ignore[index]
    first = fit_topics(texts, seed=7)
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index]
    assert (list(warnings.filters), logging.root.level) == (filters, level)
    second = fit_topics(texts, seed=7)
    assert first[0].equals(second[0])
    assert first[1].equals(second[1])


def test_nouns_of_one_reading_serve_entities_and_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "PIECE", 60)  # so that a text comes in several pieces
    texts = write_texts(20)
    nouns: list[list[str]] = [[] for _ in range(texts.height)]
    whole = texts.with_columns(text_id=pl.lit("1"), task=pl.lit(""))
    found = extract_entities(whole, each=lambda number, doc: nouns[number].extend(list_nouns(doc)))
    assert found.equals(extract_entities(whole))
    apart = fit_topics(texts, seed=7)
    together = fit_topics(texts, seed=7, nouns=nouns)
    assert not apart[0].is_empty()
    assert [a.equals(b) for a, b in zip(apart[:2], together[:2], strict=True)] == [True, True]
    assert fit_topics(texts, seed=7, nouns=[[] for _ in nouns])[0].is_empty()


def test_no_more_topics_than_the_corpus_can_carry() -> None:
    topics = fit_topics(write_texts(10), seed=7).topics
    assert topics["topic"].n_unique() == 2  # 20 texts


@pytest.mark.parametrize("rows", [[], [("ann", "")], [("ann", "A rose."), ("bob", "A rose.")], [("ann", "word " * 99)]])
def test_too_little_text(rows: list[tuple[str, str]]) -> None:
    texts = pl.DataFrame(rows, schema={"speaker": pl.String, "text": pl.String}, orient="row")
    *tables, found = fit_topics(texts, seed=7)
    assert all(table.is_empty() for table in tables)
    assert [table.schema for table in tables] == [TOPICS, TOPIC_SHARES, TOPIC_MODELS, TOPIC_WORDS, TOPIC_MAP]
    assert [type(warning) for warning in found] == [NotEnoughText]
    assert found[0].startswith("Not enough text for topics: ")


def test_fewer_than_two_topics_are_refused() -> None:
    with pytest.raises(ValueError, match="at least two"):
        fit_topics(write_texts(1), seed=7, most=1)


def test_neither_the_order_of_the_rows_nor_equal_texts_move_a_topic() -> None:
    texts = write_texts(15).with_columns(task=pl.lit("t"))
    one, other = (fit_topics(some, seed=7) for some in (texts, texts.sample(fraction=1, shuffle=True, seed=3)))
    assert [mine.equals(theirs) for mine, theirs in zip(one[:1], other[:1], strict=True)] == [True]
    assert one.models.equals(other.models)
    assert one.places.equals(other.places)
    assert one.shares.sort("speaker", "topic").equals(other.shares.sort("speaker", "topic"))


def test_one_model_is_chosen_of_several_seeds_of_those_numbers_that_come_into_question() -> None:
    models = fit_topics(write_texts(30), seed=7).models
    chosen = models.filter("chosen")
    assert chosen.height == 1
    seeds = models.group_by("topics").agg(pl.len())
    assert set(seeds["len"]) <= {1, 3}
    of_three = models.filter(pl.len().over("topics") == 3)
    assert of_three["stability"].is_between(0, 1).all()
    assert chosen["topics"][0] in of_three["topics"]
    means = of_three.group_by("topics").agg(pl.col("coherence").mean())
    spread = of_three.group_by("topics").agg(pl.col("coherence").std() / 3**0.5)
    best = means.sort("coherence", "topics", descending=[True, False])["topics"][0]
    error = dict(spread.iter_rows())[best]
    near = means.filter(pl.col("coherence") >= dict(means.iter_rows())[best] - error)
    assert chosen["topics"][0] == near["topics"].min()


def test_words_hold_the_relevance_at_every_lambda() -> None:
    found = fit_topics(write_texts(20), seed=7)
    relevance = 0.6 * pl.col("weight").log() + 0.4 * (pl.col("weight") / pl.col("overall")).log()
    ranked = found.words.with_columns(relevance=relevance.round(3)).sort("topic", "relevance", descending=[False, True])
    for (topic,), rows in found.topics.group_by(["topic"]):
        top = ranked.filter(pl.col("topic") == topic).head(10)
        assert len(set(top["word"]) & set(rows["word"])) >= 9  # ties
    assert found.words["overall"].is_between(0, 1, closed="right").all()


def test_topics_are_placed_by_what_their_words_share() -> None:
    found = fit_topics(write_texts(40), seed=7)
    assert found.places["share"].sum() == pytest.approx(1, abs=1e-4)
    x, y = found.places["x"].to_numpy(), found.places["y"].to_numpy()
    assert x.sum() == pytest.approx(0, abs=1e-4)
    about = [found.topics.filter(pl.col("topic") == n)["word"][0] in GARDEN for n in found.places["topic"]]
    gardens = np.array(about)
    assert x[gardens].max() < x[~gardens].min() or x[gardens].min() > x[~gardens].max()
    if len(x) == 2:
        assert y.tolist() == [0, 0]


def test_shares_have_an_interval_over_tasks_or_else_over_texts() -> None:
    texts = write_texts(20)
    one = fit_topics(texts, seed=7).shares
    assert (one["low"] <= one["share"]).all()
    assert (one["share"] <= one["high"]).all()
    # In half of the texts each of the two writes of the other's subject: a task each makes two units of all texts.
    turned = pl.col("speaker").replace({"ann": "bob", "bob": "ann"})
    second = pl.int_range(pl.len()) % 4 > 1
    mixed = texts.with_columns(speaker=pl.when(second).then(turned).otherwise("speaker"))
    over_texts = fit_topics(mixed, seed=7).shares
    over_tasks = fit_topics(mixed.with_columns(task=pl.when(second).then(pl.lit("u"))), seed=7).shares
    assert over_texts["share"].round(3).equals(over_tasks["share"].round(3))
    assert (over_texts["low"] > 0.2).all()
    assert (over_tasks["low"] == 0).all()
    single = pl.concat([texts, pl.DataFrame({"speaker": ["zoe"], "text": ["A rose garden and a tree."]})])
    alone = fit_topics(single, seed=7).shares.filter(pl.col("speaker") == "zoe")
    assert alone["low"].is_null().all()


def test_agreement_of_topics() -> None:
    one = [["a", "b", "c"], ["x", "y", "z"]]
    assert match_topics(one, one[::-1]) == 1.0
    assert match_topics(one, [["p", "q", "r"], ["s", "t", "u"]]) == 0.0
    assert match_topics([["a", "b"]], [["b", "a"]]) == pytest.approx((0 + 1) / 2)
    assert match_topics(one, [["a", "b", "d"], ["x", "y", "z"]]) == pytest.approx(((1 + 1 + 2 / 4) / 3 + 1) / 2)


def test_markup_emoji_and_right_to_left_words() -> None:
    texts = write_texts(12).with_columns(pl.col("text") + " <b>שולחן</b> 🙂 \u202eevil")
    found = fit_topics(texts, seed=7)
    assert found.topics["topic"].n_unique() >= 2
