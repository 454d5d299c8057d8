"""The graph of entities that stand together, and which of them are at its centre."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from simulator.running.calls import derive_seed

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["ENTITY_CENTRALITY", "entity_graph", "measure_centrality"]

ENTITY_CENTRALITY = pl.Schema(
    {
        "entity": pl.String,
        "label": pl.String,
        "mentions": pl.Int64,
        "degree": pl.Int64,
        "strength": pl.Int64,
        "degree_centrality": pl.Float64,
        "betweenness": pl.Float64,
        "closeness": pl.Float64,
        "eigenvector": pl.Float64,
        "community": pl.Int64,
    }
)
"""An entity in the graph of those that stand together. ``degree`` is with how many others, ``strength`` how often;
``community`` counts from 0, the largest first. For the rest see `measure_centrality`."""

_DIGITS = 9


def entity_graph(
    pairs: pl.DataFrame, entities: pl.DataFrame, *, most: int = 200, directed: bool = False
) -> nx.Graph[str] | nx.DiGraph[str]:
    """Build the graph of the entities that are mentioned most.

    Parameters
    ----------
    pairs, entities
        As `count_pairs` and `extract_entities` give; of all speakers, or of those that are left in both.
    most
        How many entities, those mentioned most (ties by name).
    directed
        Whether the pairs were counted so.

    Returns
    -------
    networkx.Graph or DiGraph
        A node an entity, with ``mentions`` and ``label`` (that which it has most often); an edge for every two that
        make a pair, with ``weight`` (how often) and ``distance`` (words apart, the mean over all of them).
    """
    import networkx as nx  # noqa: PLC0415 - heavy

    labels = entities.group_by("entity", "label").len().sort("len", "label", descending=[False, True])
    usual: dict[str, str] = dict(labels.select("entity", "label").iter_rows())
    counts = entities.group_by("entity").len().sort("len", "entity", descending=[True, False]).head(most)
    graph: nx.Graph[str] | nx.DiGraph[str] = nx.DiGraph() if directed else nx.Graph()
    for name, mentions in counts.iter_rows():
        graph.add_node(name, mentions=mentions, label=usual[name])
    found: defaultdict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for a, b, count, distance in pairs.select("a", "b", "count", "distance").iter_rows():
        if a in graph and b in graph:
            found[a, b].append((count, distance))
    for (a, b), both in sorted(found.items()):
        weight = sum(count for count, _ in both)
        graph.add_edge(a, b, weight=weight, distance=sum(count * distance for count, distance in both) / weight)
    return graph


def measure_centrality(graph: nx.Graph[Any] | nx.DiGraph[Any], *, seed: int = 7) -> pl.DataFrame:
    r"""Say how central each node of a graph is, and which nodes belong together.

    ``degree_centrality`` is the share of the other nodes that it is joined with. ``betweenness`` is the share of
    shortest paths between two others that lead through it, ``closeness`` the inverse of its mean distance to those
    that it can be reached from, times their share of the others (Wasserman and Faust); both count edges, whatever their
    weight. ``eigenvector`` is the entry in the first eigenvector of the matrix of weights, of length 1: high where a
    node often stands with nodes that are themselves high; null outside of the largest connected part, where there is
    no one such vector, and in a directed graph. Communities are Louvain's, by weight.

    Parameters
    ----------
    graph
        As `entity_graph` gives, or any; an edge without ``weight`` has 1.
    seed
        Of the communities.

    Returns
    -------
    DataFrame
        The columns of `ENTITY_CENTRALITY`, in the order of the nodes. ``label`` is null and ``mentions`` 0 where a
        node has none.

    References
    ----------
    L. C. Freeman, "Centrality in social networks", Social Networks 1, 1978. https://doi.org/10.1016/0378-8733(78)90021-7
    P. Bonacich, "Power and Centrality", American Journal of Sociology 92, 1987. https://doi.org/10.1086/228631
    V. D. Blondel et al., "Fast unfolding of communities in large networks", 2008.
    https://doi.org/10.1088/1742-5468/2008/10/P10008
    """
    import networkx as nx  # noqa: PLC0415 - heavy

    # Numbers, not names, are the nodes: a set of numbers has the same order in every process.
    names = list(graph)
    numbered = nx.convert_node_labels_to_integers(graph)
    degree, strength = dict(numbered.degree()), dict(numbered.degree(weight="weight"))
    central, between = nx.degree_centrality(numbered), nx.betweenness_centrality(numbered)
    close, eigen = nx.closeness_centrality(numbered), _eigenvector(numbered)
    community: dict[int, int] = {}
    if names:
        found = nx.community.louvain_communities(numbered, weight="weight", seed=derive_seed(seed, "entity graph"))
        for rank, members in enumerate(sorted(found, key=lambda group: (-len(group), min(group)))):
            community.update(dict.fromkeys(members, rank))
    rows = [
        (
            *(str(name), graph.nodes[name].get("label"), graph.nodes[name].get("mentions", 0)),
            *(degree[i], int(strength[i])),
            *(round(float(one[i]), _DIGITS) for one in (central, between, close)),
            round(eigen[i], _DIGITS) if i in eigen else None,
            community[i],
        )
        for i, name in enumerate(names)
    ]
    return pl.DataFrame(rows, schema=ENTITY_CENTRALITY, orient="row")


def _eigenvector(graph: nx.Graph[int] | nx.DiGraph[int]) -> dict[int, float]:
    """Return the first eigenvector of the largest connected part, its entries not negative; nothing of one node."""
    import networkx as nx  # noqa: PLC0415 - heavy
    import numpy as np  # noqa: PLC0415

    if graph.is_directed() or not graph.number_of_edges():
        return {}
    parts = [sorted(members) for members in nx.connected_components(graph)]
    part = max(parts, key=lambda members: (len(members), -members[0]))
    matrix = nx.to_numpy_array(graph, nodelist=part, weight="weight")
    _, vectors = np.linalg.eigh(matrix)  # symmetric: the last is that of the largest eigenvalue
    first = np.abs(vectors[:, -1])
    length = math.sqrt(float((first**2).sum()))
    return {node: float(entry) / length for node, entry in zip(part, first, strict=True)}
