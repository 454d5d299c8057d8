r"""Answers without a language model, so that a campaign can be tried, and tested, without spending anything.

``mock`` makes an answer up from the call: a request in other words where it is asked to rewrite, a small Python program
where it is asked for code. ``mock:NAME`` does the same with other choices, so that two models can be told apart.
``mock:answers.py`` asks a function of yours:

>>> from simulator.running.calls import Call, Message
>>> def answer(call: Call) -> str:
...     if call.stage == "rewrite":
...         return "Please " + call.messages[-1].text.lower()
...     return "```python\nprint(42)\n```"
>>> import asyncio
>>> call = Call("rewrite", "mock", (Message("user", "Write a calculator"),))
>>> asyncio.run(MockModel(answer).ask(call)).text
'Please write a calculator'

The function may return a text, whose status is worked out as for any model, or a whole
`simulator.running.replies.Reply`; it may raise any `simulator.errors.ModelError`, as a provider would; and it may be
``async``.
"""

from __future__ import annotations

import inspect
import random
import re
import sys
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from simulator.errors import ModelError, RejectedError, UsageError
from simulator.running.calls import Call, Parameter, derive_seed
from simulator.running.models.opening import ModelInfo
from simulator.running.models.parameters import KNOWN_PARAMETERS, read_number
from simulator.running.models.statuses import classify_reply
from simulator.running.replies import Reply, Tokens, find_fault, repair_reply

__all__ = ["Answer", "MockModel", "answer_plausibly", "check_mock", "describe_mock", "open_mock"]

_REMEMBERED: Final = 1000
"""Calls that a mock model keeps: a campaign of a million must not fill the memory."""

Answer = Callable[[Call], str | Reply | Awaitable[str | Reply]]
"""What a mock model is made of: a call in, an answer out."""


def describe_mock(rest: str, params: Mapping[str, Parameter]) -> ModelInfo:
    """Return what to know of ``mock`` or ``mock:rest``."""
    parallel = params.get("parallel")
    return ModelInfo(
        name=f"mock:{rest}" if rest else "mock",
        family="mock",
        title=f"mock{' ' + Path(rest).name if rest else ''} (no language model)",
        licence="none",
        trust="Nothing: its answers are made up by a rule, to try a campaign without spending.",
        context_tokens=None,
        accepts=KNOWN_PARAMETERS,
        takes_seed=True,
        completion=False,
        parallel=parallel if isinstance(parallel, int) else 16,
        requests_per_minute=read_number(params, "requests_per_minute"),
        tokens_per_minute=read_number(params, "tokens_per_minute"),
    )


def check_mock(rest: str) -> None:
    """Load the user's file, if one is named.

    Raises
    ------
    UsageError
        There is no such file, it cannot be run, or it defines no function ``answer``.
    """
    if rest.endswith(".py"):
        _load_answer(Path(rest))


def open_mock(rest: str, params: Mapping[str, Parameter]) -> MockModel:
    """Return the mock model of that name; a path is looked up from the current folder."""
    answer = _load_answer(Path(rest)) if rest.endswith(".py") else answer_plausibly
    return MockModel(answer, name=f"mock:{rest}" if rest else "mock", params=params)


class MockModel:
    """A model made of a function, for trying campaigns and for tests. See this module's example.

    Parameters
    ----------
    answer
        Called with each call; `answer_plausibly` where none is given.
    name
        What it reports itself as.
    params
        As a campaign would give them; only ``parallel`` and what is asked of it per minute matter.
    """

    def __init__(
        self, answer: Answer | None = None, *, name: str = "mock", params: Mapping[str, Parameter] | None = None
    ) -> None:
        self._answer = answer or answer_plausibly
        self.info = describe_mock(name.removeprefix("mock").removeprefix(":"), params or {})
        # What is recorded is the same wherever the file lies.
        rest = self.info.name.removeprefix("mock").removeprefix(":")
        self._reported = f"mock:{Path(rest).name}" if rest else "mock"
        self._calls: deque[Call] = deque(maxlen=_REMEMBERED)

    @property
    def calls(self) -> list[Call]:
        """The last thousand calls that were asked, in order; so that a test can look at them."""
        return list(self._calls)

    async def ask(self, call: Call) -> Reply:
        """Return the function's answer as a reply.

        Raises
        ------
        ModelError
            What the function raised; a `RejectedError` that names the place where it failed otherwise.
        """
        self._calls.append(call)
        try:
            answer = self._answer(call)
            if inspect.isawaitable(answer):
                answer = await answer
        except ModelError:
            raise
        except (Exception, SystemExit) as problem:
            raise RejectedError(f"The mock's answer failed: {_where(problem)}. Correct the function.") from problem
        if isinstance(answer, Reply):
            if fault := find_fault(answer):
                raise RejectedError(f"The mock's answer is no reply: {fault}. Correct the function.")
            return answer
        if not isinstance(answer, str):
            raise RejectedError(
                f"The mock's answer is of type {type(answer).__name__}; it must be a text or a Reply. Correct the "
                "function."
            )
        read = sum(len(message.text.split()) for message in call.messages)
        return repair_reply(
            Reply(
                status=classify_reply(answer, finish="stop"),
                text=answer,
                tokens=Tokens(input=read, cached=0, output=len(answer.split()), reasoning=0),
                model_reported=self._reported,
                finish="stop",
                sent={**{name: value for name, value in call.params.items() if value is not None}, "seed": call.seed},
            )
        )

    async def close(self) -> None:
        """Nothing to free."""


def answer_plausibly(call: Call) -> str:
    """Make up an answer from nothing but the call: the same for the same call, another for another seed or repeat."""
    prompt = call.messages[-1].text if call.messages else ""
    # Who asks decides on tastes; the call as a whole, with its seed and repeat, on what is said this time.
    tastes = random.Random(derive_seed("mock", "tastes", call.model, *(message.text for message in call.messages)))
    chance = random.Random(derive_seed("mock", "chance", call.key))
    if call.stage == "rewrite":
        return _rewrite(prompt, tastes, chance)
    return _program(prompt, chance)


_REQUEST: Final = re.compile(
    r"\b(?:Write|Build|Create|Make|Design|Implement|Develop|Generate|Give|Find|Sort|Compute|Program|Simulate|Train)\b"
    r"[^\n.\"“”]{3,200}"
)
_OPENINGS: Final = ("Hello, could you", "I need you to", "Please", "For my work I would like you to", "Can you")
_PLACES: Final = (
    "a small office in Berlin",
    "our school in Ohio",
    "a laboratory at Caltech",
    "a shop in Madrid",
    "home",
)
_MEANS: Final = (
    "Microsoft Excel",
    "PostgreSQL",
    "a REST API",
    "a CSV file",
    "Windows buttons",
    "Docker",
    "NumPy",
    "a web page",
    "Microsoft Word",
    "unit tests",
    "the command line",
    "SQLite",
)
_WISHES: Final = (
    "It should be easy to understand.",
    "Please explain each step.",
    "It has to cope with wrong input.",
    "Speed matters to me.",
    "I will show it to my colleagues on Monday.",
    "Keep it short.",
)


def _rewrite(prompt: str, tastes: random.Random, chance: random.Random) -> str:
    """The first request in a prompt, in other words, with details that the same asker keeps coming back to."""
    found = _REQUEST.findall(prompt)
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    request = (found[0] if found else lines[-1] if lines else "write a program").strip(" :\"“”'")
    request = request[:1].lower() + request[1:]
    place, *means = tastes.choice(_PLACES), *tastes.sample(_MEANS, 4)
    first, second = chance.sample(means, 2)
    opening = chance.choice(_OPENINGS)
    mark = "?" if opening.startswith(("Hello", "Can")) else "."
    return f"{opening} {request}{mark} It is for {place}, with {first} and {second}. {chance.choice(_WISHES)}"


def _program(prompt: str, chance: random.Random) -> str:
    """A reply with a small Python program in it, named after the prompt's longest words."""
    words = sorted({word.lower() for word in re.findall(r"[A-Za-z]{4,}", prompt)}, key=lambda word: (-len(word), word))
    noun = chance.choice(words[:6]) if words else "thing"
    name, limit = f"run_{noun}", chance.randint(2, 99)
    checks = [
        f"    if value < 0:\n        raise ValueError('a negative {noun}')\n",
        f"    while value > {limit}:\n        value = value // 2\n",
        "    for step in range(3):\n        value = value + step\n",
        f"    value = min(value, {limit})\n",
    ]
    body = "".join(chance.sample(checks, chance.randint(1, 3)))
    docstring = f'    """Work out the {noun}."""\n' if chance.random() < 0.5 else ""
    function = f"def {name}(value):\n{docstring}{body}    return value * {limit}\n"
    if chance.random() < 0.4:
        method = "".join(f"    {line}\n" if line else "\n" for line in function.splitlines())
        method = method.replace(f"def {name}(value)", f"def {name}(self, value)")
        function = f"class {noun.capitalize()}Program:\n{method}"
        ending = f"print({noun.capitalize()}Program().{name}({limit}))\n"
    else:
        ending = f"print({name}({limit}))\n"
    imports = chance.choice(("", "import sys\n\n", "import math\n\n"))
    return f"Here is a program for the {noun}:\n\n```python\n{imports}{function}\n{ending}```\n"


def _load_answer(path: Path) -> Answer:
    """Run a user's file and return its function ``answer``."""
    path = path.expanduser()
    try:
        source = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(
            f"There is no file {path} (looked for in {Path.cwd()}). Correct the path after `mock:`, or use plain "
            "`mock`."
        ) from None
    except (OSError, ValueError) as problem:
        raise UsageError(f"The file {path} of the mock model cannot be read: {problem}. Correct it.") from None
    module = ModuleType(f"mock_answers_{derive_seed('mock', 'file', path.absolute()):x}")
    module.__file__ = str(path.absolute())
    # A dataclass in the file looks its own module up by name.
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - the user's own program
    except (Exception, SystemExit) as problem:
        raise UsageError(
            f"The file {path} of the mock model cannot be run: {_where(problem)}. Correct it."
        ) from problem
    answer = module.__dict__.get("answer")
    if not callable(answer):
        raise UsageError(f"The file {path} defines no function `answer`. Add one: def answer(call): return ...")
    checked: Answer = answer
    return checked


def _where(problem: BaseException) -> str:
    """An exception's kind and text, with the place it came from."""
    kind = f"{type(problem).__name__}: {problem}".rstrip(": ")
    if isinstance(problem, SyntaxError):
        return kind
    frames = traceback.extract_tb(problem.__traceback__)
    return f"{kind} ({frames[-1].filename}:{frames[-1].lineno})" if frames else kind
