"""A classifier of words whose judgement of unseen texts is linear in the labels, so that a shuffle costs little.

Ridge regression on indicators of the speakers, over TF-IDF of words and of pairs of neighbours. With the words' weights
and the training texts fixed, what it predicts for a held-out text is a fixed matrix times the labels: fitted once a
fold, it judges any number of relabelled corpora.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.language.distinctive import list_words

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["RIDGE", "Fold", "choose_speakers", "count_grams", "deal_folds", "fit_fold", "list_grams", "score_texts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RIDGE = 1.0
"""The penalty, for texts of length 1 (L2): scikit-learn's default."""

_TIE = 1e-12  # scores that are equal but for rounding go to the first


class Fold(NamedTuple):
    """A part of the texts held out: who stands where, and what was learned from the others without their labels.

    ``train`` and ``held``: numbers of texts. ``grams``: those that occur in the training texts. ``seen`` and
    ``unseen``: TF-IDF of the training and of the held-out texts over those grams, rows of length 1. ``hat``: what each
    training text's label adds to the score of each held-out text, shape (train, held). ``inverse``: of the training
    texts' centred Gram matrix plus the penalty.
    """

    train: Ints
    held: Ints
    grams: Ints
    seen: csr_array
    unseen: csr_array
    hat: Floats
    inverse: Floats


def list_grams(text: str) -> list[str]:
    """Return the words of a text and its pairs of neighbouring words.

    >>> list_grams("Write a poem.")
    ['write', 'a', 'poem', 'write a', 'a poem']
    """
    words = list_words(text)
    return words + [f"{one} {other}" for one, other in pairwise(words)]


def count_grams(texts: Sequence[str]) -> tuple[csr_array, list[str]]:
    """Count the words and pairs of neighbours of texts: a row a text, a column a gram; and the grams in order.

    Raises
    ------
    ValueError
        No text has a word.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - heavy

    vectorizer = CountVectorizer(analyzer=list_grams, dtype=np.float64)
    counts = vectorizer.fit_transform(texts).tocsr()
    counts.sort_indices()  # so that no sum over a row depends on what the other texts say
    return counts, vectorizer.get_feature_names_out().tolist()


def deal_folds(groups: Sequence[str], *, most: int) -> list[Ints]:
    """Deal texts out to at most ``most`` folds, all texts of a group to one, and return each fold's texts.

    The largest group first, each to the fold with the fewest texts so far. (What scikit-learn's GroupKFold does, but
    equal sizes are in the order of their names and not in that of an unstable sort.)

    >>> [fold.tolist() for fold in deal_folds(["b", "a", "b", "c"], most=2)]
    [[0, 2], [1, 3]]
    """
    members: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    folds: list[list[int]] = [[] for _ in range(min(most, len(members)))]
    for _, rows in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        min(folds, key=len).extend(rows)
    return [np.array(sorted(fold), dtype=np.int64) for fold in folds]


def fit_fold(counts: csr_array, held: Ints) -> Fold:
    """Learn from all texts but ``held``, without labels: which grams there are, their weights, and the hat matrix.

    TF-IDF is sublinear (1 + log count) times a smoothed idf (log((1 + n) / (1 + df)) + 1), rows of length 1; all from
    the training texts alone, so that a held-out text has only the grams that are known from there.
    """
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415 - heavy

    train = np.setdiff1d(np.arange(counts.shape[0]), held)
    grams = np.flatnonzero(np.asarray((counts[train] > 0).sum(axis=0)).ravel()).astype(np.int64)
    weights = TfidfTransformer(sublinear_tf=True).fit(counts[train][:, grams])
    seen = weights.transform(counts[train][:, grams])
    unseen = weights.transform(counts[held][:, grams])
    gram = (seen @ seen.T).toarray()
    cross = (unseen @ seen.T).toarray()
    # Centring on the training mean is what an intercept does.
    mean = gram.mean(axis=0)
    centred = gram - mean - mean[:, None] + mean.mean()
    cross = cross - mean - cross.mean(axis=1, keepdims=True) + mean.mean()
    inverse = np.linalg.inv(centred + RIDGE * np.eye(len(train)))
    return Fold(train, held, grams, seen, unseen, np.ascontiguousarray((cross @ inverse).T), inverse)


def score_texts(fold: Fold, label: Ints, speakers: int) -> Floats:
    """Return how far each held-out text is from nobody's to each speaker's, shape (held, speakers).

    The regression's prediction of a speaker's indicator less that speaker's share of the training texts.

    Parameters
    ----------
    fold
        As `fit_fold` gives.
    label
        The number of each training text's speaker.
    speakers
        How many there are; one without a training text scores minus infinity.
    """
    order = np.argsort(label, kind="stable")
    count = np.bincount(label, minlength=speakers)
    there = np.flatnonzero(count)
    # Rows are taken, not columns: they lie together in memory.
    sums: Floats = np.add.reduceat(fold.hat[order], (np.cumsum(count) - count)[there], axis=0).T
    if len(there) == speakers:
        return sums
    scores = np.full((len(fold.held), speakers), -np.inf)
    scores[:, there] = sums
    return scores


def choose_speakers(scores: Floats, label: Ints) -> Ints:
    """Return the speaker of each held-out text, whatever the numbers of their texts.

    It is the one with the largest score in standard deviations of that speaker's indicator over the training texts, so
    that where the words say nothing each is chosen about as often. Where all have as many texts, it is the one with
    the largest score.
    """
    share = np.bincount(label, minlength=scores.shape[1]) / len(label)
    # A speaker without a text, or who has all of them, has no spread, and a score of minus infinity or of nought.
    spread = np.sqrt(np.maximum(share * (1 - share), _TIE))
    chosen: Ints = np.argmax(scores / spread - _TIE * np.arange(scores.shape[1]), axis=1)
    return chosen
