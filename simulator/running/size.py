"""How large a campaign is before anything is sent: calls, tokens and time, each as a range with its assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.definitions import Study
from simulator.errors import UsageError
from simulator.prompts import render_generate
from simulator.running.calls import Call, Parameter
from simulator.running.models import ModelInfo, describe_model
from simulator.running.plan import models_of, plan_rewrites, rewriting_params

__all__ = ["PlanRow", "PlanSize", "Range", "size_of"]

CHARACTERS_PER_TOKEN = (3.0, 6.0)
"""English prose and code lie between these for the tokenizers in use; 4 is the usual rule of thumb."""

SHORTEST_REPLY = 20
"""Tokens of the shortest reply that a plan reckons with."""

UNLIMITED_REPLY = 4096
"""Tokens that a plan reckons with at most where ``max_tokens`` is not set."""

EMBEDDED_SPEED = ((8.0, 30.0), (40.0, 120.0))
"""Tokens per second of the embedded model on two cores, slow and fast: written, read."""

REMOTE_SECONDS = (1.0, 60.0)
"""Seconds of one call to a provider."""


@dataclass(frozen=True, slots=True)
class Range:
    """From ``low`` to ``high``; None where nothing is known."""

    low: float | None
    high: float | None

    def __add__(self, other: Range) -> Range:
        return Range(_sum(self.low, other.low), _sum(self.high, other.high))


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model in one stage."""

    stage: str
    model: str
    calls: Range
    tokens: Range
    cost: Range
    seconds: Range


@dataclass(frozen=True, slots=True)
class PlanSize:
    """A campaign's size in all and by stage and model; ``assumptions`` and ``warnings`` are sentences."""

    calls: Range
    tokens: Range
    cost: Range
    seconds: Range
    rows: tuple[PlanRow, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


def size_of(study: Study) -> PlanSize:
    """Reckon how large a campaign is; nothing is sent and no model is loaded.

    Raises
    ------
    UsageError
        A prompt cannot fit into its model's context, whatever is asked.
    """
    rows = tuple(_rows(study))
    nothing = Range(0, 0)
    unknown = sorted({row.model for row in rows if row.cost.high is None})
    return PlanSize(
        calls=sum((row.calls for row in rows), nothing),
        tokens=sum((row.tokens for row in rows), nothing),
        cost=sum((row.cost for row in rows), nothing),
        seconds=sum((row.seconds for row in rows), nothing),
        rows=rows,
        assumptions=_assumptions(),
        warnings=tuple(f"No price is known for {name}: what it costs is not in the plan." for name in unknown),
    )


def _rows(study: Study) -> Iterator[PlanRow]:
    stage, models = study.campaign.generate, models_of(study)
    rewrites = [planned.call for planned in plan_rewrites(study)]
    _refuse_too_long(rewrites, study)
    choice, params = models["rewrite"][0]
    read = sum(_characters(call) for call in rewrites)
    yield _row("rewrite", choice.model, params, Range(len(rewrites), len(rewrites)), Range(read, read))
    groups = len(study.personas) * len(study.tasks)
    frame = sum(len(message.text) for message in render_generate("", prefix=stage.prefix, suffix=stage.suffix))
    longest = study.campaign.prompts.max_tokens or UNLIMITED_REPLY
    for choice, params in models["generate"]:
        # A rewrite is not known before it is made: from its shortest to its longest.
        calls = Range(groups * stage.repeats, groups * stage.sample * stage.repeats)
        least = _times(calls.low, frame + SHORTEST_REPLY * CHARACTERS_PER_TOKEN[0])
        most = _times(calls.high, frame + longest * CHARACTERS_PER_TOKEN[1])
        yield _row("generate", choice.model, params, calls, Range(least, most))


def _row(stage: str, name: str, params: dict[str, Parameter], calls: Range, characters: Range) -> PlanRow:
    info = describe_model(name, params)
    limit = params.get("max_tokens")
    longest = limit if isinstance(limit, int) else UNLIMITED_REPLY
    read = Range(
        _times(characters.low, 1 / CHARACTERS_PER_TOKEN[1]), _times(characters.high, 1 / CHARACTERS_PER_TOKEN[0])
    )
    written = Range(_times(calls.low, min(SHORTEST_REPLY, longest)), _times(calls.high, longest))
    free = info.family in ("embedded", "mock")
    return PlanRow(
        stage=stage,
        model=name,
        calls=calls,
        tokens=Range(_whole(_sum(read.low, written.low)), _whole(_sum(read.high, written.high))),
        cost=Range(0.0, 0.0) if free else Range(None, None),
        seconds=_seconds(info, calls, read, written),
    )


def _seconds(info: ModelInfo, calls: Range, read: Range, written: Range) -> Range:
    if info.family == "mock":
        return Range(0.0, 0.0)
    if info.family == "embedded":
        (slow_write, fast_write), (slow_read, fast_read) = EMBEDDED_SPEED
        low = _sum(_times(written.low, 1 / fast_write), _times(read.low, 1 / fast_read))
        high = _sum(_times(written.high, 1 / slow_write), _times(read.high, 1 / slow_read))
    else:
        low = _times(calls.low, REMOTE_SECONDS[0] / info.parallel)
        high = _times(calls.high, REMOTE_SECONDS[1] / info.parallel)
    return Range(_whole(low), _whole(high))


def _refuse_too_long(calls: list[Call], study: Study) -> None:
    """Refuse what cannot fit even if every token were as long as tokens get."""
    info = describe_model(study.campaign.prompts.model.model, rewriting_params(study))
    if info.context_tokens is None:
        return
    for call in calls:
        least = _characters(call) / CHARACTERS_PER_TOKEN[1]
        if least > info.context_tokens:
            raise UsageError(
                f"{study.source}: a rewriting prompt has {_characters(call):,} characters, at the very least "
                f"{least:,.0f} tokens, but {info.title} reads {info.context_tokens:,} at most. Shorten the persona or "
                f"the task that it is made from (`sociolect persona show ID`), or choose a model with a longer context."
            )


def _assumptions() -> tuple[str, ...]:
    low, high = CHARACTERS_PER_TOKEN
    (slow_write, fast_write), (slow_read, fast_read) = EMBEDDED_SPEED
    return (
        f"A token is {low:g} to {high:g} characters.",
        f"A reply is {SHORTEST_REPLY} tokens at least, max_tokens at most ({UNLIMITED_REPLY:,} where it is not set).",
        f"The embedded model writes {slow_write:g} to {fast_write:g} tokens a second and reads {slow_read:g} to "
        f"{fast_read:g}, on two cores.",
        f"A call to a provider takes {REMOTE_SECONDS[0]:g} to {REMOTE_SECONDS[1]:g} seconds; no retries.",
        "Of each persona and task at least one rewrite is usable.",
    )


def _characters(call: Call) -> int:
    return sum(len(message.text) for message in call.messages)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)
