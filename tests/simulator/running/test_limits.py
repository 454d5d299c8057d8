"""The limit of calls in flight, and what may begin in a minute."""

from __future__ import annotations

import doctest
import itertools
import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.running import limits
from simulator.running.limits import Bucket, Limit, Wait


def test_the_examples_run() -> None:
    done = doctest.testmod(limits)
    assert (done.failed, done.attempted > 5) == (0, True)


def fill(limit: Limit, now: float = 0.0) -> list[int]:
    """Begin as many calls as may be in flight."""
    return [limit.begin(now) for _ in range(limit.window - limit.in_flight)]


def grow(limit: Limit, rounds: int) -> list[int]:
    """Answer whole rounds of calls; return the windows."""
    windows = []
    for _ in range(rounds):
        for number in fill(limit):
            limit.succeeded(number)
        windows.append(limit.window)
    return windows


def test_the_limit_doubles_each_round_until_the_first_overload_and_then_grows_by_one() -> None:
    limit = Limit(100)
    assert limit.window == 8
    assert grow(limit, 4) == [16, 32, 64, 100]
    limit.overloaded(limit.begin(0.0), 0.0)
    assert limit.window == 50
    windows = [limit.window, *grow(limit, 10)]
    steps = [later - earlier for earlier, later in itertools.pairwise(windows)]
    assert set(steps) <= {0, 1}
    assert sum(steps) >= 9


def test_it_never_leaves_floor_and_ceiling() -> None:
    limit = Limit(5, floor=2)
    assert limit.window == 5
    assert grow(limit, 3) == [5, 5, 5]
    for _ in range(10):
        limit.overloaded(limit.begin(0.0), 0.0)
    assert limit.window == 2
    assert Limit(1).window == Limit(0).window == Limit(1, floor=9).window == 1


def test_a_round_of_overloads_halves_it_once() -> None:
    limit = Limit(8)
    first = fill(limit)
    for number in first:
        limit.overloaded(number, 1.0)
    assert (limit.window, limit.in_flight) == (4, 0)
    late, new = limit.begin(2.0), limit.begin(2.0)
    limit.overloaded(new, 3.0)
    assert limit.window == 2
    limit.overloaded(late, 3.0)
    assert limit.window == 2, "the one that was begun in the same round says nothing new"


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    limit = Limit(100)
    for _ in range(50):
        limit.succeeded(limit.begin(0.0))
    assert limit.window == 8


def test_answers_one_by_one_double_it_as_well() -> None:
    limit = Limit(100)
    numbers = fill(limit)
    for number in numbers:
        limit.succeeded(number)
        fill(limit)
    assert limit.window == 16


def test_what_ends_in_neither_way_changes_nothing() -> None:
    limit = Limit(16)
    for _ in fill(limit):
        limit.ended()
    assert (limit.window, limit.in_flight) == (8, 0)


def test_as_many_as_may_be_are_in_flight_and_no_more() -> None:
    limit = Limit(3)
    fill(limit)
    assert limit.wait(0.0) == Wait(math.inf, "calls")
    limit.ended()
    assert limit.wait(0.0) == Wait(0.0)


def test_the_longest_pause_that_was_asked_for_holds() -> None:
    limit = Limit(4)
    numbers = fill(limit)
    for number, (now, asked) in zip(numbers, [(0.0, 30.0), (1.0, 5.0), (2.0, 0.0), (3.0, 60.0)], strict=True):
        limit.overloaded(number, now, asked=asked)
    assert limit.wait(10.0) == Wait(53.0, "asked")
    assert limit.wait(63.0) == Wait(0.0)


def test_the_reason_is_what_takes_longest() -> None:
    limit = Limit(9, requests_per_minute=6, tokens_per_minute=60)
    limit.begin(0.0, 31.0)
    assert limit.wait(0.0, 1.0) == Wait(30.0 + 1.0, "tokens")
    assert limit.wait(25.0, 1.0) == Wait(6.0, "tokens")
    limit.begin(40.0, 1.0)
    assert limit.wait(40.0, 1.0).cause == "requests"


def test_what_a_call_really_used_is_put_right() -> None:
    limit = Limit(9, tokens_per_minute=6000)
    assert limit.counts_tokens
    limit.begin(0.0, 1000.0)
    before = limit.wait(0.0, 50.0).seconds
    limit.correct(1000.0, 100.0, 0.0)
    assert limit.wait(0.0, 50.0).seconds == pytest.approx(before - 9.0, abs=0.2)
    limit.correct(100.0, 700.0, 0.0)
    assert limit.wait(0.0, 50.0).seconds == pytest.approx(before - 3.0, abs=0.2)
    assert not Limit(9).counts_tokens


def test_a_call_larger_than_a_minute_goes_alone() -> None:
    bucket = Bucket(600)
    assert bucket.wait(100_000, 0.0) == 0.0
    bucket.take(100_000, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(100_000 / 600 * 60, rel=0.02)


@given(
    st.floats(0.1, 10_000),
    st.lists(st.tuples(st.floats(0, 120), st.floats(0, 1)), min_size=1, max_size=300),
)
def test_no_minute_sees_more_than_its_share(per_minute: float, arrivals: list[tuple[float, float]]) -> None:
    """Amounts that the bucket holds are taken as soon as may be; whatever their pattern, a minute holds its share."""
    bucket, now, holds = Bucket(per_minute), 0.0, max(1.0, per_minute / 60)
    taken: deque[tuple[float, float]] = deque()
    for pause, share in arrivals:
        amount = share * holds
        now += pause
        now += bucket.wait(amount, now)
        bucket.take(amount, now)
        taken.append((now, amount))
        while taken[0][0] <= now - 60:
            taken.popleft()
        # The bucket is full when the first of a minute comes, so that up to what it holds may be above the rate.
        most = per_minute + 1.0 if holds > 1 else per_minute + holds
        assert sum(one for _, one in taken) <= most + 1e-6


@given(st.integers(1, 3000), st.integers(1, 400))
def test_no_minute_sees_more_requests_than_it_may(per_minute: int, requests: int) -> None:
    bucket, now, begun = Bucket(per_minute), 0.0, []
    for _ in range(requests):
        now += bucket.wait(1.0, now)
        bucket.take(1.0, now)
        begun.append(now)
    for first, later in zip(begun, begun[per_minute:], strict=False):
        assert later - first >= 60.0 - 1e-6


@given(
    st.integers(1, 40),
    st.lists(st.sampled_from(["begin", "succeeded", "overloaded", "ended"]), max_size=200),
)
def test_whatever_happens_the_limit_stays_in_its_bounds(ceiling: int, steps: list[str]) -> None:
    limit, begun = Limit(ceiling), deque[int]()
    for now, step in enumerate(steps):
        if step == "begin":
            if limit.wait(float(now)).seconds == 0.0:
                begun.append(limit.begin(float(now)))
        elif begun:
            number = begun.popleft()
            if step == "overloaded":
                limit.overloaded(number, float(now))
            elif step == "succeeded":
                limit.succeeded(number)
            else:
                limit.ended()
        assert limit.in_flight == len(begun)
        assert 1 <= limit.window <= ceiling
        assert (limit.wait(float(now)).cause == "calls") == (len(begun) >= limit.window)
