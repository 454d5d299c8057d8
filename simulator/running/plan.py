"""The plan: the calls that a campaign expands to, the same ones in the same order every time.

A plan is never held in memory. Every call has a position, from which it can be made again:

============ =========================================================================
``rewrite``  ``(task * personas + persona) * iterations + replicate``
``generate`` ``((model * groups + group) * sample + rank) * repeats + repeat``
============ =========================================================================

A group is a task and a persona, or, after all of those, a task and a person; a rank is the place of a drawn variant
among those of its group. Where a group has fewer usable variants than the campaign draws, its last ranks are gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from simulator.definitions import ModelChoice, Study
from simulator.prompts import render_generate, render_rewrite
from simulator.running.calls import Call, Form, Message, Parameter, Stage, canonical_json, derive_seed
from simulator.running.models import describe_model
from simulator.running.models.parameters import LOCAL_PARAMETERS
from simulator.running.variants import Variant, variant_id

__all__ = [
    "GeneratePlan",
    "PlannedRewrite",
    "RewritePlan",
    "generation_params",
    "label_of",
    "model_params",
    "models_of",
]

Group = tuple[str, str]
"""A task's id and a persona's."""


@dataclass(frozen=True, slots=True)
class PlannedRewrite:
    """A rewrite to ask for: one persona, one task, one replicate."""

    variant: str
    persona: str
    task: str
    replicate: int
    call: Call


class RewritePlan:
    """The rewriting calls of a campaign: by task, persona and replicate, in the campaign's order.

    Parameters
    ----------
    study
        The campaign with its definitions.
    """

    def __init__(self, study: Study) -> None:
        stage = study.campaign.prompts
        model, params = next(((choice.model, params) for choice, params in models_of(study)["rewrite"]), ("", {}))
        info = describe_model(model, params) if model else None  # nobody is simulated: the plan is empty
        self.study = study
        self.form: Form = "completion" if info and info.completion and stage.template is None else "chat"
        self.groups: list[Group] = [(task, persona) for task in study.tasks for persona in study.personas]
        self._model, self._params = model, _deciding(model, params)
        self._takes_seed = info is not None and info.takes_seed
        self._render = lru_cache(maxsize=256)(self._render_group)

    def __len__(self) -> int:
        return len(self.groups) * self.iterations

    @property
    def iterations(self) -> int:
        """Replicates of each group."""
        return self.study.campaign.prompts.iterations

    def positions(self, group: int) -> range:
        """Return the positions of a group's replicates."""
        return range(group * self.iterations, (group + 1) * self.iterations)

    def at(self, position: int) -> PlannedRewrite:
        """Return the rewrite at a position."""
        group, replicate = divmod(position, self.iterations)
        return self._plan(self.groups[group], replicate)

    def sharing(self, planned: PlannedRewrite) -> tuple[PlannedRewrite, ...]:
        """Return every rewrite that is made by the same call: tasks and personas worded alike, without a seed."""
        if self._takes_seed:
            return (planned,)
        messages = planned.call.messages
        source = self.study.campaign.prompts.source
        request = self.study.tasks[planned.task].request(source)
        tasks = [task.id for task in self.study.tasks.values() if task.request(source) == request]
        groups = [(task, persona) for task in tasks for persona in self.study.personas]
        twins = [group for group in groups if self._render(*group)[0] == messages]
        return tuple(self._plan(group, planned.replicate) for group in twins)

    def draw_order(self, group: Group) -> list[int]:
        """Return the replicates of a group in the order in which the sample is drawn from the usable ones.

        The order is seeded by names, so that the draw depends neither on the order in which replies arrived nor on
        other personas.
        """
        task, persona = group
        seed = self.study.campaign.seed
        return sorted(range(self.iterations), key=lambda one: (derive_seed(seed, "sample", persona, task, one), one))

    def draw(self, group: int, find: Callable[[str], Variant | None]) -> list[Variant]:
        """Return the variants of a group to generate code from: the first ``sample`` usable ones of its draw order.

        A group without enough usable variants gives fewer.

        Parameters
        ----------
        group
            Its number.
        find
            Returns the variant of an id, or None where it has not been made.
        """
        drawn: list[Variant] = []
        for replicate in self.draw_order(self.groups[group]):
            if len(drawn) == self.study.campaign.generate.sample:
                break
            variant = find(self._plan(self.groups[group], replicate).variant)
            if variant is not None and variant.status == "ok":
                drawn.append(variant)
        return sorted(drawn, key=lambda variant: variant.replicate)

    def _plan(self, group: Group, replicate: int) -> PlannedRewrite:
        task, persona = group
        messages, stop = self._render(task, persona)
        call = Call(
            stage="rewrite",
            model=self._model,
            messages=messages,
            form=self.form,
            params=self._params | ({"stop": stop} if stop else {}),
            repeat=replicate,
            seed=_seed(self.study, self._takes_seed, "rewrite", persona, task, replicate),
        )
        name = variant_id(task=task, method="rewrite", persona=persona, replicate=replicate, made_by=call.key)
        return PlannedRewrite(name, persona, task, replicate, call)

    def _render_group(self, task: str, persona: str) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        study = self.study
        text = study.tasks[task].request(study.campaign.prompts.source)
        return render_rewrite(study.personas[persona], text, form=self.form, template=study.template)


class GeneratePlan:
    """The generating calls of a campaign, given the variants that were drawn.

    Parameters
    ----------
    study
        The campaign with its definitions.
    """

    def __init__(self, study: Study) -> None:
        stage = study.campaign.generate
        self._study = study
        self._size = stage.sample * stage.repeats
        self._rewritten = len(study.tasks) * len(study.personas)
        self._groups = self._rewritten + len(study.humans)
        self._models: list[tuple[ModelChoice, dict[str, Parameter], bool]] = []
        for choice in stage.models:
            params = generation_params(study, choice)
            seeded = describe_model(choice.model, params).takes_seed
            self._models.append((choice, _deciding(choice.model, params), seeded))

    def __len__(self) -> int:
        """Return how many positions there are, gaps included."""
        return len(self._models) * self._groups * self._size

    def positions(self, model: int) -> range:
        """Return the positions of a model."""
        each = self._groups * self._size
        return range(model * each, (model + 1) * each)

    def human_group(self, index: int) -> int:
        """Return the number of the group of a person's texts, given its index in the study's."""
        return self._rewritten + index

    def calls(self, group: int, variants: list[Variant]) -> Iterator[tuple[int, Variant, Call]]:
        """Yield position, variant and call of everything that is asked of a group's drawn variants."""
        repeats = self._study.campaign.generate.repeats
        for model in range(len(self._models)):
            first = (model * self._groups + group) * self._size
            for rank, variant in enumerate(variants):
                for repeat in range(repeats):
                    yield first + rank * repeats + repeat, variant, self.call(model, variant, repeat)

    def at(self, position: int, variant: Variant) -> Call:
        """Return the call at a position, given the variant that stands there."""
        model = position // (self._groups * self._size)
        return self.call(model, variant, position % self._study.campaign.generate.repeats)

    def call(self, model: int, variant: Variant, repeat: int) -> Call:
        """Return the call that sends a variant to the campaign's model of that number."""
        stage = self._study.campaign.generate
        choice, params, seeded = self._models[model]
        return Call(
            stage="generate",
            model=choice.model,
            messages=render_generate(variant.text, prefix=stage.prefix, suffix=stage.suffix),
            params=params,
            repeat=repeat,
            # Named after the text, not the variant: two variants with the same text are one call.
            seed=_seed(self._study, seeded, "generate", variant.text, repeat),
        )


def models_of(study: Study) -> dict[Stage, list[tuple[ModelChoice, dict[str, Parameter]]]]:
    """Return each stage's models with all their parameters, those included that are not sent.

    Where nobody is simulated, the stage ``rewrite`` has none.
    """
    stage = study.campaign.prompts
    rewriters = [] if stage.model is None or not study.personas else [stage.model]
    return {
        "rewrite": [
            (choice, model_params(choice, temperature=stage.temperature, max_tokens=stage.max_tokens))
            for choice in rewriters
        ],
        "generate": [(choice, generation_params(study, choice)) for choice in study.campaign.generate.models],
    }


def label_of(choice: ModelChoice, params: dict[str, Parameter]) -> str:
    """Tell apart two entries of one model with other parameters."""
    return f"{choice.model} {canonical_json(params)}"


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
