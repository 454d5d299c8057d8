"""What is paired is equal or alike, in order, and worth most; the work is bounded."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from reports.compare.alignment import align

SEQUENCES = st.lists(st.sampled_from("abcd"), max_size=9)


def pair_equal(a: Sequence[str], b: Sequence[str], *, small: int, large: int, room: int) -> tuple[int, bool]:
    asked = []

    def score(i: int, j: int) -> float:
        asked.append((i, j))
        return float(a[i] == b[j])

    found = align(a, b, score, is_telling=lambda i: True, small=small, large=large, room=room)
    assert all(i < k and j < m for (i, j), (k, m) in zip(found.pairs, found.pairs[1:], strict=False))
    assert all(a[i] == b[j] for i, j in found.pairs)
    assert len(asked) <= room
    return len(found.pairs), found.whole


def longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return 1 + longest_common(a[:-1], b[:-1])
    return max(longest_common(a[:-1], b), longest_common(a, b[:-1]))


@given(SEQUENCES, SEQUENCES)
def test_a_small_stretch_is_solved_exactly(a: list[str], b: list[str]) -> None:
    assert pair_equal(a, b, small=100, large=100, room=100) == (longest_common(a, b), True)


@given(SEQUENCES, SEQUENCES, st.integers(1, 40), st.integers(0, 60), st.integers(0, 200))
def test_with_less_room_it_is_still_in_order_and_asks_no_more(
    a: list[str], b: list[str], small: int, more: int, room: int
) -> None:
    count, _ = pair_equal(a, b, small=small, large=small + more, room=room)
    assert count <= longest_common(a, b)


@given(st.lists(st.sampled_from("abcd"), max_size=200))
def test_equal_sequences_are_paired_without_asking(a: list[str]) -> None:
    assert pair_equal(a, list(a), small=0, large=0, room=0) == (len(a), True)


def test_a_moved_unique_element_does_not_tear_the_others_apart() -> None:
    a = [f"line {n}" for n in range(300)]
    b = [*a[1:], a[0]]
    assert pair_equal(a, b, small=10, large=100, room=1000) == (299, True)


def test_elements_that_occur_often_are_paired_in_turn() -> None:
    a, b = ["x", "y"] * 500, ["z", "x", "y", "z"] * 400
    count, _ = pair_equal(a, b, small=10, large=100, room=1_000)
    assert count >= 700


def test_what_does_not_fit_is_said() -> None:
    count, whole = pair_equal(["a"] * 50, ["b"] * 50, small=100, large=400, room=100)
    assert (count, whole) == (0, False)


@settings(deadline=None)
@given(st.integers(100, 2_000))
def test_anchors_within_anchors_end(count: int) -> None:
    a = [str(n) for n in range(count)] * 2
    b = [str(n) for n in range(count - 1, -1, -1)] * 2
    assert pair_equal(a, b, small=4, large=16, room=500)[0] >= 1
