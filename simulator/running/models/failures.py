"""What went wrong at a provider, in our tree of errors; and texts without keys."""

from __future__ import annotations

import email.utils
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simulator.errors import (
    AccessError,
    ModelError,
    QuotaError,
    RateLimitError,
    RejectedError,
    RetryableError,
    UsageError,
)
from simulator.running.models.key_traces import cut_parts, cut_whole
from simulator.running.models.keys import allowed_variables
from simulator.terminal import printable

__all__ = ["cut_key", "explain_failure", "is_filtered", "read_retry_after", "scrub"]

_LONGEST: Final = 600
"""Characters of a provider's own text that are kept."""

_SECRET_NAME: Final = re.compile(r"_(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SHORTEST_SECRET: Final = 6
"""Characters; a shorter value (``KEY=1``) is no secret, and would be cut out of words."""
_KEY_NAME: Final = re.compile(r"_API_?(?:KEY|TOKEN)$", re.IGNORECASE)
"""Of what is sent to providers, who may repeat it in part."""
_LOOKS_SECRET: Final = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9*_\-.…]{6,}|\bAIza[\w*-]{10,}|\b(?:gsk|hf|xai|pplx|nvapi|ghp)[_-][\w*-]{8,}"
    r"|(?<=Bearer )[^\s\"',}]+|(?<=://)[^\s/@]+(?=@)"
)

_TIMEOUTS: Final = frozenset(
    {"APITimeoutError", "ModelTimeoutError", "TimeoutException", "ReadTimeout", "ConnectTimeout"}
)
_DROPPED: Final = frozenset({"APIConnectionError", "ModelConnectionError", "TransportError", "ConnectionError"})
_UNSENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError", "gaierror"})
"""The connection never stood, so that nothing was asked and nothing can have been charged."""
_UNREADABLE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What packages raise over an answer that is not what they expect: no JSON, no choices, half of it."""
_INVALID: Final = frozenset({"APIResponseValidationError", "DecodingError"})
"""The same, by names of their own."""
_OVERLOADED: Final = frozenset({408, 503, 504, 524, 529})
"""HTTP statuses, besides 429, by which a provider says that it has too much to do or took too long."""
_CONTEXT: Final = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|too many tokens|token limit"
    r"|maximum number of tokens",
    re.IGNORECASE,
)
_NO_ACCESS: Final = re.compile(r"API_KEY_INVALID|API key (?:not valid|expired|not found)", re.IGNORECASE)
_SPENT: Final = re.compile(
    r"insufficient_quota|billing_hard_limit|exceeded your current quota|credit balance is too low"
    r"|insufficient (?:credit|balance)|payment required|per[ _-]?day|daily (?:limit|quota)|RequestsPerDay",
    re.IGNORECASE,
)


def cut_key(text: str, key: str | None) -> str:
    """Return what a model wrote without the one key that it was given, should it repeat it.

    All else stands as it was written: what is a secret elsewhere (``POSTGRES_PASSWORD=postgres``) is a word of a
    program here, and so may be a part of the key, or a key of fewer than 12 characters.

    >>> cut_key("my key is hunter2hunter2", "hunter2hunter2")
    'my key is [key]'
    """
    return text if key is None else cut_whole(text, key)


def scrub(text: str) -> str:
    """Return a text about a failure without the value of any key. Replies are not for it: see `cut_key`.

    Cut out are the values of all environment variables whose name ends like a key's (``_API_KEY``, ``_TOKEN``, ...);
    of those that are sent to providers, every part as well (`simulator.running.models.key_traces.cut_parts`); and
    whatever is written the way keys are (``sk-...``), which a provider may quote shortened.

    >>> scrub("Incorrect API key provided: sk-abcd****wxyz.")
    'Incorrect API key provided: [key]'
    """
    for name, value in sorted(os.environ.items(), key=lambda item: (-len(item[1]), item[0])):
        stripped = value.strip()
        if len(stripped) >= _SHORTEST_SECRET and stripped in text and _SECRET_NAME.search(name):
            text = text.replace(stripped, f"[{name}]")
    text = _LOOKS_SECRET.sub("[key]", text)
    for name in _sent_variables():
        text = cut_parts(text, os.environ.get(name, "").strip(), f"[{name}]")
    return text


def _sent_variables() -> list[str]:
    """Return the environment variables whose values may be sent to a provider."""
    try:
        allowed = allowed_variables()
    except UsageError:  # told where a key is needed
        allowed = []
    return sorted({*allowed, *(name for name in os.environ if _KEY_NAME.search(name))})


def explain_failure(
    problem: BaseException,
    *,
    model: str,
    address: str | None = None,
    key: str | None = None,
    key_mend: str = "Check the key in the environment.",
) -> ModelError:
    """Return our error for whatever a provider's package raised.

    Told apart by the HTTP status and the body, which all providers have, before the names of exceptions, which differ.
    The result holds no key, no character that could move a terminal's cursor, and no reference to ``problem``, whose
    request does.

    Parameters
    ----------
    problem
        What was raised.
    model
        The model's name as the campaign writes it.
    address
        Where the call went, if not to the provider's own address.
    key
        The key that was sent, whatever its variable is called.
    key_mend
        What to do where it is not accepted.
    """
    if isinstance(problem, ModelError):
        problem.args = tuple(printable(one) if isinstance(one, str) else one for one in problem.args)
        return problem
    chain = list(_chain(problem))
    answered = next((found for found in map(_http_status, chain) if found is not None), None)
    # Some servers answer well by HTTP and put the error into the body. What had been generated by then is not known.
    charged = answered is None
    status = answered or next((found for found in map(_body_status, chain) if found is not None), None)
    names = {kind.__name__ for found in chain for kind in type(found).__mro__}
    said = printable(_text(chain, key))
    where = printable(f"{model} at {scrub(address)}" if address else model)
    if plain := _by_words(status, names, where, said, key_mend):
        return plain
    seconds = next((found for found in map(read_retry_after, chain) if found is not None), None)
    if status == 429 or (status in {503, 529} and seconds is not None):
        wait = f" It asks to wait {seconds:g} s." if seconds is not None else ""
        text = f"{where} takes no more calls for now (HTTP {status}): {said}{wait}"
        return RateLimitError(text, seconds=seconds, charged=charged)
    if status is not None:
        return _by_status(status, where, said, key_mend, charged=charged)
    return _by_kind(problem, names, where, said, served=address is not None)


def _by_words(status: int | None, names: set[str], where: str, said: str, key_mend: str) -> ModelError | None:
    """Return the error for what a provider says in words rather than by a status of its own, or in both."""
    if "ContextOverflowError" in names or (status in {400, 413, 422} and _CONTEXT.search(said)):
        return RejectedError(
            f"The prompt and the answer do not fit the context of {where}: {said} Shorten the prompt, lower "
            "`max_tokens`, or take a model with a longer context."
        )
    # A limit by the day is told from one by the minute by what is said; both come as 429.
    if status == 402 or (status in {400, 403, 429} and _SPENT.search(said)):
        return QuotaError(
            f"The quota or credit for {where} is spent: {said} Run again when there is more; nothing is lost."
        )
    if status == 401 or (status in {400, 403} and _NO_ACCESS.search(said)):
        return AccessError(f"{where} does not accept the key (HTTP {status}): {said} {key_mend}")
    return None


def _by_kind(problem: BaseException, names: set[str], where: str, said: str, *, served: bool) -> ModelError:
    """Return the error for what never became an HTTP answer, or not one that could be read."""
    check = "Check the network and whether the server runs." if served else "Check the network."
    charged = not names & _UNSENT
    if names & _TIMEOUTS or isinstance(problem, TimeoutError):
        if not charged:
            mend = f"{check} Raise `connect_timeout` if it always needs longer."
            return RetryableError(f"{where} could not be reached in time. {mend}", overloaded=True)
        text = f"{where} did not answer in time. Raise `timeout` if it always needs longer."
        return RetryableError(text, charged=True, overloaded=True)
    if names & _DROPPED or isinstance(problem, OSError):
        what = "dropped the connection" if charged else "could not be reached"
        return RetryableError(f"{where} {what}: {said} {check}", charged=charged)
    if isinstance(problem, _UNREADABLE) or names & _INVALID:
        text = f"The answer of {where} could not be read: {type(problem).__name__}: {said}"
        return RetryableError(text, charged=True)
    return RejectedError(f"{where} failed in a way that is not known: {type(problem).__name__}: {said}", charged=True)


def _by_status(status: int, where: str, said: str, key_mend: str, *, charged: bool) -> ModelError:
    """Return the error for an HTTP status that has no more to say."""
    if status == 403:
        return RejectedError(f"{where} may not be used with this key (HTTP 403): {said} {key_mend}")
    if status == 404:
        return RejectedError(f"{where} does not exist there (HTTP 404): {said} Check the model's name and `base_url`.")
    if status in {408, 409, 425, 498} or status >= 500:
        text = f"{where} could not answer now (HTTP {status}): {said}"
        return RetryableError(text, charged=charged, overloaded=status in _OVERLOADED)
    return RejectedError(f"{where} rejected the call (HTTP {status}): {said}", charged=charged)


def is_filtered(problem: BaseException) -> bool:
    """Whether an error is a provider's way to say that its filter withheld the prompt or the answer."""
    said = " ".join(str(getattr(found, "body", "")) + str(getattr(found, "code", "")) for found in _chain(problem))
    return bool(re.search(r"content_filter|content_policy_violation|content_management_policy", said))


def read_retry_after(problem: BaseException, *, now: datetime | None = None) -> float | None:
    """Return how many seconds a provider asks to wait, or None where it does not say.

    Read from ``Retry-After-Ms``, ``Retry-After`` (seconds, or a date) and Google's ``retryDelay``. Never negative.
    """
    headers: Mapping[str, str] = getattr(getattr(problem, "response", None), "headers", None) or {}
    try:
        lower = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    except (AttributeError, TypeError):
        lower = {}
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        if re.fullmatch(r"\d{1,12}(?:\.\d*)?", lower.get(name, "")):
            return float(lower[name]) * unit
    if "retry-after" in lower:
        try:
            date = email.utils.parsedate_to_datetime(lower["retry-after"])
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
    delay = re.search(r"retryDelay\W{1,8}(\d{1,9}(?:\.\d{1,9})?)s", str(getattr(problem, "details", "")))
    return float(delay.group(1)) if delay else None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from."""
    seen: set[int] = set()
    found: BaseException | None = problem
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def _http_status(problem: BaseException) -> int | None:
    """Return the HTTP status of an error that an exception carries, under any of the names that are in use."""
    response = getattr(problem, "response", None)
    named = (getattr(problem, "status_code", None), getattr(problem, "code", None))
    return _first_error_status(*named, getattr(response, "status_code", None))


def _body_status(problem: BaseException) -> int | None:
    """Return the status that the body of an answer gives, where an exception has nothing but that."""
    body = problem.args[0] if problem.args and isinstance(problem.args[0], Mapping) else {}
    return _first_error_status(body.get("code"), body.get("status"))


def _first_error_status(*values: object) -> int | None:
    return next((value for value in values if isinstance(value, int) and 400 <= value < 600), None)


def _text(chain: list[BaseException], key: str | None) -> str:
    """Return what was said, without keys, in one paragraph of a bearable length, ending like a sentence."""
    said = ""
    for found in chain:
        body = getattr(found, "body", None) or (found.args[0] if found.args else None)
        said = _message(body) or str(getattr(found, "message", "") or found)
        if said.strip():
            break
    # Cut before the white space is joined, for a server may send megabytes.
    # Keys are cut out before the text is shortened, which could leave half of one.
    said = " ".join(said[: 4 * _LONGEST].split())
    said = scrub(said if key is None else cut_parts(said, key))
    if len(said) > _LONGEST:
        said = said[:_LONGEST].rstrip() + "…"
    return said if not said or said[-1] in ".!?…" else said + "."


def _message(body: Any) -> str:
    """Return the message inside a JSON body, with its code."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            message, code = inner.get("message"), inner.get("code")
            if isinstance(message, str) and message.strip():
                return f"{message} ({code})" if isinstance(code, str) and code not in message else message
        if isinstance(inner, str):
            return inner
    return ""
