"""What the talk is about as a whole: topics by latent Dirichlet allocation, and how much of each a speaker talks."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.language.lexicons import GENERIC
from analysis.language.pipeline import lemma_of, read_docs
from simulator.running.calls import derive_seed

if TYPE_CHECKING:
    from gensim.corpora import Dictionary
    from spacy.tokens import Doc

__all__ = ["TOPICS", "TOPIC_SHARES", "NotEnoughText", "fit_topics", "list_nouns"]

Floats = NDArray[np.float64]

TOPICS = pl.Schema({"topic": pl.Int64, "label": pl.String, "rank": pl.Int64, "word": pl.String, "weight": pl.Float64})
"""A word of a topic. ``topic`` and ``rank`` count from 1; ``weight`` is the word's probability in the topic."""

TOPIC_SHARES = pl.Schema({"speaker": pl.String, "topic": pl.Int64, "share": pl.Float64})
"""How much of a speaker's texts is about a topic; a speaker's shares sum to 1."""

_WORDS = 10  # of a topic in its table
_LABEL = 3  # of those in its label
_RELEVANCE = 0.6  # lambda at which Sievert and Shirley's readers named topics best
_POS = ("NOUN", "PROPN")
_TEXTS_A_TOPIC = 10
_WORDS_A_TOPIC = 10
_COMMON = 0.6  # a word in more than this share of the texts tells no topic apart
_DIGITS = 6  # decimals kept: single precision gives no more


class NotEnoughText(str):
    """A warning that there are no topics because there is too little text; itself the sentence to show."""

    __slots__ = ()


class _Model(NamedTuple):
    coherence: float
    words: Floats  # probability of a word in a topic, shape (topics, vocabulary)
    shares: Floats  # of the topics in a text, shape (texts, topics)


def fit_topics(
    texts: pl.DataFrame, *, seed: int, most: int = 8, nouns: Sequence[list[str]] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    r"""Find the topics of texts and how much of each every speaker talks.

    Words are the lemmas of nouns (nouns alone give topics as coherent as all words do, and sooner) that are no stop
    words, stand in two texts at least and in 60% at most. Models of 2, 3, ... ``most`` topics are fitted; the one
    with the best coherence (c_v over the ten likeliest words of each topic; at a tie, the one with fewer topics) is
    kept. No model has more than one topic for every ten texts or for every ten words of the vocabulary.

    Topics are numbered by their share of all words, largest first (ties by their words), and labelled with their three
    words of highest relevance, :math:`\lambda \log p(w|t) + (1 - \lambda) \log (p(w|t) / p(w))` at
    :math:`\lambda = 0.6`; the table lists ten words in that order.

    Parameters
    ----------
    texts
        ``speaker``, ``text``.
    seed
        Of the models.
    most
        The largest number of topics to try, at least 2.
    nouns
        Of each text those of all its pieces, as `list_nouns` gives; where they are not given, the texts are read.

    Returns
    -------
    DataFrame
        The columns of `TOPICS`.
    DataFrame
        The columns of `TOPIC_SHARES`: the mean of a speaker's texts, each weighing the same. Texts without a word of
        the vocabulary are left out, and so is a speaker who has no other; every other speaker has a row for every
        topic.
    list of str
        Empty, or one `NotEnoughText` where both tables are empty.

    Raises
    ------
    MissingError
        The English model is not installed.

    References
    ----------
    Blei, D. M., Ng, A. Y. and Jordan, M. I. (2003). Latent Dirichlet allocation. JMLR 3, 993-1022.
    Martin, F. and Johnson, M. (2015). More efficient topic modelling through a noun only approach. ALTA 13, 111-115.
    Röder, M., Both, A. and Hinneburg, A. (2015). Coherence measures (c_v). doi:10.1145/2684822.2685324.
    Sievert, C. and Shirley, K. (2014). LDAvis (relevance). doi:10.3115/v1/W14-3110.
    """
    if most < 2:
        raise ValueError(f"most is {most}; there are at least two topics to tell apart")
    speakers: list[str] = texts["speaker"].to_list()
    bags = _keep_words(_read_nouns(texts["text"].fill_null("").to_list()) if nouns is None else nouns)
    used = [i for i, bag in enumerate(bags) if bag]
    bags = [bags[i] for i in used]
    vocabulary = {word for bag in bags for word in bag}
    largest = min(most, len(bags) // _TEXTS_A_TOPIC, len(vocabulary) // _WORDS_A_TOPIC)
    if largest < 2:
        warning = NotEnoughText(
            f"Not enough text for topics: {len(bags)} texts with {len(vocabulary)} words that stand in more than one "
            f"of them; two topics need {2 * _TEXTS_A_TOPIC} texts and {2 * _WORDS_A_TOPIC} words."
        )
        return pl.DataFrame(schema=TOPICS), pl.DataFrame(schema=TOPIC_SHARES), [warning]
    dictionary, model = _choose_model(bags, range(2, largest + 1), seed=seed)
    return _tabulate(dictionary, model, bags, [speakers[i] for i in used])


def list_nouns(doc: Doc) -> list[str]:
    """Return the words that topics are made of: the lemmas of nouns that are neither stop words nor generic.

    They are the same whether the English model read ``full`` or ``lemmas`` alone.
    """
    return [
        lemma
        for token in doc
        if token.pos_ in _POS and token.is_alpha and not token.is_stop and 2 < len(token) <= 40
        if (lemma := lemma_of(token)) not in GENERIC
    ]


def _read_nouns(texts: Sequence[str]) -> list[list[str]]:
    bags: list[list[str]] = [[] for _ in texts]
    for number, _, doc in read_docs(texts, "lemmas"):
        bags[number] += list_nouns(doc)
    return bags


def _keep_words(bags: Sequence[list[str]]) -> list[list[str]]:
    """Drop words that stand in one text only or in most of them, as long as there are several texts."""
    texts = Counter(word for bag in bags for word in set(bag))
    return [[word for word in bag if 2 <= texts[word] <= max(2, _COMMON * len(bags))] for bag in bags]


def _choose_model(bags: list[list[str]], counts: Sequence[int], *, seed: int) -> tuple[Dictionary, _Model]:
    from gensim.corpora import Dictionary  # noqa: PLC0415 - heavy

    dictionary = Dictionary([sorted({word for bag in bags for word in bag})])  # numbers in alphabetical order
    corpus = [dictionary.doc2bow(bag) for bag in bags]
    best: _Model | None = None
    for count in counts:
        model = _fit(dictionary, corpus, bags, count, derive_seed(seed, "topics", count))
        if best is None or model.coherence > best.coherence:
            best = model
    if best is None:
        raise ValueError("there is no number of topics to try")
    return dictionary, best


def _fit(
    dictionary: Dictionary, corpus: list[list[tuple[int, int]]], bags: list[list[str]], count: int, seed: int
) -> _Model:
    from gensim.models import CoherenceModel, LdaModel  # noqa: PLC0415 - heavy

    model: Any = LdaModel(
        corpus,
        num_topics=count,
        id2word=dictionary,
        passes=10,
        iterations=50,
        chunksize=len(corpus),
        alpha="auto",
        eta="auto",
        eval_every=None,
        random_state=np.random.RandomState(seed),
        dtype=np.float64,
    )
    words = np.asarray(model.get_topics(), dtype=np.float64)
    gamma, _ = model.inference(corpus)
    top = [[dictionary[int(i)] for i in np.argsort(-row, kind="stable")[:_WORDS]] for row in words]
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        # A word that never shares a window with another has no cosine: its coherence is not a number.
        warnings.simplefilter("ignore", RuntimeWarning)
        coherence = float(
            CoherenceModel(topics=top, texts=bags, dictionary=dictionary, coherence="c_v", processes=1).get_coherence()
        )
    shares = gamma / gamma.sum(axis=1, keepdims=True)
    return _Model(
        -math.inf if math.isnan(coherence) else round(coherence, _DIGITS), words, np.asarray(shares, np.float64)
    )


def _tabulate(
    dictionary: Dictionary, model: _Model, bags: list[list[str]], speakers: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    frequency = np.zeros(len(dictionary))
    for word, times in Counter(word for bag in bags for word in bag).items():
        frequency[dictionary.token2id[word]] = times
    with np.errstate(divide="ignore"):
        logs = np.log(model.words)
    relevance = logs - (1 - _RELEVANCE) * np.log(frequency / frequency.sum())
    ranked = np.argsort(-relevance.round(_DIGITS), axis=1, kind="stable")[:, :_WORDS]
    names = [[str(dictionary[int(i)]) for i in row] for row in ranked]
    lengths = np.array([len(bag) for bag in bags])
    share = ((model.shares * lengths[:, None]).sum(axis=0) / lengths.sum()).round(_DIGITS)
    order = sorted(range(len(names)), key=lambda topic: (-share[topic], names[topic]))
    words, shares = [], []
    for number, topic in enumerate(order, start=1):
        label = ", ".join(names[topic][:_LABEL])
        for rank, (name, i) in enumerate(zip(names[topic], ranked[topic], strict=True), start=1):
            words.append((number, label, rank, name, round(float(model.words[topic, i]), _DIGITS)))
    by_speaker = np.array(speakers, dtype=object)
    for speaker in dict.fromkeys(speakers):
        mean = model.shares[by_speaker == speaker].mean(axis=0)
        shares += [(speaker, number, round(float(mean[topic]), _DIGITS)) for number, topic in enumerate(order, start=1)]
    return (
        pl.DataFrame(words, schema=TOPICS, orient="row"),
        pl.DataFrame(shares, schema=TOPIC_SHARES, orient="row"),
        [],
    )
