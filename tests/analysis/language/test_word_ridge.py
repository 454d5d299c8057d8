"""The classifier against scikit-learn's, refitted for every fold and every labelling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_texts import made_texts
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline

from analysis.language.gram_weights import list_able_grams, mean_weights, weigh_fold
from analysis.language.word_ridge import (
    RIDGE,
    choose_speakers,
    count_grams,
    deal_folds,
    fit_fold,
    list_grams,
    score_texts,
)

SPEAKERS = 4
FRAME = made_texts(np.random.default_rng(3), SPEAKERS, markers={0: "kindly", 2: "scalable"})
TEXTS = FRAME["text"].to_list()
LABEL = np.array([int(name[1:]) for name in FRAME["speaker"]])
COUNTS, GRAMS = count_grams(TEXTS)
FOLDS = deal_folds(FRAME["task"].to_list(), most=10)


def shuffled(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(LABEL)


@pytest.mark.parametrize("label", [LABEL, shuffled(1), shuffled(2)])
@pytest.mark.parametrize("held", FOLDS)
def test_it_chooses_as_the_ridge_classifier_of_scikit_learn_does(held: np.ndarray, label: np.ndarray) -> None:
    fold = fit_fold(COUNTS, held)
    peer = make_pipeline(TfidfVectorizer(analyzer=list_grams, sublinear_tf=True), RidgeClassifier(RIDGE, tol=1e-10))
    peer.fit([TEXTS[i] for i in fold.train], label[fold.train])
    scores = score_texts(fold, label[fold.train], SPEAKERS)
    # With the prior put back where it was, for a shuffle leaves no equal numbers in the training texts.
    share = np.bincount(label[fold.train], minlength=SPEAKERS) / len(fold.train)
    assert (peer.predict([TEXTS[i] for i in held]) == np.argmax(scores + share, axis=1)).all()


def test_scores_and_weights_are_those_of_a_refitted_regression() -> None:
    fold = fit_fold(COUNTS, FOLDS[0])
    label = LABEL[fold.train]
    target = (label[:, None] == np.arange(SPEAKERS)).astype(float)
    peer = Ridge(alpha=RIDGE).fit(fold.seen.toarray(), target)
    scores = score_texts(fold, label, SPEAKERS)
    assert scores + target.mean(axis=0) == pytest.approx(peer.predict(fold.unseen.toarray()), abs=1e-9)
    able = list_able_grams(COUNTS, FOLDS, SPEAKERS)
    weight = weigh_fold(fold, LABEL, scores, able).weight
    known = np.isin(able, fold.grams)
    assert weight[:, known] == pytest.approx(peer.coef_[:, np.searchsorted(fold.grams, able[known])], abs=1e-9)
    assert (weight[:, ~known] == 0).all()


def test_what_the_able_grams_add_is_the_whole_margin() -> None:
    able = list_able_grams(COUNTS, FOLDS, SPEAKERS)
    fitted = [fit_fold(COUNTS, held) for held in FOLDS]
    folds = [weigh_fold(fold, LABEL, score_texts(fold, LABEL[fold.train], SPEAKERS), able) for fold in fitted]
    for fold in folds:
        assert fold.added.sum(axis=1) == pytest.approx(fold.margin, abs=1e-9)
    found = mean_weights(folds, COUNTS, GRAMS, LABEL, able)
    carried = np.flatnonzero(np.isfinite(found.share).all(axis=1))
    assert {0, 2} <= set(carried.tolist())
    assert found.share[carried].sum(axis=1) == pytest.approx(1)
    kindly = found.grams.index("kindly")
    assert found.texts[:, kindly].tolist() == [9, 0, 0, 0]
    assert found.share[0, kindly] == found.share[0].max()
    assert found.stability[0, kindly] == 1


def test_nothing_of_a_held_out_text_is_learned() -> None:
    held = FOLDS[1]
    changed = ["kindly kindly unheard of" if i in held else text for i, text in enumerate(TEXTS)]
    counts, grams = count_grams(changed)
    before, after = fit_fold(COUNTS, held), fit_fold(counts, held)
    assert [GRAMS[i] for i in before.grams] == [grams[i] for i in after.grams]
    assert (before.seen != after.seen).nnz == 0
    assert (before.inverse == after.inverse).all()


def test_a_speaker_without_a_training_text_is_never_chosen() -> None:
    fold = fit_fold(COUNTS, FOLDS[0])
    label = np.where(LABEL[fold.train] == 1, 3, LABEL[fold.train])
    scores = score_texts(fold, label, SPEAKERS)
    assert (scores[:, 1] == -np.inf).all()
    assert 1 not in choose_speakers(scores, label)


def test_equal_scores_go_to_the_first() -> None:
    fold = fit_fold(COUNTS, FOLDS[0])
    scores = np.array([[0.1, 0.1 + 1e-15, 0.0, 0.1]])
    assert choose_speakers(scores, np.array([0, 1, 2, 3])).tolist() == [0]
    assert len(fold.held) == 12


@given(st.lists(st.sampled_from("abcdefghijklm"), min_size=1, max_size=40), st.integers(1, 6))
def test_no_fold_splits_a_group(groups: list[str], most: int) -> None:
    folds = deal_folds(groups, most=most)
    assert len(folds) == min(most, len(set(groups)))
    assert sorted(i for fold in folds for i in fold) == list(range(len(groups)))
    for one in folds:
        for other in folds:
            assert one is other or not {groups[i] for i in one} & {groups[i] for i in other}
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= max(map(groups.count, groups))
