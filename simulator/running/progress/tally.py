"""What is known of a run while it goes on: counts, money, and each model's pace and waiting. No drawing, no clock."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.running.progress.pace import Pace, Share, split_rest, time_to_go

if TYPE_CHECKING:
    from simulator.running.events import Event, StageProgress

__all__ = ["Ceilings", "ModelTally", "Tally"]

Ceilings = Mapping[str, Mapping[str, tuple[int, ...]]]
"""By stage and model the most calls at once of each of its entries in the campaign."""


@dataclass(slots=True)
class ModelTally:
    """One model in one stage.

    Parameters
    ----------
    entries
        How many entries of the campaign it has, each with as many calls.
    ceiling
        Most calls at once, of all its entries.
    limit, in_flight
        Calls that may be and that are in flight.
    recorded
        Replies of this start.
    priced, cost
        How many of them have a known cost, and how much that is in US dollars.
    unpriced, unsure
        How many of them have no price, and what replies and failed attempts of unknown cost cost at most.
    waits_until, reason
        Until when something waits, on the clock of the events, and why; infinity where that is not known.
    paused
        Whether that concerns all calls of the model, and not one that failed.
    waiting_beside
        How many calls were in flight when it began to wait.
    waits
        Events of waiting so far.
    """

    entries: int
    ceiling: int
    pace: Pace
    limit: int = 0
    in_flight: int = 0
    recorded: int = 0
    priced: int = 0
    cost: float = 0.0
    unpriced: int = 0
    unsure: float = 0.0
    waits_until: float = 0.0
    reason: str = ""
    paused: bool = False
    waiting_beside: int = 0
    waits: int = 0

    def wait(self, event: Event, now: float) -> None:
        """Take note that something waits; of several waits the one that ends last is of interest."""
        self.waits += 1
        paused = event.kind == "paused"
        until = now + event.seconds if event.seconds or not paused else math.inf
        if paused or until >= self.waits_until or now >= self.waits_until:
            self.waits_until, self.reason, self.paused = until, event.reason, paused
            self.waiting_beside = event.in_flight


@dataclass(slots=True)
class Tally:
    """The stage that a run is in.

    Parameters
    ----------
    stage
        As it was when it began.
    began
        When that was.
    models
        By name, as the campaign names them.
    statuses
        How many replies of this start have which status.
    before
        Calls that earlier starts have answered.
    """

    stage: StageProgress
    began: float
    models: dict[str, ModelTally]
    before: int = 0
    statuses: Counter[str] = field(default_factory=Counter)

    @classmethod
    def begin(cls, stage: StageProgress, ceilings: Ceilings, now: float) -> Tally:
        """Return the tally of a stage in which nothing has happened yet."""
        models = ceilings.get(stage.stage, {})
        tallies = {name: ModelTally(len(each), sum(each), Pace(now)) for name, each in models.items()}
        return cls(stage, now, tallies, stage.done)

    def note(self, event: Event, now: float) -> None:
        """Take note of an event.

        A call that is found recorded already changes nothing, since the stage began with it among its ``done``; only
        a pilot begins without knowing any.
        """
        if event.kind == "known":
            self.before += self.stage.stage == "pilot"
            return
        model = self.models.setdefault(event.model, ModelTally(1, 0, Pace(self.began)))
        if event.limit and event.limit != model.limit:
            model.limit = event.limit
            model.pace.set_limit(event.limit, now)
        model.in_flight = event.in_flight if event.limit else model.in_flight
        if event.kind in ("waiting", "paused"):
            model.wait(event, now)
        elif math.isinf(model.waits_until) and event.in_flight >= max(model.waiting_beside, 1):
            model.waits_until = now  # another call has begun since
        if event.kind == "recorded":
            self.statuses[event.status] += 1
            model.recorded += 1
            model.unpriced += event.cost is None and event.cost_at_most is None
            model.pace.add(now)
        if event.cost is not None:
            model.priced += 1
            model.cost += event.cost
        else:
            model.unsure += event.cost_at_most or 0.0

    @property
    def total(self) -> int:
        """Distinct calls of the stage."""
        return self.stage.total

    @property
    def recorded(self) -> int:
        """Replies of this start."""
        return self.statuses.total()

    @property
    def done(self) -> int:
        """Calls that have a reply, of this start or an earlier one."""
        return min(self.total, self.before + self.recorded)

    @property
    def spent(self) -> float:
        """US dollars that are known to be spent, in all starts and stages."""
        return self.stage.spent.cost + sum(model.cost for model in self.models.values())

    @property
    def at_most(self) -> float:
        """US dollars that are spent at the most, as far as they are bounded: see ``unpriced``."""
        return self.stage.spent.at_most + sum(model.cost + model.unsure for model in self.models.values())

    @property
    def unpriced(self) -> int:
        """Replies of which it is not known what they cost."""
        return self.stage.spent.unpriced + sum(model.unpriced for model in self.models.values())

    def seconds_to_go(self, now: float) -> tuple[float, float] | None:
        """Return the seconds until the stage is through, at least and at most; None where that cannot be told."""
        shares = [
            Share(low, high, model.pace.rate(now))
            for model, (low, high) in zip(self.models.values(), self._rest(), strict=True)
        ]
        return time_to_go(self.total - self.done, shares)

    def dollars_to_go(self) -> float | None:
        """Return what the rest of the stage will cost at what a reply of each model has cost so far in this start.

        None where nothing is left, or a model that has calls left has not shown what it costs.
        """
        rest = self._rest()
        left, upper = self.total - self.done, sum(high for _, high in rest)
        if not left or not upper:
            return None
        dollars = 0.0
        for model, (low, high) in zip(self.models.values(), rest, strict=True):
            if model.priced:
                dollars += left * high / upper * model.cost / model.priced
            elif low or model.recorded:
                return None
        return dollars if any(model.priced for model in self.models.values()) else None

    def _rest(self) -> list[tuple[int, int]]:
        entries = sum(model.entries for model in self.models.values())
        rests = [-(-self.total * model.entries // entries) - model.recorded for model in self.models.values()]
        return split_rest(self.total - self.done, rests)
