"""What the talk is about as a whole: topics by latent Dirichlet allocation, and how much of each a speaker talks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.language.lexicons import GENERIC
from analysis.language.pipeline import lemma_of, read_docs
from analysis.language.topic_models import TOPIC_MODELS, Chosen, choose_model

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = [
    "TOPICS",
    "TOPIC_MAP",
    "TOPIC_SHARES",
    "TOPIC_WORDS",
    "NotEnoughText",
    "Topics",
    "fit_topics",
    "list_nouns",
]

Floats = NDArray[np.float64]

TOPICS = pl.Schema({"topic": pl.Int64, "label": pl.String, "rank": pl.Int64, "word": pl.String, "weight": pl.Float64})
"""A word of a topic. ``topic`` and ``rank`` count from 1; ``weight`` is the word's probability in the topic."""

TOPIC_SHARES = pl.Schema(
    {"speaker": pl.String, "topic": pl.Int64, "share": pl.Float64, "low": pl.Float64, "high": pl.Float64}
)
"""How much of a speaker's texts is about a topic; a speaker's shares sum to 1. ``low`` and ``high`` are the 95%
interval over the speaker's tasks, or, of a single task, over texts (Student's t); null for a single text."""

TOPIC_WORDS = pl.Schema({"topic": pl.Int64, "word": pl.String, "weight": pl.Float64, "overall": pl.Float64})
"""Each word that is among the ten most relevant of a topic at any lambda (0, .1, ... 1), from which its relevance at
every lambda follows. ``weight`` is its probability in the topic, ``overall`` in all texts."""

TOPIC_MAP = pl.Schema({"topic": pl.Int64, "label": pl.String, "share": pl.Float64, "x": pl.Float64, "y": pl.Float64})
"""Where a topic is on a plane on which near topics have words in common; ``share`` is that of all words."""

_WORDS = 10  # of a topic in its table
_LABEL = 3  # of those in its label
_RELEVANCE = 0.6  # lambda at which Sievert and Shirley's readers named topics best
_POS = ("NOUN", "PROPN")
_TEXTS_A_TOPIC = 10
_WORDS_A_TOPIC = 10
_COMMON = 0.6  # a word in more than this share of the texts tells no topic apart
_NO_SPREAD = 1e-12
_DIGITS = 6  # decimals kept: single precision gives no more


class NotEnoughText(str):
    """A warning that there are no topics because there is too little text; itself the sentence to show."""

    __slots__ = ()


class Topics(NamedTuple):
    """What `fit_topics` found; without rows, and with one warning, where there was too little text.

    Parameters
    ----------
    topics, shares, models, words, places
        The columns of `TOPICS`, `TOPIC_SHARES`, `TOPIC_MODELS`, `TOPIC_WORDS` and `TOPIC_MAP`.
    warnings
        Empty, or one `NotEnoughText`.
    """

    topics: pl.DataFrame
    shares: pl.DataFrame
    models: pl.DataFrame
    words: pl.DataFrame
    places: pl.DataFrame
    warnings: list[str]


def fit_topics(texts: pl.DataFrame, *, seed: int, most: int = 8, nouns: Sequence[list[str]] | None = None) -> Topics:
    r"""Find the topics of texts and how much of each every speaker talks.

    Words are the lemmas of nouns (nouns alone give topics as coherent as all words do, and sooner) that are no stop
    words, stand in two texts at least and in 60% at most. Models of 2, 3, ... ``most`` topics are fitted, by several
    seeds, and one is chosen by coherence and stability: see `analysis.language.topic_models.choose_model`. No model has
    more than one topic for every ten texts or for every ten words of the vocabulary.

    Topics are numbered by their share of all words, largest first (ties by their words), and labelled with their three
    words of highest relevance, :math:`\lambda \log p(w|t) + (1 - \lambda) \log (p(w|t) / p(w))` at
    :math:`\lambda = 0.6`; the table lists ten words in that order.

    Parameters
    ----------
    texts
        ``speaker``, ``text``, and where it is there ``task``. The topics do not depend on the order of the rows.
    seed
        Of the models.
    most
        The largest number of topics to try, at least 2.
    nouns
        Of each text those of all its pieces, as `list_nouns` gives; where they are not given, the texts are read.

    Returns
    -------
    Topics
        Shares are means of a speaker's texts, each weighing the same. Texts without a word of the vocabulary are left
        out, and so is a speaker who has no other; every other speaker has a row for every topic.

    Raises
    ------
    MissingError
        The English model is not installed.

    References
    ----------
    F. Martin and M. Johnson, "More efficient topic modelling through a noun only approach", ALTA 13, 2015.
    C. Sievert and K. Shirley, "LDAvis" (relevance), 2014. https://doi.org/10.3115/v1/W14-3110
    """
    if most < 2:
        raise ValueError(f"most is {most}; there are at least two topics to tell apart")
    bags = _keep_words(_read_nouns(texts["text"].fill_null("").to_list()) if nouns is None else nouns)
    who = texts.select(
        "speaker", task=pl.col("task").fill_null("") if "task" in texts.columns else pl.lit("")
    ).with_row_index("row")
    spoken = who.rows()
    used = sorted((i for i, bag in enumerate(bags) if bag), key=lambda i: (sorted(bags[i]), spoken[i][1:]))
    bags = [bags[i] for i in used]
    vocabulary = {word for bag in bags for word in bag}
    largest = min(most, len(bags) // _TEXTS_A_TOPIC, len(vocabulary) // _WORDS_A_TOPIC)
    if largest < 2:
        warning = NotEnoughText(
            f"Not enough text for topics: {len(bags)} texts with {len(vocabulary)} words that stand in more than one "
            f"of them; two topics need {2 * _TEXTS_A_TOPIC} texts and {2 * _WORDS_A_TOPIC} words."
        )
        schemas = (TOPICS, TOPIC_SHARES, TOPIC_MODELS, TOPIC_WORDS, TOPIC_MAP)
        topics, shares, models, words, places = (pl.DataFrame(schema=schema) for schema in schemas)
        return Topics(topics, shares, models, words, places, [warning])
    chosen = choose_model(bags, range(2, largest + 1), seed=seed)
    found = _tabulate(chosen, bags, who[used])
    order = who.select("speaker").unique(maintain_order=True)
    return found._replace(shares=order.join(found.shares, on="speaker", how="inner", maintain_order="left_right"))


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


def _tabulate(chosen: Chosen, bags: list[list[str]], texts: pl.DataFrame) -> Topics:
    words = chosen.words
    frequency = np.zeros(len(chosen.dictionary))
    for word, times in Counter(word for bag in bags for word in bag).items():
        frequency[chosen.dictionary.token2id[word]] = times
    overall = frequency / frequency.sum()
    with np.errstate(divide="ignore"):
        logs = np.log(words)
    lift = logs - np.log(overall)
    ranked = _rank(logs, lift, _RELEVANCE)
    names = [[str(chosen.dictionary[int(i)]) for i in row] for row in ranked]
    lengths = np.array([len(bag) for bag in bags])
    share = ((chosen.shares * lengths[:, None]).sum(axis=0) / lengths.sum()).round(_DIGITS)
    order = sorted(range(len(names)), key=lambda topic: (-share[topic], names[topic]))
    labels = [", ".join(names[topic][:_LABEL]) for topic in order]
    listed, all_words = [], []
    shown = [_rank(logs, lift, weight / 10) for weight in range(11)]
    for number, topic in enumerate(order, start=1):
        for rank, (name, i) in enumerate(zip(names[topic], ranked[topic], strict=True), start=1):
            listed.append((number, labels[number - 1], rank, name, round(float(words[topic, i]), _DIGITS)))
        for i in sorted({int(i) for one in shown for i in one[topic]}):
            both = (round(float(words[topic, i]), _DIGITS), round(float(overall[i]), _DIGITS))
            all_words.append((number, str(chosen.dictionary[i]), *both))
    x, y = _place(words[order])
    places = [
        (number, labels[number - 1], float(share[topic]), float(x[number - 1]), float(y[number - 1]))
        for number, topic in enumerate(order, start=1)
    ]
    return Topics(
        pl.DataFrame(listed, schema=TOPICS, orient="row"),
        _share(chosen.shares[:, order], texts),
        chosen.models,
        pl.DataFrame(all_words, schema=TOPIC_WORDS, orient="row"),
        pl.DataFrame(places, schema=TOPIC_MAP, orient="row"),
        [],
    )


def _rank(logs: Floats, lift: Floats, weight: float) -> NDArray[np.intp]:
    """Return the words of each topic with the highest relevance, shape (topics, 10)."""
    relevance = weight * logs + (1 - weight) * lift
    return np.argsort(-relevance.round(_DIGITS), axis=1, kind="stable")[:, :_WORDS]


def _share(shares: Floats, texts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `TOPIC_SHARES`: means of each speaker's texts, with intervals."""
    from scipy.stats import t  # noqa: PLC0415 - heavy

    speakers, tasks = texts["speaker"].to_numpy(), texts["task"].to_numpy()
    rows = []
    for speaker in texts["speaker"].unique(maintain_order=True):
        own = shares[speakers == speaker]
        about = tasks[speakers == speaker]
        mean = own.mean(axis=0)
        names = np.unique(about)
        units = np.stack([own[about == task].mean(axis=0) for task in names]) if len(names) > 1 else own
        low, high = np.full((2, len(mean)), np.nan)
        if len(units) > 1:
            half = t.ppf(0.975, len(units) - 1) * units.std(axis=0, ddof=1) / np.sqrt(len(units))
            low, high = np.clip(units.mean(axis=0) - half, 0, 1), np.clip(units.mean(axis=0) + half, 0, 1)
        rows += [
            (speaker, number, *(round(float(one[number - 1]), _DIGITS) for one in (mean, low, high)))
            for number in range(1, len(mean) + 1)
        ]
    return pl.DataFrame(rows, schema=TOPIC_SHARES, orient="row").with_columns(pl.col("low", "high").fill_nan(None))


def _place(words: Floats) -> tuple[Floats, Floats]:
    """Return places on a plane whose distances are nearest to the Jensen-Shannon distances of topics.

    Classical scaling (Torgerson 1952). Of the two directions that an axis can have, that one is taken in which the
    topic that is farthest out is at its positive end.
    """
    from scipy.spatial.distance import jensenshannon  # noqa: PLC0415 - heavy

    count = len(words)
    squares = np.array([[float(jensenshannon(one, other)) ** 2 for other in words] for one in words])
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centre @ squares @ centre / 2)
    axes = np.zeros((2, count))
    for axis, place in enumerate(np.argsort(-values)[:2]):
        if values[place] > _NO_SPREAD:
            along = vectors[:, place] * np.sqrt(values[place])
            axes[axis] = along * np.sign(along[np.argmax(np.abs(along.round(_DIGITS)))])
    return axes[0].round(_DIGITS), axes[1].round(_DIGITS)
