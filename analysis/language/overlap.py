"""Which speakers use the same entities, and whether more or fewer than their share of talk alone would make them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.running.calls import derive_seed

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["OVERLAP", "adjust_p", "overlap_speakers", "speaker_graph"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OVERLAP = pl.Schema(
    {
        "a": pl.String(),
        "b": pl.String(),
        "shared_entities": pl.Int64(),
        "shared_pairs": pl.Int64(),
        "union_entities": pl.Int64(),
        "jaccard": pl.Float64(),
        "rarefied": pl.Float64(),
        "expected": pl.Float64(),
        "z": pl.Float64(),
        "p": pl.Float64(),
        "q": pl.Float64(),
        "names": pl.List(pl.String()),
    }
)
"""Two speakers. ``expected`` belongs beside ``rarefied``, which counts shared entities in samples of equal size;
``shared_entities`` counts them in all that was said. A null is what cannot be said: see `overlap_speakers`."""

_CELLS = 2_000_000  # speakers x entities up to which a plain matrix product is the fastest; changes no result
_PILOT = 500  # shuffles from which the depth of a task is found
_THINNED = 200  # samples from which the noise of thinning is found
_REACHED = 0.02  # the share of shuffles that may leave a speaker with fewer mentions than the depth
_LEAST_KEPT = 0.25  # of the variance of the shuffled, whatever is estimated of the noise in it
_TIE = 1e-9  # two counts that differ by rounding alone are equal
_DIGITS = 9  # decimals kept: what the order of summation can change lies below


class _Sample(NamedTuple):
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


def overlap_speakers(
    texts: pl.DataFrame, entities: pl.DataFrame, pairs: pl.DataFrame, *, seed: int, shuffles: int = 1000
) -> pl.DataFrame:
    r"""Count what every two speakers share, and compare it with texts shuffled between speakers within tasks.

    Raw counts come from everything that was said. A speaker who says more shares more, whatever is said, so
    ``rarefied``, ``expected``, ``z`` and ``p`` come from samples of equal size:

    1. *Depth.* In task t, speaker s has :math:`k_{st}` texts with :math:`n_{st}` mentions. The tersest speaker's
       mean, :math:`m_t = \min_s n_{st} / k_{st}`, and the fewest texts, :math:`\min_s k_{st}`, give the mentions that
       everyone can give; the depth :math:`d_t` is that number, or the smaller one that everyone still has in 49 of 50
       shuffles; at least 1.
    2. *Observed.* Of each speaker :math:`d_t` mentions per task are drawn without replacement, and :math:`T_{ab}` is
       the number of distinct entities in both samples, all tasks together. ``rarefied`` is its mean over all such
       draws, exactly: :math:`\sum_e P_{ae} P_{be}` with the hypergeometric :math:`P_{se} = 1 - \prod_t \binom{n_{st}
       - c_{ste}}{d_t} / \binom{n_{st}}{d_t}`.
    3. *Shuffled.* In each of ``shuffles`` rounds, every speaker's mentions in a task are first thinned at random to
       :math:`m_t k_{st}`, so that nobody's texts are longer on average; then the texts of a task are shuffled between
       its speakers, who keep their numbers of texts; T is then the mean over all draws of :math:`d_t` mentions from
       what each now has, as in step 2.
    4. ``expected`` is the mean of the shuffled T and V their variance (ddof 1). V holds the noise of drawing the
       thinning once, of which ``rarefied``, a mean over all draws, is free: W is its variance, from up to 200
       thinnings of the texts as they are. ``z`` is (rarefied - expected) / :math:`\sqrt{V - W}` (V - W at least
       V / 4).
    5. ``p`` is two-sided and mid-p, of the deviation from ``expected`` among those of the shuffled T, these scaled by
       :math:`\sqrt{(V - W) / V}`, which is 1 where all are equally terse: with g of them above, l below and e equal,
       and the observed one counting as equal to itself, p = min(1, 2 (min(g, l) + (e + 1) / 2) / (shuffles + 1)):
       never 0. Nor is it smaller than one in the number of ways in which the texts can be dealt out to the two, since
       no shuffle can tell more: four speakers with one text each give no p below one in six.

    Where nobody differs, z is near standard normal for any lengths of texts; it is smaller, and the test conservative,
    for two of whom much is thinned out (the bound in step 4). The other speakers are part of the comparison: two who
    talk alike share less than expected where shuffling gives each of them the words of everybody else. ``q`` is
    Benjamini and Hochberg's, over all pairs that have a p.

    Parameters
    ----------
    texts
        ``text_id``, ``speaker``, ``task``. Texts without a mention count as texts.
    entities
        As `extract_entities` gives.
    pairs
        As `count_pairs` gives; counted in ``shared_pairs`` and in nothing else.
    seed
        Each task has its own stream, derived from the seed and its name: another task moves none of its shuffles.
    shuffles
        How many, at least 1.

    Returns
    -------
    DataFrame
        The columns of `OVERLAP`, one row for every two speakers in the order in which they first appear in ``texts``.
        ``names`` are the shared entities, those that both together mention most first. ``jaccard`` is null where
        neither has an entity; ``rarefied`` to ``q`` are null where the two never answered the same task with at least
        one entity each, so that nothing can be shuffled between them. Where shuffling changes nothing, z is 0 and p
        is 1.

    References
    ----------
    Hurlbert, S. H. (1971). The nonconcept of species diversity. Ecology 52, 577-586. doi:10.2307/1934145 (rarefaction).
    Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. doi:10.2202/1544-6115.1585.
    Benjamini, Y. and Hochberg, Y. (1995). doi:10.1111/j.2517-6161.1995.tb02031.x.

    Examples
    --------
    >>> texts = pl.DataFrame({"text_id": ["1", "2"], "speaker": ["ann", "bob"], "task": ["", ""]})
    >>> mentions = texts.with_columns(entity=pl.lit("table"))
    >>> none = pl.DataFrame(schema={"speaker": pl.String, "a": pl.String, "b": pl.String})
    >>> overlap_speakers(texts, mentions, none, seed=7, shuffles=99).select("shared_entities", "z", "p").row(0)
    (1, 0.0, 1.0)
    """
    if shuffles < 1:
        raise ValueError(f"shuffles is {shuffles}; at least one is needed")
    speakers: list[str] = texts["speaker"].unique(maintain_order=True).to_list()
    spoken: dict[str, dict[str, int]] = {speaker: {} for speaker in speakers}
    for speaker, entity, count in entities.group_by("speaker", "entity").len().sort("speaker", "entity").iter_rows():
        spoken[speaker][entity] = count
    paired: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for speaker, a, b in pairs.select("speaker", "a", "b").iter_rows():
        paired[speaker].add((a, b))
    compared = _compare(texts, entities, speakers, seed=seed, shuffles=shuffles)
    rows = []
    for (i, a), (j, b) in combinations(enumerate(speakers), 2):
        mine, theirs = spoken[a], spoken[b]
        shared = sorted(mine.keys() & theirs.keys(), key=lambda name: (-mine[name] - theirs[name], name))
        union = len(mine) + len(theirs) - len(shared)
        numbers = compared[:, i, j].tolist()
        rows.append(
            {
                "a": a,
                "b": b,
                "shared_entities": len(shared),
                "shared_pairs": len(paired[a] & paired[b]),
                "union_entities": union,
                "jaccard": len(shared) / union if union else None,
                **dict(zip(("rarefied", "expected", "z", "p"), numbers, strict=True)),
                "names": shared,
            }
        )
    frame = pl.DataFrame(rows, schema=pl.Schema([(name, kind) for name, kind in OVERLAP.items() if name != "q"]))
    frame = frame.with_columns(q=pl.Series(adjust_p(frame["p"].to_numpy()), dtype=pl.Float64))
    measured = ["rarefied", "expected", "z", "p", "q"]
    return frame.select(OVERLAP.names()).with_columns(pl.col(measured).fill_nan(None).round(_DIGITS))


def adjust_p(p: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values (q); a NaN stays NaN and does not count among the tests.

    Parameters
    ----------
    p
        p-values in [0, 1] or NaN, shape (m,).

    Returns
    -------
    ndarray
        Shape (m,), in the order of ``p``.

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - heavy

    q = np.array(p, dtype=np.float64)
    known = ~np.isnan(q)
    if known.any():
        q[known] = false_discovery_control(q[known])
    return q


def speaker_graph(speakers: pl.DataFrame, overlap: pl.DataFrame) -> nx.Graph[str]:
    """Build the graph of speakers, weighted by the entities that two of them share.

    Parameters
    ----------
    speakers, overlap
        As `count_speakers` and `overlap_speakers` give.

    Returns
    -------
    networkx.Graph
        A node a speaker with its counts; an edge for every two that share an entity, with ``weight`` =
        ``shared_entities`` and the other columns. Every attribute is a number or text, as GraphML needs: ``names``
        are joined by "; ", and what is null or NaN is not there.
    """
    import networkx as nx  # noqa: PLC0415 - heavy

    graph: nx.Graph[str] = nx.Graph()
    for row in speakers.iter_rows(named=True):
        graph.add_node(row.pop("speaker"), **_known(row))
    for row in overlap.filter(pl.col("shared_entities") > 0).iter_rows(named=True):
        row["names"] = "; ".join(row["names"] or [])
        graph.add_edge(row.pop("a"), row.pop("b"), weight=row["shared_entities"], **_known(row))
    return graph


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """Return the cells that hold something; NaN is not equal to itself."""
    return {name: value for name, value in row.items() if value is not None and value == value}  # noqa: PLR0124


def _compare(texts: pl.DataFrame, entities: pl.DataFrame, speakers: list[str], *, seed: int, shuffles: int) -> Floats:
    """Return rarefied, expected, z and p of every two speakers, shape (4, speakers, speakers); NaN where undefined."""
    count = len(speakers)
    sample = _number(texts, entities, speakers, seed=seed)
    if not sample.names:
        return np.full((4, count, count), np.nan)
    observed = _rarefy(sample.speaker[sample.text], sample.task[sample.text], sample.entity, sample)
    mean, variance = _moments(_shuffle(sample, seed=seed, shuffles=shuffles))
    _, noise = _moments(_thin(sample, seed=seed, draws=min(shuffles, _THINNED)))
    # The observed mean has no part of the noise of thinning in what the shuffled vary. What an estimate of that noise
    # can take away is bounded.
    kept = np.divide(variance - noise, variance, out=np.ones_like(variance), where=variance > _TIE)
    scale = np.sqrt(np.clip(kept, _LEAST_KEPT, 1))
    spread = np.sqrt(variance) * scale
    gap = observed - mean
    z = np.divide(gap, spread, out=np.where(np.abs(gap) <= _TIE, 0.0, np.nan), where=spread > _TIE)
    above, equal = np.zeros((count, count)), np.zeros((count, count))
    threshold = mean + gap / scale
    for shared in _shuffle(sample, seed=seed, shuffles=shuffles):
        above += shared - threshold > _TIE
        equal += np.abs(shared - threshold) <= _TIE
    tail = np.minimum(above, shuffles - above - equal) + (equal + 1) / 2
    p = np.minimum(1.0, np.maximum(2 * tail / (shuffles + 1), _smallest_p(sample)))
    results = np.stack([observed, mean, z, p])
    met = np.zeros((count, count), dtype=bool)
    for task in range(len(sample.names)):
        present = np.unique(sample.speaker[sample.task == task])
        met[np.ix_(present, present)] = True
    results[:, ~met] = np.nan
    return results


def _smallest_p(sample: _Sample) -> Floats:
    """Return the smallest two-sided mid-p that the design can give, shape (speakers, speakers).

    It is one in the ways of dealing all texts of a task out to the two; who of the two gets which makes no difference
    where both have as many.
    """
    from scipy.special import gammaln  # noqa: PLC0415 - heavy

    ways = np.zeros((sample.speakers, sample.speakers))
    same = np.ones((sample.speakers, sample.speakers), dtype=bool)
    for task in range(len(sample.names)):
        texts = np.bincount(sample.speaker[sample.task == task], minlength=sample.speakers)
        a, b = texts[:, None], texts[None, :]
        both = (a > 0) & (b > 0)
        rest = np.where(both, texts.sum() - a - b, 0)
        dealt = gammaln(texts.sum() + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(rest + 1)
        ways += np.where(both, dealt, 0.0)
        same &= (a == b) | ~both
    smallest: Floats = np.exp(-np.maximum(ways - np.log(2) * same, 0.0))
    return smallest


def _number(texts: pl.DataFrame, entities: pl.DataFrame, speakers: list[str], *, seed: int) -> _Sample:
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
    return _Sample(
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


def _moments(counts: Iterable[Floats]) -> tuple[Floats, Floats]:
    """Return mean and variance (ddof 1; of a single one 0) of arrays that come one by one (Welford's updates)."""
    mean, squares, number = np.zeros(()), np.zeros(()), 0
    for number, shared in enumerate(counts, start=1):
        step = shared - mean
        mean = mean + step / number
        squares = squares + step * (shared - mean)
    return mean, squares / max(number - 1, 1)


def _shuffle(sample: _Sample, *, seed: int, shuffles: int) -> Iterator[Floats]:
    """Yield the mean number of shared entities after each shuffle, shape (speakers, speakers); each time the same."""
    streams = [np.random.default_rng(derive_seed(seed, "overlap", "shuffle", task)) for task in sample.names]
    texts = [np.flatnonzero(sample.task == task) for task in range(len(sample.names))]
    for _ in range(shuffles):
        # One task's numbers after another's, each from its own stream.
        shuffled = [rng.permutation(sample.speaker[rows]) for rng, rows in zip(streams, texts, strict=True)]
        yield _rarefy_thinned(np.concatenate(shuffled), streams, sample)


def _thin(sample: _Sample, *, seed: int, draws: int) -> Iterator[Floats]:
    """Yield the mean number of shared entities of thinned but not shuffled texts, shape (speakers, speakers)."""
    if int(sample.quota.sum()) == len(sample.text):
        draws = 1  # nothing is thinned out, so that one draw is like another
    streams = [np.random.default_rng(derive_seed(seed, "overlap", "thin", task)) for task in sample.names]
    for _ in range(draws):
        yield _rarefy_thinned(sample.speaker, streams, sample)


def _rarefy_thinned(speaker: Ints, streams: list[np.random.Generator], sample: _Sample) -> Floats:
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


def _rarefy(speaker: Ints, task: Ints, entity: Ints, sample: _Sample) -> Floats:
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
