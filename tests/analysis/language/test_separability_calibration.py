"""Is the separability's p uniform where speakers are shuffled? Is a word that one of them says found?"""

import numpy as np
import polars as pl
import pytest
from made_texts import made_texts

from analysis.language import separate_speakers

PERMUTATIONS = 39  # 0.05 and 0.5 are then levels that a p can have exactly


def measure(corpora: int, *, unequal: bool = False, one_task: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return p and accuracy less its expectation in corpora whose texts were dealt out to speakers within tasks."""
    p, gap = [], []
    for seed in range(corpora):
        rng = np.random.default_rng([seed, unequal, one_task])
        texts = made_texts(rng, 3, tasks=1 if one_task else 3, each=10 if one_task else 4, markers={0: "kindly"})
        # Who says a phrase, and so is told by it, is not who said it: dealt out anew in each task.
        texts = texts.with_columns(draw=pl.Series(rng.random(texts.height)))
        texts = texts.with_columns(pl.col("text").sort_by("draw").over("task")).drop("draw")
        if unequal:
            number = pl.col("text_id").str.split("-").list.last().cast(pl.Int64)
            texts = texts.filter((pl.col("speaker") == "s0") | (number < 2))
        found = separate_speakers(texts, seed=seed, permutations=PERMUTATIONS, pairs=False).summary.row(0, named=True)
        p.append(found["p"])
        gap.append(found["accuracy"] - found["expected"])
    return np.array(p), np.array(gap)


def check_calibration(corpora: int, **kind: bool) -> None:
    """No level is exceeded, and no half of the p is missing, within four Monte-Carlo errors."""
    p, gap = measure(corpora, **kind)
    for level in (0.05, 0.25, 0.5):
        assert (p <= level).mean() < level + 4 * (level * (1 - level) / corpora) ** 0.5
    # A shuffle that is told exactly as well counts against the observed: up to a fifth do.
    assert (p <= 0.5).mean() > 0.3 - 4 * (0.25 / corpora) ** 0.5
    assert abs(gap.mean()) < 4 * gap.std(ddof=1) / corpora**0.5


KINDS = [{}, {"unequal": True}, {"one_task": True}]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_shuffled_speakers_are_told_no_more_often_than_the_level(kind: dict[str, bool]) -> None:
    check_calibration(40, **kind)


@pytest.mark.prove
@pytest.mark.parametrize("kind", KINDS)
def test_speakers_shuffled_in_500_corpora_are_told_no_more_often_than_the_level(kind: dict[str, bool]) -> None:
    check_calibration(500, **kind)


def find(corpora: int, share: float) -> np.ndarray:
    """Return p where speaker 0 says a phrase in that share of the texts."""
    markers = {0: "if you would be so kind"}
    return np.array(
        [
            separate_speakers(
                made_texts(np.random.default_rng(seed), 3, tasks=4, each=4, markers=markers, share=share),
                seed=seed,
                permutations=PERMUTATIONS,
                pairs=False,
            )
            .summary["p"]
            .item()
            for seed in range(corpora)
        ]
    )


def test_a_planted_phrase_is_found() -> None:
    assert (find(5, 1.0) <= 0.05).all()


@pytest.mark.prove
def test_the_power_rises_with_what_was_planted() -> None:
    found = [(find(100, share) <= 0.05).mean() for share in (0.0, 0.3, 0.7, 1.0)]
    assert found == sorted(found)
    assert found[0] < 0.05 + 4 * (0.05 * 0.95 / 100) ** 0.5
    assert found[-1] > 0.95
