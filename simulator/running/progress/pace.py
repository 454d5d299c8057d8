"""How fast replies come, and when the last one will: from the replies of the recent past alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Pace", "Share", "split_rest", "time_to_go"]

RECENT = 60.0
"""Seconds that a rate is reckoned from, as long as enough replies came in them."""

FEWEST = 3
"""Replies below which there is no rate."""

OTHER = 1.5
"""A limit that is this many times another one makes another pace: what came before says nothing of it."""


class Pace:
    """The replies of one model per second, lately.

    Replies of earlier starts never enter: they took none of this start's time. With n calls at once nothing arrives
    for a while and then n replies together, so that there is a rate only from n replies on. When the limit of calls at
    once has become another one (`OTHER`), the rate begins anew.

    Parameters
    ----------
    begun
        When the first call was begun, on the clock that all the methods are given.
    """

    def __init__(self, begun: float) -> None:
        self._start = begun
        self._limit = self._base = 1
        self._seconds: deque[tuple[float, int]] = deque()  # when the second's last reply came, how many came in it
        self._replies = 0

    def add(self, now: float) -> None:
        """Count a reply."""
        if self._seconds and int(now) == int(self._seconds[-1][0]):
            self._seconds[-1] = (now, self._seconds[-1][1] + 1)
        else:
            self._seconds.append((now, 1))
        self._replies += 1
        self._forget(now)

    def set_limit(self, limit: int, now: float) -> None:
        """Take note of how many calls may be in flight at once."""
        self._limit = max(limit, 1)
        if self._base / OTHER < self._limit < self._base * OTHER:
            return
        self._base, self._start, self._replies = self._limit, now, 0
        self._seconds.clear()

    def rate(self, now: float) -> float | None:
        """Return replies per second; None before there are enough to tell."""
        self._forget(now)
        if self._replies < self._fewest:
            return None
        recent = self._seconds[0][0] > now - RECENT
        start = max(self._start, now - RECENT) if recent else self._start
        return self._replies / max(now - start, 1e-3)

    @property
    def _fewest(self) -> int:
        return max(FEWEST, self._limit)

    def _forget(self, now: float) -> None:
        while self._seconds and self._seconds[0][0] <= now - RECENT:
            last, replies = self._seconds[0]
            if self._replies - replies < self._fewest:
                return
            self._seconds.popleft()
            self._replies -= replies
            self._start = last


@dataclass(frozen=True, slots=True)
class Share:
    """How much of what is left is one model's: at least ``low`` calls, at most ``high``; at ``rate`` per second."""

    low: int
    high: int
    rate: float | None


def split_rest(left: int, rests: Sequence[int]) -> list[tuple[int, int]]:
    """Return how many of the ``left`` calls are each model's, at least and at most.

    Parameters
    ----------
    left
        Calls that are left in all.
    rests
        For each model its calls less those that it answered in this start. Answers of earlier starts, which are not
        known by model, make the sum of them larger than ``left``.

    Examples
    --------
    >>> split_rest(1500, [1000, 500])
    [(1000, 1000), (500, 500)]
    >>> split_rest(900, [1000, 1000])
    [(0, 900), (0, 900)]
    """
    highs = [min(left, max(rest, 0)) for rest in rests]
    if sum(highs) < left:  # models that share calls with one another
        highs = [left for _ in rests]
    return [(max(0, left - (sum(highs) - high)), high) for high in highs]


def time_to_go(left: int, shares: Sequence[Share]) -> tuple[float, float] | None:
    """Return how many seconds it takes, at the least and at the most, until the slowest model is through.

    None where that cannot be told: nothing is left, or a model that certainly has calls left has no rate.

    Examples
    --------
    >>> time_to_go(20, [Share(10, 10, 1.0), Share(10, 10, 0.1)])
    (100.0, 100.0)
    """
    rates = sum(share.rate or 0.0 for share in shares)
    if not left or not rates or any(share.low and not share.rate for share in shares):
        return None
    known = [(share, share.rate) for share in shares if share.rate]
    low = max(left / rates, *(share.low / rate for share, rate in known))
    return low, max(low, *(share.high / rate for share, rate in known))
