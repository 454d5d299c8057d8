"""Whether a line of a kind may be written again: not more often than every so many seconds."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["Throttle"]


class Throttle:
    """Lets a line of each kind pass once in a while.

    Parameters
    ----------
    every
        Seconds between two lines of a kind.
    clock
        Returns seconds that only grow.

    Examples
    --------
    >>> times = iter([0.0, 9.0, 10.0])
    >>> throttle = Throttle(10.0, lambda: next(times))
    >>> [throttle.passes("limit") for _ in range(3)]
    [True, False, True]
    """

    def __init__(self, every: float, clock: Callable[[], float]) -> None:
        self._every, self._clock = every, clock
        self._passed: dict[tuple[str, ...], float] = {}

    def passes(self, *kind: str) -> bool:
        """Return whether a line of this kind may be written now; if so, the next may after the interval."""
        now = self._clock()
        if now - self._passed.get(kind, -math.inf) < self._every:
            return False
        self._passed[kind] = now
        return True

    def clear(self) -> None:
        """Let the next line of each kind pass."""
        self._passed.clear()
