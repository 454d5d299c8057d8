"""What a few calls say of many, against oracles from outside and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simulator.running.size.estimates import expect_drawn, mean_interval, share_interval
from simulator.running.size.ranges import NOTHING, UNKNOWN, Range, add_ranges, divide, longest

AMOUNTS = st.floats(min_value=0, max_value=1e6, allow_nan=False)
RANGES = st.builds(lambda low, more: Range(low, low + more), AMOUNTS, AMOUNTS)


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=2, max_size=50))
def test_the_interval_of_a_mean_is_scipys(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.low is not None
    assert found.high is not None
    mean, error = float(np.mean(values)), float(stats.sem(values))
    assert found.low <= mean * (1 + 1e-12)
    assert found.high >= mean * (1 - 1e-12)
    if error > 1e-9 * mean:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=mean, scale=error)
        assert (found.low, found.high) == pytest.approx((max(0.0, low), high), rel=1e-6, abs=1e-9)


def test_one_value_says_nothing_of_a_mean() -> None:
    assert mean_interval([3.0]) == mean_interval([]) == UNKNOWN


@given(st.integers(1, 200).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_interval_of_a_share_holds_it_and_is_jeffreys(counts: tuple[int, int]) -> None:
    found, of = counts
    interval = share_interval(found, of)
    assert interval.low is not None
    assert interval.high is not None
    assert 0 <= interval.low <= found / of <= interval.high <= 1
    if 0 < found < of:
        low, high = stats.beta.ppf([0.025, 0.975], found + 0.5, of - found + 0.5)
        assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9)


def test_nothing_says_nothing_of_a_share() -> None:
    assert share_interval(0, 0) == UNKNOWN


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("of", [5, 20, 100])
def test_jeffreys_interval_holds_the_share_as_often_as_it_says(share: float, of: int) -> None:
    """Exactly, by adding up the binomial law; the interval is known to dip to 0.9 or so for some shares."""
    held = 0.0
    for found in range(of + 1):
        interval = share_interval(found, of)
        assert interval.low is not None
        assert interval.high is not None
        held += float(stats.binom.pmf(found, of, share)) * (interval.low <= share <= interval.high)
    assert held > 0.88


@given(st.integers(1, 12), st.integers(1, 12), st.just(0.0) | st.floats(1e-6, 1))
def test_what_is_drawn_is_the_mean_of_the_least_of_two(sample: int, iterations: int, share: float) -> None:
    law = stats.binom.pmf(np.arange(iterations + 1), iterations, share)
    expected = float(np.minimum(np.arange(iterations + 1), sample) @ law)
    assert expect_drawn(sample, iterations, share) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("law", "n", "least"), [("normal", 5, 0.94), ("lognormal", 10, 0.90), ("lognormal", 40, 0.93)])
def test_the_interval_holds_the_mean_as_often_as_its_docstring_says(law: str, n: int, least: float) -> None:
    rng = np.random.default_rng(20261201)
    held = 0
    for _ in range(4000):
        values = rng.normal(100, 20, n) if law == "normal" else rng.lognormal(0, 0.5, n)
        mean = 100 if law == "normal" else math.exp(0.125)
        interval = mean_interval([float(value) for value in values])
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= mean <= interval.high
    assert least < held / 4000 < 0.96


@given(st.lists(RANGES, max_size=5))
def test_ranges_add_and_compare_end_by_end(ranges: list[Range]) -> None:
    total, most = add_ranges(ranges), longest(ranges)
    assert total.low == pytest.approx(sum(one.low or 0 for one in ranges))
    assert total.high == pytest.approx(sum(one.high or 0 for one in ranges))
    assert most.high == max([one.high or 0 for one in ranges], default=0)
    assert add_ranges([*ranges, UNKNOWN]) == longest([*ranges, UNKNOWN]) == UNKNOWN


@given(RANGES, st.floats(min_value=1, max_value=1e3))
def test_dividing_undoes_multiplying(of: Range, by: float) -> None:
    again = divide(of * by, Range(by, by))
    assert (again.low, again.high) == pytest.approx((of.low, of.high))
    assert divide(of, NOTHING) == UNKNOWN
