import logging
import warnings

import numpy as np
import polars as pl
import pytest

from analysis.language import TOPIC_SHARES, TOPICS, NotEnoughText, extract_entities, fit_topics, list_nouns, pipeline

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
    topics, shares, found = fit_topics(texts, seed=7)
    assert found == []
    assert (topics.schema, shares.schema) == (TOPICS, TOPIC_SHARES)
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
    topics, _, _ = fit_topics(write_texts(10), seed=7)
    assert topics["topic"].n_unique() == 2  # 20 texts


@pytest.mark.parametrize("rows", [[], [("ann", "")], [("ann", "A rose."), ("bob", "A rose.")], [("ann", "word " * 99)]])
def test_too_little_text(rows: list[tuple[str, str]]) -> None:
    texts = pl.DataFrame(rows, schema={"speaker": pl.String, "text": pl.String}, orient="row")
    topics, shares, found = fit_topics(texts, seed=7)
    assert topics.is_empty()
    assert shares.is_empty()
    assert (topics.schema, shares.schema) == (TOPICS, TOPIC_SHARES)
    assert [type(warning) for warning in found] == [NotEnoughText]
    assert found[0].startswith("Not enough text for topics: ")


def test_fewer_than_two_topics_are_refused() -> None:
    with pytest.raises(ValueError, match="at least two"):
        fit_topics(write_texts(1), seed=7, most=1)
