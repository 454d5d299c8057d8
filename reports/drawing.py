"""What our own drawings are made of: SVG elements, boxes that must not overlap, colours that all can tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from reports.visible import visible

__all__ = [
    "FONT",
    "GREY",
    "INK",
    "OKABE_ITO",
    "Box",
    "Figure",
    "crosses",
    "element",
    "hits",
    "number",
    "shift_apart",
    "svg_document",
    "text_element",
]

OKABE_ITO = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermillion": "#D55E00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "yellow": "#F0E442",
}
"""Okabe and Ito's colours, told apart with any kind of colour vision."""

INK = "#1b1f24"
GREY = "#8b929a"
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


class Figure(NamedTuple):
    """A drawn figure.

    Parameters
    ----------
    key
        Its file name without suffix, and the prefix of every id inside it.
    svg
        The document, complete, without an XML declaration, so that it stands inside a page as well as by itself.
    title, description
        What a reader who cannot see it is told: what it is, and what it shows.
    note
        What was left out of the picture, in words; empty when nothing was.
    width
        In SVG units, which are pixels at full size.
    """

    key: str
    svg: str
    title: str
    description: str
    note: str
    width: float


class Box(NamedTuple):
    """A rectangle with its sides parallel to the axes, y downward."""

    left: float
    top: float
    right: float
    bottom: float

    def grown(self, by: float) -> Box:
        """Return the box with a margin around it."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def overlaps(self, other: Box) -> bool:
        """Whether the two share an area; touching is not overlapping."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def hits(box: Box, placed: Iterable[Box]) -> bool:
    """Whether a box overlaps any of those already placed."""
    return any(box.overlaps(other) for other in placed)


def crosses(box: Box, start: tuple[float, float], end: tuple[float, float]) -> bool:
    """Whether a line passes through a box (Liang and Barsky's clipping: some part of it is left inside)."""
    (x0, y0), (x1, y1) = start, end
    low, high = 0.0, 1.0
    for delta, near, far in ((x1 - x0, box.left - x0, box.right - x0), (y1 - y0, box.top - y0, box.bottom - y0)):
        if math.isclose(delta, 0.0, abs_tol=1e-12):
            if near > 0 or far < 0:
                return False
            continue
        first, second = sorted((near / delta, far / delta))
        low, high = max(low, first), min(high, second)
        if low > high:
            return False
    return True


def shift_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions at least ``gap`` apart, in the order of ``wanted``, as near to it as one sweep each way gives.

    Parameters
    ----------
    wanted
        Ascending.
    gap
        Least distance between neighbours.
    low, high
        Ends of the room; where it is too small for all, the positions go on past ``high``.
    """
    placed: list[float] = []
    for position in wanted:
        placed.append(max(position, placed[-1] + gap if placed else low))
    ceiling = high
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    if placed and placed[0] < low:
        placed = [max(position, low + index * gap) for index, position in enumerate(placed)]
    return placed


def number(value: float) -> str:
    """Return a coordinate with at most two decimals, the same on every platform, never ``-0``."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def element(name: str, attributes: dict[str, str | float], *children: str, text: str | None = None) -> str:
    """Return one SVG element; attribute values and ``text`` are data and are escaped, ``children`` are SVG already."""
    written = "".join(
        f" {key}={quoteattr(visible(value) if isinstance(value, str) else number(value))}"
        for key, value in attributes.items()
    )
    inside = (escape(visible(text)) if text is not None else "") + "".join(children)
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def text_element(
    x: float, y: float, text: str, size: float, *, anchor: str = "start", colour: str = INK, **more: str | float
) -> str:
    """Return a line of text with a halo of paper around it, so that it is read across a line behind it.

    Each text is a direction of its own (``unicode-bidi: isolate``), so that a right-to-left name moves nothing else.
    """
    attributes: dict[str, str | float] = {
        "x": x,
        "y": y,
        "font-size": size,
        "text-anchor": anchor,
        "fill": colour,
        "stroke": "#ffffff",
        "stroke-width": 3,
        "stroke-linejoin": "round",
        "paint-order": "stroke",
        "unicode-bidi": "isolate",
    }
    attributes.update({key.replace("_", "-"): value for key, value in more.items()})
    return element("text", attributes, text=text)


def svg_document(key: str, box: Box, title: str, description: str, *children: str) -> str:
    """Return a complete SVG document with a white ground, a title and a description for readers who cannot see it."""
    width, height = box.right - box.left, box.bottom - box.top
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"{number(box.left)} {number(box.top)} {number(width)} {number(height)}",
            "width": width,
            "height": height,
            "role": "group",
            "aria-labelledby": f"{key}-title {key}-desc",
            "font-family": FONT,
            "class": f"drawing {key}",
        },
        # Not <title>: a browser would show it as the hover text of every point that has none of its own.
        element("desc", {"id": f"{key}-title"}, text=title),
        element("desc", {"id": f"{key}-desc"}, text=description),
        element(
            "rect", {"class": "paper", "x": box.left, "y": box.top, "width": width, "height": height, "fill": "#ffffff"}
        ),
        *children,
    )
