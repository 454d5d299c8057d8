"""Samples of equal size: how many entities two speakers share when everybody says the same number of things."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.running.calls import derive_seed

__all__ = ["Sample", "number_mentions", "rarefy_observed", "rarefy_shuffled", "rarefy_thinned"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELLS = 200_000  # speakers x entities up to which a plain matrix product is the fastest; changes no result
_PILOT = 500  # shuffles from which the depth of a task is found
_REACHED = 0.02  # the share of shuffles that may leave a speaker with fewer mentions than the depth


class Sample(NamedTuple):
    """The texts and mentions of the tasks in which something can be shuffled, numbered, ordered by task.

    Per text: ``task``, ``speaker``. Per mention: ``text``, ``entity``, ``author`` (the number of its speaker in its
    task). ``quota``: of each author, how many mentions the mean length of the tersest allows. ``depth``: of each
    task. ``log_factorials``: of every number of mentions.
    """

    speakers: int
    entities: int
    names: list[str]
    task: Ints
    speaker: Ints
    text: Ints
    entity: Ints
    author: Ints
    quota: Ints
    depth: Ints
    log_factorials: Floats


def number_mentions(texts: pl.DataFrame, entities: pl.DataFrame, speakers: list[str], *, seed: int) -> Sample:
    """Leave out what cannot be shuffled, number the rest, and find each task's depth."""
    number = {speaker: i for i, speaker in enumerate(speakers)}
    vocabulary = {name: i for i, name in enumerate(sorted(entities["entity"].unique().to_list()))}
    said: dict[str, list[int]] = defaultdict(list)
    # Sorted, so that no result depends on the order of the rows.
    for text_id, entity in entities.select("text_id", "entity").sort("text_id", "entity").iter_rows():
        said[text_id].append(vocabulary[entity])
    by_task: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for task, text_id, speaker in texts.select("task", "text_id", "speaker").sort("task", "text_id").iter_rows():
        by_task[task or ""][number[speaker]].append(text_id)
    names: list[str] = []
    task_of: list[int] = []
    speaker_of: list[int] = []
    text_of: list[int] = []
    entity_of: list[int] = []
    author_of: list[int] = []
    quotas: list[int] = []
    depths: list[int] = []
    for task, by_speaker in sorted(by_task.items()):
        sizes = {s: [len(said[text_id]) for text_id in ids] for s, ids in sorted(by_speaker.items())}
        sizes = {s: lengths for s, lengths in sizes.items() if any(lengths)}
        if len(sizes) < 2:
            continue
        terse = min(sum(lengths) / len(lengths) for lengths in sizes.values())
        rng = np.random.default_rng(derive_seed(seed, "overlap", "depth", task))
        for s, lengths in sizes.items():
            for text_id in by_speaker[s]:
                entity_of += said[text_id]
                text_of += [len(task_of)] * len(said[text_id])
                author_of += [len(quotas)] * len(said[text_id])
                task_of.append(len(names))
                speaker_of.append(s)
            # At least one of a speaker who said something, at most all.
            quotas.append(min(sum(lengths), max(1, round(terse * len(lengths)))))
        depths.append(_find_depth(sizes, terse, rng))
        names.append(task)
    return Sample(
        speakers=len(speakers),
        entities=len(vocabulary),
        names=names,
        task=np.array(task_of, dtype=np.int64),
        speaker=np.array(speaker_of, dtype=np.int64),
        text=np.array(text_of, dtype=np.int64),
        entity=np.array(entity_of, dtype=np.int64),
        author=np.array(author_of, dtype=np.int64),
        quota=np.array(quotas, dtype=np.int64),
        depth=np.array(depths, dtype=np.int64),
        log_factorials=np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, len(entity_of) + 1)))]),
    )


def _find_depth(sizes: dict[int, list[int]], terse: float, rng: np.random.Generator) -> int:
    """Return how many mentions each speaker gives in a task: what the one with fewest has, even when shuffled."""
    everyone = terse * min(map(len, sizes.values()))
    lengths = np.concatenate([np.array(own) * (terse * len(own) / sum(own)) for own in sizes.values()])
    starts = np.cumsum([0, *(len(own) for own in sizes.values())])[:-1]
    fewest = [np.add.reduceat(rng.permutation(lengths), starts).min() for _ in range(_PILOT)]
    # A hair added before rounding down: a sum of thirds that is a whole number must not lose one.
    return max(1, int(min(everyone, float(np.quantile(fewest, _REACHED))) + 1e-6))


def rarefy_observed(sample: Sample) -> Floats:
    """Return the mean number of shared entities of the texts as they are, shape (speakers, speakers)."""
    return _rarefy(sample.speaker[sample.text], sample.task[sample.text], sample.entity, sample)


def rarefy_shuffled(sample: Sample, *, seed: int, shuffles: int) -> Iterator[Floats]:
    """Yield the mean number of shared entities after each shuffle, shape (speakers, speakers); each time the same."""
    streams = [np.random.default_rng(derive_seed(seed, "overlap", "shuffle", task)) for task in sample.names]
    texts = [np.flatnonzero(sample.task == task) for task in range(len(sample.names))]
    for _ in range(shuffles):
        # One task's numbers after another's, each from its own stream.
        shuffled = [rng.permutation(sample.speaker[rows]) for rng, rows in zip(streams, texts, strict=True)]
        yield _rarefy_some(np.concatenate(shuffled), streams, sample)


def rarefy_thinned(sample: Sample, *, seed: int, draws: int) -> Iterator[Floats]:
    """Yield the mean number of shared entities of thinned but not shuffled texts, shape (speakers, speakers)."""
    if int(sample.quota.sum()) == len(sample.text):
        draws = 1  # nothing is thinned out, so that one draw is like another
    streams = [np.random.default_rng(derive_seed(seed, "overlap", "thin", task)) for task in sample.names]
    for _ in range(draws):
        yield _rarefy_some(sample.speaker, streams, sample)


def _rarefy_some(speaker: Ints, streams: list[np.random.Generator], sample: Sample) -> Floats:
    """Thin every author's mentions to the quota, give the texts to ``speaker``, and rarefy."""
    mentions = np.bincount(sample.task[sample.text], minlength=len(streams))
    order = np.concatenate([rng.random(size) for rng, size in zip(streams, mentions, strict=True)])
    kept = np.flatnonzero(_rank_within(sample.author, order) < sample.quota[sample.author])
    text = sample.text[kept]
    return _rarefy(speaker[text], sample.task[text], sample.entity[kept], sample)


def _rank_within(group: Ints, order: Floats) -> Ints:
    """Return each member's place in its group, from 0, when a group is put in ``order`` (numbers in [0, 1))."""
    rows = np.argsort(group + order)
    ordered = group[rows]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    ranks = np.empty(len(group), dtype=np.int64)
    ranks[rows] = np.arange(len(group)) - np.repeat(begins, np.diff(begins, append=len(group)))
    return ranks


def _rarefy(speaker: Ints, task: Ints, entity: Ints, sample: Sample) -> Floats:
    """Return the mean number of shared entities over all draws of the depth, shape (speakers, speakers).

    ``speaker``, ``task`` and ``entity`` are those of the mentions from which is drawn.
    """
    pool = speaker * len(sample.names) + task
    cell, count = np.unique(pool * sample.entities + entity, return_counts=True)
    pool_of, entity_of = np.divmod(cell, sample.entities)
    speaker_of, task_of = np.divmod(pool_of, len(sample.names))
    n = np.bincount(pool)[pool_of]
    d = np.minimum(sample.depth[task_of], n)
    left = n - count - d  # below 0: more are drawn than there are others, so the entity is certain
    log = sample.log_factorials
    absent = np.where(left < 0, -np.inf, log[n - count] - log[np.maximum(left, 0)] - log[n] + log[n - d])
    cells = speaker_of * sample.entities + entity_of
    if sample.speakers * sample.entities <= _CELLS:
        never = np.bincount(cells, weights=absent, minlength=sample.speakers * sample.entities)
        present = -np.expm1(never.reshape(sample.speakers, sample.entities))
        return np.asarray(present @ present.T)
    from scipy.sparse import csr_array  # noqa: PLC0415 - heavy, and only for many speakers

    held, inverse = np.unique(cells, return_inverse=True)
    weights = -np.expm1(np.bincount(inverse, weights=absent))
    shape = (sample.speakers, sample.entities)
    sparse = csr_array((weights, np.divmod(held, sample.entities)), shape=shape)
    return np.asarray((sparse @ sparse.T).toarray())
