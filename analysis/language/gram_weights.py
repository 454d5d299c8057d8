"""Which words carry a judgement: what each adds to a speaker's score, and whether it does so in every fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.language.word_ridge import Fold

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["FoldWeights", "GramWeights", "list_able_grams", "mean_weights", "weigh_fold"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELLS = 1_000_000  # grams x speakers that are weighed at most; two arrays of them a fold, 160 MB in ten


class FoldWeights(NamedTuple):
    """In one fold, of the able grams, shape (speakers, grams): the weight, and what it adds to the margin.

    The margin is by how much a speaker's own held-out texts score higher for that speaker than those of the others do,
    shape (speakers,); it is the sum of what all grams add. ``met``: whether own and others' texts are held out.
    """

    weight: Floats
    added: Floats
    margin: Floats
    met: NDArray[np.bool_]


class GramWeights(NamedTuple):
    """What single grams do, all folds together; arrays have the shape (speakers, grams).

    ``texts``: of each speaker, with the gram. ``weight``: the mean over folds. ``stability``: the share of the folds
    in which the weight has the sign of the mean; where a gram is unknown it has none. ``share``: of the speaker's
    mean margin; NaN where that is not above 0, so that nothing is carried.
    """

    grams: list[str]
    texts: Ints
    weight: Floats
    stability: Floats
    share: Floats


def list_able_grams(counts: csr_array, folds: Sequence[Ints], speakers: int) -> Ints:
    """Return the columns of the grams that can carry anything: those which stand in two folds or more.

    A gram of one fold is unknown while that is held out and absent from the others. Where there are very many, those
    in the most texts are kept (``speakers`` times as many weights as grams, a million at most).
    """
    there = counts > 0
    in_folds = np.sum([np.asarray(there[held].sum(axis=0)).ravel() > 0 for held in folds], axis=0)
    texts = np.asarray(there.sum(axis=0)).ravel()
    able = np.flatnonzero(in_folds >= 2)
    most = max(1, _CELLS // speakers)
    return np.sort(able[np.argsort(-texts[able], kind="stable")[:most]]).astype(np.int64)


def weigh_fold(fold: Fold, label: Ints, scores: Floats, able: Ints) -> FoldWeights:
    """Take a fold's scores apart into what each able gram adds.

    Parameters
    ----------
    fold
        As `analysis.language.word_ridge.fit_fold` gives.
    label
        The speakers of all texts.
    scores
        Of the held-out texts, shape (held, speakers).
    able
        Columns, as `list_able_grams` gives.
    """
    speakers = np.arange(scores.shape[1])
    known = np.isin(able, fold.grams, assume_unique=True)
    columns = np.searchsorted(fold.grams, able[known])
    trained = (label[fold.train][:, None] == speakers).astype(np.float64)
    weight = np.zeros((len(speakers), len(able)))
    # The dual weights sum to 0, so that centring the grams would change nothing.
    dual = fold.inverse @ (trained - trained.mean(axis=0))
    weight[:, known] = np.asarray(fold.seen[:, columns].T @ dual).T
    own = (label[fold.held][:, None] == speakers).astype(np.float64)
    mine = own.sum(axis=0)
    others = len(own) - mine
    met = (mine > 0) & (others > 0) & (trained.sum(axis=0) > 0)
    contrast = np.where(met, own / np.maximum(mine, 1) - (1 - own) / np.maximum(others, 1), 0.0)
    added = np.zeros_like(weight)
    added[:, known] = np.asarray(fold.unseen[:, columns].T @ contrast).T
    margin = np.where(met, (contrast * np.where(met, scores, 0.0)).sum(axis=0), 0.0)
    return FoldWeights(weight, weight * added, margin, met)


def mean_weights(
    folds: Sequence[FoldWeights], counts: csr_array, grams: Sequence[str], label: Ints, able: Ints
) -> GramWeights:
    """Put the folds together."""
    speakers = len(folds[0].margin)
    weight = np.mean([fold.weight for fold in folds], axis=0)
    agreed = np.mean([np.sign(fold.weight) == np.sign(weight) for fold in folds], axis=0)
    met = np.maximum(np.sum([fold.met for fold in folds], axis=0), 1)
    added = np.sum([fold.added for fold in folds], axis=0) / met[:, None]
    margin = (np.sum([fold.margin for fold in folds], axis=0) / met)[:, None]
    share = np.divide(added, margin, out=np.full_like(added, np.nan), where=margin > 0)
    own = (label[:, None] == np.arange(speakers)).astype(np.float64)
    texts = np.asarray((counts[:, able] > 0).astype(np.float64).T @ own).T
    return GramWeights([grams[i] for i in able], np.rint(texts).astype(np.int64), weight, agreed, share)
