"""What a run has still to ask."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.definitions import Study
from simulator.running.calls import Stage
from simulator.running.journal import Journal
from simulator.running.plan import draw_sample, generating_models, plan_generation, plan_rewrites

__all__ = ["count_remaining"]


def count_remaining(study: Study, journal: Journal) -> dict[Stage, int]:
    """Count by stage the calls that have no reply yet.

    While rewrites are missing, the generating calls are reckoned as if every persona and task will give as many usable
    variants as the campaign draws.
    """
    rewrites = _missing(journal, (one.call.key for one in plan_rewrites(study)))
    if not rewrites:
        asks = plan_generation(study, list(draw_sample(study, journal.variant)))
        return {"rewrite": 0, "generate": _missing(journal, (ask.call.key for ask in asks))}
    stage = study.campaign.generate
    groups = len(study.personas) * len(study.tasks)
    return {"rewrite": rewrites, "generate": groups * stage.sample * stage.repeats * len(generating_models(study))}


def _missing(journal: Journal, keys: Iterable[str]) -> int:
    return sum(journal.status_of(key) is None for key in dict.fromkeys(keys))
