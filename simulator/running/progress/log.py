"""Progress where there is no terminal: a line at most every ten seconds, and one at each change that matters."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console

from simulator.running.progress.drawing import (
    count_words,
    money_words,
    one_line,
    reason_of,
    stage_word,
    time_words,
    waiting_words,
)
from simulator.running.progress.tally import Tally
from simulator.running.progress.throttle import Throttle

if TYPE_CHECKING:
    from simulator.running.events import Event

__all__ = ["ProgressLog"]

_LINE_EVERY = 10.0
"""Seconds between two lines about how far a run is."""

_MODEL_EVERY = 30.0
"""Seconds between two lines about the waiting, or about the limit, of one model."""


class ProgressLog:
    """A log of a run.

    Parameters
    ----------
    console
        Where to print.
    clock
        Returns seconds that only grow.
    """

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console, self._clock = console, clock
        self._spoke = -math.inf
        self._throttle = Throttle(_MODEL_EVERY, clock)
        self._waits: dict[str, int] = {}
        self._limits: dict[str, int] = {}

    def open(self) -> None:
        """Begin."""

    def close(self) -> None:
        """End."""

    def begin(self, tally: Tally) -> None:
        """Print how a stage begins."""
        self._waits.clear()
        self._limits.clear()
        self._progress(tally)

    def show(self, tally: Tally, event: Event) -> None:
        """Print an event that matters, unless one like it was printed just now."""
        if event.kind == "recorded":
            if tally.done == tally.total or self._clock() - self._spoke >= _LINE_EVERY:
                self._progress(tally)
        elif event.kind == "limit":
            self._limit(event)
        elif event.kind in ("waiting", "paused"):
            self._waiting(tally, event)

    def say(self, line: str) -> None:
        """Print a line."""
        # Whoever reads the log may have gone (`| head`); that is no reason to end the run.
        with suppress(OSError, ValueError):
            self._console.print(one_line(line), soft_wrap=True)

    def stop(self, tally: Tally | None, _ending: dict[str, object]) -> None:
        """Print how far the run has come."""
        if tally is not None and tally.done < tally.total:
            self._progress(tally)

    def _progress(self, tally: Tally) -> None:
        now = self._spoke = self._clock()
        words = [word for word, _ in count_words(tally)] + time_words(tally, now) + money_words(tally)
        self.say(", ".join([f"{stage_word(tally)}: {tally.done:,}/{tally.total:,}", *words]))

    def _waiting(self, tally: Tally, event: Event) -> None:
        if not self._throttle.passes(event.model, "waits"):
            return
        waits = tally.models[event.model].waits
        unsaid = waits - self._waits.get(event.model, 0) - 1
        self._waits[event.model] = waits
        more = f" (and {unsaid:,} times since the last such line)" if unsaid else ""
        paused = event.kind == "paused"
        seconds = event.seconds if event.seconds or not paused else math.inf
        self.say(f"{event.model}: {waiting_words(event.model, seconds, event.reason, paused=paused)}{more}")

    def _limit(self, event: Event) -> None:
        before = self._limits.get(event.model, 0)
        self._limits[event.model] = event.limit
        if event.limit < before and self._throttle.passes(event.model, "limit"):
            why = f": {reason_of(event.model, event.reason)}" if event.reason else ""
            self.say(f"{event.model}: {event.limit:,} calls at once, {before:,} before{why}")
