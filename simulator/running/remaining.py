"""What a run has still to ask."""

from __future__ import annotations

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
    rewrites = sum(journal.status_of(planned.call.key) is None for planned in plan_rewrites(study))
    asks = {ask.call.key for ask in plan_generation(study, list(draw_sample(study, journal.variant)))}
    generate = sum(journal.status_of(key) is None for key in asks)
    if rewrites:
        stage = study.campaign.generate
        groups = len(study.personas) * len(study.tasks)
        generate += groups * stage.sample * stage.repeats * len(generating_models(study)) - len(asks)
    return {"rewrite": rewrites, "generate": generate}
