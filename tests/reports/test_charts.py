"""The charts: what the tables say is what stands in the cells, and text stays text."""

from xml.etree import ElementTree

import pytest
from report_frames import build_tables, empty_tables

from reports.cells import Row, name_speakers, rows
from reports.charts import draw_topics, draw_tsed, mean_tsed

SVG = "{http://www.w3.org/2000/svg}"
PEOPLE = ["john", "brad", "<script>alert(1)</script>", "ethan"]


def _cells(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [path.findtext(f"{SVG}title") or "" for path in root.iter(f"{SVG}path") if path.get("class") == "cell"]


def test_every_share_is_a_cell_with_its_number() -> None:
    tables = build_tables(PEOPLE)
    figure = draw_topics(rows(tables, "topics"), rows(tables, "topic_shares"), name_speakers(PEOPLE, {}))
    assert figure is not None
    assert len(_cells(figure.svg)) == 12
    assert "<script>alert(1)</script>: 10.0% in topic 0" in _cells(figure.svg)
    assert "<script" not in figure.svg


def test_tsed_is_drawn_both_ways_for_each_model() -> None:
    tables = build_tables(PEOPLE, models=("embedded", "mock"))
    figure = draw_tsed(rows(tables, "persona_tsed"), name_speakers(PEOPLE, {}))
    assert figure is not None
    assert len(_cells(figure.svg)) == 2 * 12
    mean = tables["persona_tsed"].filter(a="john", b="brad", model="mock")["mean"].mean()
    assert isinstance(mean, float)
    assert f"john and brad: TSED {mean:.3f}, mean of 3 tasks, 3 of 3 pairs scored" in _cells(figure.svg)


def test_means_of_several_settings_are_pooled_within_a_task() -> None:
    table: list[Row] = [
        {"a": "x", "b": "y", "task": "t", "model": "m", "pairs": 1, "scored": 1, "mean": 0.2},
        {"a": "x", "b": "y", "task": "t", "model": "m", "pairs": 3, "scored": 3, "mean": 0.6},
    ]
    mean, tasks, scored, pairs = mean_tsed(table)["m"]["x", "y"]
    assert mean == pytest.approx(0.5)
    assert (tasks, scored, pairs) == (1, 4, 4)


def test_nothing_to_draw() -> None:
    tables = empty_tables()
    assert draw_topics(rows(tables, "topics"), rows(tables, "topic_shares"), {}) is None
    assert draw_tsed(rows(tables, "persona_tsed"), {}) is None
    lost = build_tables(code_status="unparsable")
    assert draw_tsed(rows(lost, "persona_tsed"), name_speakers(["john", "brad", "harold", "ethan"], {})) is None
