"""How large a campaign is before anything is sent: calls, tokens, cost and time, each as a range with its assumptions.

It is reckoned group by group (a task and a persona) from one prompt each; nothing is held that grows with the number
of calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from simulator.definitions import ModelChoice, Study
from simulator.errors import UsageError
from simulator.prompts import draw_texts, render_generate
from simulator.running.amounts import plural
from simulator.running.calls import Call, Message, Parameter, Stage
from simulator.running.models import ModelInfo, describe_model
from simulator.running.models.parameters import check_parameters
from simulator.running.money import Price
from simulator.running.money.prices import PriceTable, load_prices
from simulator.running.plan import RewritePlan, models_of
from simulator.running.size.ranges import NOTHING, UNKNOWN, Range, add_ranges, longest

__all__ = ["ONE_USABLE", "PlanSize", "Rate", "SizeRow", "add_up", "human_prompts", "size_of", "time_for"]

CHARACTERS_PER_TOKEN = (3.0, 6.0)
"""English prose and code lie between these for the tokenizers in use; 4 is the usual rule of thumb."""

TOKENS_PER_OTHER = 2.0
"""Most tokens of a character that is not ASCII."""

TOKENS_PER_MESSAGE = (0.0, 10.0)
"""What a provider puts around a message."""

SHORTEST_REPLY = 20
"""Tokens of the shortest reply that a plan reckons with."""

UNLIMITED_REPLY = 4096
"""Tokens that a plan reckons with at most where ``max_tokens`` is not set."""

EMBEDDED_SPEED = ((8.0, 30.0), (40.0, 120.0))
"""Tokens per second of the embedded model on two cores, slow and fast: written, read."""

REMOTE_SECONDS = (1.0, 60.0)
"""Seconds of one call to a provider."""

ONE_USABLE = "Of each persona and task at least one rewrite is usable."

OLD = 365
"""Days after which built-in prices are called old."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast a model may be asked.

    Parameters
    ----------
    parallel
        Calls at once, when nothing slows them down.
    requests_per_minute, tokens_per_minute
        The limits that the campaign sets; None: none.
    """

    parallel: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One model in one stage.

    Parameters
    ----------
    stage, number, model
        Which one: of `models_of` the stage's ``number``-th.
    calls, read, written, cost, seconds
        What is asked, the tokens read and written in all, US dollars, and how long it takes.
    price
        What the model costs; None where that is not known.
    rate
        How fast it may be asked.
    """

    stage: Stage
    number: int
    model: str
    calls: Range
    read: Range
    written: Range
    cost: Range
    seconds: Range
    price: Price | None
    rate: Rate

    @property
    def tokens(self) -> Range:
        """Tokens read and written."""
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class PlanSize:
    """A campaign's size in all and by stage and model; ``assumptions`` and ``warnings`` are sentences."""

    calls: Range
    read: Range
    written: Range
    cost: Range
    seconds: Range
    rows: tuple[SizeRow, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def tokens(self) -> Range:
        """Tokens read and written."""
        return self.read + self.written


def size_of(study: Study, prices: PriceTable | None = None, *, today: date | None = None) -> PlanSize:
    """Reckon how large a campaign is; nothing is sent and no model is loaded.

    Parameters
    ----------
    study
        The campaign with its definitions.
    prices
        What models cost; by default the built-in table and the study's own.
    today
        The day on which the prices are judged old or not; by default this one.

    Raises
    ------
    UsageError
        A prompt cannot fit into its model's context, whatever is asked; or a parameter is not one of its model's, or
        cannot have its value.
    DefinitionError
        The study's file of prices is wrong.
    """
    for models in models_of(study).values():
        for choice, params in models:
            check_parameters(choice.model, params, describe_model(choice.model, params).accepts)
    table = load_prices(study.root) if prices is None else prices
    rewriting, groups = _size_rewriting(study, table)
    rows = (*rewriting, *_size_generating(study, table, groups))
    return add_up(rows, assumptions=_assumptions(study, rows, table), warnings=tuple(_warn(study, rows, table, today)))


def add_up(rows: tuple[SizeRow, ...], *, assumptions: tuple[str, ...], warnings: tuple[str, ...]) -> PlanSize:
    """Return the size of a campaign from that of its rows.

    Rewriting comes first, then all generating models at once: the slowest decides. Embedded models share one
    processor, so that their times add up.
    """
    rewriting = [row.seconds for row in rows if row.stage == "rewrite"]
    here = [row.seconds for row in rows if row.stage == "generate" and row.model.partition(":")[0] == "embedded"]
    away = [row.seconds for row in rows if row.stage == "generate" and row.model.partition(":")[0] != "embedded"]
    generating = longest([add_ranges(here), *away])
    return PlanSize(
        calls=add_ranges(row.calls for row in rows).rounded(),
        read=add_ranges(row.read for row in rows).rounded(),
        written=add_ranges(row.written for row in rows).rounded(),
        cost=add_ranges(row.cost for row in rows),
        seconds=(add_ranges(rewriting) + generating).rounded(),
        rows=rows,
        assumptions=assumptions,
        warnings=warnings,
    )


def time_for(calls: Range, tokens: Range, each: Range, rate: Rate) -> Range:
    """Return the seconds of calls that take ``each`` seconds, as many at once and per minute as may be."""

    def end(calls: float | None, tokens: float | None, each: float | None) -> float | None:
        if calls is None or tokens is None or each is None:
            return None
        waits = [calls * each / rate.parallel, each if calls else 0.0]
        if rate.requests_per_minute:
            waits.append(60.0 * calls / rate.requests_per_minute)
        if rate.tokens_per_minute:
            waits.append(60.0 * tokens / rate.tokens_per_minute)
        return max(waits)

    return Range(end(calls.low, tokens.low, each.low), end(calls.high, tokens.high, each.high))


def human_prompts(study: Study) -> list[str]:
    """Return the different texts of people that each model is sent, in the order of the plan."""
    sample, seed = study.campaign.generate.sample, study.campaign.seed
    drawn = (variant for texts in study.humans for variant in draw_texts(texts, sample=sample, seed=seed))
    return list(dict.fromkeys(variant.text for variant in drawn))


def _size_rewriting(study: Study, prices: PriceTable) -> tuple[list[SizeRow], int]:
    """Return the rewriting row, and how many groups (a task and a persona) have calls of their own."""
    plan = RewritePlan(study)
    if not plan.groups:
        return [], 0
    (choice, params) = models_of(study)["rewrite"][0]
    info = describe_model(choice.model, params)
    read, most = NOTHING, 0.0
    seen: set[str] = set()
    for number in range(len(plan.groups)):
        call = plan.at(plan.positions(number).start).call
        if call.key in seen:
            continue  # personas, or tasks, that are described alike are asked by the same calls
        seen.add(call.key)
        _refuse_too_long(call, info, study)
        tokens = _count(call.messages)
        most = max(most, tokens.high or 0.0)
        read += tokens * plan.iterations
    calls = float(len(seen) * plan.iterations)
    return [_row("rewrite", 0, choice, params, Range(calls, calls), read, most, prices)], len(seen)


def _size_generating(study: Study, prices: PriceTable, different: int) -> Iterator[SizeRow]:
    """Yield the generating rows. A rewrite is not known before it is made: it is from its shortest to its longest.

    What people wrote is known. Groups that are not ``different`` may have drawn the same rewrites, which are sent once,
    or others of them.
    """
    stage, models = study.campaign.generate, models_of(study)
    groups = len(study.personas) * len(study.tasks)
    calls = Range(different * stage.repeats, groups * stage.sample * stage.repeats)
    frame = _count(render_generate("", prefix=stage.prefix, suffix=stage.suffix))
    rewrite = max((_longest_reply(params) for _, params in models["rewrite"]), default=0)
    spread = CHARACTERS_PER_TOKEN[1] / CHARACTERS_PER_TOKEN[0]  # another model counts its tokens otherwise
    each = frame + Range(SHORTEST_REPLY / spread, rewrite * spread)
    known = [_count(render_generate(text, prefix=stage.prefix, suffix=stage.suffix)) for text in human_prompts(study)]
    prompts = [each] * bool(groups) + known
    most = max(tokens.high or 0.0 for tokens in prompts)
    read = calls * each + add_ranges(known) * float(stage.repeats)
    calls += Range(len(known) * stage.repeats, len(known) * stage.repeats)
    for number, (choice, params) in enumerate(models["generate"]):
        yield _row("generate", number, choice, params, calls, read, most, prices)


def _row(
    stage: Stage,
    number: int,
    choice: ModelChoice,
    params: Mapping[str, Parameter],
    calls: Range,
    read: Range,
    most: float,
    prices: PriceTable,
) -> SizeRow:
    info = describe_model(choice.model, params)
    limit = _longest_reply(params)
    written = calls * Range(min(SHORTEST_REPLY, limit), limit)
    price = prices.price(choice.model, params)
    rate = Rate(info.parallel, info.requests_per_minute, info.tokens_per_minute)
    fits = price is None or price.longest_input is None or most <= price.longest_input
    return SizeRow(
        stage=stage,
        number=number,
        model=choice.model,
        calls=calls,
        read=read.rounded(),
        written=written.rounded(),
        cost=_cost(price, read, written) if fits else UNKNOWN,
        seconds=_seconds(info, calls, read, written, rate).rounded(),
        price=price,
        rate=rate,
    )


def _cost(price: Price | None, read: Range, written: Range) -> Range:
    if price is None:
        return UNKNOWN
    return (read * Range(*price.reading) + written * Range(*price.writing)) * (1 / _MILLION)


def _seconds(info: ModelInfo, calls: Range, read: Range, written: Range, rate: Rate) -> Range:
    if info.family == "mock":
        return time_for(calls, read + written, NOTHING, rate)
    if info.family == "embedded":
        (slow_write, fast_write), (slow_read, fast_read) = EMBEDDED_SPEED
        return written * Range(1 / fast_write, 1 / slow_write) + read * Range(1 / fast_read, 1 / slow_read)
    return time_for(calls, read + written, Range(*REMOTE_SECONDS), rate)


def _count(messages: tuple[Message, ...]) -> Range:
    """Return how many tokens messages may be."""
    plain = sum(len(message.text.encode("ascii", "ignore")) for message in messages)
    other = sum(len(message.text) for message in messages) - plain
    low = (plain + other) / CHARACTERS_PER_TOKEN[1] + TOKENS_PER_MESSAGE[0] * len(messages)
    high = plain / CHARACTERS_PER_TOKEN[0] + other * TOKENS_PER_OTHER + TOKENS_PER_MESSAGE[1] * len(messages)
    return Range(low, high)


def _longest_reply(params: Mapping[str, Parameter]) -> int:
    limit = params.get("max_tokens")
    return limit if isinstance(limit, int) else UNLIMITED_REPLY


def _refuse_too_long(call: Call, info: ModelInfo, study: Study) -> None:
    """Refuse what cannot fit even if every token were as long as tokens get."""
    characters = sum(len(message.text) for message in call.messages)
    least = characters / CHARACTERS_PER_TOKEN[1]
    if info.context_tokens is not None and least > info.context_tokens:
        raise UsageError(
            f"{study.source}: a rewriting prompt has {characters:,} characters, at the very least "
            f"{least:,.0f} tokens, but {info.title} reads {info.context_tokens:,} at most. Shorten the persona or "
            f"the task that it is made from (`sociolect persona show ID`), or choose a model with a longer context."
        )


def _assumptions(study: Study, rows: tuple[SizeRow, ...], prices: PriceTable) -> tuple[str, ...]:
    low, high = CHARACTERS_PER_TOKEN
    (slow_write, fast_write), (slow_read, fast_read) = EMBEDDED_SPEED
    lines = [
        f"A token is {low:g} to {high:g} characters; one that is not ASCII is {TOKENS_PER_OTHER:g} tokens at most.",
        f"A reply is {SHORTEST_REPLY} tokens at least, max_tokens at most ({UNLIMITED_REPLY:,} where it is not set).",
        f"The embedded model writes {slow_write:g} to {fast_write:g} tokens a second and reads {slow_read:g} to "
        f"{fast_read:g}, on two cores.",
        f"A call to a provider takes {REMOTE_SECONDS[0]:g} to {REMOTE_SECONDS[1]:g} seconds, as many at once as "
        "`parallel` says; no retries and no waiting for a provider's own limits.",
    ]
    if study.personas:
        lines.append(ONE_USABLE)
    if study.humans:
        written, sent = sum(len(texts.texts) for texts in study.humans), len(human_prompts(study))
        people = len({texts.speaker for texts in study.humans})
        lines.append(
            f"{plural(people, 'person', 'people')} wrote {plural(written, 'text')}, of which {sent:,} different ones "
            f"are drawn and sent as they stand."
        )
    if any(row.price is not None and not row.price.is_free for row in rows):
        lines.append(
            f"Prices are those of {prices.as_of} and your own. What is read costs at least as much as if the provider "
            "had all of it in its cache, and at most as much as if it had nothing."
        )
    return tuple(lines)


def _warn(study: Study, rows: tuple[SizeRow, ...], prices: PriceTable, today: date | None) -> Iterator[str]:
    models = models_of(study)
    told: set[str] = set()
    old: list[str] = []
    for row in rows:
        choice, params = models[row.stage][row.number]
        for text in _warn_of(row, params, prices):
            if text not in told:
                told.add(text)
                yield text
        listed = prices.find(choice.model, params)
        day = None if listed is None else listed.as_of
        if day is not None and ((today or date.today()) - day).days > OLD and choice.model not in old:
            old.append(choice.model)
    if old:
        yield (
            f"The prices of {', '.join(old)} are more than a year old (the built-in ones are of {prices.as_of}): they "
            f"may have changed. Look them up, and write what differs into {prices.home}."
        )


def _warn_of(row: SizeRow, params: Mapping[str, Parameter], prices: PriceTable) -> Iterator[str]:
    if row.price is None:
        mend = prices.explain_missing(row.model, params)
        yield f"No price is known for {row.model}: what it costs is not in the plan. {mend}"
    elif row.cost.high is None:
        yield (
            f"The price of {row.model} holds for prompts of up to {row.price.longest_input:,} tokens, and some may be "
            f"longer: what it costs is not in the plan."
        )
    if row.price is not None and not row.price.is_free and not isinstance(params.get("max_tokens"), int):
        where = "prompts" if row.stage == "rewrite" else "generate"
        yield (
            f"{row.model} has no max_tokens: the plan reckons with {UNLIMITED_REPLY:,} tokens a reply, which it may "
            f"exceed. Write `max_tokens: 2000`, or what suits, under `{where}`."
        )
