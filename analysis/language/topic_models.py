"""Fitting topic models, and choosing how many topics there are: by coherence, over several seeds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.running.calls import derive_seed

if TYPE_CHECKING:
    from gensim.corpora import Dictionary

__all__ = ["TOPIC_MODELS", "Chosen", "choose_model", "match_topics"]

Floats = NDArray[np.float64]

TOPIC_MODELS = pl.Schema(
    {
        "topics": pl.Int64,
        "seed": pl.Int64,
        "coherence": pl.Float64,
        "stability": pl.Float64,
        "chosen": pl.Boolean,
    }
)
"""A fitted model. ``seed`` counts the seeds of a number of topics from 1. ``coherence`` is c_v of the ten likeliest
words of each topic, null where it is not defined. ``stability`` is the mean agreement (`match_topics`) with the models
of the same number of topics and other seeds, null where there is none."""

TOP = 10  # words that coherence and agreement look at
_SEEDS = 3
_NEAR = 0.05  # of the best coherence: numbers of topics that are given further seeds
_DIGITS = 6  # decimals kept: single precision gives no more


class Chosen(NamedTuple):
    """A topic model.

    Parameters
    ----------
    dictionary
        The vocabulary, in alphabetical order.
    words
        The probability of each word in each topic, shape (topics, vocabulary).
    shares
        Of the topics in each text, shape (texts, topics).
    models
        The columns of `TOPIC_MODELS`: all that were fitted.
    """

    dictionary: Dictionary
    words: Floats
    shares: Floats
    models: pl.DataFrame


class _Model(NamedTuple):
    coherence: float
    words: Floats
    shares: Floats
    top: list[list[str]]


def choose_model(bags: Sequence[list[str]], counts: Sequence[int], *, seed: int) -> Chosen:
    r"""Fit models of several numbers of topics, and choose one.

    Each number is fitted with one seed; those whose coherence is within .05 of the best get two more. Of these the
    smallest is taken whose mean coherence is within one standard error of the best mean: with no better reason, fewer
    topics. Of its seeds that one is taken whose topics agree best with those of the others.

    Parameters
    ----------
    bags
        The words of each text.
    counts
        The numbers of topics to try, at least one, from the smallest.
    seed
        Each model has its own stream, derived from it.

    References
    ----------
    D. M. Blei, A. Y. Ng and M. I. Jordan, "Latent Dirichlet allocation", Journal of Machine Learning Research 3, 2003.
    M. Röder, A. Both and A. Hinneburg, "Exploring the space of topic coherence measures" (c_v), 2015.
    https://doi.org/10.1145/2684822.2685324
    """
    from gensim.corpora import Dictionary  # noqa: PLC0415 - heavy

    dictionary = Dictionary([sorted({word for bag in bags for word in bag})])
    corpus = [dictionary.doc2bow(bag) for bag in bags]

    def fit(count: int, number: int) -> _Model:
        return _fit(dictionary, corpus, bags, count, derive_seed(seed, "topics", count, number))

    fitted = {count: [fit(count, 1)] for count in counts}
    best = max(models[0].coherence for models in fitted.values())
    for count, models in fitted.items():
        if models[0].coherence >= best - _NEAR:
            models += [fit(count, number) for number in range(2, _SEEDS + 1)]
    count = _choose_count({count: [model.coherence for model in models] for count, models in fitted.items()})
    agreement = {count: _agree(models) for count, models in fitted.items()}
    number = int(np.argmax(np.nan_to_num(np.round(agreement[count], _DIGITS))))
    rows = [
        (
            tried,
            place + 1,
            model.coherence if math.isfinite(model.coherence) else None,
            None if math.isnan(agreement[tried][place]) else round(agreement[tried][place], _DIGITS),
            (tried, place) == (count, number),
        )
        for tried, models in fitted.items()
        for place, model in enumerate(models)
    ]
    chosen = fitted[count][number]
    return Chosen(dictionary, chosen.words, chosen.shares, pl.DataFrame(rows, schema=TOPIC_MODELS, orient="row"))


def _choose_count(coherences: dict[int, list[float]]) -> int:
    """Return the smallest number of topics whose mean is within one standard error of the best, of those with seeds."""
    most = max(len(found) for found in coherences.values())
    means = {count: sum(found) / most for count, found in coherences.items() if len(found) == most}
    best = max(means, key=lambda count: (means[count], -count))
    error = (
        float(np.std(coherences[best], ddof=1) / math.sqrt(most)) if most > 1 and math.isfinite(means[best]) else 0.0
    )
    return min(count for count, mean in means.items() if mean >= means[best] - error)


def _fit(
    dictionary: Dictionary, corpus: list[list[tuple[int, int]]], bags: Sequence[list[str]], count: int, seed: int
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
    top = [[str(dictionary[int(i)]) for i in np.argsort(-row, kind="stable")[:TOP]] for row in words]
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        # A word that never shares a window with another has no cosine: its coherence is not a number.
        warnings.simplefilter("ignore", RuntimeWarning)
        coherence = float(
            CoherenceModel(topics=top, texts=bags, dictionary=dictionary, coherence="c_v", processes=1).get_coherence()
        )
    shares = np.asarray(gamma / gamma.sum(axis=1, keepdims=True), np.float64)
    return _Model(-math.inf if math.isnan(coherence) else round(coherence, _DIGITS), words, shares, top)


def _agree(models: Sequence[_Model]) -> list[float]:
    """Return the mean agreement of each model with the others, NaN where there is no other."""
    found = np.full((len(models), len(models)), np.nan)
    for one, other in combinations(range(len(models)), 2):
        found[one, other] = found[other, one] = match_topics(models[one].top, models[other].top)
    return [float(np.nanmean(row)) if len(models) > 1 else math.nan for row in found]


def match_topics(one: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> float:
    r"""Return how far the topics of two models agree, from 0 (no word in common) to 1 (the same lists).

    Topics are matched so that the sum of agreements is largest (the Hungarian method). Two ranked lists of words agree
    by their average Jaccard index, the mean over depths d of :math:`|A_d \cap B_d| / |A_d \cup B_d|`, in which the
    first words count most.

    Parameters
    ----------
    one, other
        Of each topic its words, likeliest first; as many topics in both.

    References
    ----------
    D. Greene, D. O'Callaghan and P. Cunningham, "How Many Topics? Stability Analysis for Topic Models", 2014.
    https://doi.org/10.1007/978-3-662-44848-9_32

    Examples
    --------
    >>> match_topics([["rose", "tree"], ["bank", "loan"]], [["bank", "loan"], ["rose", "tree"]])
    1.0
    >>> match_topics([["rose", "tree"]], [["tree", "rose"]])
    0.5
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - heavy

    alike = np.array([[_alike(mine, theirs) for theirs in other] for mine in one])
    rows, columns = linear_sum_assignment(-alike)
    return float(alike[rows, columns].mean())


def _alike(one: Sequence[str], other: Sequence[str]) -> float:
    depths = range(1, max(len(one), len(other)) + 1)
    return sum(len({*one[:d]} & {*other[:d]}) / len({*one[:d]} | {*other[:d]}) for d in depths) / len(depths)
