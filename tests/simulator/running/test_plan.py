from dataclasses import replace
from pathlib import Path

import pytest

from simulator.definitions import Study, load_campaign
from simulator.running.plan import GeneratePlan, PlannedRewrite, RewritePlan
from simulator.running.variants import Variant

CAMPAIGN = """
study: personas
seed: 5
tasks: [calculator, todo-api]
prompts:
  personas: [john, priya, kenji]
  iterations: 4
  model: {model}
generate:
  models: [mock, mock:other]
  sample: 2
  repeats: 3
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    (tmp_path / "small.yaml").write_text(CAMPAIGN.replace("{model}", "mock"), encoding="utf-8")
    return load_campaign(str(tmp_path / "small.yaml"))


def variant_of(planned: PlannedRewrite, text: str = "", status: str = "ok") -> Variant:
    return Variant(
        variant=planned.variant,
        task=planned.task,
        method="rewrite",
        persona=planned.persona,
        replicate=planned.replicate,
        seed=planned.call.seed,
        text=text or f"text {planned.variant}",
        made_by=planned.call.key,
        status=status,  # type: ignore[arg-type]
    )


def test_every_position_is_one_call_and_none_is_left_out(study: Study) -> None:
    plan = RewritePlan(study)
    planned = [plan.at(position) for position in range(len(plan))]
    lineage = [(one.task, one.persona, one.replicate) for one in planned]
    assert lineage == [
        (task, persona, replicate) for task in study.tasks for persona in study.personas for replicate in range(4)
    ]
    assert len({one.call.key for one in planned}) == len({one.variant for one in planned}) == 24
    assert planned == [RewritePlan(study).at(position) for position in range(24)]


def test_a_position_outside_the_plan_is_an_error(study: Study) -> None:
    with pytest.raises(IndexError):
        RewritePlan(study).at(24)


def test_another_persona_moves_no_call_of_the_others(study: Study, tmp_path: Path) -> None:
    fewer = replace(study, personas={name: one for name, one in study.personas.items() if name != "priya"})
    keys = {RewritePlan(study).at(position).call.key for position in range(24)}
    assert {RewritePlan(fewer).at(position).call.key for position in range(16)} < keys


def test_more_iterations_keep_every_call_and_the_order_of_the_draw(study: Study) -> None:
    prompts = study.campaign.prompts.model_copy(update={"iterations": 9})
    more = replace(study, campaign=study.campaign.model_copy(update={"prompts": prompts}))
    few, many = RewritePlan(study), RewritePlan(more)
    assert {few.at(n).call.key for n in range(len(few))} < {many.at(n).call.key for n in range(len(many))}
    for group in few.groups:
        assert [one for one in many.draw_order(group) if one < 4] == few.draw_order(group)


def test_the_sample_is_the_first_usable_ones_of_the_draw_order(study: Study) -> None:
    plan = RewritePlan(study)
    order = plan.draw_order(plan.groups[2])
    planned = {plan.at(position).replicate: plan.at(position) for position in plan.positions(2)}
    made = {one.variant: variant_of(one, status="refused" if n == order[0] else "ok") for n, one in planned.items()}
    assert [one.replicate for one in plan.draw(2, made.get)] == sorted(order[1:3])
    assert plan.draw(2, lambda _name: None) == []


def test_generating_positions_are_distinct_and_lead_back_to_their_calls(study: Study) -> None:
    rewrites, plan = RewritePlan(study), GeneratePlan(study)
    found = {}
    for group in range(len(rewrites.groups)):
        made = {one.variant: variant_of(one) for one in map(rewrites.at, rewrites.positions(group))}
        # The second group has only one usable variant: its last rank is a gap.
        variants = rewrites.draw(group, made.get)[: 1 if group == 1 else 2]
        for position, variant, call in plan.calls(group, variants):
            assert position not in found
            assert plan.at(position, variant) == call
            found[position] = call
    assert len(found) == 2 * 3 * (6 * 2 - 1)
    assert set(found) < set(range(len(plan)))
    for number, model in enumerate(("mock", "mock:other")):
        of_model = {call.model for position, call in found.items() if position in plan.positions(number)}
        assert of_model == {model}


def test_two_variants_with_the_same_text_are_one_call(study: Study) -> None:
    rewrites, plan = RewritePlan(study), GeneratePlan(study)
    a, b = (variant_of(rewrites.at(position), "the same") for position in (0, 5))
    assert plan.call(0, a, 1) == plan.call(0, b, 1)
    assert plan.call(0, a, 1) != plan.call(0, a, 2)


def test_personas_that_are_described_alike_share_a_call_of_a_model_without_a_seed(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    for name in ("twin-a", "twin-b"):
        text = (
            f"id: {name}\nname: Sam\nbackground: A baker who likes short sentences and has never written a program.\n"
        )
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    for model, seeded in (("anthropic:claude-3-5-haiku-20241022", False), ("mock", True)):
        text = CAMPAIGN.replace("{model}", model).replace("[john, priya, kenji]", "[twin-a, john, twin-b]")
        (tmp_path / "twins.yaml").write_text(text, encoding="utf-8")
        plan = RewritePlan(load_campaign(str(tmp_path / "twins.yaml"), folder=tmp_path))
        sharing = plan.sharing(plan.at(1))
        assert [one.persona for one in sharing] == (["twin-a"] if seeded else ["twin-a", "twin-b"])
        assert len({one.call.key for one in sharing}) == 1
        assert len({one.variant for one in sharing}) == len(sharing)
