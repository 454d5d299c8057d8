"""Models of providers, asked over real HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, completion, failure

from simulator.errors import (
    AccessError,
    ModelError,
    QuotaError,
    RateLimitError,
    RejectedError,
    RetryableError,
    UsageError,
)
from simulator.running.calls import Call, Message, Parameter
from simulator.running.models import Model, check_model, open_model
from simulator.running.models.providers import PROVIDERS
from simulator.running.replies import Reply, Tokens

MESSAGES = (Message("system", "Be brief."), Message("user", "Grüße, Ω 🎈"))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL", "_API_BASE", "_HOST")):
            monkeypatch.delenv(name)


def _call(
    form: Any = "chat", seed: int | None = None, messages: tuple[Message, ...] = MESSAGES, **params: Parameter
) -> Call:
    return Call("generate", "openai:served", messages, form, params, seed=seed)


def _ask(server: OpenAIServer, call: Call | None = None, **params: Parameter) -> Reply:
    async def go() -> Reply:
        model = open_model("openai:served", {"base_url": server.base_url, **params})
        try:
            return await model.ask(call or _call())
        finally:
            await model.close()

    return asyncio.run(go())


def _place(server: OpenAIServer) -> str:
    """The server's host and port."""
    return server.base_url.removeprefix("http://").removesuffix("/v1")


def test_what_was_sent_is_what_arrived(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))
    reply = _ask(server, _call(seed=5, temperature=0.25, max_tokens=9, top_p=0.5, stop=("END", '"'), top_k=3))
    assert (reply.status, reply.text, reply.finish) == ("ok", "hello", "stop")
    assert reply.model_reported == "served (fp_test)"
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Grüße, Ω 🎈"},
    ]
    arrived = {name: value for name, value in request.body.items() if name not in {"messages", "stream"}}
    assert arrived == {
        "model": "served",
        "temperature": 0.25,
        "max_completion_tokens": 9,
        "top_p": 0.5,
        "stop": ["END", '"'],
        "seed": 5,
        "top_k": 3,
    }
    assert reply.sent == {**arrived, "base_url": server.base_url}
    assert json.dumps(reply.sent)


def test_nothing_is_sent_that_nobody_chose(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))
    _ask(server, _call(temperature=None))
    assert set(server.requests[0].body) == {"model", "messages", "stream"}


def test_parameters_of_the_model_hold_where_the_call_has_none(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))
    _ask(server, _call(top_p=0.5), temperature=0.75, top_p=0.9, parallel=3, timeout=20)
    body = server.requests[0].body
    assert (body["temperature"], body["top_p"]) == (0.75, 0.5)
    assert not {"parallel", "timeout", "base_url"} & set(body)


def test_each_call_has_its_own_seed(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))

    async def go() -> list[Reply]:
        model = open_model("openai:served", {"base_url": server.base_url})
        replies = await asyncio.gather(*(model.ask(_call(seed=seed)) for seed in range(6)), model.ask(_call()))
        await model.close()
        return replies

    replies = asyncio.run(go())
    assert [reply.sent.get("seed") for reply in replies] == [0, 1, 2, 3, 4, 5, None]
    assert sorted(request.body.get("seed", -1) for request in server.requests) == [-1, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (completion(""), "empty", ""),
        (completion("  \n"), "empty", "  \n"),
        (completion(None), "empty", ""),
        (completion("cut", finish="length"), "truncated", "cut"),
        (completion("", finish="length"), "truncated", ""),
        (completion(None, finish="content_filter"), "filtered", ""),
        (completion(None, refusal="I will not."), "refused", "I will not."),
        (completion("I'm sorry, but I can't help with that."), "refused", "I'm sorry, but I can't help with that."),
        (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ok", "ab"),
        (completion("a\ud83d!"), "ok", "a\N{REPLACEMENT CHARACTER}!"),
        (completion("\ud83c\udf88"), "ok", "🎈"),
        (completion("hello", finish=None), "ok", "hello"),
        (failure(400, "filtered", code="content_filter"), "filtered", ""),
    ],
)
def test_every_way_to_answer_has_a_status(
    serve: Callable[[Answer], OpenAIServer], answer: Answer, status: str, text: str
) -> None:
    reply = _ask(serve(answer))
    assert (reply.status, reply.text) == (status, text)
    reply.text.encode()
    assert (reply.error is not None) == (text.startswith("a\N{REPLACEMENT CHARACTER}") or answer.status == 400)


def test_ten_megabytes_are_an_answer(serve: Callable[[Answer], OpenAIServer]) -> None:
    text = "x = 1\n" * 1_700_000
    reply = _ask(serve(completion(text)))
    assert (reply.status, len(reply.text)) == ("ok", len(text))


def test_no_token_is_in_two_classes(serve: Callable[[Answer], OpenAIServer]) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    assert _ask(serve(completion("a", usage=usage))).tokens == Tokens(input=36, cached=64, output=30, reasoning=20)
    plain = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert _ask(serve(completion("a", usage=plain))).tokens == Tokens(input=3, output=2)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (failure(429, "slow down", headers={"Retry-After": "7"}), RateLimitError),
        (failure(429, "You exceeded your current quota", code="insufficient_quota"), QuotaError),
        (failure(401, "no such key"), AccessError),
        (failure(403, "not for you"), RejectedError),
        (failure(404, "no such model"), RejectedError),
        (failure(400, "maximum context length is 10", code="context_length_exceeded"), RejectedError),
        (failure(400, "unknown parameter"), RejectedError),
        (failure(500, "boom"), RetryableError),
        (failure(503, "overloaded"), RetryableError),
        (Answer(status=502, body=b"<html>" * 100_000, headers={"Content-Type": "text/html"}), RetryableError),
        (Answer(body=b"<html>not json"), RetryableError),
        (Answer(body={"choices": None}), RetryableError),
        (Answer(body={"error": {"message": "in a good answer", "code": 503}}), RetryableError),
        (Answer(status=0), RetryableError),
    ],
)
def test_every_failure_is_one_of_ours_and_asked_once(
    serve: Callable[[Answer], OpenAIServer], answer: Answer, kind: type[ModelError]
) -> None:
    server = serve(answer)
    with pytest.raises(ModelError) as caught:
        _ask(server)
    assert type(caught.value) is kind
    assert "openai:served" in str(caught.value)
    assert len(str(caught.value)) < 1500
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(server.requests) == 1


def test_how_long_the_server_asks_to_wait(serve: Callable[[Answer], OpenAIServer]) -> None:
    with pytest.raises(RateLimitError) as caught:
        _ask(serve(failure(429, "slow down", headers={"Retry-After": "7"})))
    assert caught.value.seconds == 7
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with pytest.raises(RateLimitError) as caught:
        _ask(serve(failure(429, "slow down", headers={"Retry-After": date})))
    assert caught.value.seconds is not None
    assert 3000 < caught.value.seconds <= 3600


def test_a_server_that_is_not_there() -> None:
    server = OpenAIServer(lambda _: completion(""))
    address = server.base_url
    with server:
        pass

    async def go() -> None:
        model = open_model("openai:served", {"base_url": address})
        try:
            await model.ask(_call())
        finally:
            await model.close()

    with pytest.raises(RetryableError, match=r"could not be reached.*whether the server runs") as caught:
        asyncio.run(go())
    assert (caught.value.charged, caught.value.overloaded) == (False, False)


def test_a_server_that_never_answers_is_not_waited_for(serve: Callable[[Answer], OpenAIServer]) -> None:
    done = threading.Event()

    def wait(_: dict[str, Any]) -> Answer:
        done.wait(30)
        return completion("late")

    with OpenAIServer(wait) as server:
        try:
            with pytest.raises(RetryableError, match="did not answer in time"):
                _ask(server, timeout=0.2)
        finally:
            done.set()


def test_the_key_goes_to_the_provider_alone(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2-openai")
    monkeypatch.setenv("MY_SERVER_KEY", "hunter2-mine")
    server = serve(completion("hello"))
    _ask(server)
    assert "hunter2" not in str(server.requests[-1].headers)
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", f"elsewhere:1=OPENAI_API_KEY, {_place(server)}=MY_SERVER_KEY")
    reply = _ask(server)
    assert "Bearer hunter2-mine" in server.requests[-1].headers.values()
    assert "hunter2" not in str(reply)


def test_a_campaign_cannot_ask_for_a_key(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2-openai")
    server = serve(completion("hello"))
    with pytest.raises(UsageError, match="takes no parameter `key_from`"):
        _ask(server, key_from="OPENAI_API_KEY")
    assert not server.requests


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai:m", "anthropic:m", "google_genai:m", "ollama:m"])
def test_nothing_of_the_environment_goes_to_a_campaigns_address(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each provider's package reads variables of its own and sends what they hold."""
    for variable in [one for provider in PROVIDERS.values() for one in (*provider.keys, *provider.sends)]:
        header = "x-secret: " if variable.endswith("_HEADERS") and not variable.startswith("GOOGLE") else ""
        monkeypatch.setenv(variable, f"{header}hunter2-hunter2")
    for variable in ("OLLAMA_API_KEY", "OPENAI_ADMIN_KEY", "GITHUB_TOKEN"):
        monkeypatch.setenv(variable, "hunter2-hunter2")
    server = serve(failure(500, "boom"))

    async def go() -> None:
        model = open_model(name, {"base_url": server.base_url.removesuffix("/v1")})
        try:
            await model.ask(Call("generate", name, MESSAGES))
        finally:
            await model.close()

    with pytest.raises(RetryableError):
        asyncio.run(go())
    (request,) = server.requests
    assert "hunter2" not in str(request)
    assert os.environ["OPENAI_CUSTOM_HEADERS"] == "x-secret: hunter2-hunter2"


def test_a_server_that_wants_a_key_says_how_it_gets_one(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(failure(401, "no key"))
    with pytest.raises(AccessError) as caught:
        _ask(server)
    assert f"export SOCIOLECT_KEYS_FOR={_place(server)}=NAME_OF_THE_VARIABLE" in str(caught.value)
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", f"{_place(server)}=MY_SERVER")
    monkeypatch.setenv("MY_SERVER", "hunter2-hunter2")
    with pytest.raises(AccessError, match="Check the key in the environment variable MY_SERVER"):
        _ask(server)


def test_a_providers_error_cannot_move_the_cursor(serve: Callable[[Answer], OpenAIServer]) -> None:
    with pytest.raises(RetryableError) as caught:
        _ask(serve(failure(500, "boom \x1b[2J\x1b]0;owned\x07 \u202e\r\n done")))
    assert str(caught.value).isprintable()
    assert "boom" in str(caught.value)


def test_an_address_from_the_environment_is_the_users_own_choice(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(completion("hello"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)

    async def go() -> Reply:
        model = open_model("openai:served")
        try:
            return await model.ask(_call())
        finally:
            await model.close()

    reply = asyncio.run(go())
    assert "Bearer sk-hunter2-openai" in server.requests[-1].headers.values()
    assert reply.sent["base_url"] == server.base_url


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_key_is_in_no_error_and_no_reply(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    key = "zz-hunter2-hunter2"
    monkeypatch.setenv("MY_SERVER", key)  # a name that does not say that it is a key
    echo = completion(f"your key is {key}") if status == 200 else failure(status, f"bad key {key}", code=key)
    server = serve(echo)
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", f"{_place(server)}=MY_SERVER")
    if status == 200:
        reply = _ask(server)
        assert reply.text == "your key is [key]"
        shown = repr(reply)
    else:
        with pytest.raises(ModelError) as caught:
            _ask(server)
        shown = repr(caught.value)
    assert key in str(server.requests[0].headers)
    assert "hunter2" not in shown


def test_code_that_a_model_wrote_is_left_as_it_is(
    serve: Callable[[Answer], OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 'client = OpenAI(api_key="sk-your-key-goes-here")\nconnect("postgres://postgres:postgres@db", served)'
    server = serve(completion(code))
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres")
    monkeypatch.setenv("SERVED_TOKEN", "served")
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", f"{_place(server)}=POSTGRES_PASSWORD")  # a key as short as a word
    reply = _ask(server)
    assert (reply.text, reply.model_reported, reply.sent["model"]) == (code, "served (fp_test)", "served")


def test_the_completion_form_is_not_for_chat_models(serve: Callable[[Answer], OpenAIServer]) -> None:
    with pytest.raises(RejectedError, match="cannot continue a text"):
        _ask(serve(completion("hello")), _call(form="completion"))


def test_half_a_surrogate_pair_is_never_sent(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))
    with pytest.raises(RejectedError, match="half a surrogate pair"):
        _ask(server, _call(messages=(Message("user", "a\ud83d"),)))
    assert not server.requests


def test_a_model_can_be_opened_again_under_another_loop(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))
    for _ in range(3):
        assert _ask(server).text == "hello"
    gc.collect()


def test_warnings_of_others_are_heard_while_calls_overlap_and_after_them() -> None:
    held = threading.Event()

    def script(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["content"] == "wait":
            held.wait(30)
        return completion("hello")

    async def go(address: str) -> None:
        model = open_model("openai:served", {"base_url": address})
        before = list(warnings.filters)
        early = asyncio.create_task(model.ask(_call()))
        late = asyncio.create_task(model.ask(_call(messages=(Message("user", "wait"),))))
        await early
        with pytest.raises(UserWarning, match="mine"):
            warnings.warn_explicit("mine", UserWarning, "mine.py", 1, module="langchain_openai_mine")
        held.set()
        await late
        await model.close()
        assert warnings.filters == before

    with OpenAIServer(script) as server:
        asyncio.run(go(server.base_url))


@pytest.mark.parametrize("maker", ["langchain_openai.chat_models.base", "openai", "langchain_core.language_models"])
def test_what_a_providers_package_warns_of_is_not_for_users(
    serve: Callable[[Answer], OpenAIServer], maker: str
) -> None:
    with pytest.raises(DeprecationWarning):
        warnings.warn_explicit("old", DeprecationWarning, "theirs.py", 1, module=maker)
    _ask(serve(completion("hello")))
    filters = len(warnings.filters)
    _ask(serve(completion("hello")))
    assert len(warnings.filters) == filters, "opened again, nothing is added"
    warnings.warn_explicit("old", DeprecationWarning, "theirs.py", 1, module=maker)


def test_a_cancelled_call_leaves_the_model_in_order() -> None:
    arrived, done = threading.Event(), threading.Event()

    def script(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["content"] == "wait":
            arrived.set()
            done.wait(30)
        return completion("hello")

    async def go(model: Model) -> Reply:
        task = asyncio.create_task(model.ask(_call(messages=(Message("user", "wait"),))))
        await asyncio.to_thread(arrived.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        try:
            return await model.ask(_call())
        finally:
            done.set()
            await model.close()

    async def run(address: str) -> Reply:
        return await go(open_model("openai:served", {"base_url": address}))

    with OpenAIServer(script) as server:
        assert asyncio.run(run(server.base_url)).text == "hello"


def test_a_parameter_that_is_not_taken_is_an_error_before_any_request(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))
    for verb in (check_model, open_model):
        with pytest.raises(UsageError, match="Did you mean `max_tokens`"):
            verb("openai:served", {"base_url": server.base_url, "max_token": 5})
    assert not server.requests


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "anthropic:claude-haiku-4-5",
            {"model": "claude-haiku-4-5", "max_tokens": 9, "temperature": 0.25, "stop_sequences": ["x"]},
        ),
        (
            "google_genai:gemini-2.5-flash",
            {"max_output_tokens": 9, "temperature": 0.25, "stop_sequences": ["x"], "seed": 5},
        ),
        ("ollama:llama3", {"model": "llama3", "num_predict": 9, "temperature": 0.25, "stop": ["x"], "seed": 5}),
    ],
)
def test_the_other_providers_put_the_parameters_where_they_belong(
    serve: Callable[[Answer], OpenAIServer], name: str, expected: dict[str, Any]
) -> None:
    """The server speaks another protocol, so there is no answer to read; what counts is what it was asked."""
    server = serve(failure(429, "not my protocol", headers={"Retry-After": "2"}))

    async def go() -> None:
        model = open_model(name, {"base_url": server.base_url.removesuffix("/v1")})
        try:
            await model.ask(
                Call("generate", name, MESSAGES, params={"temperature": 0.25, "max_tokens": 9, "stop": ("x",)}, seed=5)
            )
        finally:
            await model.close()

    with pytest.raises(RateLimitError):
        asyncio.run(go())
    assert len(server.requests) == 1
    body = server.requests[0].body
    flat = {**body, **body.get("options", {})}
    flat |= {_snake(key): value for key, value in body.get("generationConfig", {}).items()}
    assert {key: flat.get(key) for key in expected} == expected


def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)
