"""The mock model."""

from __future__ import annotations

import ast
import asyncio
import doctest
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simulator.running.models.mock
from simulator.errors import ModelError, QuotaError, RateLimitError, RejectedError, UsageError
from simulator.running.calls import Call, Message
from simulator.running.models import check_model, describe_model, open_model
from simulator.running.models.mock import MockModel, answer_plausibly
from simulator.running.replies import Reply


def _rewrite(text: str, **more: object) -> Call:
    return Call("rewrite", "mock", (Message("user", text),), **more)  # type: ignore[arg-type]


def _generate(text: str, **more: object) -> Call:
    return Call("generate", "mock", (Message("user", text),), **more)  # type: ignore[arg-type]


def test_the_example_runs() -> None:
    assert doctest.testmod(simulator.running.models.mock).failed == 0


def test_the_same_call_has_the_same_answer_and_another_seed_or_repeat_another() -> None:
    prompt = "You are a nurse.\nRestate this request: Write code to make a calculator"
    answers = [answer_plausibly(_rewrite(prompt, seed=seed)) for seed in range(20)]
    assert answers == [answer_plausibly(_rewrite(prompt, seed=seed)) for seed in range(20)]
    assert len(set(answers)) > 10
    assert len({answer_plausibly(_generate(prompt, repeat=repeat)) for repeat in range(20)}) > 10


def test_a_rewrite_keeps_the_task_and_differs_between_askers() -> None:
    task = "Write code to make a calculator"
    askers = [f"You are {who}. In your own words, ask for this:\n{task}" for who in ("a nurse", "a chemist", "a clerk")]
    answers = [[answer_plausibly(_rewrite(asker, seed=seed)) for seed in range(5)] for asker in askers]
    assert all("code to make a calculator" in answer for row in answers for answer in row)
    assert len({row[0] for row in answers}) == 3


@given(st.text(), st.integers(0, 2**31 - 1))
def test_a_program_always_parses_whatever_was_asked(prompt: str, seed: int) -> None:
    answer = answer_plausibly(_generate(prompt, seed=seed))
    _, code, _ = answer.split("```")
    tree = ast.parse(code.removeprefix("python\n"))
    assert any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))
    assert answer_plausibly(_rewrite(prompt, seed=seed)).strip()


def test_programs_run() -> None:
    for seed in range(40):
        _, code, _ = answer_plausibly(_generate("Write a calculator for a class", seed=seed)).split("```")
        exec(compile(code.removeprefix("python\n"), "mock", "exec"), {"print": lambda *_: None})


@pytest.mark.parametrize(
    ("text", "status", "stored"),
    [
        ("", "empty", ""),
        ("I'm sorry, but I can't help with that.", "refused", "I'm sorry, but I can't help with that."),
        ("a\ud83d", "ok", "a\N{REPLACEMENT CHARACTER}"),
        ("x" * 10_000_000, "ok", "x" * 10_000_000),
    ],
)
def test_what_a_function_answers_gets_a_status(text: str, status: str, stored: str) -> None:
    reply = asyncio.run(MockModel(lambda call: text).ask(_rewrite("hi")))
    assert (reply.status, reply.text) == (status, stored)


def test_a_function_may_return_a_whole_reply_or_be_async() -> None:
    whole = Reply(status="filtered", finish="content_filter")
    assert asyncio.run(MockModel(lambda call: whole).ask(_rewrite("hi"))) is whole

    async def later(call: Call) -> str:
        await asyncio.sleep(0)
        return call.model

    assert asyncio.run(MockModel(later).ask(_rewrite("hi"))).text == "mock"


@pytest.mark.parametrize("problem", [RateLimitError("wait", seconds=3), QuotaError("spent"), RejectedError("no")])
def test_a_function_may_fail_as_a_provider_would(problem: ModelError) -> None:
    def fail(call: Call) -> str:
        raise problem

    with pytest.raises(type(problem)) as caught:
        asyncio.run(MockModel(fail).ask(_rewrite("hi")))
    assert caught.value is problem


def test_a_function_that_breaks_is_named_with_its_place() -> None:
    def broken(call: Call) -> str:
        answers: dict[str, str] = {}
        return answers["nothing"]

    with pytest.raises(RejectedError, match=r"KeyError: 'nothing' \(.*test_mock\.py:\d+\)"):
        asyncio.run(MockModel(broken).ask(_rewrite("hi")))
    with pytest.raises(RejectedError, match="of type int"):
        asyncio.run(MockModel(lambda call: 3).ask(_rewrite("hi")))  # type: ignore[arg-type,return-value]


def test_the_calls_are_kept_for_a_test_to_look_at() -> None:
    model = MockModel()
    calls = [_rewrite("one"), _generate("two")]
    for call in calls:
        asyncio.run(model.ask(call))
    assert model.calls == calls


def test_only_the_last_thousand_calls_are_kept() -> None:
    model = MockModel(lambda call: "x")

    async def ask() -> None:
        for number in range(1100):
            await model.ask(_rewrite(f"request {number}"))

    asyncio.run(ask())
    assert [call.messages[-1].text for call in model.calls] == [f"request {number}" for number in range(100, 1100)]


def test_a_file_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
        from __future__ import annotations
        from dataclasses import dataclass

        @dataclass
        class Counter:
            count: int = 0

        counter = Counter()

        def answer(call):
            counter.count += 1
            return f"{counter.count}: Grüße"
    """
    Path("answers.py").write_text(textwrap.dedent(source), encoding="utf-8")
    check_model("mock:answers.py")
    model = open_model("mock:answers.py", {"parallel": 2})
    assert (model.info.name, model.info.parallel) == ("mock:answers.py", 2)
    assert [asyncio.run(model.ask(_rewrite("hi"))).text for _ in range(2)] == ["1: Grüße", "2: Grüße"]


@pytest.mark.parametrize(
    ("source", "mend"),
    [
        (None, "There is no file"),
        ("def answer(call:\n", "SyntaxError"),
        ("import nothing_of_that_name", "ModuleNotFoundError.*bad.py:1"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("x = 1\n", "def answer"),
        ("answer = 3\n", "def answer"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"x = '\x00'", "bad.py"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, source: str | bytes | None, mend: str) -> None:
    path = tmp_path / "bad.py"
    if source is not None:
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
    for verb in (check_model, open_model):
        with pytest.raises(UsageError, match=mend):
            verb(f"mock:{path}")


def test_a_named_mock_answers_otherwise() -> None:
    texts = [
        asyncio.run(open_model(name).ask(Call("generate", name, (Message("user", "Write a calculator"),)))).text
        for name in ("mock", "mock:one", "mock:two")
    ]
    assert len(set(texts)) == 3
    assert "Nothing" in describe_model("mock:one").trust
