"""The parameters that models take: what each may be, and an error for one that a model does not take."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from simulator.errors import UsageError
from simulator.running.calls import Parameter
from simulator.running.models.keys import KEYS_FOR

__all__ = ["BOUNDS", "KNOWN_PARAMETERS", "LOCAL_PARAMETERS", "PER_MINUTE", "TIMEOUTS"]
__all__ += ["check_parameters", "find_fault", "read_number"]

PER_MINUTE: Final = frozenset({"requests_per_minute", "tokens_per_minute"})
"""What every model takes: how much of it is asked at most."""

TIMEOUTS: Final = frozenset({"timeout", "connect_timeout", "read_timeout"})
"""Seconds that an attempt may take in all, that it may take to connect, and that may pass without a byte."""

LOCAL_PARAMETERS: Final = PER_MINUTE | TIMEOUTS | {"parallel", "base_url", "context", "threads"}
"""What chooses how or where a model is asked, and is not sent with a call."""

BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "max_tokens": (1, 1_000_000),
    "parallel": (1, 1_024),
}
"""The least and the greatest value of what campaigns have keys of their own for; ``top_p`` is more than its least."""


def _number(low: float, high: float) -> Callable[[Parameter], str | None]:
    def check(value: Parameter) -> str | None:
        fits = (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and low <= value <= high
        )
        return None if fits else f"must be a number from {low:g} to {high:g}"

    return check


def _share(value: Parameter) -> str | None:
    if _number(*BOUNDS["top_p"])(value) is None and value != 0:
        return None
    return "must be a number more than 0 and at most 1"


def _whole(low: int, high: int) -> Callable[[Parameter], str | None]:
    def check(value: Parameter) -> str | None:
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a whole number from {low:,} to {high:,}"

    return check


def _text(value: Parameter) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a text"


def _flag(value: Parameter) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _stop(value: Parameter) -> str | None:
    texts = (value,) if isinstance(value, str) else value
    fits = isinstance(texts, tuple) and texts and all(isinstance(text, str) and text for text in texts)
    return None if fits else "must be a text or a list of texts, none of them empty"


def _url(value: Parameter) -> str | None:
    wrong = "must be an address such as http://localhost:8000/v1"
    # Programs differ in what they make of these, so that the host we see need not be the one that is called.
    if not isinstance(value, str) or not value.isprintable() or any(mark in value for mark in " \\"):
        return wrong
    try:
        parts = urlsplit(value)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return wrong
    if parts.scheme not in {"http", "https"} or not host:
        return wrong
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        return (
            "must be an address without a name, password or query in it, since a campaign is written down and "
            f"shared: put the key into an environment variable, and allow it for this server with {KEYS_FOR}"
        )
    return None


_CHECKS: Final[Mapping[str, Callable[[Parameter], str | None]]] = {
    "temperature": _number(*BOUNDS["temperature"]),
    "top_p": _share,
    "top_k": _whole(0, 1_000_000),
    "min_p": _number(0, 1),
    "max_tokens": _whole(*BOUNDS["max_tokens"]),
    "stop": _stop,
    "seed": _whole(0, 2**32 - 1),
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "repeat_penalty": _number(0.01, 100),
    "repetition_penalty": _number(0.01, 100),
    "reasoning": _flag,
    "reasoning_effort": _text,
    "thinking_budget": _whole(-1, 10_000_000),
    "verbosity": _text,
    "service_tier": _text,
    "num_ctx": _whole(16, 100_000_000),
    "keep_alive": _text,
    "base_url": _url,
    "timeout": _number(0.001, 86_400),
    "connect_timeout": _number(0.001, 86_400),
    "read_timeout": _number(0.001, 86_400),
    "requests_per_minute": _number(0.01, 1e9),
    "tokens_per_minute": _number(1, 1e12),
    "parallel": _whole(*BOUNDS["parallel"]),
    "context": _whole(16, 100_000_000),
    "threads": _whole(1, 1_024),
}

KNOWN_PARAMETERS: Final = frozenset(_CHECKS)
"""Every parameter that some model takes."""


def find_fault(name: str, value: Parameter) -> str | None:
    """Return what is wrong with a parameter's value, as a clause that begins with "must"; None if nothing is.

    >>> find_fault("top_p", 0)
    'must be a number more than 0 and at most 1'
    """
    return _CHECKS[name](value) if name in _CHECKS else None


def read_number(params: Mapping[str, Parameter], name: str) -> float | None:
    """Return a parameter that is a number; None where it is not given, or is something else.

    >>> read_number({"timeout": 20}, "timeout")
    20.0
    """
    value = params.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def check_parameters(model: str, params: Mapping[str, Parameter], accepts: frozenset[str]) -> None:
    """Raise an error for the first parameter that a model does not take, or whose value cannot be.

    A parameter that is None is not sent, and so is never wrong.

    Raises
    ------
    UsageError
        Naming the model, the parameter, and what it takes instead.

    Examples
    --------
    >>> check_parameters("mock", {"temprature": 0.2}, KNOWN_PARAMETERS)
    Traceback (most recent call last):
    ...
    simulator.errors.UsageError: The model mock takes no parameter `temprature`. Did you mean `temperature`?
    """
    for name, value in params.items():
        if value is None:
            continue
        if name not in accepts:
            near = difflib.get_close_matches(name, sorted(accepts), n=1)
            mend = f"Did you mean `{near[0]}`?" if near else f"It takes: {', '.join(sorted(accepts))}."
            raise UsageError(f"The model {model} takes no parameter `{name}`. {mend}")
        wrong = find_fault(name, value)
        if wrong:
            # An address that is refused may hold a password.
            shown = "what is written there" if name == "base_url" else repr(value)
            raise UsageError(f"The parameter `{name}` of the model {model} {wrong}, not {shown}.")
