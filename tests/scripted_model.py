"""A model whose answers are a function, on a clock of its own, and the execution of calls to it; for tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import virtual_clock

from simulator.running.calls import Call, Message
from simulator.running.events import Event
from simulator.running.execution import execute
from simulator.running.journal import Journal
from simulator.running.lines import Ask
from simulator.running.models import describe_model
from simulator.running.replies import Reply, Tokens

__all__ = ["Answer", "Answers", "call", "clock", "fine", "kinds", "run", "run_lines"]

Answer = Callable[[Call, int], Reply | Awaitable[Reply]]
"""What a model answers to which attempt at a call, counted from 1."""


def call(number: int, model: str = "mock", **params: Any) -> Call:
    return Call("generate", model, (Message("user", f"question {number}"),), params=params, repeat=number)


def clock() -> float:
    return asyncio.get_running_loop().time()


class Answers:
    """A model whose answers are a function, and which keeps when it was asked what. An answer takes a second."""

    def __init__(self, answer: Answer, name: str = "mock", **known: Any) -> None:
        self._answer = answer
        self.info = replace(describe_model(name, {}), **{"parallel": 4, **known})
        self.asked: Counter[str] = Counter()
        self.times: list[float] = []
        self.order: list[int] = []
        self.at_once = self.most_at_once = 0

    async def ask(self, call: Call) -> Reply:
        self.asked[call.key] += 1
        self.times.append(clock())
        self.order.append(call.repeat)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(1)
            answer = self._answer(call, self.asked[call.key])
            return answer if isinstance(answer, Reply) else await answer
        finally:
            self.at_once -= 1

    async def close(self) -> None: ...


def fine(_call: Call, _attempt: int) -> Reply:
    return Reply("ok", "x", Tokens(10, 0, 5, 0))


def run_lines(
    journal: Journal, lines: Mapping[str, tuple[Answers, Iterable[Call | Ask]]], **options: Any
) -> list[Event]:
    """Execute, and return what was reported; where it raises, the events are in ``options["events"]``."""
    events: list[Event] = options.pop("events", [])

    async def go() -> None:
        stop = options.pop("stop", None)
        asks = {label: _asks(calls) for label, (_, calls) in lines.items()}
        models = {label: model for label, (model, _) in lines.items()}
        await execute(asks, models, journal, stop=stop or asyncio.Event(), report=events.append, **options)

    virtual_clock.run(go())
    return events


def _asks(calls: Iterable[Call | Ask]) -> Iterator[Ask]:
    return (one if isinstance(one, Ask) else Ask(one) for one in calls)


def run(journal: Journal, model: Answers, calls: Iterable[Call | Ask], **options: Any) -> list[Event]:
    return run_lines(journal, {"m": (model, calls)}, **options)


def kinds(events: list[Event]) -> Counter[str]:
    """Return how many events there are of each kind."""
    return Counter(event.kind for event in events)
