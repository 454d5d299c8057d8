"""The parameters that models take: what each may be, and an error for one that a model does not take."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from simulator.errors import UsageError
from simulator.running.calls import Parameter

__all__ = ["KNOWN_PARAMETERS", "LOCAL_PARAMETERS", "check_parameters"]

LOCAL_PARAMETERS: Final = frozenset({"parallel", "timeout", "key_from", "base_url", "context", "threads"})
"""What chooses how or where a model is asked, and is not sent with a call."""


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
    if not isinstance(value, str):
        return wrong
    try:
        parts = urlsplit(value)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return wrong
    if parts.scheme not in {"http", "https"} or not host:
        return wrong
    if parts.username is not None or parts.password is not None or parts.query:
        return (
            "must be an address without a name, password or query in it, since a campaign is written down and "
            "shared: put the key into an environment variable and name that with `key_from`"
        )
    return None


def _variable(value: Parameter) -> str | None:
    # Only what is named as a key may be sent as one: a campaign that somebody else wrote cannot ask for the rest.
    fits = isinstance(value, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*_(?:KEY|TOKEN)", value)
    return None if fits else "must name an environment variable that ends in _KEY or _TOKEN; never write the key itself"


_CHECKS: Final[Mapping[str, Callable[[Parameter], str | None]]] = {
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "top_k": _whole(0, 1_000_000),
    "min_p": _number(0, 1),
    "max_tokens": _whole(1, 10_000_000),
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
    "key_from": _variable,
    "timeout": _number(0.001, 86_400),
    "parallel": _whole(1, 1_024),
    "context": _whole(16, 100_000_000),
    "threads": _whole(1, 1_024),
}

KNOWN_PARAMETERS: Final = frozenset(_CHECKS)
"""Every parameter that some model takes."""


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
        wrong = _CHECKS[name](value) if name in _CHECKS else None
        if wrong:
            # The value of a variable's name may be a key that was written there by mistake.
            shown = "what is written there" if name == "key_from" else repr(value)
            raise UsageError(f"The parameter `{name}` of the model {model} {wrong}, not {shown}.")
