"""How many calls of a model may be in flight, and when the next one may begin.

Additive increase, multiplicative decrease, as TCP shares a line that nobody knows the width of (Chiu and Jain 1989,
doi:10.1016/0169-7552(89)90019-6; Jacobson 1988, doi:10.1145/52325.52356): the limit grows while answers arrive and is
halved when the provider says that it has too much to do. Besides it there are what the provider asks for itself
(``Retry-After``) and what the user sets: requests and tokens per minute.

Nothing here reads a clock: every method is told what time it is, in seconds of any clock that only goes forward.
"""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple

__all__ = ["Bucket", "Limit", "Wait"]

_FIRST: Final = 8
"""Calls at once before anything is known of the provider."""

_NOW: Final = 1e-6
"""Seconds; whoever would have to wait for less need not."""

Cause = Literal["", "calls", "asked", "requests", "tokens", "budget"]


class Wait(NamedTuple):
    """How long the next call has to wait, and for what.

    ``seconds`` is 0 where it may begin, and infinite where one in flight must end first (``calls``). The other causes
    are a pause that the provider ``asked`` for, the user's ``requests`` or ``tokens`` per minute, and the ``budget``,
    which a limit knows nothing of.
    """

    seconds: float
    cause: Cause = ""


class Bucket:
    """An amount per minute, as a token bucket that holds a second's worth, or one, whichever is more.

    It fills just so fast that no minute sees more than ``per_minute``, but for one amount that is larger than what the
    bucket holds: such a one goes when the bucket is full, and the bucket then owes the rest.

    Parameters
    ----------
    per_minute
        What may be taken in any minute; more than 0.

    Examples
    --------
    >>> bucket = Bucket(60)
    >>> bucket.take(1, now=0.0)
    >>> bucket.wait(1, now=0.25)
    0.75
    """

    def __init__(self, per_minute: float) -> None:
        self._holds = max(1.0, per_minute / 60.0)
        self._rate = (per_minute - (self._holds - 1.0)) / 60.0
        self._level = self._holds
        self._at = -math.inf

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until an amount may be taken."""
        self._fill(now)
        return max(0.0, (min(amount, self._holds) - self._level) / self._rate)

    def take(self, amount: float, now: float) -> None:
        """Take an amount; a negative one gives back."""
        self._fill(now)
        self._level = min(self._holds, self._level - amount)

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._holds, self._level + (now - self._at) * self._rate)
            self._at = now


class Limit:
    """What one model bears. Each call that is begun is ended by exactly one of `succeeded`, `overloaded` and `ended`.

    Parameters
    ----------
    ceiling
        Most calls at once, whatever the provider would bear.
    floor
        Fewest calls at once, however overloaded the provider is.
    requests_per_minute, tokens_per_minute
        What may begin in any minute; None for no limit.

    Examples
    --------
    >>> limit = Limit(16)
    >>> limit.window
    8
    >>> first, second = limit.begin(0.0), limit.begin(0.0)
    >>> limit.overloaded(first, now=1.0, asked=30.0)
    >>> limit.overloaded(second, now=1.0)
    >>> limit.window
    4
    >>> limit.wait(now=11.0)
    Wait(seconds=20.0, cause='asked')
    """

    def __init__(
        self,
        ceiling: int,
        *,
        floor: int = 1,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._ceiling = max(1, ceiling)
        self._floor = min(max(1, floor), self._ceiling)
        self._size = float(max(self._floor, min(self._ceiling, _FIRST)))
        self._slow_start = True
        self._begun = 0
        self._filled_at = 0
        self._decreased_at = 0
        self._paused_until = -math.inf
        self._requests = None if requests_per_minute is None else Bucket(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else Bucket(tokens_per_minute)
        self.in_flight = 0
        """Calls that were begun and have not ended."""

    @property
    def window(self) -> int:
        """How many calls may be in flight."""
        return int(self._size)

    @property
    def counts_tokens(self) -> bool:
        """Whether `wait`, `begin` and `correct` need to be told of tokens."""
        return self._tokens is not None

    def wait(self, now: float, tokens: float = 0.0) -> Wait:
        """Return how long a call of so many tokens has to wait.

        A call in flight can end at any moment, so that ``calls`` comes before whatever else would have to be waited
        for.
        """
        if self.in_flight >= self.window:
            return Wait(math.inf, "calls")
        waits = [Wait(self._paused_until - now, "asked")]
        if self._requests is not None:
            waits.append(Wait(self._requests.wait(1.0, now), "requests"))
        if self._tokens is not None:
            waits.append(Wait(self._tokens.wait(tokens, now), "tokens"))
        longest = max(waits, key=lambda wait: wait.seconds)
        return longest if longest.seconds > _NOW else Wait(0.0)

    def begin(self, now: float, tokens: float = 0.0) -> int:
        """Count a call as begun, and return the number under which it is to be ended."""
        self.in_flight += 1
        self._begun += 1
        if self.in_flight >= self.window:
            self._filled_at = self._begun
        if self._requests is not None:
            self._requests.take(1.0, now)
        if self._tokens is not None:
            self._tokens.take(tokens, now)
        return self._begun

    def succeeded(self, number: int) -> None:
        """End a call that was answered. The limit grows by it if all of the limit was in use meanwhile.

        By one a call until the first overload, which doubles it each round; by one a round after that. Of a limit that
        is not used nothing is learned.

        Parameters
        ----------
        number
            What `begin` returned.
        """
        self.in_flight -= 1
        if self._filled_at >= number:
            self._size = min(self._ceiling, self._size + (1.0 if self._slow_start else 1.0 / self._size))

    def overloaded(self, number: int, now: float, *, asked: float = 0.0) -> None:
        """End a call that the provider had too much to do for.

        The limit is halved at most once a round: calls that were begun before it was halved last say nothing new.

        Parameters
        ----------
        number
            What `begin` returned.
        now
            The time.
        asked
            Seconds for which the provider asks to be left alone: no call begins before.
        """
        self.in_flight -= 1
        self._slow_start = False
        self._paused_until = max(self._paused_until, now + asked)
        if number > self._decreased_at:
            self._decreased_at = self._begun
            self._size = max(float(self._floor), self._size / 2.0)

    def ended(self) -> None:
        """End a call that says nothing of what the provider bears: it was rejected, or the connection broke."""
        self.in_flight -= 1

    def correct(self, estimated: float, used: float, now: float) -> None:
        """Put right what a call was taken to need, once its real tokens are known."""
        if self._tokens is not None:
            self._tokens.take(used - estimated, now)
