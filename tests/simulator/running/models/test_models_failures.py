"""What went wrong at a provider, in our own tree; and keys cut out of texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import AccessError, ModelError, QuotaError, RateLimitError, RejectedError, RetryableError
from simulator.running.models.failures import cut_key, explain_failure, is_filtered, read_retry_after, scrub


class ProviderError(Exception):
    """An exception with whatever attributes a provider's package would give it."""

    def __init__(self, text: str = "", **attributes: Any) -> None:
        super().__init__(text)
        for name, value in attributes.items():
            setattr(self, name, value)


def _response(status: int, **headers: str) -> SimpleNamespace:
    return SimpleNamespace(
        status_code=status, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (ProviderError("slow", status_code=429), RateLimitError),
        (ProviderError("slow", code=429), RateLimitError),
        (ProviderError("slow", response=_response(429)), RateLimitError),
        (ProviderError("busy", response=_response(503, retry_after="3")), RateLimitError),
        (ProviderError("busy", status_code=503), RetryableError),
        (ProviderError("overloaded", status_code=529), RetryableError),
        (ProviderError("boom", status_code=500), RetryableError),
        (ProviderError("late", status_code=408), RetryableError),
        (ProviderError("bad key", status_code=401), AccessError),
        (ProviderError("API key not valid. Please pass a valid API key.", code=400), AccessError),
        (ProviderError("x", code=400, body={"error": {"message": "no", "code": "API_KEY_INVALID"}}), AccessError),
        (ProviderError("not yours", status_code=403), RejectedError),
        (ProviderError("no model", status_code=404), RejectedError),
        (ProviderError("bad parameter", status_code=400), RejectedError),
        (ProviderError("This model's maximum context length is 8192 tokens", status_code=400), RejectedError),
        (ProviderError("You exceeded your current quota", status_code=429), QuotaError),
        (
            ProviderError("x", status_code=429, body={"error": {"message": "no", "code": "insufficient_quota"}}),
            QuotaError,
        ),
        (ProviderError("Your credit balance is too low", status_code=400), QuotaError),
        (ProviderError("pay", status_code=402), QuotaError),
        (ProviderError("Quota exceeded: GenerateRequestsPerDayPerProject", code=429), QuotaError),
        (TimeoutError(), RetryableError),
        (ConnectionResetError("reset by peer"), RetryableError),
        (KeyError("choices"), RetryableError),
        (ValueError({"message": "inner", "code": 502}), RetryableError),
        (RuntimeError("what"), RejectedError),
        (RetryableError("ours"), RetryableError),
    ],
)
def test_each_kind_of_failure(problem: BaseException, kind: type[ModelError]) -> None:
    found = explain_failure(problem, model="openai:m")
    assert type(found) is kind
    assert str(found)


class ConnectError(Exception):
    """As the HTTP clients name what happens before a connection stands."""


class ConnectTimeout(Exception):  # noqa: N818 - named as theirs
    """Likewise."""


class TransportError(Exception):
    """As they name all that happens to a connection."""


class ReadError(TransportError):
    """As they name what happens to one that stood."""


class APIConnectionError(Exception):
    """As the providers' packages wrap them."""


class APITimeoutError(APIConnectionError):
    """Likewise."""


class APIResponseValidationError(Exception):
    """An answer that is well by its status and not what was expected."""


def _wrapped(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("problem", "charged", "overloaded"),
    [
        # An HTTP status that is an error: nothing was generated.
        (ProviderError("slow", status_code=429), False, True),
        (ProviderError("busy", response=_response(503, retry_after="3")), False, True),
        (ProviderError("busy", status_code=503), False, True),
        (ProviderError("overloaded", status_code=529), False, True),
        (ProviderError("late", status_code=408), False, True),
        (ProviderError("gateway", status_code=504), False, True),
        (ProviderError("boom", status_code=500), False, False),
        (ProviderError("gateway", status_code=502), False, False),
        (ProviderError("conflict", status_code=409), False, False),
        # The connection never stood: nothing was asked.
        (_wrapped(APIConnectionError("x"), ConnectError("refused")), False, False),
        (_wrapped(APITimeoutError("x"), ConnectTimeout("late")), False, True),
        (_wrapped(ConnectionError("x"), ConnectionRefusedError("refused")), False, False),
        # It stood, and nobody knows what had been generated.
        (_wrapped(APIConnectionError("x"), ReadError("reset")), True, False),
        (_wrapped(APITimeoutError("x"), TimeoutError()), True, True),
        (TimeoutError(), True, True),
        (ConnectionResetError("reset by peer"), True, False),
        # An answer came that cannot be read.
        (ValueError("no JSON"), True, False),
        (KeyError("choices"), True, False),
        (IndexError("no choices"), True, False),
        (TypeError("null"), True, False),
        (AttributeError("'str' has no attribute"), True, False),
        (APIResponseValidationError("no schema"), True, False),
        (ValueError({"message": "in a good answer", "code": 502}), True, False),
        (ValueError({"message": "in a good answer", "code": 429}), True, True),
    ],
)
def test_what_may_have_been_charged_and_who_has_too_much_to_do(
    problem: Exception, charged: bool, overloaded: bool
) -> None:
    found = explain_failure(problem, model="openai:m")
    assert isinstance(found, RetryableError)
    assert (found.charged, found.overloaded) == (charged, overloaded)


def test_what_is_not_known_may_have_been_charged() -> None:
    assert explain_failure(RuntimeError("what"), model="m").charged
    for status in (400, 403, 404):
        assert not explain_failure(ProviderError("no", status_code=status), model="m").charged


def test_the_status_is_found_on_the_exception_that_it_was_raised_from() -> None:
    try:
        try:
            raise ProviderError("inner", code=429, details={"retryDelay": "34.5s"})
        except ProviderError as problem:
            raise ProviderError("Error calling model") from problem
    except ProviderError as problem:
        found = explain_failure(problem, model="google_genai:m")
    assert isinstance(found, RateLimitError)
    assert found.seconds == 34.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "Wed, 99 Foo"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(ProviderError(response=SimpleNamespace(headers=headers))) == seconds


def test_a_date_to_wait_for() -> None:
    now = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    for ahead, seconds in [(90, 90.0), (0, 0.0), (-60, 0.0)]:
        date = format_datetime(now + timedelta(seconds=ahead), usegmt=True)
        assert (
            read_retry_after(ProviderError(response=SimpleNamespace(headers={"Retry-After": date})), now=now) == seconds
        )


def test_a_date_without_a_zone_is_taken_as_universal_time() -> None:
    now = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    headers = {"Retry-After": "Sun, 01 Mar 2026 12:00:10 -0000"}
    assert read_retry_after(ProviderError(response=SimpleNamespace(headers=headers)), now=now) == 10.0


def test_values_of_keys_are_cut_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    monkeypatch.setenv("OTHER_TOKEN", "hunter2hunter2-longer")
    monkeypatch.setenv("TINY_KEY", "1")
    monkeypatch.setenv("NO_SECRET_NAME", "plainvalue")
    text = "url?k=hunter2hunter2-longer and hunter2hunter2, plainvalue 1"
    assert scrub(text) == "url?k=[OTHER_TOKEN] and [SOME_API_KEY], plainvalue 1"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcDEF123_456-xyz",
        "sk-ant-api03-aaaa",
        "sk-ab****yz12",
        "AIzaSyA1234567890abc",
        "gsk_abcdefghij",
        "hf_abcdefghij",
    ],
)
def test_what_is_written_the_way_keys_are_is_cut_out(key: str) -> None:
    assert key not in scrub(f"Incorrect API key provided: {key}.")
    assert scrub(f"Authorization: Bearer {key[3:]}") == "Authorization: Bearer [key]"
    assert scrub(f"http://{key}@host") == "http://[key]@host"


def test_words_are_left_alone() -> None:
    text = "The task-list asks risk-free questions of a desk-bound clerk; see sk-lib."
    assert scrub(text) == text
    assert scrub("a task-abcdefgh desk-organiser") == "a task-abcdefgh desk-organiser"


def test_of_a_reply_only_the_models_own_key_is_cut_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres-and-more")
    text = "postgres-and-more sk-abcdefghijkl hunter2hunter2"
    assert cut_key(text, "hunter2hunter2") == "postgres-and-more sk-abcdefghijkl [key]"
    assert cut_key(text, "postgres") == text
    assert cut_key(text, None) == text


def test_half_of_a_key_is_never_left_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2hunter2")
    for before in range(580, 602):
        found = explain_failure(ProviderError("x" * before + " hunter2hunter2hunter2", status_code=500), model="m")
        assert "hunter" not in str(found)


@given(st.text(), st.text())
def test_an_error_is_printable_whatever_was_said(said: str, model: str) -> None:
    for problem in (ProviderError(said, status_code=500), RuntimeError(said), OSError(said), KeyError(said)):
        assert str(explain_failure(problem, model="m", address="http://h/\x1b[2J")).isprintable()
    ours = str(explain_failure(RetryableError(said), model=model))
    assert all(character.isprintable() or character in "\n\t" for character in ours)


@given(st.text())
def test_cutting_out_twice_is_cutting_out_once(text: str) -> None:
    assert scrub(scrub(text)) == scrub(text)


def test_an_error_never_holds_a_key_and_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2-hunter2")
    said = "wrong key sk-hunter2-hunter2 " + "<html> " * 1_000_000
    for status in (400, 401, 429, 500):
        found = explain_failure(ProviderError(said, status_code=status), model="openai:m", address="http://h/v1")
        assert "hunter2" not in str(found)
        assert len(str(found)) < 1500
        assert "\n" not in str(found)
        assert found.__cause__ is None
        assert found.__context__ is None


def test_a_filter_that_speaks_as_an_error() -> None:
    assert is_filtered(ProviderError(status_code=400, code="content_filter"))
    assert is_filtered(ProviderError(status_code=400, body={"error": {"code": "content_policy_violation"}}))
    assert not is_filtered(ProviderError("the word content_filter in a text alone", status_code=400))


def test_an_error_that_goes_round_in_a_circle_ends() -> None:
    one, two = ProviderError("one"), ProviderError("two", status_code=500)
    one.__cause__, two.__cause__ = two, one
    assert isinstance(explain_failure(one, model="m"), RetryableError)
