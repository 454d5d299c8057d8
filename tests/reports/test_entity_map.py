"""The entity map: labels cover nothing, and those without room are counted."""

from itertools import combinations
from xml.etree import ElementTree

import pytest
from report_frames import build_tables, empty_tables

from reports.cells import Row, rows
from reports.drawing import Box, crosses
from reports.entity_map import draw_entity_map, kind_of
from reports.visible import estimate_width

SVG = "{http://www.w3.org/2000/svg}"


def _labels(svg: str) -> list[tuple[str, Box]]:
    found = []
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if text.get("class") == "label":
            x, y, size = (float(text.get(key) or 0) for key in ("x", "y", "font-size"))
            width = estimate_width(text.text or "", size)
            left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor") or "start"]
            found.append((text.text or "", Box(left, y - 0.9 * size, left + width, y + 0.3 * size)))
    return found


def test_labels_do_not_overlap_and_all_dots_are_there() -> None:
    tables = build_tables([f"s{index}" for index in range(40)])
    figure = draw_entity_map(rows(tables, "entity_map"), rows(tables, "pairs"), 40)
    assert figure is not None
    labels = _labels(figure.svg)
    assert not [(a, b) for (a, one), (b, other) in combinations(labels, 2) if one.overlaps(other)]
    dots = [group for group in ElementTree.fromstring(figure.svg).iter(f"{SVG}g") if group.get("class") == "dot"]
    assert len(dots) == tables["entity_map"].height


def test_a_label_begins_at_its_dot_and_keeps_out_of_the_lines() -> None:
    spots = {"middle": (0.5, 0.5), "east": (1.0, 0.5), "west": (0.0, 0.5), "south": (0.5, 0.0)}
    entities: list[Row] = [
        {"entity": name, "label": "keyword", "mentions": 1, "speakers": 1, "x": x, "y": y}
        for name, (x, y) in spots.items()
    ]
    pairs: list[Row] = [{"a": "middle", "b": other, "count": 1} for other in ("east", "west")]
    figure = draw_entity_map(entities, pairs, 1)
    assert figure is not None
    root = ElementTree.fromstring(figure.svg)
    lines = [[float(line.get(key) or 0) for key in ("x1", "y1", "x2", "y2")] for line in root.iter(f"{SVG}line")]
    assert len(lines) == 2
    boxes = dict(_labels(figure.svg))
    assert set(boxes) == set(spots)
    for x1, y1, x2, y2 in lines:
        assert not [name for name, box in boxes.items() if crosses(box, (x1, y1), (x2, y2))]
    (x, radius) = next(
        (float(circle.get("cx") or 0), float(circle.get("r") or 0))
        for group in root.iter(f"{SVG}g")
        if (group.get("aria-label") or "").startswith("south")
        for circle in group.iter(f"{SVG}circle")
    )
    assert boxes["south"].left == pytest.approx(x + radius + 3, abs=0.02)


def test_labels_without_room_are_counted() -> None:
    crowd: list[Row] = [
        {"entity": f"a long entity {i}", "label": "keyword", "mentions": 1, "speakers": 1, "x": 0.0, "y": i / 1e6}
        for i in range(300)
    ]
    figure = draw_entity_map(crowd, [], 2)
    assert figure is not None
    shown = len(_labels(figure.svg))
    assert 0 < shown < 300
    assert f"{shown} of 300 entities carry their label; {300 - shown} found no room" in figure.note


def test_one_entity_and_none() -> None:
    one: list[Row] = [{"entity": "x", "label": None, "mentions": 0, "speakers": 1, "x": 0.5, "y": 0.5}]
    figure = draw_entity_map(one, [], 1)
    assert figure is not None
    assert figure.note == ""
    assert draw_entity_map(rows(empty_tables(), "entity_map"), [], 0) is None
    one[0]["x"] = float("nan")
    assert draw_entity_map(one, [], 1) is None


def test_every_label_of_the_analysis_has_a_kind() -> None:
    from analysis.language.entities import LABELS

    assert not [label for label in LABELS if kind_of(label) == "other"]
