"""The library that topics come from gives what its authors say, in the parts that the choice of a model rests on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import LdaModel
from gensim.topic_coherence import aggregation, direct_confirmation_measure, indirect_confirmation_measure, segmentation
from gensim.topic_coherence.text_analysis import InvertedIndexAccumulator


@pytest.fixture
def held(shared_data: Path) -> dict[str, Any]:
    text = (shared_data / "reference_values" / "gensim_topic_coherence.json").read_text("utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def accumulate(case: dict[str, Any]) -> InvertedIndexAccumulator:
    lists = {int(word): set(texts) for word, texts in case["posting_lists"].items()}
    dictionary = Dictionary()
    dictionary.id2token = {word: f"word {word}" for word in lists}
    made = InvertedIndexAccumulator(set(lists), dictionary)
    made._inverted_index = {made.id2contiguous[word]: texts for word, texts in lists.items()}
    made._num_docs = case.get("num_docs", 5)
    return made


def test_direct_confirmation(held: dict[str, Any]) -> None:
    case = held["direct_confirmation"]
    pairs, made = [[tuple(case["segment"])]], accumulate(case)
    found = direct_confirmation_measure.log_conditional_probability(pairs, made)[0]
    assert found == pytest.approx(case["log_conditional_probability"], abs=1e-6)
    assert direct_confirmation_measure.log_ratio_measure(pairs, made)[0] == pytest.approx(case["log_ratio"], abs=1e-6)
    normalized = direct_confirmation_measure.log_ratio_measure(pairs, made, normalize=True)[0]
    assert normalized == pytest.approx(case["normalized_log_ratio_npmi"], abs=1e-6)


def test_indirect_confirmation(held: dict[str, Any]) -> None:
    case = held["indirect_cosine_nlr_gamma1"]
    topic = case["s_one_set_topic"]
    pairs = [[(one, np.array(topic)) for one in topic]]
    found = indirect_confirmation_measure.cosine_similarity(pairs, accumulate(case), [topic], "nlr", 1)
    assert found == pytest.approx([case["expected"]], abs=10.0 ** -case["decimals"])


def test_segments_and_their_mean(held: dict[str, Any]) -> None:
    case = held["segmentation"]
    for name in ("s_one_pre", "s_one_one"):
        made = getattr(segmentation, name)(case["topics"])
        assert [[list(pair) for pair in topic] for topic in made] == case[name]
    mean = held["arithmetic_mean"]
    assert aggregation.arithmetic_mean(mean["x"]) == pytest.approx(mean["expected"])


def test_topics_of_the_librarys_own_texts(held: dict[str, Any]) -> None:
    case = held["lda"]
    dictionary = Dictionary(case["common_texts"])
    corpus = [dictionary.doc2bow(text) for text in case["common_texts"]]
    tried = (
        LdaModel(corpus, num_topics=case["num_topics"], passes=case["passes"], random_state=np.random.RandomState(seed))
        for seed in range(25)
    )
    expected = case["doc0_topic_distribution_sorted"]
    assert any(
        sorted(share for _, share in model.get_document_topics(corpus[0], minimum_probability=0))
        == pytest.approx(expected, abs=case["atol"])
        for model in tried
    )
