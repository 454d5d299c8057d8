"""The persona-overlap graph: speakers as circles, what they share as lines, drawn from the tables and nothing else.

A circle's area is the number of distinct entities, a line's thickness the number that both use. A line's colour says
how that compares with texts shuffled between the speakers: blue for more, orange and broken for less (q < .05), grey
for what chance alone would give. A real person among personas is a square, of the same area as a circle would have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from reports.cells import Name, Row, count_of, decimal, plural, probability, signed, value, whole
from reports.drawing import GREY, INK, OKABE_ITO, Box, Figure, crosses, element, hits, svg_document, text_element
from reports.ring import FEW, NAME_LINE, NAME_SIZE, ROLE_LINE, ROLE_SIZE, Node, label_height, order_ring, place_nodes
from reports.visible import estimate_width, one_line

__all__ = ["DRAWN", "beyond_chance", "draw_overlap"]

DRAWN = 40
"""Speakers in the picture at most; of more, those with the most entities are drawn and the note says so."""

PER_SPEAKER = 3
"""Lines of each speaker that are drawn where there are too many speakers to draw all."""

SIGNIFICANT = 0.05
_COLOURS = {1: OKABE_ITO["blue"], 0: GREY, -1: OKABE_ITO["vermillion"]}
_PAINT: dict[str, str | float] = {"fill": "#2f3b4a", "stroke": "#ffffff", "stroke-width": 2}
_ALONG = (0.5, 0.44, 0.56, 0.38, 0.62, 0.32, 0.68, 0.26, 0.74)

Edge = tuple[Row, Node, Node]


def beyond_chance(row: Row) -> int:
    """Return 1 where two speakers share more than chance would give, -1 where less, 0 where that cannot be said.

    Benjamini and Hochberg's q below .05 and the sign of z decide; a missing q or z decides nothing.
    """
    q, z = value(row.get("q")), value(row.get("z"))
    if q is None or z is None or q >= SIGNIFICANT or z == 0:
        return 0
    return 1 if z > 0 else -1


def _describe_edge(row: Row, names: Mapping[str, Name], limit: int) -> str:
    text = (
        f"{names[row['a']].short} and {names[row['b']].short} share "
        f"{plural(whole(row['shared_entities']), 'entity', 'entities')} (Jaccard {decimal(row['jaccard'])}"
    )
    if value(row.get("z")) is not None:
        if value(row.get("rarefied")) is not None:
            text += f"; in samples of equal size {decimal(row['rarefied'], 1)}, by chance {decimal(row['expected'], 1)}"
        text += f"; z {signed(row['z'])}, q {probability(row['q'])}"
    words = list(row.get("names") or [])
    if not words or not limit:
        return text + ")"
    more = len(words) - limit
    shown = ", ".join(one_line(word, 60) for word in words[:limit])
    return f"{text}): {shown}" + (f" and {more:,} more" if more > 0 else "")


def _draw_edge(edge: Edge, width: float, title: str, *, crowded: bool) -> str:
    row, first, second = edge
    verdict = beyond_chance(row)
    line: dict[str, str | float] = {
        "class": "line",
        "x1": first.x,
        "y1": first.y,
        "x2": second.x,
        "y2": second.y,
        "stroke": _COLOURS[verdict],
        "stroke-width": width,
        "stroke-opacity": 0.75 if verdict else (0.4 if crowded else 0.5),
    }
    if verdict < 0:
        line["stroke-dasharray"] = f"{max(6.0, 1.6 * width):.1f} {max(3.0, 0.5 * width):.1f}"
    # A thin line is hard to point at: an invisible one as wide as a finger's tip lies on it.
    hold = {**line, "class": "hold", "stroke-opacity": 0.0, "stroke-width": max(width, 12.0)}
    hold.pop("stroke-dasharray", None)
    group: dict[str, str | float] = {
        "class": "edge",
        "data-a": first.place,
        "data-b": second.place,
        "role": "img",
        "aria-label": title,
    }
    if not crowded:
        group["tabindex"] = "0"
    return element("g", group, element("title", {}, text=title), element("line", line), element("line", hold))


def _place_numbers(edges: Sequence[Edge], nodes: Sequence[Node]) -> list[tuple[Edge, Box]]:
    """Return the lines whose number finds room, heaviest first, each with the box that it takes.

    The place along the line is the one that fewest other lines come near, so that a number is read with its own line.
    """
    taken = [node.box.grown(2) for node in nodes] + [node.label for node in nodes]
    few = len(nodes) <= FEW
    placed: list[tuple[Edge, Box]] = []
    for edge in edges:
        row, first, second = edge
        half = estimate_width(count_of(row["shared_entities"]), 12, bold=True) / 2 + 5
        best: tuple[int, int, Box] | None = None
        for rank, t in enumerate(_ALONG):
            x, y = first.x + t * (second.x - first.x), first.y + t * (second.y - first.y)
            box = Box(x - half, y - 10, x + half, y + 10)
            if hits(box, taken):
                continue
            near = 0
            if few:
                around = box.grown(7)
                near = sum(crosses(around, (a.x, a.y), (b.x, b.y)) for other, a, b in edges if other is not row)
            if best is None or (near, rank) < best[:2]:
                best = (near, rank, box)
            if near == 0:
                break
        if best is not None:
            taken.append(best[2])
            placed.append((edge, best[2]))
    return placed


def _draw_number(edge: Edge, box: Box) -> str:
    row, first, second = edge
    plate: dict[str, str | float] = {
        "x": box.left,
        "y": box.top,
        "width": box.right - box.left,
        "height": box.bottom - box.top,
        "rx": 9,
        "fill": "#ffffff",
        "stroke": _COLOURS[beyond_chance(row)],
        "stroke-width": 1.2,
    }
    text: dict[str, str | float] = {
        "x": (box.left + box.right) / 2,
        "y": box.top + 14.3,
        "font-size": 12,
        "font-weight": "bold",
        "text-anchor": "middle",
        "fill": INK,
    }
    return element(
        "g",
        {"class": "count", "data-a": first.place, "data-b": second.place, "pointer-events": "none"},
        element("rect", plate),
        element("text", text, text=count_of(row["shared_entities"])),
    )


def _draw_thread(node: Node) -> str:
    """Join a label that stands far from its circle to it, outward first, so that no other circle is crossed."""
    x = node.label.left - 5 if node.side > 0 else node.label.right + 5
    middle = (node.label.top + node.label.bottom) / 2
    away = (node.radius + 8) / max(1e-9, (node.x**2 + node.y**2) ** 0.5)
    path = f"M{node.x:.1f} {node.y:.1f}L{node.x * (1 + away):.1f} {node.y * (1 + away):.1f}L{x:.1f} {middle:.1f}"
    return element("path", {"class": "thread", "d": path, "fill": "none", "stroke": "#b9c0c9", "stroke-width": 1})


def _draw_square(node: Node) -> str:
    side = math.sqrt(math.pi) * node.radius
    place: dict[str, str | float] = {"x": node.x - side / 2, "y": node.y - side / 2, "width": side, "height": side}
    return element("rect", {"class": "human", **place, **_PAINT})


def _draw_node(node: Node, name: Name) -> str:
    title = f"{name.full}: {plural(node.entities, 'entity', 'entities')}"
    anchor, x = ("start", node.label.left) if node.side > 0 else ("end", node.label.right)
    middle = (node.label.top + node.label.bottom) / 2
    parts = [
        element("title", {}, text=title),
        _draw_square(node)
        if name.human
        else element("circle", {"cx": node.x, "cy": node.y, "r": node.radius, **_PAINT}),
    ]
    top = middle - label_height(node.name, node.role) / 2
    for line in node.name:
        parts.append(
            text_element(x, top + 14.5, line, NAME_SIZE, anchor=anchor, font_weight="bold", **{"class": "name"})
        )
        top += NAME_LINE
    for line in node.role:
        parts.append(text_element(x, top + 12, line, ROLE_SIZE, anchor=anchor, colour="#57606a", **{"class": "role"}))
        top += ROLE_LINE
    inside = count_of(node.entities)
    if estimate_width(inside, 11, bold=True) < 1.8 * node.radius:
        white: dict[str, str | float] = {
            "x": node.x,
            "y": node.y + 4,
            "font-size": 11,
            "font-weight": "bold",
            "text-anchor": "middle",
            "fill": "#ffffff",
            "pointer-events": "none",
        }
        parts.append(element("text", white, text=inside))
    return element(
        "g", {"class": "node", "data-node": node.place, "tabindex": "0", "role": "img", "aria-label": title}, *parts
    )


def draw_overlap(
    speakers: Sequence[Row], overlap: Sequence[Row], names: Mapping[str, Name], *, key: str = "overlap"
) -> Figure | None:
    """Draw the graph of who shares how many entities with whom.

    Parameters
    ----------
    speakers
        Rows of the table ``speakers``.
    overlap
        Rows of the table ``overlap``; rows of speakers that are not drawn are left out.
    names
        How each speaker is shown.
    key
        Prefix of the ids in the drawing.

    Returns
    -------
    Figure or None
        None where there is no speaker. The same tables give the same bytes. With more than twelve speakers only the
        three heaviest lines of each are drawn.
    """
    entities = {row["speaker"]: whole(row["entities"]) for row in speakers if row["speaker"] in names}
    if not entities:
        return None
    chosen = set(sorted(entities, key=lambda speaker: -entities[speaker])[:DRAWN])
    kept = [speaker for speaker in entities if speaker in chosen]
    between = [row for row in overlap if row["a"] in chosen and row["b"] in chosen and row["a"] != row["b"]]
    weights = {frozenset((row["a"], row["b"])): value(row["jaccard"]) or 0.0 for row in between}
    nodes = place_nodes(order_ring(kept, weights), entities, names)
    by_speaker = {node.speaker: node for node in nodes}
    few = len(nodes) <= FEW

    shared = [row for row in between if whole(row["shared_entities"]) > 0]
    heavy = sorted(shared, key=lambda row: -whole(row["shared_entities"]))
    drawn = heavy if few else _heaviest_of_each(heavy)
    edges = [(row, by_speaker[row["a"]], by_speaker[row["b"]]) for row in drawn]
    numbers = _place_numbers(edges, nodes)
    most = whole(heavy[0]["shared_entities"]) if heavy else 1
    thickest = min(13.0, 80.0 / len(nodes)) if few else 5.0
    children: list[str] = []
    for edge in reversed(edges):  # the thickest line on top
        width = max(0.8, thickest * whole(edge[0]["shared_entities"]) / most)
        children.append(_draw_edge(edge, width, _describe_edge(edge[0], names, 40), crowded=not few))
    children += [
        _draw_thread(node)
        for node in nodes
        if not few or abs((node.label.top + node.label.bottom) / 2 - node.y) > node.radius + 14
    ]
    children += [_draw_node(node, names[node.speaker]) for node in nodes]
    children += [_draw_number(edge, box) for edge, box in numbers]

    boxes = [node.label for node in nodes] + [node.box for node in nodes]
    room = Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    ).grown(18)
    title = "Persona-overlap graph"
    people = sum(names[node.speaker].human for node in nodes)
    shapes = plural(len(nodes) - people, "persona") + " as circles, " if len(nodes) > people else ""
    shapes += plural(people, "real person", "real people") + (" as a square" if people == 1 else " as squares")
    shapes = shapes if people else f"{plural(len(nodes), 'speaker')} as circles"
    description = f"{shapes}, joined by {plural(len(edges), 'line')}. " + "; ".join(
        _describe_edge(row, names, 0) for row in heavy[:10]
    )
    svg = svg_document(key, room, title, description, *children)
    note = _note_what_is_missing(len(entities), len(kept), len(between), len(shared), len(edges), len(numbers))
    return Figure(key, svg, title, description, note, room.right - room.left)


def _heaviest_of_each(heavy: Sequence[Row]) -> list[Row]:
    """Return, in their order, the rows that are among the heaviest of either speaker."""
    seen: Counter[str] = Counter()
    kept = []
    for row in heavy:
        if min(seen[row["a"]], seen[row["b"]]) < PER_SPEAKER:
            kept.append(row)
        seen.update((row["a"], row["b"]))
    return kept


def _note_what_is_missing(speakers: int, kept: int, between: int, shared: int, edges: int, numbers: int) -> str:
    notes = []
    if speakers > kept:
        notes.append(f"The {kept} speakers with the most entities are drawn, of {speakers:,}.")
    if shared > edges:
        notes.append(
            f"Of {shared:,} lines {edges:,} are drawn, each speaker's {PER_SPEAKER} heaviest; the table has all."
        )
    if edges > numbers:
        notes.append(
            f"{numbers:,} of {plural(edges, 'line')} carry their number, the heaviest for which there is room; every "
            "number is in the table and under the pointer."
        )
    without = between - shared
    if without:
        notes.append(f"{plural(without, 'pair')} without a shared entity {'has' if without == 1 else 'have'} no line.")
    return " ".join(notes)
