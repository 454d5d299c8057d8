"""The plan: the calls that a campaign expands to, the same ones in the same order every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simulator.definitions import ModelChoice, Study
from simulator.prompts import render_generate, render_rewrite
from simulator.running.calls import Call, Form, Message, Parameter, Stage, derive_seed
from simulator.running.models import describe_model
from simulator.running.parameters import LOCAL_PARAMETERS
from simulator.running.variants import Variant, variant_id

__all__ = [
    "PlannedAsk",
    "PlannedRewrite",
    "draw_sample",
    "generating_models",
    "generation_params",
    "model_params",
    "models_of",
    "plan_generation",
    "plan_rewrites",
    "rewriting_params",
]


@dataclass(frozen=True, slots=True)
class PlannedRewrite:
    """A rewrite to ask for: one persona, one task, one replicate."""

    variant: str
    persona: str
    task: str
    replicate: int
    call: Call


@dataclass(frozen=True, slots=True)
class PlannedAsk:
    """A variant to send: the call that does it. Variants with the same text share a call."""

    variant: str
    call: Call


def plan_rewrites(study: Study) -> Iterator[PlannedRewrite]:
    """Yield the rewriting calls by task, persona and replicate, in the campaign's order."""
    stage = study.campaign.prompts
    params = rewriting_params(study)
    info = describe_model(stage.model.model, params)
    form: Form = "completion" if info.completion and stage.template is None else "chat"
    template = study.template
    for task in study.tasks.values():
        text = task.request(stage.source)
        for persona in study.personas.values():
            messages, stop = render_rewrite(persona, text, form=form, template=template)
            for replicate in range(stage.iterations):
                call = Call(
                    stage="rewrite",
                    model=stage.model.model,
                    messages=messages,
                    form=form,
                    params=_deciding(stage.model.model, params) | ({"stop": stop} if stop else {}),
                    repeat=replicate,
                    seed=_seed(study, info.takes_seed, "rewrite", persona.id, task.id, replicate),
                )
                name = variant_id(
                    task=task.id, method="rewrite", persona=persona.id, replicate=replicate, made_by=call.key
                )
                yield PlannedRewrite(name, persona.id, task.id, replicate, call)


def draw_sample(study: Study, find: Callable[[str], Variant | None]) -> Iterator[Variant]:
    """Yield the variants to generate code from: ``sample`` usable ones of each persona and task.

    They are the first ``sample`` of a seeded order of the replicates, so that the draw depends neither on the order in
    which replies arrived nor on other personas. A persona without enough usable variants gives fewer.

    Parameters
    ----------
    study
        The campaign with its definitions.
    find
        Returns the variant of an id, or None where it has not been made.
    """
    groups: dict[tuple[str, str], list[PlannedRewrite]] = {}
    for planned in plan_rewrites(study):
        groups.setdefault((planned.task, planned.persona), []).append(planned)
    seed = study.campaign.seed
    for (task, persona), group in groups.items():
        group.sort(key=lambda one: (derive_seed(seed, "sample", persona, task, one.replicate), one.replicate))
        variants = (find(planned.variant) for planned in group)
        usable = [variant for variant in variants if variant is not None and variant.status == "ok"]
        drawn = usable[: study.campaign.generate.sample]
        yield from sorted(drawn, key=lambda variant: variant.replicate)


def plan_generation(study: Study, variants: list[Variant], *, model: ModelChoice | None = None) -> Iterator[PlannedAsk]:
    """Yield the generating calls by model, variant and repeat; only those of one model where it is given."""
    stage = study.campaign.generate
    for choice in generating_models(study) if model is None else [model]:
        params = generation_params(study, choice)
        takes_seed = describe_model(choice.model, params).takes_seed
        for variant in variants:
            messages: tuple[Message, ...] = render_generate(variant.text, prefix=stage.prefix, suffix=stage.suffix)
            for repeat in range(stage.repeats):
                # Named after the text, not the variant: two variants with the same text are one call.
                seed = _seed(study, takes_seed, "generate", variant.text, repeat)
                call = Call(
                    stage="generate",
                    model=choice.model,
                    messages=messages,
                    params=_deciding(choice.model, params),
                    repeat=repeat,
                    seed=seed,
                )
                yield PlannedAsk(variant.variant, call)


def generating_models(study: Study) -> list[ModelChoice]:
    """Return the models that write code, in the campaign's order."""
    return list(study.campaign.generate.models)


def models_of(study: Study) -> dict[Stage, list[tuple[ModelChoice, dict[str, Parameter]]]]:
    """Return each stage's models with all their parameters, those included that are not sent."""
    return {
        "rewrite": [(study.campaign.prompts.model, rewriting_params(study))],
        "generate": [(choice, generation_params(study, choice)) for choice in generating_models(study)],
    }


def rewriting_params(study: Study) -> dict[str, Parameter]:
    """Return the parameters of the rewriting model."""
    stage = study.campaign.prompts
    return model_params(stage.model, temperature=stage.temperature, max_tokens=stage.max_tokens)


def generation_params(study: Study, choice: ModelChoice) -> dict[str, Parameter]:
    """Return what is sent to a generating model besides the messages."""
    stage = study.campaign.generate
    return model_params(choice, temperature=stage.temperature, max_tokens=stage.max_tokens, top_p=stage.top_p)


def model_params(
    choice: ModelChoice, *, temperature: float | None, max_tokens: int | None, top_p: float | None = None
) -> dict[str, Parameter]:
    """Return a model's parameters: its own where it has some, its stage's otherwise; what is not set is left out."""
    own: dict[str, Parameter] = {
        "base_url": choice.base_url,
        "temperature": temperature if choice.temperature is None else choice.temperature,
        "top_p": top_p if choice.top_p is None else choice.top_p,
        "max_tokens": max_tokens if choice.max_tokens is None else choice.max_tokens,
        "parallel": choice.parallel,
        **choice.params,
    }
    return {name: value for name, value in own.items() if value is not None}


def _deciding(model: str, params: dict[str, Parameter]) -> dict[str, Parameter]:
    """Return the parameters that decide on a reply and so belong to a call; how patiently it is waited for does not.

    The embedded model's texts also depend on how many it writes at once and on the size of its context.
    """
    deciding = {"base_url", "parallel", "context"} if model.startswith("embedded") else {"base_url"}
    return {name: value for name, value in params.items() if name not in LOCAL_PARAMETERS - deciding}


def _seed(study: Study, takes_seed: bool, *names: object) -> int | None:
    return derive_seed(study.campaign.seed, *names) if takes_seed else None
