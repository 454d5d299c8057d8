"""Boxes, lines and positions: what keeps labels apart."""

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from reports.drawing import Box, crosses, element, number, shift_apart

COORDINATE = st.floats(-1000, 1000).map(lambda value: round(value, 2))
POINT = st.tuples(COORDINATE, COORDINATE)


@given(st.lists(COORDINATE, max_size=40).map(sorted), st.floats(1, 50))
def test_positions_are_apart_and_in_order(wanted: list[float], gap: float) -> None:
    placed = shift_apart(wanted, gap, -3000, 3000)
    assert len(placed) == len(wanted)
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(placed))


@given(st.lists(st.integers(-20, 20), max_size=10, unique=True).map(sorted))
def test_positions_already_apart_stay(wanted: list[int]) -> None:
    assert shift_apart([100.0 * position for position in wanted], 50, -3000, 3000) == [100.0 * p for p in wanted]


@given(POINT, POINT, POINT)
def test_a_line_crosses_the_box_around_any_of_its_points_both_ways(
    a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]
) -> None:
    middle = Box((a[0] + b[0]) / 2 - 1, (a[1] + b[1]) / 2 - 1, (a[0] + b[0]) / 2 + 1, (a[1] + b[1]) / 2 + 1)
    assert crosses(middle, a, b)
    other = Box(c[0], c[1], c[0] + 10, c[1] + 10)
    assert crosses(other, a, b) == crosses(other, b, a)


def test_a_line_beside_a_box_does_not_cross_it() -> None:
    box = Box(0, 0, 10, 10)
    assert not crosses(box, (-5, 11), (20, 11))
    assert not crosses(box, (11, -5), (11, 20))
    assert not crosses(box, (20, 5), (30, 5))


@given(st.text(), st.text())
def test_an_element_holds_any_text_as_text(attribute: str, text: str) -> None:
    root = ElementTree.fromstring(element("text", {"aria-label": attribute}, text=text))
    assert root.tag == "text"
    assert not list(root)


def test_numbers_have_no_negative_zero() -> None:
    assert [number(value) for value in (-0.001, 1.5, 100.0, -2.25)] == ["0", "1.5", "100", "-2.25"]
