"""Which speakers use the same entities, and whether more or fewer than their share of talk alone would make them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.language.rarefaction import Sample, number_mentions, rarefy_observed, rarefy_shuffled, rarefy_thinned

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["OVERLAP", "adjust_p", "overlap_speakers", "speaker_graph"]

Floats = NDArray[np.float64]

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

_COUNTED = {
    name: OVERLAP[name] for name in ("a", "b", "shared_entities", "shared_pairs", "union_entities", "jaccard", "names")
}
_COMPARED = ("rarefied", "expected", "z", "p")
_KEPT = 10_000_000  # shuffled overlaps that are kept in memory, 80 MB; beyond that the shuffles are made twice
_THINNED = 200  # samples from which the noise of thinning is found
_LEAST_KEPT = 0.25  # of the variance of the shuffled, whatever is estimated of the noise in it
_TIE = 1e-9  # two counts that differ by rounding alone are equal
_DIGITS = 9  # decimals kept: what the order of summation can change lies below


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
    # Numbered by name, so that the order of the texts moves no shuffle.
    numbered = sorted(speakers)
    place = [numbered.index(speaker) for speaker in speakers]
    compared = _compare(texts, entities, numbered, seed=seed, shuffles=shuffles)[:, place][:, :, place]
    # A frame for every speaker: the names of a thousand speakers' entities are many objects at once.
    empty = pl.DataFrame(schema={**_COUNTED, **dict.fromkeys(_COMPARED, pl.Float64())})
    frames = [empty]
    for i, a in enumerate(speakers[:-1]):
        rows = [(a, b, *_count_shared(spoken[a], spoken[b], paired[a], paired[b])) for b in speakers[i + 1 :]]
        numbers = {name: pl.Series(compared[k, i, i + 1 :]) for k, name in enumerate(_COMPARED)}
        frames.append(pl.DataFrame(rows, schema=_COUNTED, orient="row").with_columns(**numbers))
    frame = pl.concat(frames)
    frame = frame.with_columns(q=pl.Series(adjust_p(frame["p"].to_numpy()), dtype=pl.Float64))
    return frame.select(OVERLAP.names()).with_columns(pl.col(*_COMPARED, "q").fill_nan(None).round(_DIGITS))


def _count_shared(
    mine: dict[str, int], theirs: dict[str, int], my_pairs: set[tuple[str, str]], their_pairs: set[tuple[str, str]]
) -> tuple[int, int, int, float | None, list[str]]:
    """Return the columns of `_COUNTED` after the two speakers."""
    shared = sorted(mine.keys() & theirs.keys(), key=lambda name: (-mine[name] - theirs[name], name))
    union = len(mine) + len(theirs) - len(shared)
    return len(shared), len(my_pairs & their_pairs), union, len(shared) / union if union else None, shared


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
    sample = number_mentions(texts, entities, speakers, seed=seed)
    if not sample.names:
        return np.full((4, count, count), np.nan)
    observed = rarefy_observed(sample)
    rounds = [*rarefy_shuffled(sample, seed=seed, shuffles=shuffles)] if count**2 * shuffles <= _KEPT else None
    mean, variance = _moments(rounds or rarefy_shuffled(sample, seed=seed, shuffles=shuffles))
    _, noise = _moments(rarefy_thinned(sample, seed=seed, draws=min(shuffles, _THINNED)))
    # The observed mean has no part of the noise of thinning in what the shuffled vary. What an estimate of that noise
    # can take away is bounded.
    kept = np.divide(variance - noise, variance, out=np.ones_like(variance), where=variance > _TIE)
    scale = np.sqrt(np.clip(kept, _LEAST_KEPT, 1))
    spread = np.sqrt(variance) * scale
    gap = observed - mean
    z = np.divide(gap, spread, out=np.where(np.abs(gap) <= _TIE, 0.0, np.nan), where=spread > _TIE)
    above, equal = np.zeros((count, count)), np.zeros((count, count))
    threshold = mean + gap / scale
    for shared in rounds or rarefy_shuffled(sample, seed=seed, shuffles=shuffles):
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


def _smallest_p(sample: Sample) -> Floats:
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


def _moments(counts: Iterable[Floats]) -> tuple[Floats, Floats]:
    """Return mean and variance (ddof 1; of a single one 0) of arrays that come one by one (Welford's updates)."""
    mean, squares, number = np.zeros(()), np.zeros(()), 0
    for number, shared in enumerate(counts, start=1):
        step = shared - mean
        mean = mean + step / number
        squares = squares + step * (shared - mean)
    return mean, squares / max(number - 1, 1)
