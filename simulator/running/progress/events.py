"""Progress for programs: what ``sociolect run --json`` writes on standard error, one JSON object a line.

Each has ``event`` and ``elapsed`` (seconds since the start), and besides:

============== ======================================================================================================
``note``       ``text``: for people
``stage``      a stage begins: what ``progress`` has
``progress``   ``stage``, ``total`` and ``done`` (distinct calls; those that an earlier start had answered are
               ``before``), ``statuses`` (of this start's replies), ``cost`` (of the whole run: ``known``, ``at_most``,
               and how many replies are ``unpriced``), ``budget``, ``seconds_left`` (``low``, ``high``) and
               ``cost_left`` of the stage (null where they cannot be told), ``models`` (by name: ``in_flight``,
               ``limit``, ``ceiling``). At most one a second
``limit``      ``model``, ``limit`` (calls at once from now on), ``ceiling``, ``reason``
``paused``     ``model``, ``seconds`` (null where not known), ``reason``, ``times``: no call of the model begins
``waiting``    ``model``, ``seconds``, ``reason``, ``times`` (since the last such line): a failed call is asked again
               after so long. At most one a second and model
``stopped``    ``why`` (interrupted, budget, quota, outage, access, storage), ``text``, ``resume`` (the command that
               goes on), ``exit_status``
============== ======================================================================================================

Lines that do not begin with ``{`` are for people: what the analysis is at, and the paragraph of an error. The one
document on standard output at the end has ``run`` (folder), ``complete``, ``report`` (page), ``failed`` (replies that
are not ok), ``shards_to_go`` (not complete or not here), ``stopped`` (as the event; null if it did not stop) and
``warnings``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console

from simulator.running.progress.tally import Tally
from simulator.running.progress.throttle import Throttle

if TYPE_CHECKING:
    from simulator.running.events import Event

__all__ = ["ProgressEvents"]

_EVERY = 1.0
"""Seconds between two events of a kind, and model."""


class ProgressEvents:
    """The events of a run.

    Parameters
    ----------
    console
        To whose file the lines are written.
    clock
        Returns seconds that only grow.
    """

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._file, self._clock, self._begun = console.file, clock, clock()
        self._throttle = Throttle(_EVERY, clock)
        self._unsaid: dict[tuple[str, str], int] = {}

    def open(self) -> None:
        """Begin."""

    def close(self) -> None:
        """End."""

    def begin(self, tally: Tally) -> None:
        """Write how a stage begins."""
        self._throttle.clear()
        self._unsaid.clear()
        self._write("stage", _document(tally, self._clock()))

    def show(self, tally: Tally, event: Event) -> None:
        """Write an event, unless one of its kind was written just now."""
        if event.kind == "recorded":
            if self._throttle.passes("progress") or tally.done == tally.total:
                self._write("progress", _document(tally, self._clock()))
        elif event.kind == "limit":
            ceiling = tally.models[event.model].ceiling or None
            shown = {"model": event.model, "limit": event.limit, "ceiling": ceiling, "reason": event.reason}
            self._write("limit", shown)
        elif event.kind in ("waiting", "paused"):
            kind = (event.model, event.kind)
            self._unsaid[kind] = self._unsaid.get(kind, 0) + 1
            if self._throttle.passes(*kind):
                known = bool(event.seconds) or event.kind == "waiting"
                seconds = round(event.seconds, 3) if known and math.isfinite(event.seconds) else None
                times = self._unsaid.pop(kind)
                shown = {"model": event.model, "seconds": seconds, "reason": event.reason, "times": times}
                self._write(event.kind, shown)

    def say(self, line: str) -> None:
        """Write a line for people."""
        self._write("note", {"text": line})

    def stop(self, tally: Tally | None, ending: dict[str, object]) -> None:
        """Write how far the run has come, and why it ends."""
        if tally is not None:
            self._write("progress", _document(tally, self._clock()))
        self._write("stopped", ending)

    def _write(self, event: str, about: dict[str, object]) -> None:
        # In ASCII, so that it is the same whatever the locale.
        elapsed = round(self._clock() - self._begun, 3)
        line = json.dumps({"event": event, "elapsed": elapsed, **about}, allow_nan=False)
        # Whoever reads the events may have gone; that is no reason to end the run.
        with suppress(OSError, ValueError):
            self._file.write(line + "\n")
            self._file.flush()


def _document(tally: Tally, now: float) -> dict[str, object]:
    seconds, rest = tally.seconds_to_go(now), tally.dollars_to_go()
    return {
        "stage": tally.stage.stage,
        "total": tally.total,
        "done": tally.done,
        "before": tally.before,
        "statuses": dict(sorted(tally.statuses.items())),
        "cost": {"known": round(tally.spent, 6), "at_most": round(tally.at_most, 6), "unpriced": tally.unpriced},
        "budget": tally.stage.budget,
        "seconds_left": None if seconds is None else {"low": round(seconds[0], 1), "high": round(seconds[1], 1)},
        "cost_left": None if rest is None else round(rest, 6),
        "models": {
            name: {"in_flight": model.in_flight, "limit": model.limit or None, "ceiling": model.ceiling or None}
            for name, model in tally.models.items()
        },
    }
