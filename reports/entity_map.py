"""The entity map: which entities are said near which, drawn at the places that the table gives them.

A dot is an entity, its area how often it is mentioned, its colour what kind of thing it is. A line joins two that stand
in one sentence. Labels go to the most mentioned first, each to that of eight places beside its dot where it covers no
dot and no label, and the fewest lines; an entity whose label finds no room keeps its dot, and the note says how many
those are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reports.cells import Row, plural, value, whole
from reports.drawing import OKABE_ITO, Box, Figure, crosses, element, hits, svg_document, text_element
from reports.visible import estimate_width, fit_width

__all__ = ["KINDS", "draw_entity_map", "kind_of"]

KINDS: dict[str, tuple[str, frozenset[str]]] = {
    "keywords": (OKABE_ITO["blue"], frozenset({"keyword"})),
    "organisations and peoples": (OKABE_ITO["vermillion"], frozenset({"organisation"})),
    "persons": (OKABE_ITO["purple"], frozenset({"person"})),
    "places": (OKABE_ITO["sky"], frozenset({"place"})),
    "quantities and units": (OKABE_ITO["orange"], frozenset({"quantity", "unit"})),
    "times": (OKABE_ITO["yellow"], frozenset({"time"})),
    "pleased": (OKABE_ITO["green"], frozenset({"positive"})),
    "displeased": ("#000000", frozenset({"negative"})),
    "polite": ("#8b929a", frozenset({"politeness"})),
}
"""Kind of entity: its colour and the labels that it gathers. Any other label is of the kind ``other``."""

_OTHER = "#d0d5db"
_WIDTH, _HEIGHT = 1000.0, 640.0
_LINES = 250
_BIGGEST = 17.0


class _Dot(NamedTuple):
    entity: str
    label: str
    mentions: int
    x: float
    y: float
    radius: float


def kind_of(label: str | None) -> str:
    """Return the kind of thing that an entity's label stands for.

    >>> kind_of("unit"), kind_of("something else")
    ('quantities and units', 'other')
    """
    return next((kind for kind, (_, labels) in KINDS.items() if label in labels), "other")


def _colour(kind: str) -> str:
    return KINDS[kind][0] if kind in KINDS else _OTHER


def _scale(values: Sequence[float], size: float) -> list[float]:
    """Spread coordinates over the room: half by value, half by rank, so that one outlier does not press all others."""
    low, high = min(values), max(values)
    if high - low < 1e-12:
        return [size / 2] * len(values)
    order = {position: rank for rank, position in enumerate(sorted(set(values)))}
    last = max(1, len(order) - 1)
    return [size * (0.5 * (v - low) / (high - low) + 0.5 * order[v] / last) for v in values]


def _place_dots(entity_map: Sequence[Row]) -> list[_Dot]:
    usable = [row for row in entity_map if value(row["x"]) is not None and value(row["y"]) is not None]
    if not usable:
        return []
    across = _scale([float(row["x"]) for row in usable], _WIDTH)
    down = _scale([-float(row["y"]) for row in usable], _HEIGHT)
    most = max(whole(row["mentions"]) for row in usable) or 1
    return [
        _Dot(
            row["entity"],
            row["label"] or "",
            whole(row["mentions"]),
            x,
            y,
            max(2.5, _BIGGEST * math.sqrt(whole(row["mentions"]) / most)),
        )
        for row, x, y in zip(usable, across, down, strict=True)
    ]


class _Place(NamedTuple):
    """Where a label can stand, and which end of it is at its dot."""

    box: Box
    anchor: str


def _label_places(dot: _Dot, width: float, height: float) -> list[_Place]:
    reach, slant = dot.radius + 3, 0.71 * dot.radius + 2
    x, y = dot.x, dot.y
    return [
        _Place(Box(x + reach, y - height / 2, x + reach + width, y + height / 2), "start"),
        _Place(Box(x - reach - width, y - height / 2, x - reach, y + height / 2), "end"),
        _Place(Box(x - width / 2, y - reach - height, x + width / 2, y - reach), "middle"),
        _Place(Box(x - width / 2, y + reach, x + width / 2, y + reach + height), "middle"),
        _Place(Box(x + slant, y - slant - height, x + slant + width, y - slant), "start"),
        _Place(Box(x + slant, y + slant, x + slant + width, y + slant + height), "start"),
        _Place(Box(x - slant - width, y - slant - height, x - slant, y - slant), "end"),
        _Place(Box(x - slant - width, y + slant, x - slant, y + slant + height), "end"),
    ]


def _count_crossings(box: Box, lines: Sequence[tuple[int, _Dot, _Dot]]) -> int:
    return sum(crosses(box, (a.x, a.y), (b.x, b.y)) for _, a, b in lines)


def _join_dots(pairs: Sequence[Row], dots: Mapping[str, _Dot]) -> list[tuple[int, _Dot, _Dot]]:
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in pairs:
        if row["a"] in dots and row["b"] in dots and row["a"] != row["b"]:
            counts[min(row["a"], row["b"]), max(row["a"], row["b"])] += whole(row["count"])
    heaviest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_LINES]
    return [(count, dots[a], dots[b]) for (a, b), count in heaviest]


def _draw_key(kinds: Sequence[str], left: float, top: float) -> tuple[list[str], Box]:
    """Draw what the colours mean, in one row above the map."""
    drawn: list[str] = []
    x = left
    for kind in kinds:
        drawn.append(
            element(
                "circle",
                {"cx": x + 6, "cy": top, "r": 6, "fill": _colour(kind), "stroke": "#57606a", "stroke-width": 0.5},
            )
        )
        drawn.append(text_element(x + 17, top + 4.5, kind, 13, colour="#57606a"))
        x += 17 + estimate_width(kind, 13) + 18
    return drawn, Box(left, top - 12, x, top + 12)


def draw_entity_map(
    entity_map: Sequence[Row], pairs: Sequence[Row], speakers: int, *, key: str = "entity-map"
) -> Figure | None:
    """Draw the entities as a network.

    Parameters
    ----------
    entity_map
        Rows of the table ``entity_map``: which entities, and where.
    pairs
        Rows of the table ``pairs``, of all speakers; those of two entities in the map become lines, the 250 most
        frequent of them.
    speakers
        How many speakers there are, for the hover texts.
    key
        Prefix of the ids in the drawing.

    Returns
    -------
    Figure or None
        None where the map has no entity. The same tables give the same bytes.
    """
    dots = sorted(_place_dots(entity_map), key=lambda dot: (-dot.mentions, dot.entity))
    if not dots:
        return None
    said_by = {row["entity"]: _speakers_in(row["speakers"]) for row in entity_map}
    lines = _join_dots(pairs, {dot.entity: dot for dot in dots})
    most = lines[0][0] if lines else 1
    children = [
        element(
            "line",
            {
                "x1": a.x,
                "y1": a.y,
                "x2": b.x,
                "y2": b.y,
                "stroke": "#9aa3ad",
                "stroke-opacity": 0.5,
                "stroke-width": max(0.8, 5.0 * count / most),
            },
        )
        for count, a, b in reversed(lines)
    ]
    bodies = [Box(d.x - d.radius, d.y - d.radius, d.x + d.radius, d.y + d.radius) for d in dots]
    labels: list[str] = []
    taken: list[Box] = []
    extent = list(bodies)
    for dot, own in zip(dots, bodies, strict=True):
        size = 11.0 + 4.0 * math.sqrt(dot.mentions / dots[0].mentions) if dots[0].mentions else 11.0
        shown = fit_width(dot.entity, size, 190)
        others = [body for body in bodies if body is not own]
        free = [
            place
            for place in _label_places(dot, estimate_width(shown, size), 1.25 * size)
            if not hits(place.box, taken) and not hits(place.box, others)
        ]
        if free:
            box, anchor = min(free, key=lambda place: _count_crossings(place.box, lines))
            taken.append(box)
            extent.append(box)
            # The font may be narrower than the box: the label then stays at the end where its dot is.
            x = {"start": box.left, "middle": (box.left + box.right) / 2, "end": box.right}[anchor]
            labels.append(text_element(x, box.bottom - 0.32 * size, shown, size, anchor=anchor, **{"class": "label"}))
        children.append(_draw_dot(dot, said_by.get(dot.entity), speakers))
    used = {kind_of(dot.label) for dot in dots}
    kinds = [kind for kind in [*KINDS, "other"] if kind in used]
    left, top = min(box.left for box in extent), min(box.top for box in extent)
    drawn_key, key_box = _draw_key(kinds, left, top - 26)
    extent.append(key_box)
    room = Box(
        left, min(box.top for box in extent), max(box.right for box in extent), max(box.bottom for box in extent)
    ).grown(14)
    notes = []
    hidden = len(dots) - len(labels)
    if hidden:
        notes.append(
            f"{len(labels):,} of {len(dots):,} entities carry their label; {hidden:,} found no room for theirs and are "
            "named under the pointer and in the table."
        )
    title = "Entity map"
    description = (
        f"{plural(len(dots), 'entity', 'entities')} and {plural(len(lines), 'line')} between those said in one "
        "sentence. Most mentioned: "
        + ", ".join(f"{fit_width(dot.entity, 11, 300)} ({dot.mentions:,})" for dot in dots[:12])
        + "."
    )
    svg = svg_document(key, room, title, description, *children, *labels, *drawn_key)
    return Figure(key, svg, title, description, " ".join(notes), room.right - room.left)


def _speakers_in(cell: object) -> int:
    """Return how many speakers a cell names, whether it holds their number or a list of them."""
    return len(cell) if isinstance(cell, list | tuple) else whole(cell)


def _draw_dot(dot: _Dot, said_by: int | None, speakers: int) -> str:
    title = f"{dot.entity} ({dot.label or 'no label'}): {plural(dot.mentions, 'mention')}"
    if said_by:
        title += f" by {said_by:,} of {plural(max(said_by, speakers), 'speaker')}"
    return element(
        "g",
        {"class": "dot", "role": "img", "aria-label": title},
        element("title", {}, text=title),
        element(
            "circle",
            {
                "cx": dot.x,
                "cy": dot.y,
                "r": dot.radius,
                "fill": _colour(kind_of(dot.label)),
                "fill-opacity": 0.85,
                "stroke": "#ffffff",
                "stroke-width": 1,
            },
        ),
    )
