"""Is the overlap's z 0, and does its p keep its level, where nobody differs? Is a difference found?"""

import numpy as np
import polars as pl
import pytest

from analysis.language import overlap_speakers

TASKS, TEXTS, VOCABULARY = 3, 5, 120


def corpus(
    rng: np.random.Generator, lengths: list[int], *, planted: float = 0.0, burst: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw mentions from one vocabulary a task, the share ``planted`` from one that 0 and 1 have in common."""
    texts, mentions = [], []
    for task in range(TASKS):
        weights = rng.permutation(1 / np.arange(1, VOCABULARY + 1))
        for speaker, length in enumerate(lengths):
            for number in range(TEXTS):
                key = (f"{task}-{speaker}-{number}", f"s{speaker}", f"task {task}")
                texts.append(key)
                own = rng.gamma(weights * 20) if burst else weights  # a text keeps to its subject
                entities = rng.choice(VOCABULARY, rng.poisson(length), p=own / own.sum())
                # Everybody says as much that is their own; that of speakers 0 and 1 is the same.
                special = 1000 * max(1, speaker) + rng.integers(0, 60, len(entities))
                entities = np.where(rng.random(len(entities)) < planted, special, entities)
                mentions += [(*key, f"e{entity}") for entity in entities]
    names = ("text_id", "speaker", "task")
    return (
        pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row"),
        pl.DataFrame(mentions, schema=dict.fromkeys((*names, "entity"), pl.String), orient="row"),
    )


def measure(
    corpora: int, lengths: list[int], *, planted: float = 0.0, burst: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return z and p, shape (corpora, pairs)."""
    none = pl.DataFrame(schema={"speaker": pl.String, "a": pl.String, "b": pl.String})
    rng = np.random.default_rng(20)
    found = [
        overlap_speakers(*corpus(rng, lengths, planted=planted, burst=burst), none, seed=seed, shuffles=99)
        for seed in range(corpora)
    ]
    return np.array([one["z"].to_list() for one in found]), np.array([one["p"].to_list() for one in found])


def check_calibration(corpora: int, lengths: list[int], *, burst: bool) -> None:
    """No z is off 0 and no p rejects above its level, within four Monte-Carlo errors."""
    z, p = measure(corpora, lengths, burst=burst)
    # 0.05 is what the shuffles in fifty that do not reach the depth leave; raw counts are off by about 6.
    assert (np.abs(z.mean(axis=0)) < 0.05 + 4 / corpora**0.5).all()
    for level in (0.05, 0.2):
        assert ((p <= level).mean(axis=0) < level + 4 * (level * (1 - level) / corpora) ** 0.5).all()


# 18 and 6 are what texts of 60 and 20 words mention; the last are speakers who name something with every word.
LENGTHS = [[10, 10, 10], [18, 6], [18, 6, 18, 6], [60, 20, 60, 20]]


@pytest.mark.slow
@pytest.mark.parametrize("burst", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_nothing_is_found_where_nobody_differs(lengths: list[int], burst: bool) -> None:
    check_calibration(30, lengths, burst=burst)


@pytest.mark.prove
@pytest.mark.parametrize("burst", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_nothing_is_found_in_500_corpora_where_nobody_differs(lengths: list[int], burst: bool) -> None:
    check_calibration(500, lengths, burst=burst)


def test_a_planted_overlap_is_found() -> None:
    z, p = measure(5, [18, 6, 18, 6], planted=0.5)
    assert (z[:, 0] > 2.5).all()
    assert (p[:, 0] < 0.05).all()
    # And the others share less with those two than they would by chance.
    assert (z[:, 1:5].mean(axis=0) < 0).all()


def raw_z(texts: pl.DataFrame, entities: pl.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Return z of the plain numbers of shared entities, texts shuffled between speakers within tasks."""
    speakers = sorted(texts["speaker"].unique())
    said = entities.group_by("text_id").agg(pl.col("entity").unique())
    texts = texts.join(said, on="text_id", how="left").sort("task", "text_id")
    words = [set(names or []) for names in texts["entity"].to_list()]
    task, who = texts["task"].to_numpy(), texts["speaker"].to_numpy()

    def share() -> list[int]:
        spoken = [set().union(*(words[i] for i in np.flatnonzero(who == name))) for name in speakers]
        return [len(spoken[i] & spoken[j]) for i in range(len(spoken)) for j in range(i + 1, len(spoken))]

    observed, shuffled = np.array(share()), []
    for _ in range(99):
        for name in np.unique(task):
            who[task == name] = rng.permutation(who[task == name])
        shuffled.append(share())
    return np.asarray((observed - np.mean(shuffled, axis=0)) / np.std(shuffled, axis=0, ddof=1))


def test_raw_numbers_make_the_long_winded_overlap() -> None:
    # Why samples of equal size: two who say three times as much as the other two, all in the same words.
    rng = np.random.default_rng(3)
    raw = [raw_z(*corpus(rng, [18, 6, 18, 6]), rng) for _ in range(5)]
    assert np.mean(raw, axis=0)[1] > 2.5  # of 0 and 2, the long-winded: 4.0 over many corpora
    z, _ = measure(20, [18, 6, 18, 6])
    assert abs(z[:, 1].mean()) < 0.05 + 4 / 20**0.5
