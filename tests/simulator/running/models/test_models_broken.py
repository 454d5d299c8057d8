"""What providers answer that is no answer, or none in time, over real HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, completion

from simulator.errors import RetryableError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.models import open_model
from simulator.running.replies import Reply, Tokens


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL", "_API_BASE", "_HOST")):
            monkeypatch.delenv(name)


def _call(messages: tuple[Message, ...] = (Message("user", "Grüße"),)) -> Call:
    return Call("generate", "openai:served", messages)


def _ask(server: OpenAIServer, **params: Parameter) -> Reply:
    async def go() -> Reply:
        model = open_model("openai:served", {"base_url": server.base_url, **params})
        try:
            return await model.ask(_call())
        finally:
            await model.close()

    return asyncio.run(go())


WHOLE: dict[str, Any] = json.loads(completion("hello").content())


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b""),
        Answer(body=b"<html>Bad gateway</html>"),
        Answer(body=b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"}),
        Answer(body=json.dumps(WHOLE).encode()[:-9]),
        Answer(body=b"\xff\xfe{}"),
        Answer(body=b"null"),
        Answer(body=b"[]"),
        Answer(body=b"7"),
        Answer(body={}),
        Answer(body={**WHOLE, "choices": []}),
        Answer(body={**WHOLE, "choices": None}),
        Answer(body={**WHOLE, "choices": [{}]}),
        Answer(body={**WHOLE, "choices": ["x"]}),
        Answer(body={**WHOLE, "choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}),
        Answer(body={"error": {"message": "in a good answer", "code": 500}}),
        Answer(body=WHOLE, headers={"Content-Encoding": "gzip"}),
        Answer(body=WHOLE, ending="half"),
        Answer(body=WHOLE, ending="reset"),
        Answer(body=WHOLE, ending="close"),
        completion("half an ans", finish="error"),
        completion("half an ans", finish="insufficient_system_resource"),
    ],
)
def test_an_answer_that_cannot_be_read_may_have_been_charged_and_is_asked_for_again(
    serve: Callable[[Answer], OpenAIServer], answer: Answer
) -> None:
    server = serve(answer)
    with pytest.raises(RetryableError) as caught:
        _ask(server)
    assert type(caught.value) is RetryableError
    assert (caught.value.charged, caught.value.overloaded) == (True, False)
    assert len(str(caught.value)) < 1500
    assert caught.value.__context__ is None
    assert len(server.requests) == 1


@pytest.mark.parametrize("finish", ["tool_calls", "function_call", "stop"])
def test_calls_of_tools_that_nobody_offered_leave_the_text(
    serve: Callable[[Answer], OpenAIServer], finish: str
) -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{no JSON"}}]
    reply = _ask(serve(completion("x = 1", finish=finish, tool_calls=calls)))
    assert (reply.status, reply.text) == ("ok", "x = 1")
    assert _ask(serve(completion(None, finish=finish, tool_calls=calls))).status == "empty"


def test_usage_that_is_not_given_is_not_known(serve: Callable[[Answer], OpenAIServer]) -> None:
    assert _ask(serve(completion("hello", counted=False))).tokens == Tokens()


@pytest.mark.parametrize(
    ("ending", "params"),
    [("trickle", {"timeout": 0.3}), ("stall", {"timeout": 0.3}), ("stall", {"read_timeout": 0.2, "timeout": 60})],
)
def test_an_attempt_ends_in_time_however_slowly_the_bytes_come(
    serve: Callable[[Answer], OpenAIServer], ending: Any, params: dict[str, Any]
) -> None:
    server = serve(Answer(body=WHOLE, ending=ending))
    with pytest.raises(RetryableError, match="did not answer in time") as caught:
        _ask(server, **params)
    assert (caught.value.charged, caught.value.overloaded) == (True, True)
    assert caught.value.__context__ is None
    assert len(server.requests) == 1


def test_a_slow_attempt_leaves_the_model_in_order() -> None:
    async def go(address: str) -> Reply:
        model = open_model("openai:served", {"base_url": address, "timeout": 0.3})
        try:
            for _ in range(3):
                with pytest.raises(RetryableError):
                    await model.ask(_call(messages=(Message("user", "slow"),)))
            return await model.ask(_call())
        finally:
            await model.close()

    def script(body: dict[str, Any]) -> Answer:
        slow = body["messages"][-1]["content"] == "slow"
        return Answer(body=WHOLE, ending="trickle") if slow else completion("hello")

    with OpenAIServer(script) as server:
        assert asyncio.run(go(server.base_url)).text == "hello"
    gc.collect()


@pytest.mark.parametrize("name", ["openai:m", "anthropic:m", "ollama:m"])
def test_connecting_reading_and_the_whole_have_times_of_their_own(name: str) -> None:
    """Read from the HTTP clients, since no server on this machine is too far away to connect to."""

    async def go(**params: float) -> dict[str, float]:
        model: Any = open_model(name, {"base_url": "http://127.0.0.1:9/v1", **params})
        (client,) = model._clients.values()
        inner = getattr(client, "root_async_client", None) or client._async_client
        timeout = getattr(inner, "timeout", None) or inner._client.timeout
        await model.close()
        return {"connect": timeout.connect, "read": timeout.read}

    assert asyncio.run(go()) == {"connect": 10.0, "read": 300.0}
    assert asyncio.run(go(timeout=20, connect_timeout=3, read_timeout=7)) == {"connect": 3.0, "read": 7.0}
    assert asyncio.run(go(timeout=2, read_timeout=7)) == {"connect": 2.0, "read": 2.0}


def test_two_open_models_share_no_connections(serve: Callable[[Answer], OpenAIServer]) -> None:
    server = serve(completion("hello"))

    async def go() -> Reply:
        first, second = (open_model("openai:served", {"base_url": server.base_url}) for _ in range(2))
        await first.ask(_call())
        await first.close()
        try:
            return await second.ask(_call())
        finally:
            await second.close()

    assert asyncio.run(go()).text == "hello"


@pytest.mark.parametrize(
    ("count", "known"),
    [("NaN", None), ("Infinity", None), ("1e999", None), ("-5", None), ("9" * 30, None), ("true", 1), ("7", 7)],
)
def test_what_is_no_number_of_tokens_is_not_known(
    serve: Callable[[Answer], OpenAIServer], count: str, known: int | None
) -> None:
    usage = json.dumps({"prompt_tokens": "COUNT", "completion_tokens": "COUNT", "total_tokens": 9})
    body = json.dumps({**WHOLE, "usage": "USAGE"}).replace('"USAGE"', usage).replace('"COUNT"', count)
    reply = _ask(serve(Answer(body=body.encode())))
    assert reply.text == "hello"
    assert reply.tokens == Tokens(input=known, output=known)
