"""What went wrong at a provider, in our tree of errors; and texts without keys."""

from __future__ import annotations

import email.utils
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simulator.errors import ModelError, QuotaError, RateLimitError, RejectedError, RetryableError
from simulator.terminal import printable

__all__ = ["cut_key", "explain_failure", "is_filtered", "read_retry_after", "scrub"]

_LONGEST: Final = 600
"""Characters of a provider's own text that are kept."""

_SECRET_NAME: Final = re.compile(r"_(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SHORTEST_SECRET: Final = 6
"""Characters; a shorter value (``KEY=1``) is no secret, and would be cut out of words."""
_SHORTEST_KEY: Final = 12
"""Characters of a key from which it is cut out of replies; a shorter one may be a word."""
_LOOKS_SECRET: Final = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9*_\-.…]{6,}|\bAIza[\w*-]{10,}|\b(?:gsk|hf|xai|pplx|nvapi|ghp)[_-][\w*-]{8,}"
    r"|(?<=Bearer )[^\s\"',}]+|(?<=://)[^\s/@]+(?=@)"
)

_TIMEOUTS: Final = frozenset(
    {"APITimeoutError", "ModelTimeoutError", "TimeoutException", "ReadTimeout", "ConnectTimeout"}
)
_DROPPED: Final = frozenset({"APIConnectionError", "ModelConnectionError", "TransportError", "ConnectionError"})
_CONTEXT: Final = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|too many tokens|token limit"
    r"|maximum number of tokens",
    re.IGNORECASE,
)
_SPENT: Final = re.compile(
    r"insufficient_quota|billing_hard_limit|exceeded your current quota|credit balance is too low"
    r"|insufficient (?:credit|balance)|payment required|per[ _-]?day|daily (?:limit|quota)|RequestsPerDay",
    re.IGNORECASE,
)


def cut_key(text: str, key: str | None) -> str:
    """Return what a model wrote without the one key that it was given, should it repeat it.

    All else stands as it was written: what is a secret elsewhere (``POSTGRES_PASSWORD=postgres``) is a word of a
    program here.

    >>> cut_key("my key is hunter2hunter2", "hunter2hunter2")
    'my key is [key]'
    """
    return text.replace(key, "[key]") if key is not None and len(key) >= _SHORTEST_KEY else text


def scrub(text: str) -> str:
    """Return a text about a failure without the value of any key. Replies are not for it: see `cut_key`.

    Cut out are the values of all environment variables whose name ends like a key's (``_API_KEY``, ``_TOKEN``, ...)
    and whatever is written the way keys are (``sk-...``), which a provider may quote shortened.

    >>> scrub("Incorrect API key provided: sk-abcd****wxyz.")
    'Incorrect API key provided: [key]'
    """
    for name, value in sorted(os.environ.items(), key=lambda item: (-len(item[1]), item[0])):
        stripped = value.strip()
        if len(stripped) >= _SHORTEST_SECRET and stripped in text and _SECRET_NAME.search(name):
            text = text.replace(stripped, f"[{name}]")
    return _LOOKS_SECRET.sub("[key]", text)


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
    status = next((found for found in map(_status, chain) if found is not None), None)
    names = {kind.__name__ for found in chain for kind in type(found).__mro__}
    said = printable(_text(chain, key))
    where = printable(f"{model} at {scrub(address)}" if address else model)
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
    seconds = next((found for found in map(read_retry_after, chain) if found is not None), None)
    if status == 429 or (status in {503, 529} and seconds is not None):
        wait = f" It asks to wait {seconds:g} s." if seconds is not None else ""
        return RateLimitError(f"{where} takes no more calls for now (HTTP {status}): {said}{wait}", seconds=seconds)
    if status is not None:
        return _by_status(status, where, said, key_mend)
    return _by_kind(problem, names, where, said, served=address is not None)


def _by_kind(problem: BaseException, names: set[str], where: str, said: str, *, served: bool) -> ModelError:
    """Return the error for what never became an HTTP answer, or not one that could be read."""
    if names & _TIMEOUTS or isinstance(problem, TimeoutError):
        return RetryableError(f"{where} did not answer in time. Raise `timeout` if it always needs longer.")
    if names & _DROPPED or isinstance(problem, OSError):
        check = "Check the network and whether the server runs." if served else "Check the network."
        return RetryableError(f"{where} could not be reached, or dropped the connection: {said} {check}")
    if isinstance(problem, KeyError | TypeError | ValueError):
        return RetryableError(f"The answer of {where} could not be read: {type(problem).__name__}: {said}")
    return RejectedError(f"{where} failed in a way that is not known: {type(problem).__name__}: {said}")


def _by_status(status: int, where: str, said: str, key_mend: str) -> ModelError:
    """Return the error for an HTTP status that has no more to say."""
    if status in {401, 403}:
        return RejectedError(
            f"{where} does not accept the key, or it may not use this model (HTTP {status}): {said} {key_mend}"
        )
    if status == 404:
        return RejectedError(f"{where} does not exist there (HTTP 404): {said} Check the model's name and `base_url`.")
    if status in {408, 409, 425, 498} or status >= 500:
        return RetryableError(f"{where} could not answer now (HTTP {status}): {said}")
    return RejectedError(f"{where} rejected the call (HTTP {status}): {said}")


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


def _status(problem: BaseException) -> int | None:
    """Return the HTTP status that an exception carries, under any of the names that are in use."""
    response = getattr(problem, "response", None)
    body = problem.args[0] if problem.args and isinstance(problem.args[0], Mapping) else {}
    for value in (
        getattr(problem, "status_code", None),
        getattr(problem, "code", None),
        getattr(response, "status_code", None),
        body.get("code"),
        body.get("status"),
    ):
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


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
    said = scrub(cut_key(" ".join(said[: 4 * _LONGEST].split()), key))
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
