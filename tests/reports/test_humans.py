"""Real people beside personas: a mark of their own in every figure, table and sentence."""

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import polars as pl
import pytest
from report_frames import build_tables

from analysis.personas import COUNTS, count_statuses, describe_losses
from reports import write_report
from reports.cells import HUMAN, name_speakers, rows
from reports.charts import draw_topics, draw_tsed
from reports.graph import draw_overlap
from reports.side_by_side import lay_out

SVG = "{http://www.w3.org/2000/svg}"
PEOPLE = ("Ann", "<b>Zoë</b>")


def tables_of(people: tuple[str, ...] = PEOPLE) -> dict[str, pl.DataFrame]:
    """A study of two personas and of people."""
    tables = build_tables(["john", "brad", *people])
    is_human = pl.col("persona").is_in(people)
    tables["variants"] = tables["variants"].with_columns(
        method=pl.when(is_human).then(pl.lit("human")).otherwise("method"),
        status=pl.when(is_human).then(pl.lit("ok")).otherwise("status"),
        made_by=pl.when(is_human).then(pl.lit("")).otherwise("made_by"),
    )
    tables["counts"] = count_statuses(tables)
    return tables


def report(folder: Path, tables: dict[str, pl.DataFrame], *, humans: tuple[str, ...] = PEOPLE) -> str:
    shown = {"john": ("John", "an engineer"), "brad": ("Brad", "a poet")}
    page = write_report(
        tables, folder, title="t", models=[], warnings=[], personas=shown, tasks={}, humans=frozenset(humans)
    )
    return page.read_text(encoding="utf-8")


def test_a_name_says_who_is_real_and_stays_one_of_its_own() -> None:
    names = name_speakers(["a", "b", "c" * 60, "d" * 60 + HUMAN], {"a": ("Ann", "a nurse")}, humans={"b", "c" * 60})
    assert names["a"] == ("Ann", "a nurse", "Ann, a nurse", False)
    assert names["b"] == ("b (human)", "", "b (human)", True)
    assert names["c" * 60].short.endswith("… (human)")
    assert all(len(name.short) <= 32 for name in names.values())
    twins = name_speakers(["x", "y"], {"x": ("Ann", ""), "y": ("Ann", "")}, humans={"x", "y"})
    assert [name.short for name in twins.values()] == ["Ann (human)", "Ann (human) (2)"]
    assert name_speakers(["Ann (human)"], {}, humans={"Ann (human)"})["Ann (human)"].full == "Ann (human)"


def test_a_person_is_a_square_of_a_circle_s_area() -> None:
    tables = tables_of()
    same = [row | {"entities": 9} for row in rows(tables, "speakers")]
    names = name_speakers([row["speaker"] for row in same], {}, humans=PEOPLE)
    figure = draw_overlap(same, rows(tables, "overlap"), names)
    assert figure is not None
    root = ElementTree.fromstring(figure.svg)
    nodes = [group for group in root.iter(f"{SVG}g") if group.get("class") == "node"]
    assert len(nodes) == 4
    squares = [group for group in nodes if group.find(f"{SVG}rect") is not None]
    circles = [group.find(f"{SVG}circle") for group in nodes if group not in squares]
    assert [("(human)" in (group.get("aria-label") or "")) for group in nodes] == [one in squares for one in nodes]
    (side,) = {float(group.find(f"{SVG}rect").get("width")) for group in squares}  # type: ignore[union-attr,arg-type]
    (radius,) = {float(circle.get("r")) for circle in circles if circle is not None}  # type: ignore[arg-type]
    assert side**2 == pytest.approx(math.pi * radius**2, rel=0.01)
    assert figure.description.startswith("2 personas as circles, 2 real people as squares, joined by ")
    alone = draw_overlap(same, rows(tables, "overlap"), name_speakers(names, {}, humans=names))
    assert alone is not None
    assert "<circle" not in alone.svg
    assert alone.description.startswith("4 real people as squares, joined")


def test_every_figure_and_the_side_by_side_name_them_as_human() -> None:
    tables = tables_of()
    names = name_speakers(["john", "brad", *PEOPLE], {}, humans=PEOPLE)
    topics = draw_topics(rows(tables, "topics"), rows(tables, "topic_shares"), names)
    tsed = draw_tsed(rows(tables, "persona_tsed"), names)
    assert topics is not None
    assert tsed is not None
    assert tsed.title == "TSED between speakers"
    for figure in (topics, tsed):
        assert "Ann (human)" in figure.svg
    blocks = lay_out(tables, names, {}).blocks
    nouns = {(column.name.human, text.noun) for block in blocks for column in block.columns for text in column.texts}
    assert nouns == {(False, "rewrite"), (True, "text")}
    sources = {
        (column.name.human, code.about.split()[1])
        for block in blocks
        for column in block.columns
        for code in column.codes
    }
    assert sources == {(False, "rewrite"), (True, "text")}


def test_the_page_says_who_is_real_and_what_the_marks_mean(tmp_path: Path) -> None:
    page = report(tmp_path, tables_of())
    tiles = re.findall(r"<li><strong>(\d+)</strong> ([a-z ]+)</li>", page)
    assert tiles[:2] == [("2", "personas"), ("2", "real people")]
    assert "a square is a real person, a circle a persona" in page
    assert "<dt>(human)</dt>" in page
    assert "<b>Zo" not in page
    assert "&lt;b&gt;Zoë&lt;/b&gt; (human)" in page
    heads = re.findall(r"<h3><bdi[^>]*>([^<]*)</bdi>", page)
    assert "Ann (human)" in heads
    assert "John" in heads
    assert re.search(r'<th scope="row">texts by people</th>', page)
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "A square is a real person, a circle a persona." in markdown
    assert "Ann (human)" in markdown
    assert "2 personas · 2 real people" in markdown
    graph = nx.read_graphml(tmp_path / "figures" / "overlap.graphml")
    assert {name: bool(node["human"]) for name, node in graph.nodes(data=True)} == {
        "john": False,
        "brad": False,
        "Ann": True,
        "<b>Zoë</b>": True,
    }


def test_a_page_without_people_says_nothing_of_them(tmp_path: Path) -> None:
    page = report(tmp_path, build_tables(["john", "brad"]), humans=())
    assert "(human)" not in page
    assert "real person" not in page
    assert "by a person" not in page
    assert "human" not in (tmp_path / "figures" / "overlap.graphml").read_text(encoding="utf-8")


def test_people_s_texts_are_counted_apart_from_rewrites() -> None:
    tables = tables_of(("Ann",))
    first = tables["variants"].filter(pl.col("persona") == "Ann")["variant"][0]
    blank = pl.when(pl.col("variant") == first).then(pl.lit("empty")).otherwise("status")
    tables["variants"] = tables["variants"].with_columns(status=blank)
    counts = count_statuses(tables)
    assert counts.schema == COUNTS
    human = tables["variants"].filter(pl.col("method") == "human").height
    texts = counts.filter(pl.col("what") == "text")
    assert (texts["count"].sum(), set(texts["persona"])) == (human, {"Ann"})
    assert (set(texts["stage"]), set(texts["model"])) == ({""}, {""})
    rewrites = counts.filter(pl.col("what") == "variant")["count"].sum()
    assert rewrites == tables["variants"].height - human
    said = f"1 of {human} texts by people are not usable as prompts (1 empty); they are shown and left out"
    assert said in describe_losses(counts)
