"""How long a call that fails is gone on with."""

from __future__ import annotations

import doctest
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import QuotaError, RateLimitError, RetryableError
from simulator.running import patience as module
from simulator.running.patience import Patience


def wait(patience: Patience, error: RetryableError, attempt: int = 1, counted: int = 1, held: float = 0) -> float:
    seconds = patience.wait_after(error, key="key", attempt=attempt, counted=counted, held=held)
    assert seconds is not None
    return seconds


def test_the_examples_run() -> None:
    done = doctest.testmod(module)
    assert (done.failed, done.attempted) == (0, 2)


def test_waits_double_up_to_the_longest() -> None:
    patience = Patience(first_wait=1.0, longest_wait=8.0)
    for attempt, least in enumerate([1, 2, 4, 8, 8, 8], start=1):
        assert least <= wait(patience, RetryableError("x"), attempt) <= 1.5 * least


def test_the_jitter_is_the_same_each_time_and_other_for_other_calls() -> None:
    waits = {
        Patience().wait_after(RetryableError("x"), key=key, attempt=1, counted=1) for key in ("a", "b", "c", "a", "b")
    }
    assert len(waits) == 3


def test_attempts_are_numbered_but_for_rate_limits() -> None:
    patience = Patience(attempts=3)
    assert not patience.counts(RateLimitError("slow down"))
    assert patience.counts(RetryableError("reset"))
    assert wait(patience, RateLimitError("slow down"), attempt=50, counted=2) >= 60
    assert patience.wait_after(RetryableError("reset"), key="a", attempt=50, counted=3) is None


def test_where_the_provider_says_how_long_the_call_itself_does_not_wait() -> None:
    assert wait(Patience(), RateLimitError("x", seconds=30.0)) == 0.0
    assert wait(Patience(), RateLimitError("x", seconds=0.0)) >= 1.0
    assert wait(Patience(), RateLimitError("x", seconds=None)) >= 1.0


def test_a_provider_that_asks_for_a_moment_for_ever_is_asked_ever_more_slowly() -> None:
    patience, error = Patience(), RateLimitError("x", seconds=0.001)
    waits = [wait(patience, error, attempt=attempt, counted=0) or 0.0 for attempt in range(1, 101)]
    assert waits[:8] == [0.0] * 8
    assert all(first < second for first, second in pairwise(waits[8:14]))
    with pytest.raises(QuotaError, match="still takes none"):
        wait(patience, error, attempt=101, counted=0, held=sum(waits))


def test_a_provider_that_asks_for_too_long_has_nothing_more() -> None:
    assert wait(Patience(), RateLimitError("x", seconds=300.0)) == 0.0
    with pytest.raises(QuotaError, match=r"asks to wait 3,600 s .*run the same command again"):
        wait(Patience(), RateLimitError("x", seconds=3600.0))


def test_a_call_that_is_put_off_for_too_long_in_all_ends_its_model() -> None:
    assert wait(Patience(), RateLimitError("x"), held=3500.0) >= 1.0
    for error in (RateLimitError("x", seconds=200.0), RateLimitError("x")):
        with pytest.raises(QuotaError, match="put a call off for 3,600 s"):
            wait(Patience(), error, held=3599.9)
    assert wait(Patience(), RetryableError("reset"), held=3599.9) >= 1.0


def test_never_makes_one_attempt_whatever_fails() -> None:
    for error in (RetryableError("reset"), RateLimitError("slow down"), RateLimitError("slow down", seconds=5.0)):
        assert Patience.never().counts(error)
        assert Patience.never().wait_after(error, key="a", attempt=1, counted=1) is None


@given(st.integers(1, 10**6), st.text(), st.floats(0, 100), st.floats(0, 1000))
def test_no_wait_is_endless(attempt: int, key: str, first: float, longest: float) -> None:
    patience = Patience(first_wait=first, longest_wait=longest)
    seconds = patience.wait_after(RateLimitError("x"), key=key, attempt=attempt, counted=0)
    assert seconds is not None
    assert 0 <= seconds <= 1.5 * longest
    assert math.isfinite(seconds)
