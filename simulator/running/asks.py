"""What is asked: a planned call, with what is made of its reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulator.definitions import Study
from simulator.errors import JournalError
from simulator.prompts import draw_texts, human_variants, judge_rewrite
from simulator.running.journal import Journal, PlanRow
from simulator.running.journal.shards import Shard
from simulator.running.lines import Ask
from simulator.running.plan import GeneratePlan, PlannedRewrite, RewritePlan
from simulator.running.replies import Reply
from simulator.running.variants import Variant

__all__ = ["generate_asks", "generate_rows", "record_humans", "rewrite_ask", "rewrite_asks", "rewrite_rows"]


def rewrite_ask(plan: RewritePlan, planned: PlannedRewrite) -> Ask:
    """Return a rewriting call with the making of every variant that its reply gives."""
    return Ask(planned.call, lambda reply: _make_variants(plan, planned, reply))


def _make_variants(plan: RewritePlan, planned: PlannedRewrite, reply: Reply) -> tuple[Variant, ...]:
    return tuple(_variant_of(plan, one, reply) for one in plan.sharing(planned))


def _variant_of(plan: RewritePlan, planned: PlannedRewrite, reply: Reply) -> Variant:
    request = plan.study.tasks[planned.task].request(plan.study.campaign.prompts.source)
    text, status, note = judge_rewrite(reply, task_text=request, form=planned.call.form)
    return Variant(
        variant=planned.variant,
        task=planned.task,
        method="rewrite",
        persona=planned.persona,
        replicate=planned.replicate,
        seed=planned.call.seed,
        text=text,
        made_by=planned.call.key,
        status=status,
        note=note,
    )


def rewrite_rows(plan: RewritePlan, journal: Journal, shard: Shard | None) -> Iterator[PlanRow]:
    """Yield the rows of the rewriting plan that are a shard's, or all of them, in order.

    A reply that was recorded for an earlier form of the campaign gives its variant to this one as well.
    """
    fresh = journal.last_reply == 0
    for number, group in enumerate(plan.groups):
        if shard is not None and not shard.takes(*group):
            continue
        for position in plan.positions(number):
            planned = plan.at(position)
            made: tuple[Variant, ...] = ()
            if not fresh and journal.variant(planned.variant) is None:
                recorded = journal.reply_to(planned.call.key)
                made = () if recorded is None else (_variant_of(plan, planned, recorded.reply),)
            yield PlanRow(position, planned.variant, planned.call.key, made)


def rewrite_asks(plan: RewritePlan, rows: Iterable[PlanRow]) -> Iterator[Ask]:
    """Yield what rows of the rewriting plan ask."""
    for row in rows:
        planned = plan.at(row.position)
        _check_key(planned.call.key, row)
        yield rewrite_ask(plan, planned)


def generate_rows(
    rewrites: RewritePlan, plan: GeneratePlan, journal: Journal, shard: Shard | None
) -> Iterator[PlanRow]:
    """Yield the rows of the generating plan that are a shard's, or all of them, group by group."""
    for number, group in enumerate(rewrites.groups):
        if shard is None or shard.takes(*group):
            for position, variant, call in plan.calls(number, rewrites.draw(number, journal.variant)):
                yield PlanRow(position, variant.variant, call.key)
    stage, seed = rewrites.study.campaign.generate, rewrites.study.campaign.seed
    for index, texts in enumerate(rewrites.study.humans):
        if shard is None or shard.takes(texts.task, texts.speaker):
            drawn = draw_texts(texts, sample=stage.sample, seed=seed)
            for position, variant, call in plan.calls(plan.human_group(index), drawn):
                yield PlanRow(position, variant.variant, call.key)


def record_humans(study: Study, journal: Journal, shard: Shard | None) -> None:
    """Record the variants that people wrote and that are a shard's, or all of them, unless they are there already."""
    mine = (texts for texts in study.humans if shard is None or shard.takes(texts.task, texts.speaker))
    made = {variant.variant: variant for texts in mine for variant in human_variants(texts)}
    known = journal.variants(list(made))
    if lacking := [variant for name, variant in made.items() if name not in known]:  # or the plan would become void
        journal.add_variants(lacking)


def generate_asks(plan: GeneratePlan, journal: Journal, rows: Iterable[PlanRow]) -> Iterator[Ask]:
    """Yield what rows of the generating plan ask."""
    for row in rows:
        variant = journal.variant(row.variant)
        if variant is None:
            raise _unfit(row)
        call = plan.at(row.position, variant)
        _check_key(call.key, row)
        yield Ask(call)


def _check_key(key: str, row: PlanRow) -> None:
    if key != row.call:
        raise _unfit(row)


def _unfit(row: PlanRow) -> JournalError:
    return JournalError(
        f"The recorded plan has a call at position {row.position} that this version of Sociolect would ask otherwise, "
        f"though the plan bears its mark: the program or the journal was changed by hand. What is recorded is kept; "
        f"finish the run with the program that began it, or begin another under another name."
    )
