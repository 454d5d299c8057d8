"""The graph of entities and its centralities: by hand, and as the graph library's own authors give them."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import polars as pl
import pytest

from analysis.language.centrality import ENTITY_CENTRALITY, entity_graph, measure_centrality
from analysis.language.cooccurrence import count_pairs

OURS = {
    "betweenness_centrality": "betweenness",
    "closeness_centrality": "closeness",
    "degree_centrality": "degree_centrality",
    "eigenvector_centrality": "eigenvector",
    "eigenvector_centrality_numpy": "eigenvector",
}


def mentions(*sentences: str) -> pl.DataFrame:
    rows = [
        ("1", "ann", number, entity, "keyword", place, 1)
        for number, sentence in enumerate(sentences)
        for place, entity in enumerate(sentence.split())
    ]
    names = ["text_id", "speaker", "sentence", "entity", "label", "word", "words"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_an_edge_is_a_pair_with_how_often_and_how_far_apart() -> None:
    entities = mentions("menu table", "menu x table", "table chair")
    graph = entity_graph(count_pairs(entities), entities)
    assert graph.edges["menu", "table"] == {"weight": 2, "distance": 1.5}
    assert graph.nodes["table"] == {"mentions": 3, "label": "keyword"}


def test_of_directed_pairs_the_first_is_the_one_that_comes_first() -> None:
    entities = mentions("table menu", "menu table", "table menu")
    pairs = count_pairs(entities, directed=True)
    assert pairs.select("a", "b", "count").rows() == [("menu", "table", 1), ("table", "menu", 2)]
    graph = entity_graph(pairs, entities, directed=True)
    assert graph.is_directed()
    assert graph.edges["table", "menu"]["weight"] == 2
    assert measure_centrality(graph)["eigenvector"].is_null().all()


def test_only_the_most_mentioned_are_in_the_graph() -> None:
    entities = mentions("a b", "a c", "a b")
    assert list(entity_graph(count_pairs(entities), entities, most=2)) == ["a", "b"]


def test_degree_strength_and_communities() -> None:
    entities = mentions("a b", "a b", "b c", "c a", "x y", "y z", "z x", "c x", "lonely")
    found = measure_centrality(entity_graph(count_pairs(entities), entities))
    assert found.schema == ENTITY_CENTRALITY
    rows = {row["entity"]: row for row in found.iter_rows(named=True)}
    assert (rows["a"]["degree"], rows["a"]["strength"]) == (2, 3)
    assert len({rows[name]["community"] for name in "abc"}) == 1
    assert rows["a"]["community"] != rows["x"]["community"]
    assert rows["lonely"]["eigenvector"] is None
    assert rows["c"]["betweenness"] == max(row["betweenness"] for row in rows.values())


@pytest.mark.parametrize("sentences", [(), ("alone",), ("<b>a</b> =1+1",), ("שלום 🙂",)])
def test_nothing_one_and_odd_names(sentences: tuple[str, ...]) -> None:
    entities = mentions(*sentences)
    found = measure_centrality(entity_graph(count_pairs(entities), entities))
    assert found.height == entities["entity"].n_unique()


def reference_graph(held: dict[str, Any], name: str) -> Any:
    called, _, arguments = name.rstrip(")").partition("(")
    known = held["graphs"].get(called.removesuffix("_graph"))
    if known:
        return nx.Graph([tuple(edge) for edge in known["edges"]])
    numbers = [int(one) for one in arguments.split(",") if one.strip()]
    return getattr(nx, called)(*numbers)


def test_centralities_equal_the_reference_values(shared_data: Path) -> None:
    held = json.loads((shared_data / "reference_values" / "networkx_centrality.json").read_text("utf-8"))
    compared = 0
    for case in held["cases"]:
        try:
            graph = reference_graph(held, case["graph"])
        except (AttributeError, TypeError, ValueError):
            continue  # a graph that is described in words
        kwargs = case.get("kwargs", {})
        if kwargs.get("weight") or case["metric"] not in OURS or kwargs.get("normalized") is False:
            continue
        for _, _, data in graph.edges(data=True):
            data.pop("weight", None)
        found = measure_centrality(graph)
        values = dict(zip(map(str, graph), found[OURS[case["metric"]]], strict=True))
        assert values == pytest.approx(case["expected"], abs=held["abs_tol"]), case["test"]
        compared += 1
    assert compared >= 8
