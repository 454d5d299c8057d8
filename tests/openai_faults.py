"""A provider that fails in every way there is, and keeps a ledger of what it answered and charged for.

What it does with a request is a pure function of a seed, the prompt, and how often that prompt was asked before; what
it answers in the end is a pure function of the prompt. So a run under faults can be held against one without.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import MappingProxyType
from typing import Any, Final

from openai_server import Answer, completion, failure

from simulator.running.calls import Call

__all__ = ["ANSWERS", "FAULTS", "Handled", "Provider", "answer_to", "fault_of", "prompt_of", "usage_cost"]

MOST_FAULTS: Final = 5
"""Attempts of one prompt that may fail: fewer than an engine makes."""


@dataclass(frozen=True)
class Handled:
    """A request and what became of it. ``charged``: it was generated, however the connection ended."""

    outcome: str
    charged: bool
    at: float
    answer: Answer


def _in_seconds(seconds: float) -> str:
    """A moment from now as HTTP writes dates, which have whole seconds."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def _refuse(status: int, **headers: str) -> Callable[[Answer], Answer]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: failure(status, f"the test's fault {status}", headers=named)


FAULTS: Final[Mapping[str, tuple[int, Callable[[Answer], Answer]]]] = MappingProxyType(
    {
        "429": (3, _refuse(429)),
        "429 seconds": (3, _refuse(429, Retry_After="0")),
        "429 milliseconds": (3, _refuse(429, Retry_After_Ms="20")),
        "429 date": (3, lambda _: failure(429, "by a date", headers={"Retry-After": _in_seconds(0)})),
        "500": (4, _refuse(500)),
        "503": (3, _refuse(503)),
        "503 seconds": (3, _refuse(503, Retry_After="0")),
        "529": (4, _refuse(529)),
        "close": (4, lambda answer: replace(answer, ending="close")),
        "reset": (4, lambda answer: replace(answer, ending="reset")),
        "half": (4, lambda answer: replace(answer, ending="half")),
        "stall": (1, lambda answer: replace(answer, ending="stall")),
        "trickle": (1, lambda answer: replace(answer, ending="trickle")),
        "no JSON": (4, lambda answer: replace(answer, body=b"<html>Bad gateway</html>")),
        "cut JSON": (3, lambda answer: replace(answer, body=answer.content()[:-9])),
        "no choices": (3, lambda answer: replace(answer, body={**_document(answer), "choices": []})),
        "null choices": (3, lambda answer: replace(answer, body={**_document(answer), "choices": None})),
        "no message": (2, lambda answer: replace(answer, body={**_document(answer), "choices": [{}]})),
    }
)
"""Each fault with its weight in the mix, and what it makes of the answer. What ends badly had been generated."""

_SHARE: Final = 0.4
"""Of first attempts that fail; of later ones too, up to `MOST_FAULTS`."""


def _document(answer: Answer) -> Mapping[str, Any]:
    return json.loads(answer.content())  # type: ignore[no-any-return]


def fault_of(seed: int, prompt: str, attempt: int) -> str:
    """Return the fault that an attempt (counted from 1) of a prompt meets; an empty text for none."""
    chance = random.Random(f"{seed} {attempt} {prompt}")
    if attempt > MOST_FAULTS or chance.random() >= _SHARE:
        return ""
    return chance.choices(list(FAULTS), [weight for weight, _ in FAULTS.values()])[0]


def prompt_of(asked: Call | Mapping[str, Any]) -> str:
    """Return what tells a prompt from others in the ledger: its messages and its seed."""
    if isinstance(asked, Call):
        messages: list[Any] = [[message.role, message.text] for message in asked.messages]
        return json.dumps([messages, asked.seed])
    return json.dumps([[[one["role"], one["content"]] for one in asked["messages"]], asked.get("seed")])


ANSWERS: Final = (*["ok"] * 5, "truncated", "filtered", "refused", "empty", "uncounted", "error")


def answer_to(prompt: str) -> Answer:
    """Return the answer that a prompt gets in the end: of every status, with and without usage, for ever the same."""
    chance = random.Random(prompt)
    text = f"x = {chance.randrange(10**9)}\n" * chance.randrange(1, 9)
    read, cached, written, thought = (chance.randrange(1, 200) for _ in range(4))
    usage = {
        "prompt_tokens": read + cached,
        "completion_tokens": written + thought,
        "total_tokens": read + cached + written + thought,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    answers = {
        "ok": lambda: completion(text, usage=usage),
        "truncated": lambda: completion(text, usage=usage, finish="length"),
        "filtered": lambda: completion(None, usage=usage, finish="content_filter"),
        "refused": lambda: completion(None, usage=usage, refusal="I will not."),
        "empty": lambda: completion("", usage=usage),
        "uncounted": lambda: completion(text, counted=False),
        "error": lambda: failure(400, "maximum context length is 9 tokens", code="context_length_exceeded"),
    }
    return answers[chance.choice(ANSWERS)]()


class Provider:
    """A script for `openai_server.OpenAIServer` that fails as told and keeps a ledger by prompt.

    Parameters
    ----------
    fault
        The fault that an attempt of a prompt meets, as `fault_of`; by default none.
    answer
        The answer that a prompt gets in the end.
    arrived
        Called with the number of requests so far, before each is answered.
    """

    def __init__(
        self,
        *,
        fault: Callable[[str, int], str] = lambda _prompt, _attempt: "",
        answer: Callable[[str], Answer] = answer_to,
        arrived: Callable[[int], None] = lambda _requests: None,
    ) -> None:
        self.ledger: dict[str, list[Handled]] = {}
        self.requests = 0
        self._fault, self._answer, self._arrived = fault, answer, arrived
        self._lock = threading.Lock()

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        prompt = prompt_of(body)
        with self._lock:
            handled = self.ledger.setdefault(prompt, [])
            outcome = self._fault(prompt, len(handled) + 1)
            answer = self._answer(prompt)
            if answer.status != 200 and not outcome[:1].isdigit():
                outcome = ""  # nothing was generated that could get lost
            if outcome:
                answer = FAULTS[outcome][1](answer)
            handled.append(Handled(outcome, answer.status == 200, time.monotonic(), answer))
            self.requests += 1
            number = self.requests
        self._arrived(number)
        return answer

    def handled(self) -> Iterable[Handled]:
        """Yield every request."""
        return (one for handled in self.ledger.values() for one in handled)

    def outcomes(self) -> Counter[str]:
        """Return how often which fault was met; those that got their answer are under the empty text."""
        return Counter(one.outcome for one in self.handled())


def usage_cost(answer: Answer, *, read: float, cached: float, written: float, unknown: float) -> float:
    """Return the dollars that an answer costs at prices by million tokens; ``unknown`` where it does not count them."""
    usage = _document(answer).get("usage") if answer.status == 200 else None
    if usage is None:
        return unknown if answer.status == 200 else 0.0
    held = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0))
    return 1e-6 * (
        (int(usage["prompt_tokens"]) - held) * read + held * cached + int(usage["completion_tokens"]) * written
    )
