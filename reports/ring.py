"""Where the circles and labels of the speaker graph go: on a ring, depending on the tables alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reports.cells import Name
from reports.drawing import Box, shift_apart
from reports.visible import estimate_width, fit_width, wrap_width

__all__ = [
    "FEW",
    "NAME_LINE",
    "NAME_SIZE",
    "ROLE_LINE",
    "ROLE_SIZE",
    "Node",
    "label_height",
    "order_ring",
    "place_nodes",
]

FEW = 12
"""Up to this many speakers a label stands beside its circle; above, in one of two columns with a thread to it."""

_WRAPPED, _ONE_LINE = 185.0, 320.0
"""Widest label: on two lines where there is room for that, so that the picture stays narrow, or on one."""

NAME_SIZE = 15.0
ROLE_SIZE = 12.0
NAME_LINE = 19.0
ROLE_LINE = 17.0
"""From one line of a label to the next."""


class Node(NamedTuple):
    """A speaker in the picture: a circle, its label's box and lines, and on which side (-1 left, 1 right) it stands."""

    place: int
    speaker: str
    x: float
    y: float
    radius: float
    entities: int
    label: Box
    side: int
    name: tuple[str, ...]
    role: tuple[str, ...]

    @property
    def box(self) -> Box:
        """The square around the circle."""
        return Box(self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius)


def order_ring(speakers: Sequence[str], weights: Mapping[frozenset[str], float]) -> list[str]:
    """Order speakers so that neighbours on the ring share much: nearest neighbour, then turning runs about (2-opt).

    Parameters
    ----------
    speakers
        Ids, distinct; the first stays first.
    weights
        How much two speakers share; 0 where a pair is missing.

    Returns
    -------
    list of str
        The same speakers; of equally good orders always the same one.
    """
    if len(speakers) < 4:
        return list(speakers)

    def near(a: str, b: str) -> float:
        return weights.get(frozenset((a, b)), 0.0)

    left = list(speakers[1:])
    ring = [speakers[0]]
    while left:
        following = max(left, key=lambda speaker: near(ring[-1], speaker))  # the first of equals: table order
        left.remove(following)
        ring.append(following)
    size = len(ring)
    for _ in range(size):  # every round improves or is the last; the bound is on time, not on quality
        improved = False
        for i in range(1, size - 1):
            for j in range(i + 1, size):
                before, after = ring[i - 1], ring[(j + 1) % size]
                gain = near(before, ring[j]) + near(ring[i], after) - near(before, ring[i]) - near(ring[j], after)
                if gain > 1e-12:
                    ring[i : j + 1] = reversed(ring[i : j + 1])
                    improved = True
        if not improved:
            break
    return ring


def place_nodes(ring: Sequence[str], entities: Mapping[str, int], names: Mapping[str, Name]) -> list[Node]:
    """Place circles on a ring around (0, 0), areas as numbers of entities, and labels where none overlaps another.

    Parameters
    ----------
    ring
        Speakers in their order around the ring.
    entities
        Distinct entities of each.
    names
        How each is shown. Roles are shown up to `FEW` speakers.
    """
    count = len(ring)
    few = count <= FEW
    reach = 0.0 if count == 1 else (140.0 + 13.0 * count if few else 250.0 + 3.0 * (count - FEW))
    largest = max((entities[speaker] for speaker in ring), default=0)
    biggest = 34.0 if few else max(9.0, 2.4 * reach / count)
    # No circle stands at the very top or bottom, where its label could go neither left nor right.
    start = -math.pi / 2 + math.pi / count if count % 2 == 0 else 0.0
    spots = []
    for index, speaker in enumerate(ring):
        angle = start + 2 * math.pi * index / count
        radius = max(4.0, biggest * math.sqrt(entities[speaker] / largest)) if largest else 6.0
        # Rounded, so that a sine's last bit, which differs between platforms, decides nothing.
        spots.append((index, round(reach * math.cos(angle), 3), round(reach * math.sin(angle), 3), radius))

    lines = {speaker: _wrap_label(names[speaker], few=few) for speaker in ring}
    height = max(label_height(*both) for both in lines.values()) if lines else 0.0
    nodes: dict[int, Node] = {}
    for side in (-1, 1):
        column = sorted((spot for spot in spots if (spot[1] >= 0) == (side > 0)), key=lambda spot: spot[2])
        # A label leans away from the middle, where the lines are.
        wanted = [y + (12.0 * y / reach if reach else 0.0) for _, _, y, _ in column]
        room = reach + height * count
        for (index, x, y, radius), middle in zip(column, shift_apart(wanted, height + 3, -room, room), strict=True):
            name, role = lines[ring[index]]
            edge = x + side * (radius + 9.0) if few else side * (reach + biggest + 26.0)
            width = max(
                *(estimate_width(line, NAME_SIZE, bold=True) for line in name),
                *(estimate_width(line, ROLE_SIZE) for line in role),
                0.0,
            )
            left, right = (edge, edge + width) if side > 0 else (edge - width, edge)
            label = Box(left, middle - height / 2, right, middle + height / 2)
            nodes[index] = Node(index, ring[index], x, y, radius, entities[ring[index]], label, side, name, role)
    return [nodes[index] for index in range(count)]


def _wrap_label(name: Name, *, few: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of a label: the name, and where there are few speakers the role."""
    if not few:
        return (fit_width(name.short, NAME_SIZE, _ONE_LINE, bold=True),), ()
    role = wrap_width(name.role, ROLE_SIZE, _WRAPPED) if name.role else ()
    return wrap_width(name.short, NAME_SIZE, _WRAPPED, bold=True), role


def label_height(name: Sequence[str], role: Sequence[str]) -> float:
    """Return how high a label of these lines is, in SVG units."""
    return NAME_LINE * len(name) + ROLE_LINE * len(role)
