"""Which entities stand near one another, and the map of entities made from that."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from itertools import groupby

import polars as pl

from simulator.running.calls import derive_seed

__all__ = ["ENTITY_MAP", "PAIRS", "count_pairs", "map_entities"]

PAIRS = pl.Schema({"speaker": pl.String, "a": pl.String, "b": pl.String, "count": pl.Int64, "distance": pl.Float64})
"""Two entities in one sentence of a speaker, ``a`` < ``b`` unless directed: how often, and how many words apart on
average."""

ENTITY_MAP = pl.Schema(
    {
        "entity": pl.String,
        "label": pl.String,
        "mentions": pl.Int64,
        "speakers": pl.Int64,
        "x": pl.Float64,
        "y": pl.Float64,
        "community": pl.Int64,
    }
)
"""An entity in the picture; ``x`` and ``y`` lie in [-1, 1]; ``community`` counts from 0, the largest first."""

_MAP_SIZE = 60
_DECIMALS = 4


def count_pairs(entities: pl.DataFrame, *, max_distance: int = 5, directed: bool = False) -> pl.DataFrame:
    """Count pairs of entities that stand in one sentence at most ``max_distance`` words apart.

    The distance of two mentions is the difference between the positions of the last word of the first and the first
    word of the second, punctuation not counted: neighbours are 1 apart, and of single words it is the difference of
    ``word``. Every two mentions count; an entity makes no pair with itself.

    Parameters
    ----------
    entities
        As `extract_entities` gives.
    max_distance
        In words, at least 1.
    directed
        Whether ``a`` is the one that comes first in the sentence, and the other order another pair; otherwise ``a`` is
        the first in the alphabet.

    Returns
    -------
    DataFrame
        The columns of `PAIRS`: speakers in the order in which they first appear, within each by ``a`` and ``b``.

    Examples
    --------
    >>> names = ("text_id", "speaker", "sentence", "entity", "word", "words")
    >>> rows = [("1", "ann", 0, "table", 1, 1), ("1", "ann", 0, "customer order", 4, 2), ("1", "ann", 0, "key", 11, 1)]
    >>> count_pairs(pl.DataFrame(rows, schema=names, orient="row")).rows()
    [('ann', 'customer order', 'table', 1, 3.0)]
    """
    if max_distance < 1:
        raise ValueError(f"max_distance is {max_distance}; two words are at least 1 apart")
    distances: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    columns = entities.select("speaker", "text_id", "sentence", "word", "words", "entity")
    speakers = {speaker: i for i, speaker in enumerate(columns["speaker"].unique(maintain_order=True))}
    for (speaker, *_), sentence in groupby(sorted(columns.rows()), key=lambda row: row[:3]):
        mentions = [row[3:] for row in sentence]
        for i, (word, words, entity) in enumerate(mentions):
            end = word + words - 1
            for later, _, other in mentions[i + 1 :]:
                # Sorted by position, so that no later mention is nearer.
                if later - end > max_distance:
                    break
                if other != entity:
                    pair = (entity, other) if directed else sorted((entity, other))
                    distances[speaker, *pair].append(later - end)
    rows = [
        (speaker, a, b, len(found), sum(found) / len(found))
        for (speaker, a, b), found in sorted(distances.items(), key=lambda item: (speakers[item[0][0]], item[0]))
    ]
    return pl.DataFrame(rows, schema=PAIRS, orient="row")


def map_entities(pairs: pl.DataFrame, entities: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Lay out the entities that are mentioned most, so that those which stand together lie together.

    Communities are Louvain's and the layout is Fruchterman and Reingold's, both on the graph of the 60 entities
    mentioned most (ties by name), an edge weighing as often as the two make a pair. Coordinates are rounded to four
    decimals. An entity that stands with no other would be pushed out of the picture by all the others: what lies
    further from the middle than nine tenths of the entities is drawn in to at most a third beyond them.

    Parameters
    ----------
    pairs, entities
        As `count_pairs` and `extract_entities` give.
    seed
        Of the communities and the layout.

    Returns
    -------
    DataFrame
        The columns of `ENTITY_MAP`, most mentioned first. ``label`` is the one that an entity has most often.

    References
    ----------
    Blondel, V. D. et al. (2008). doi:10.1088/1742-5468/2008/10/P10008.
    Fruchterman, T. M. J. and Reingold, E. M. (1991). doi:10.1002/spe.4380211102.
    """
    import networkx as nx  # noqa: PLC0415 - heavy

    mentions = (
        entities.group_by("entity")
        .agg(mentions=pl.len(), speakers=pl.col("speaker").n_unique())
        .sort(["mentions", "entity"], descending=[True, False])
        .head(_MAP_SIZE)
    )
    names: list[str] = mentions["entity"].to_list()
    number = {name: i for i, name in enumerate(names)}
    weights: Counter[tuple[int, int]] = Counter()
    for a, b, count in pairs.select("a", "b", "count").iter_rows():
        if a in number and b in number:
            weights[number[a], number[b]] += count
    # Numbers, not names, are the nodes: a set of numbers has the same order in every process.
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(names)))
    graph.add_weighted_edges_from((i, j, weight) for (i, j), weight in sorted(weights.items()))
    community, places = {}, {}
    if names:
        found = nx.community.louvain_communities(graph, weight="weight", seed=derive_seed(seed, "entity_map", "groups"))
        for rank, members in enumerate(sorted(found, key=lambda group: (-len(group), min(group)))):
            community.update(dict.fromkeys(members, rank))
        layout = nx.spring_layout(
            graph,
            weight="weight",
            k=2 / len(names) ** 0.5,
            iterations=200,
            seed=derive_seed(seed, "entity_map", "layout"),
        )
        places = _draw_in({i: (float(layout[i][0]), float(layout[i][1])) for i in graph})
    labels = _usual_labels(entities)
    rows = [
        (name, labels[name], count, speakers, *places[i], community[i])
        for i, (name, count, speakers) in enumerate(mentions.select("entity", "mentions", "speakers").iter_rows())
    ]
    return pl.DataFrame(rows, schema=ENTITY_MAP, orient="row")


def _draw_in(places: dict[int, tuple[float, float]]) -> dict[int, tuple[float, float]]:
    """Pull outliers towards the rest, keeping their direction and their order of distance; round what comes out."""
    middle = [statistics.median(place[axis] for place in places.values()) for axis in (0, 1)]
    distances = {i: math.hypot(x - middle[0], y - middle[1]) for i, (x, y) in places.items()}
    edge = sorted(distances.values())[math.ceil(0.9 * len(distances)) - 1]
    drawn = {}
    for i, place in places.items():
        beyond = distances[i] - edge
        scale = (edge + beyond / (1 + 3 * beyond / edge)) / distances[i] if beyond > 0 < edge else 1.0
        # Adding 0 turns -0.0 into 0.0.
        x, y = (round(middle[axis] + (place[axis] - middle[axis]) * scale, _DECIMALS) + 0.0 for axis in (0, 1))
        drawn[i] = (x, y)
    return drawn


def _usual_labels(entities: pl.DataFrame) -> dict[str, str]:
    counts = entities.group_by("entity", "label").len().sort(["len", "label"], descending=[False, True])
    return dict(counts.select("entity", "label").iter_rows())
