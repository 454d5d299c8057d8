"""The providers that LangChain reaches: what each is called, needs and accepts. Nothing is imported or asked here."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from simulator.errors import MissingError, UsageError
from simulator.running.calls import Parameter
from simulator.running.models.keys import KEYS_FOR, allowed_variable, suggest_entry
from simulator.running.models.opening import ModelInfo
from simulator.running.models.parameters import PER_MINUTE, TIMEOUTS, read_number

__all__ = [
    "PROVIDERS",
    "SERVER_PARAMETERS",
    "Provider",
    "check_provider",
    "describe_provider",
    "explain_key",
    "find_address",
    "find_key",
    "find_provider",
    "is_foreign",
]

_LOCAL: Final = PER_MINUTE | {"parallel", "timeout"}
SERVER_PARAMETERS: Final = frozenset({"top_k", "min_p", "repetition_penalty"})
"""What servers of open weights take beside the OpenAI protocol's own parameters; sent only with a ``base_url``."""


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a provider.

    Parameters
    ----------
    title
        Its name as people write it.
    package
        The package to install, its module being the same with underscores.
    class_name
        The chat model's class in that module.
    keys
        Environment variables that may hold its key, the preferred first; empty where none is needed.
    hosts
        Its own addresses, to which its key may be sent.
    address
        Environment variables by which a user sends its calls elsewhere.
    accepts
        Parameter to the name of the field of its LangChain class.
    parallel
        Calls at once where nobody says otherwise.
    sends
        Environment variables that its package sends unasked with every call, wherever that goes.
    sdk
        The module of the HTTP client, of which ``Timeout`` is a class, where its package can be told more of time-outs
        than one number.
    """

    title: str
    package: str
    class_name: str
    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    address: tuple[str, ...] = ()
    accepts: Mapping[str, str] = field(default_factory=dict)
    parallel: int = 8
    sends: tuple[str, ...] = ()
    sdk: str = ""

    @property
    def module(self) -> str:
        """The module to import."""
        return self.package.replace("-", "_")


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_COMMON: Final = _same("temperature", "max_tokens")

PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider(
        "OpenAI",
        "langchain-openai",
        "ChatOpenAI",
        ("OPENAI_API_KEY",),
        ("openai.com",),
        ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
        _COMMON
        | _same("top_p", "stop", "seed", "presence_penalty", "frequency_penalty", "base_url")
        | _same("reasoning_effort", "verbosity", "service_tier"),
        sends=("OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"),
        sdk="openai",
    ),
    "anthropic": Provider(
        "Anthropic",
        "langchain-anthropic",
        "ChatAnthropic",
        ("ANTHROPIC_API_KEY",),
        ("anthropic.com",),
        ("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"),
        _COMMON | _same("top_p", "top_k", "base_url", "reasoning_effort") | {"stop": "stop_sequences"},
        4,
        ("ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_AUTH_TOKEN"),
        sdk="anthropic",
    ),
    "google_genai": Provider(
        "Google",
        "langchain-google-genai",
        "ChatGoogleGenerativeAI",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ("googleapis.com",),
        (),
        _same("temperature", "top_p", "top_k", "stop", "seed", "presence_penalty", "frequency_penalty", "base_url")
        | _same("thinking_budget", "reasoning_effort")
        | {"max_tokens": "max_output_tokens"},
        4,
        ("GOOGLE_GENAI_DEFAULT_HEADERS", "GOOGLE_GENAI_ACCESS_TOKEN"),
    ),
    "ollama": Provider(
        "Ollama",
        "langchain-ollama",
        "ChatOllama",
        (),
        (),
        ("OLLAMA_HOST",),
        _same("temperature", "top_p", "top_k", "stop", "seed", "repeat_penalty", "base_url")
        | _same("num_ctx", "keep_alive", "reasoning")
        | {"max_tokens": "num_predict"},
        1,
        sdk="httpx",
    ),
    "azure_openai": Provider(
        "Azure OpenAI",
        "langchain-openai",
        "AzureChatOpenAI",
        ("AZURE_OPENAI_API_KEY",),
        accepts=_COMMON | _same("top_p"),
        sdk="openai",
    ),
    "bedrock_converse": Provider("Amazon Bedrock", "langchain-aws", "ChatBedrockConverse", accepts=_COMMON),
    "cohere": Provider("Cohere", "langchain-cohere", "ChatCohere", ("COHERE_API_KEY",), accepts=_COMMON),
    "deepseek": Provider("DeepSeek", "langchain-deepseek", "ChatDeepSeek", ("DEEPSEEK_API_KEY",), accepts=_COMMON),
    "fireworks": Provider("Fireworks", "langchain-fireworks", "ChatFireworks", ("FIREWORKS_API_KEY",), accepts=_COMMON),
    "google_vertexai": Provider(
        "Google Vertex AI", "langchain-google-vertexai", "ChatVertexAI", accepts=_COMMON | _same("top_p")
    ),
    "groq": Provider("Groq", "langchain-groq", "ChatGroq", ("GROQ_API_KEY",), accepts=_COMMON),
    "mistralai": Provider(
        "Mistral", "langchain-mistralai", "ChatMistralAI", ("MISTRAL_API_KEY",), accepts=_COMMON | _same("top_p")
    ),
    "nvidia": Provider(
        "NVIDIA", "langchain-nvidia-ai-endpoints", "ChatNVIDIA", ("NVIDIA_API_KEY",), accepts=_COMMON | _same("top_p")
    ),
    "openrouter": Provider(
        "OpenRouter", "langchain-openrouter", "ChatOpenRouter", ("OPENROUTER_API_KEY",), accepts=_COMMON
    ),
    "perplexity": Provider(
        "Perplexity", "langchain-perplexity", "ChatPerplexity", ("PPLX_API_KEY", "PERPLEXITY_API_KEY"), accepts=_COMMON
    ),
    "together": Provider("Together", "langchain-together", "ChatTogether", ("TOGETHER_API_KEY",), accepts=_COMMON),
    "xai": Provider("xAI", "langchain-xai", "ChatXAI", ("XAI_API_KEY",), accepts=_COMMON),
}
"""The four that are installed with the program and looked after in full, and others that LangChain knows."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Some of a provider's models refuse what its others take, or their LangChain class drops it without a word."""

    provider: str
    models: re.Pattern[str]
    refused: frozenset[str]
    why: str


_SAMPLING: Final = frozenset({"temperature", "top_p"})
_RULES: Final = (
    _Rule(
        "openai",
        re.compile(r"o\d|gpt-5(?!.*chat)|codex"),
        _SAMPLING | {"presence_penalty", "frequency_penalty", "stop", "seed"},
        "is a reasoning model",
    ),
    _Rule(
        "anthropic",
        re.compile(r"claude-(?:fable-5|sonnet-5-5)"),
        _SAMPLING | {"top_k"},
        "chooses its sampling itself",
    ),
    _Rule(
        "google_genai",
        re.compile(r"(?:models/)?(?:gemini-3\.5-flash-lite|gemini-3\.6-flash)(?:-\d{3})?$"),
        _SAMPLING | {"top_k"},
        "chooses its sampling itself",
    ),
)


def find_provider(name: str) -> Provider:
    """Return what is known of a provider.

    Raises
    ------
    UsageError
        It is not known; the nearest name is given.
    """
    provider = PROVIDERS.get(name)
    if provider is not None:
        return provider
    alias = {"google": "google_genai", "gemini": "google_genai", "claude": "anthropic", "azure": "azure_openai"}
    near = alias.get(name.lower()) or next(iter(difflib.get_close_matches(name.lower(), PROVIDERS, n=1)), None)
    hint = (
        f"Did you mean {near}:...?"
        if near
        else (
            f"Known are: embedded, mock, {', '.join(sorted(PROVIDERS))}. A server that speaks the OpenAI protocol is "
            "openai:MODEL with `base_url`."
        )
    )
    raise UsageError(f"There is no provider {name!r} for models. {hint}")


def describe_provider(name: str, model: str, params: Mapping[str, Parameter]) -> ModelInfo:
    """Return what to know of ``name:model``.

    Raises
    ------
    UsageError
        The provider is not known.
    """
    provider = find_provider(name)
    foreign = params.get("base_url") is not None
    accepts = frozenset(provider.accepts) | _LOCAL | (TIMEOUTS if provider.sdk else frozenset())
    if name == "openai" and foreign:
        accepts |= SERVER_PARAMETERS
    for rule in _RULES:
        # What a foreign server calls its models says nothing of what they take.
        if rule.provider == name and not foreign and rule.models.match(model.lower()):
            accepts -= rule.refused
    parallel = params.get("parallel")
    return ModelInfo(
        name=f"{name}:{model}",
        family=name,
        title=f"{model} ({provider.title}{' protocol, ' + str(params['base_url']) if foreign else ''})",
        licence="as the server's owner gives it" if foreign or name == "ollama" else f"{provider.title}'s terms of use",
        trust=(
            "What one served model answers today: the provider may change it under the same name, and a seed is best "
            "effort."
            if name != "ollama"
            else "What one open model answers on this machine: quantised weights answer somewhat worse than full ones."
        ),
        context_tokens=None,
        accepts=accepts,
        takes_seed="seed" in accepts,
        completion=False,
        parallel=parallel if isinstance(parallel, int) else provider.parallel,
        requests_per_minute=read_number(params, "requests_per_minute"),
        tokens_per_minute=read_number(params, "tokens_per_minute"),
    )


def check_provider(name: str, model: str, params: Mapping[str, Parameter]) -> None:
    """Raise an error if the provider's package or key is not there.

    Raises
    ------
    MissingError
        Naming the package to install or the variable to set.
    UsageError
        Two parameters exclude one another.
    """
    provider = find_provider(name)
    if find_spec(provider.module) is None:
        raise MissingError(
            f"The model {name}:{model} needs the package {provider.package}, which is not installed. Install it with: "
            f"pip install {provider.package}"
        )
    if name == "anthropic" and params.get("temperature") is not None and params.get("top_p") is not None:
        raise UsageError(
            f"The model {name}:{model} takes `temperature` or `top_p`, not both. Leave one of them out: its provider "
            "refuses a call that sets the two."
        )
    find_key(name, model, params)


def find_address(name: str, params: Mapping[str, Parameter]) -> str | None:
    """Return where the calls go if not to the provider's own address: ``base_url``, or what the environment says."""
    base_url = params.get("base_url")
    if base_url is not None:
        return str(base_url)
    return next((os.environ[variable] for variable in find_provider(name).address if os.environ.get(variable)), None)


def find_key(name: str, model: str, params: Mapping[str, Parameter]) -> str | None:
    """Return the key to send, from the environment; None where none is to be sent.

    A campaign may have been written by somebody else. So to a ``base_url`` that is not the provider's own, no key is
    sent but one that the person at the keyboard allows by the environment variable `KEYS_FOR`.

    Raises
    ------
    MissingError
        The key that is needed is not in the environment.
    UsageError
        What `KEYS_FOR` holds cannot be read.
    """
    variables = _key_variables(name, params)
    for variable in variables:
        key = os.environ.get(variable, "").strip()
        if key:
            return key
    if not variables:
        return None
    raise MissingError(
        f"The model {name}:{model} needs a key, and the environment variable {' or '.join(variables)} is not set. "
        f"Set it with: export {variables[0]}=... (the key is read from the environment only and never written "
        "anywhere), or try the campaign without one: --model mock"
    )


def explain_key(name: str, params: Mapping[str, Parameter]) -> str:
    """Return a sentence on which key a server was sent, and what to do where it does not accept it."""
    variables = _key_variables(name, params)
    if variables:
        return f"Check the key in the environment variable {' or '.join(variables)}."
    base_url = params.get("base_url")
    if base_url is None:
        return "Check what the provider's own documentation says of credentials."
    return (
        "It was sent no key, since a campaign's address gets only one that you allow. If you trust the server, name "
        f"the variable that holds its key: export {KEYS_FOR}={suggest_entry(str(base_url))}"
    )


def _key_variables(name: str, params: Mapping[str, Parameter]) -> tuple[str, ...]:
    """Return the variables of which one holds the key to send, the preferred first; none where no key is sent."""
    provider = find_provider(name)
    if not is_foreign(name, params):
        return provider.keys
    variable = allowed_variable(str(params["base_url"]))
    return (variable,) if variable else ()


def is_foreign(name: str, params: Mapping[str, Parameter]) -> bool:
    """Whether the calls go to an address that the campaign gives and that is not the provider's own."""
    base_url = params.get("base_url")
    return base_url is not None and not _is_own(str(base_url), find_provider(name))


def _is_own(base_url: str, provider: Provider) -> bool:
    """Whether an address is the provider's, over a connection that nobody can listen to."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    return parts.scheme == "https" and any(host == own or host.endswith("." + own) for own in provider.hosts)
