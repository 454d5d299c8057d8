"""How fast replies come, told from the recent past alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.running.progress.pace import FEWEST, RECENT, Pace, Share, split_rest, time_to_go


def paced(every: float, replies: int, *, limit: int = 1, begun: float = 0.0) -> tuple[Pace, float]:
    pace, now = Pace(begun), begun
    pace.set_limit(limit, begun)
    for _ in range(replies):
        now += every
        pace.add(now)
    return pace, now


@pytest.mark.parametrize("every", [0.001, 0.1, 2.0, 45.0])
def test_a_steady_pace_is_told_as_it_is(every: float) -> None:
    pace, now = paced(every, 500)
    assert pace.rate(now) == pytest.approx(1 / every, rel=0.02)


def test_there_is_no_rate_before_as_many_replies_as_can_be_in_flight() -> None:
    pace, now = paced(0.1, 31, limit=32)
    assert pace.rate(now) is None
    pace.add(now + 0.1)
    assert pace.rate(now + 0.1) == pytest.approx(10)
    few, now = paced(1.0, FEWEST - 1)
    assert few.rate(now) is None


def test_a_rate_forgets_what_is_long_past() -> None:
    pace, now = paced(0.01, 10_000)
    for _ in range(int(RECENT) + 5):
        now += 1.0
        pace.add(now)
    assert pace.rate(now) == pytest.approx(1.0, rel=0.1)


def test_a_rate_falls_while_nothing_comes() -> None:
    pace, now = paced(1.0, 100)
    rates = [pace.rate(now + silence) for silence in (0, 30, 59, 300, 3000)]
    assert all(rate is not None for rate in rates)
    assert rates == sorted(rates, key=lambda rate: -(rate or 0))
    assert (rates[-1] or 1) < 0.01


def test_another_limit_is_another_pace() -> None:
    pace, now = paced(0.1, 300, limit=16)
    assert pace.rate(now) == pytest.approx(10, rel=0.02)
    pace.set_limit(20, now)
    assert pace.rate(now) is not None, "a small step keeps what was seen"
    pace.set_limit(8, now)
    assert pace.rate(now) is None
    for _ in range(8):
        now += 0.4
        pace.add(now)
    assert pace.rate(now) == pytest.approx(2.5)


@given(st.lists(st.floats(0.0, 100.0), max_size=60), st.integers(1, 40))
def test_a_rate_is_positive_or_none_whatever_happens(waits: list[float], limit: int) -> None:
    pace, now = Pace(0.0), 0.0
    pace.set_limit(limit, 0.0)
    for wait in waits:
        now += wait
        pace.add(now)
        rate = pace.rate(now + 1.0)
        assert rate is None or rate > 0


@given(st.integers(0, 1000), st.lists(st.integers(-5, 1000), min_size=1, max_size=6))
def test_shares_of_the_rest_hold_together(left: int, rests: list[int]) -> None:
    shares = split_rest(left, rests)
    assert all(0 <= low <= high <= left for low, high in shares)
    assert sum(low for low, _ in shares) <= left <= sum(high for _, high in shares)


def test_time_to_go_is_that_of_the_slowest_model() -> None:
    assert time_to_go(2000, [Share(1000, 1000, 10.0), Share(1000, 1000, 1.0)]) == (1000.0, 1000.0)
    # After a restart it is not known whose calls are left: between all of them the fast one's and all the slow one's.
    low, high = time_to_go(900, [Share(0, 900, 10.0), Share(0, 900, 1.0)]) or (0.0, 0.0)
    assert low == pytest.approx(900 / 11)
    assert high == 900
    assert time_to_go(10, [Share(5, 5, 1.0), Share(5, 5, None)]) is None
    assert time_to_go(10, [Share(10, 10, 2.0), Share(0, 10, None)]) == (5.0, 5.0)
    assert time_to_go(0, [Share(0, 0, 1.0)]) is None
    assert time_to_go(10, []) is None


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(0, 1000), st.floats(0.01, 100)), min_size=1, max_size=5))
def test_the_least_time_is_never_more_than_the_most(left: int, models: list[tuple[int, float]]) -> None:
    shares = [
        Share(low, high, rate)
        for (low, high), (_, rate) in zip(split_rest(left, [rest for rest, _ in models]), models, strict=True)
    ]
    low, high = time_to_go(left, shares) or (0.0, 0.0)
    assert 0 < low <= high
