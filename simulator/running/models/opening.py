"""Models by name: what is known of one, whether it can be asked, and opening it.

A name says where a model is:

``embedded``, ``embedded:/path/model.gguf``
    In this process (`simulator.running.models.embedded`).
``mock``, ``mock:NAME``, ``mock:answers.py``
    No model at all: answers made up from the call, or by a function of yours (`simulator.running.models.mock`).
``provider:model``
    Any chat model that LangChain reaches: ``openai:gpt-4o-mini``, ``anthropic:...``, ``google_genai:...``,
    ``ollama:...``, and, with ``base_url``, any server that speaks the OpenAI protocol
    (`simulator.running.models.langchain_models`).

Describing is static and quick: nothing is loaded, imported or asked. Checking comes before the first call and says
what is missing or wrong. Opening gives a `Model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from simulator.definitions.text_reading import as_written, resolve_inside
from simulator.errors import UsageError
from simulator.running.calls import Call, Parameter
from simulator.running.models.parameters import check_parameters
from simulator.running.replies import Reply

__all__ = ["Model", "ModelInfo", "check_model", "describe_model", "locate_model", "open_model"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model before it is asked.

    Parameters
    ----------
    name
        As a campaign writes it.
    family
        ``embedded``, ``mock``, or the provider.
    title
        What people are shown.
    licence
        Of the weights, or whose terms hold.
    trust
        One sentence: what its answers can be trusted for.
    context_tokens
        Prompt and answer together; None where it is not known.
    accepts
        The names of the parameters that it takes.
    takes_seed
        Whether a call's seed is sent.
    completion
        Whether it rewrites better by continuing a text than by answering a message.
    parallel
        Most calls at once.
    requests_per_minute, tokens_per_minute
        What may be asked of it in any minute; None for no limit.
    """

    name: str
    family: str
    title: str
    licence: str
    trust: str
    context_tokens: int | None
    accepts: frozenset[str]
    takes_seed: bool
    completion: bool
    parallel: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class Model(Protocol):
    """A model that can be asked. One question, one answer: it never asks again by itself."""

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""
        ...

    async def ask(self, call: Call) -> Reply:
        """Answer one call, or raise a `simulator.errors.ModelError`."""
        ...

    async def close(self) -> None:
        """Free what it holds. May be called more than once."""
        ...


def describe_model(name: str, params: Mapping[str, Parameter] | None = None) -> ModelInfo:
    """Return what is known of a model from its name and parameters alone.

    Raises
    ------
    UsageError
        The name is none that exists.

    Examples
    --------
    >>> describe_model("embedded").title
    'Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (Apache-2.0), embedded'
    >>> sorted(describe_model("openai:gpt-4o-mini").accepts)[:3]
    ['base_url', 'connect_timeout', 'frequency_penalty']
    """
    params = params or {}
    family, rest = _split(name)
    if family == "embedded":
        from simulator.running.models.embedded import describe_embedded  # noqa: PLC0415

        return describe_embedded(rest, params)
    if family == "mock":
        from simulator.running.models.mock import describe_mock  # noqa: PLC0415

        return describe_mock(rest, params)
    from simulator.running.models.providers import describe_provider  # noqa: PLC0415

    return describe_provider(family, rest, params)


def check_model(name: str, params: Mapping[str, Parameter] | None = None) -> None:
    """Raise an error that names the mend if the model could not be asked; asks nothing and loads no weights.

    Raises
    ------
    UsageError
        An unknown provider, a parameter that the model does not take, or a value that cannot be.
    MissingError
        A package, a key, a model's file or its weights are not there.
    """
    params = params or {}
    info = describe_model(name, params)
    check_parameters(name, params, info.accepts)
    family, rest = _split(name)
    if family == "embedded":
        from simulator.running.models.embedded import check_embedded  # noqa: PLC0415

        check_embedded(rest)
    elif family == "mock":
        from simulator.running.models.mock import check_mock  # noqa: PLC0415

        check_mock(rest)
    else:
        from simulator.running.models.providers import check_provider  # noqa: PLC0415

        check_provider(family, rest, params)


def open_model(name: str, params: Mapping[str, Parameter] | None = None) -> Model:
    """Check a model and return it ready to be asked.

    ``params`` chooses its address and its limits (`simulator.running.models.parameters.LOCAL_PARAMETERS`); what is sent
    with each call is the call's own.

    Raises
    ------
    UsageError, MissingError
        As `check_model`.
    """
    params = params or {}
    check_model(name, params)
    family, rest = _split(name)
    if family == "embedded":
        from simulator.running.models.embedded import EmbeddedModel  # noqa: PLC0415

        return EmbeddedModel(rest, params)
    if family == "mock":
        from simulator.running.models.mock import open_mock  # noqa: PLC0415

        return open_mock(rest, params)
    from simulator.running.models.langchain_models import LangChainModel  # noqa: PLC0415

    return LangChainModel(family, rest, params)


def locate_model(name: str, root: Path, *, given: str | None = None) -> str:
    """Return a model's name with the path of a file that it names, ready to be opened.

    A mock's script is a program. One that a campaign names, which somebody else may have written, is looked for in the
    campaign's study and nowhere else. A person at the keyboard names any file, from the current folder.

    Parameters
    ----------
    name
        As the campaign has it.
    root
        The study's folder.
    given
        The name that the person at the keyboard gave, if any (`simulator.definitions.Study.given`).

    Raises
    ------
    UsageError
        The name is none that exists, or its script is not in the study.

    Examples
    --------
    >>> locate_model("openai:gpt-4o-mini", Path("study"))
    'openai:gpt-4o-mini'
    """
    family, rest = _split(name)
    if given is not None and name.strip() == given.strip():
        return name
    if family == "mock" and rest.endswith(".py"):
        try:
            path = resolve_inside(rest, root)
            if not path.is_file():
                raise ValueError(f"is not there: there is no file {path}")  # noqa: TRY301 - told like the others
        except ValueError as problem:
            raise UsageError(
                f"The script of the model {name} {problem}. Only --model mock:PATH.py, on the command line, names a "
                "script elsewhere."
            ) from None
        return f"mock:{as_written(path)}"
    if family == "embedded" and rest and (root / rest).is_file():
        return f"embedded:{root / rest}"
    return name


def _split(name: str) -> tuple[str, str]:
    """Split a model's name at its first colon into family and the rest."""
    family, colon, rest = name.strip().partition(":")
    if family not in {"embedded", "mock"} and (not colon or not rest or not family):
        raise UsageError(
            f"The model {name!r} does not say where it is. Write `embedded`, `mock`, or provider:model"
            + (f", for instance openai:{name.strip(': ')}" if name.strip(": ") else ", for instance openai:gpt-4o-mini")
            + "."
        )
    return family, rest
