"""The embedded model itself, a few tokens at a time."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import RejectedError, RetryableError, UsageError
from simulator.running.calls import Call, Form, Message, Parameter
from simulator.running.models import Model, open_model
from simulator.running.models.embedded import Completion, Engine, choose_sampling
from simulator.running.replies import Reply

needs_model = [pytest.mark.embedded, pytest.mark.slow, pytest.mark.xdist_group("embedded")]
CONTEXT = 256


def _call(text: str, form: Form = "chat", *, seed: int | None = 1, **params: Parameter) -> Call:
    return Call("generate", "embedded", (Message("user", text),), form, {"max_tokens": 12, **params}, seed=seed)


@pytest.fixture(name="model", scope="module")
def _model() -> Iterator[Model]:
    pytest.importorskip("xllamacpp", reason="the embedded model is not installed")
    model = open_model("embedded", {"context": CONTEXT})
    yield model
    asyncio.run(model.close())


def _ask(model: Model, *calls: Call) -> list[Reply]:
    async def go() -> list[Reply]:
        return await asyncio.gather(*(model.ask(call) for call in calls))

    return asyncio.run(go())


class TestAsking:
    pytestmark = needs_model

    def test_it_continues_a_text_up_to_the_stop(self, model: Model, capfd: pytest.CaptureFixture[str]) -> None:
        (reply,) = _ask(model, _call('The capital of France is called "', "completion", temperature=0, stop='"'))
        assert (reply.status, reply.text, reply.finish) == ("ok", "Paris", "stop")
        assert reply.tokens.input is not None
        assert 5 <= reply.tokens.input <= 10
        assert "qwen2.5-coder-1.5b" in reply.model_reported
        assert capfd.readouterr() == ("", "")

    def test_it_answers_and_says_what_was_sent(self, model: Model) -> None:
        (reply,) = _ask(model, _call("Say hello in one word.", temperature=0, max_tokens=3))
        assert "hello" in reply.text.lower()
        assert reply.sent == {
            "temperature": 0,
            "top_p": 0.95,
            "top_k": 40,
            "min_p": 0.05,
            "max_tokens": 3,
            "seed": 1,
            "form": "chat",
            "context": CONTEXT,
            "parallel": 1,
        }
        json.dumps(reply.sent)

    def test_a_text_that_meets_the_limit_is_truncated(self, model: Model) -> None:
        (reply,) = _ask(model, _call("Count from one to a hundred in words.", max_tokens=4))
        assert (reply.status, reply.finish, reply.tokens.output) == ("truncated", "length", 4)
        assert reply.text

    def test_every_text_depends_on_its_call_alone(self, model: Model) -> None:
        """In any order, beside others that share a prefix, and in another process with another number of threads."""
        shared = "A teacher of English wants a program. She says: "
        calls = [
            _call(shared + end, "completion", seed=seed, temperature=1.0, max_tokens=6)
            for end in ("I need", "Could you")
            for seed in (1, 2)
        ]
        texts = {call.key: reply.text for call, reply in zip(calls, _ask(model, *calls), strict=True)}
        assert len(set(texts.values())) > 2
        mixed = calls[::-1]
        again = {call.key: reply.text for call, reply in zip(mixed, _ask(model, *mixed), strict=True)}
        assert again == texts
        program = (
            "import asyncio, sys\n"
            "from simulator.running.calls import Call, Message\n"
            "from simulator.running.models import open_model\n"
            f"message = Message('user', {calls[-1].messages[0].text!r})\n"
            f"params = {calls[-1].params!r}\n"
            f"call = Call('generate', 'embedded', (message,), 'completion', params, seed={calls[-1].seed})\n"
            "async def go():\n"
            f"    model = open_model('embedded', {{'context': {CONTEXT}, 'threads': 1}})\n"
            "    print(ascii((await model.ask(call)).text))\n"
            "    await model.close()\n"
            "asyncio.run(go())\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ascii(texts[calls[-1].key])
        assert done.stderr == ""

    def test_a_prompt_longer_than_the_context_is_rejected(self, model: Model) -> None:
        with pytest.raises(RejectedError, match=rf"\d+ tokens, more than .* context of {CONTEXT}"):
            _ask(model, _call("word " * 2 * CONTEXT))

    def test_an_answer_ends_where_the_context_does(self, model: Model) -> None:
        (reply,) = _ask(model, _call("word " * (CONTEXT - 6), "completion", max_tokens=10_000, temperature=0))
        assert reply.status == "truncated"
        assert reply.tokens.output is not None
        assert reply.tokens.output < 20

    @pytest.mark.parametrize("text", ["a\ud83d", ""])
    def test_what_cannot_be_read_is_rejected(self, model: Model, text: str) -> None:
        with pytest.raises(RejectedError):
            _ask(model, _call(text, "completion"))

    @pytest.mark.parametrize("text", ["\0", "🎈 Ω <|im_end|>", "\r\n"])
    def test_odd_texts_are_texts(self, model: Model, text: str) -> None:
        (reply,) = _ask(model, _call(text, "completion", max_tokens=2))
        assert reply.status in {"ok", "truncated", "empty"}

    def test_a_cancelled_call_stops_and_the_next_is_answered(
        self, model: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = Engine.complete

        async def go() -> tuple[float, Reply]:
            loop, writing = asyncio.get_running_loop(), asyncio.Event()

            def complete(engine: Engine, *request: Any, stopped: Callable[[], bool], **_: Any) -> Completion:
                tell = partial(loop.call_soon_threadsafe, writing.set)
                return original(engine, *request, on_piece=lambda _piece: tell(), stopped=stopped)

            monkeypatch.setattr(Engine, "complete", complete)
            long = asyncio.create_task(model.ask(_call("Count to a thousand in words.", max_tokens=100)))
            waiting = asyncio.create_task(model.ask(_call("Never asked.")))
            await writing.wait()
            long.cancel()
            waiting.cancel()
            for task in (long, waiting):
                with pytest.raises(asyncio.CancelledError):
                    await task
            begun = time.monotonic()
            reply = await model.ask(_call('The capital of France is called "', "completion", temperature=0, stop='"'))
            return time.monotonic() - begun, reply

        _, reply = asyncio.run(go())
        assert reply.text == "Paris"


class TestOpening:
    def test_one_file_is_one_engine_however_it_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        names = ("model.gguf", "~/model.gguf", str(tmp_path / "model.gguf"))
        engines = [Engine.share(name, context=512, parallel=1, threads=1) for name in names]
        assert len(set(engines)) == 1
        for engine in engines:
            engine.release()

    def test_a_file_that_only_begins_like_a_model(self, tmp_path: Path) -> None:
        pytest.importorskip("xllamacpp")
        path = tmp_path / "damaged.gguf"
        path.write_bytes(b"GGUF" + b"\0" * 5000)
        model = open_model(f"embedded:{path}")
        with pytest.raises(UsageError, match=r"damaged\.gguf cannot be loaded"):
            _ask(model, _call("hi"))
        asyncio.run(model.close())

    def test_nothing_is_loaded_before_the_first_call_and_all_share_one_engine(self) -> None:
        pytest.importorskip("xllamacpp")
        one, two = (open_model("embedded", {"context": 512}) for _ in range(2))
        other = open_model("embedded", {"context": 700})
        engines = [model._engine for model in (one, two, other)]  # type: ignore[attr-defined]
        assert engines[0] is engines[1]
        assert (one.info.context_tokens, other.info.context_tokens) == (512, 768)
        assert engines[0] is not engines[2]
        assert all(engine._server is None for engine in engines)
        for model in (one, two, other, other):
            asyncio.run(model.close())
        assert not any(engine in Engine._shared.values() for engine in engines)
        with pytest.raises(RetryableError, match="was closed"):
            _ask(one, _call("hi"))

    def test_waiting_threads_soon_sleep(self) -> None:
        program = (
            "import os, simulator.running.models.embedded\n"
            "print(os.environ['GOMP_SPINCOUNT'], os.environ['OMP_WAIT_POLICY'])"
        )
        environment = {name: value for name, value in os.environ.items() if "OMP" not in name}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        assert done.stdout.split() == ["1000", "passive"]


def test_what_a_call_leaves_out_is_chosen_and_written_down() -> None:
    assert choose_sampling({}, None) == {"temperature": 1.0, "top_p": 0.95, "top_k": 40, "min_p": 0.05, "seed": 0}
    chosen = choose_sampling({"temperature": 0.2, "top_p": None, "stop": "x", "context": 9, "seed": 4}, 7)
    assert chosen == {"temperature": 0.2, "top_p": 0.95, "top_k": 40, "min_p": 0.05, "seed": 7, "stop": ["x"]}
    assert choose_sampling({"seed": 4}, None)["seed"] == 4
