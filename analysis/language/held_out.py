"""How well the speakers of held-out texts are told, beside the same with the speakers shuffled within tasks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.language.gram_weights import FoldWeights, GramWeights, list_able_grams, mean_weights, weigh_fold
from analysis.language.word_ridge import choose_speakers, count_grams, deal_folds, fit_fold, score_texts
from simulator.running.calls import derive_seed

__all__ = ["FOLDS", "Judged", "Labelled", "judge_texts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 10
"""At most: with more than ten tasks, several are held out at once."""

_TIE = 1e-9  # two accuracies that differ by rounding alone are equal


class Labelled(NamedTuple):
    """Texts with their tasks and speakers; ``label`` is a speaker's number among ``names``."""

    texts: list[str]
    tasks: list[str]
    label: Ints
    names: list[str]


class Judged(NamedTuple):
    """The speaker chosen for each held-out text, the accuracy in each task, and the accuracy after each shuffle.

    ``by_task``: in the tasks' alphabetical order, the mean over the task's speakers of the share of their texts that
    are told; ``accuracy`` is the mean over tasks. ``p``: one-sided, of Phipson and Smyth.
    """

    chosen: Ints
    by_task: Floats
    accuracy: float
    shuffled: Floats
    p: float
    folds: int
    weights: GramWeights | None


def judge_texts(
    said: Labelled, *, by_task: bool, seed: int, names: tuple[str, ...], permutations: int, weigh: bool = False
) -> Judged:
    """Hold out each fold once, tell its speakers from the rest, and do the same with shuffled speakers.

    The folds and all that is learned without labels stay as they are: a shuffle changes the labels alone, within each
    task, so that under "the speakers of a task could have said each other's texts" the observed accuracy is one like
    the shuffled.

    Parameters
    ----------
    said
        At least two texts, one of them with a word.
    by_task
        Whether a fold is of whole tasks; else of texts, dealt out at random but without regard to speakers.
    seed, names
        The streams are derived from them and each task's name.
    permutations
        How many shuffles.
    weigh
        Whether to weigh single grams too.
    """
    counts, grams = count_grams(said.texts)
    speakers = len(said.names)
    tasks, task = np.unique(np.array(said.tasks, dtype=object), return_inverse=True)
    if by_task:
        folds = deal_folds(said.tasks, most=FOLDS)
    else:
        rng = np.random.default_rng(derive_seed(seed, *names, "folds"))
        order = rng.permutation(len(said.texts))
        folds = [np.sort(order[start::FOLDS]) for start in range(min(FOLDS, len(order)))]
    labels = _shuffle_labels(said.label, task, list(tasks), seed=seed, names=names, permutations=permutations)
    size = np.zeros((len(tasks), speakers))
    np.add.at(size, (task, said.label), 1)
    there = (size > 0).sum(axis=1)
    # What one text that is told adds: a task's speakers weigh equally in it. Shuffles change no number of texts.
    worth = 1 / np.maximum(size, 1) / there[:, None]
    chosen = np.zeros(len(task), dtype=np.int64)
    shuffled = np.zeros(permutations)
    able = list_able_grams(counts, folds, speakers) if weigh else np.array([], dtype=np.int64)
    weights: list[FoldWeights] = []
    for held in folds:
        fold = fit_fold(counts, held)
        train = fold.train
        scores = score_texts(fold, said.label[train], speakers)
        chosen[held] = choose_speakers(scores, said.label[train])
        if weigh:
            weights.append(weigh_fold(fold, said.label, scores, able))
        for number, label in enumerate(labels):
            found = choose_speakers(score_texts(fold, label[train], speakers), label[train])
            hit = found == label[held]
            shuffled[number] += worth[task[held[hit]], found[hit]].sum()
    hit = chosen == said.label
    told = np.zeros(len(tasks))
    np.add.at(told, task[hit], worth[task[hit], chosen[hit]])
    shuffled /= len(tasks)
    reached = int((shuffled >= told.mean() - _TIE).sum())
    return Judged(
        chosen=chosen,
        by_task=told,
        accuracy=float(told.mean()),
        shuffled=shuffled,
        p=(1 + reached) / (permutations + 1),
        folds=len(folds),
        weights=mean_weights(weights, counts, grams, said.label, able) if weigh else None,
    )


def _shuffle_labels(
    label: Ints, task: Ints, tasks: list[str], *, seed: int, names: tuple[str, ...], permutations: int
) -> NDArray[np.int32]:
    """Return the labels after each shuffle within tasks, shape (permutations, texts)."""
    labels = np.empty((permutations, len(label)), dtype=np.int32)
    for number, name in enumerate(tasks):
        rows = np.flatnonzero(task == number)
        rng = np.random.default_rng(derive_seed(seed, *names, "shuffle", name))
        labels[:, rows] = rng.permuted(np.tile(label[rows], (permutations, 1)), axis=1)
    return labels
