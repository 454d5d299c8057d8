"""The speaker graph: nothing overlaps, everything is there, and what is left out is said."""

import math
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import polars as pl
import pytest
from report_frames import build_tables, empty_tables

from analysis.language import speaker_graph
from reports.cells import Row, name_speakers, rows
from reports.graph import beyond_chance, draw_overlap
from reports.graphml import write_graphml
from reports.ring import order_ring, place_nodes

SVG = "{http://www.w3.org/2000/svg}"


def _people(count: int) -> list[str]:
    return [f"speaker-{index}, a person with a rather long role number {index}" for index in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 12, 13, 24, 40])
def test_no_label_overlaps_a_label_or_a_circle(count: int) -> None:
    people = _people(count)
    nodes = place_nodes(people, {name: 3 * index for index, name in enumerate(people)}, name_speakers(people, {}))
    assert [node.speaker for node in nodes] == people
    for a, b in combinations(nodes, 2):
        assert not a.label.overlaps(b.label)
        assert math.dist((a.x, a.y), (b.x, b.y)) > a.radius + b.radius
    assert not any(a.label.overlaps(b.box) for a in nodes for b in nodes)


@pytest.mark.parametrize("count", [2, 4, 5, 12])
def test_every_line_of_few_speakers_is_drawn_with_its_number(count: int) -> None:
    people = _people(count)
    tables = build_tables(people)
    figure = draw_overlap(rows(tables, "speakers"), rows(tables, "overlap"), name_speakers(people, {}))
    assert figure is not None
    root = ElementTree.fromstring(figure.svg)
    edges = [group for group in root.iter(f"{SVG}g") if group.get("class") == "edge"]
    numbers = [group for group in root.iter(f"{SVG}g") if group.get("class") == "count"]
    assert len(edges) == count * (count - 1) // 2
    drawn = sorted("".join(group.itertext()) for group in numbers)
    expected = sorted(str(shared) for shared in tables["overlap"]["shared_entities"])
    if count <= 5:
        assert drawn == expected
    else:
        assert f"{len(drawn)} of {len(edges)} lines carry their number" in figure.note or drawn == expected
    titles = [group.find(f"{SVG}title") for group in edges]
    assert all(title is not None and "database, button, invoice, ledger" in (title.text or "") for title in titles)


def test_thickness_is_in_proportion_to_what_is_shared() -> None:
    tables = build_tables()
    figure = draw_overlap(
        rows(tables, "speakers"), rows(tables, "overlap"), name_speakers(["john", "brad", "harold", "ethan"], {})
    )
    assert figure is not None
    widths = []
    for group in ElementTree.fromstring(figure.svg).iter(f"{SVG}g"):
        if group.get("class") == "edge":
            shared = int((group.get("aria-label") or "").split(" share ")[1].split()[0])
            line = next(line for line in group.iter(f"{SVG}line") if line.get("class") == "line")
            widths.append(float(line.get("stroke-width") or 0) / shared)
    assert max(widths) - min(widths) < 0.02


def test_of_many_lines_each_speakers_heaviest_are_drawn_and_the_note_says_so() -> None:
    people = _people(40)
    tables = build_tables(people)
    figure = draw_overlap(rows(tables, "speakers"), rows(tables, "overlap"), name_speakers(people, {}))
    assert figure is not None
    assert "Of 780 lines" in figure.note
    linked = set()
    for group in ElementTree.fromstring(figure.svg).iter(f"{SVG}g"):
        if group.get("class") == "edge":
            linked |= {group.get("data-a"), group.get("data-b")}
    assert len(linked) == 40


def test_more_speakers_than_fit_are_left_out_and_counted() -> None:
    people = _people(60)
    tables = build_tables(people, tasks=["one"], iterations=1)
    figure = draw_overlap(rows(tables, "speakers"), rows(tables, "overlap"), name_speakers(people, {}))
    assert figure is not None
    assert "40 speakers with the most entities are drawn, of 60" in figure.note


def test_no_speaker_no_picture_and_nothing_shared_no_line() -> None:
    tables = empty_tables()
    assert draw_overlap(rows(tables, "speakers"), rows(tables, "overlap"), {}) is None
    speakers: list[Row] = [{"speaker": name, "entities": 0} for name in "ab"]
    overlap: list[Row] = [
        {"a": "a", "b": "b", "shared_entities": 0, "jaccard": None, "z": None, "q": None, "names": None}
    ]
    figure = draw_overlap(speakers, overlap, name_speakers(["a", "b"], {}))
    assert figure is not None
    assert "1 pair without a shared entity has no line" in figure.note


@pytest.mark.parametrize(
    ("z", "q", "verdict"),
    [(3.0, 0.01, 1), (-3.0, 0.01, -1), (3.0, 0.05, 0), (None, 0.01, 0), (3.0, None, 0), (float("nan"), 0.01, 0)],
)
def test_a_verdict_needs_both_z_and_q(z: float | None, q: float | None, verdict: int) -> None:
    assert beyond_chance({"z": z, "q": q}) == verdict


def test_the_ring_puts_those_who_share_much_side_by_side() -> None:
    weights = {frozenset("ac"): 1.0, frozenset("ce"): 1.0, frozenset("eb"): 1.0, frozenset("bd"): 1.0}
    ring = order_ring(list("abcde"), weights)
    assert sorted(ring) == list("abcde")
    assert sum(weights.get(frozenset((ring[i], ring[(i + 1) % 5])), 0) for i in range(5)) == 4.0


def test_graphml_is_read_back_with_its_numbers(tmp_path: Path) -> None:
    people = ["a\x00<b>&\"'", "b\u202e", "🙂", "שלום"]
    tables = build_tables(people)
    path = tmp_path / "overlap.graphml"
    write_graphml(tables["speakers"], tables["overlap"], name_speakers(people, {}), path)
    graph = nx.read_graphml(path)
    assert set(graph) == {"a⟨U+0000⟩<b>&\"'", "b\u202e", "🙂", "שלום"}
    weights = {frozenset(edge): data["weight"] for *edge, data in graph.edges(data=True)}
    assert weights[frozenset(("🙂", "שלום"))] == 6


def test_graphml_is_the_graph_of_the_analysis(tmp_path: Path) -> None:
    tables = build_tables()
    rare = pl.when(pl.col("a") == "john").then(math.nan).otherwise(pl.col("z")).alias("z")
    none = pl.when(pl.col("b") == "ethan").then(0).otherwise(pl.col("shared_entities")).alias("shared_entities")
    overlap = tables["overlap"].with_columns(rare, none)
    names = name_speakers(["john", "brad"], {"john": ("Doe, John", "an engineer")})
    write_graphml(tables["speakers"], overlap, names, tmp_path / "overlap.graphml")
    read = nx.read_graphml(tmp_path / "overlap.graphml")
    built = speaker_graph(tables["speakers"], overlap)
    labels = {node: data.pop("label") for node, data in read.nodes(data=True)}
    assert labels == {"john": "Doe, John, an engineer", "brad": "brad", "harold": "harold", "ethan": "ethan"}
    assert {node: read.nodes[node] for node in read} == {node: built.nodes[node] for node in built}
    edges = {frozenset((a, b)): data for a, b, data in read.edges(data=True)}
    for data in edges.values():
        data.pop("id", None)
    assert edges == {frozenset((a, b)): data for a, b, data in built.edges(data=True)}
    assert set(edges) == {frozenset(("john", "brad")), frozenset(("john", "harold")), frozenset(("brad", "harold"))}
    assert "rarefied" in edges[frozenset(("brad", "harold"))]
    assert "z" not in edges[frozenset(("john", "brad"))]


def test_graphml_of_nothing_and_of_ids_that_differ_only_in_what_xml_cannot_hold(tmp_path: Path) -> None:
    write_graphml(None, None, {}, tmp_path / "none.graphml")
    assert not nx.read_graphml(tmp_path / "none.graphml")
    people = ["a\x00", "a⟨U+0000⟩", "b"]
    tables = build_tables(people)
    write_graphml(tables["speakers"], tables["overlap"], {}, tmp_path / "alike.graphml")
    graph = nx.read_graphml(tmp_path / "alike.graphml")
    assert set(graph) == {"a⟨U+0000⟩", "a⟨U+0000⟩ (2)", "b"}
    assert graph.number_of_edges() == 3


def test_a_long_id_takes_two_lines_and_no_part_of_it_is_lost() -> None:
    people = ["brad-principal-software-engineer", "harold-english-teacher", "x" * 32, "ann"]
    nodes = place_nodes(people, dict.fromkeys(people, 5), name_speakers(people, {"ann": ("Ann", "a role " * 12)}))
    assert ["".join(node.name) for node in nodes] == [*people[:3], "Ann"]
    assert nodes[0].name == ("brad-principal-", "software-engineer")
    assert [len(node.name) for node in nodes] == [2, 2, 2, 1]
    assert len(nodes[3].role) == 2
    assert all(node.label.right - node.label.left < 190 for node in nodes)
