"""Models by name: describing, checking, opening."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.errors import MissingError, UsageError
from simulator.running.calls import Parameter
from simulator.running.models import ModelInfo, check_model, describe_model, locate_model, open_model


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOCIOLECT_KEYS_FOR", raising=False)
    for name in os.environ:
        if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL", "_API_BASE")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("module", ["keys", "opening", "parameters", "statuses", "failures"])
def test_the_examples_run(module: str) -> None:
    done = doctest.testmod(importlib.import_module(f"simulator.running.models.{module}"))
    assert (done.failed, done.attempted > 0) == (0, True)


def test_embedded_is_described_with_name_licence_and_what_it_is_good_for() -> None:
    info = describe_model("embedded")
    assert info.title == "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (Apache-2.0), embedded"
    assert info.licence == "Apache-2.0"
    assert "Too small" in info.trust
    assert (info.context_tokens, info.parallel, info.takes_seed, info.completion) == (4096, 1, True, True)


def test_a_file_of_the_users_is_described_by_its_name_alone() -> None:
    info = describe_model("embedded:/models/private/llama.gguf", {"context": 500, "parallel": 2})
    assert info.title == "llama.gguf, embedded"
    assert info.name == "embedded:/models/private/llama.gguf"
    assert (info.context_tokens, info.parallel) == (512, 2)
    assert "Qwen" not in info.title + info.licence


@pytest.mark.parametrize(
    "name", ["embedded", "mock", "openai:m", "anthropic:m", "google_genai:m", "ollama:m", "groq:m", "azure_openai:m"]
)
def test_every_model_can_be_asked_less_and_a_time_out_is_taken_where_it_means_something(name: str) -> None:
    info = describe_model(name, {"requests_per_minute": 60, "tokens_per_minute": 9.5})
    assert (info.requests_per_minute, info.tokens_per_minute) == (60.0, 9.5)
    assert {"requests_per_minute", "tokens_per_minute"} <= info.accepts
    none = describe_model(name)
    assert (none.requests_per_minute, none.tokens_per_minute) == (None, None)
    assert ("timeout" in info.accepts) == (name != "embedded")
    assert ("connect_timeout" in info.accepts) == (name not in {"embedded", "google_genai:m", "groq:m"})


@pytest.mark.parametrize(
    ("name", "family", "takes_seed"),
    [
        ("openai:gpt-4o-mini", "openai", True),
        ("anthropic:claude-haiku-4-5", "anthropic", False),
        ("google_genai:gemini-2.5-flash", "google_genai", True),
        ("ollama:llama3:8b", "ollama", True),
        ("groq:llama-3", "groq", False),
        ("mock", "mock", True),
        ("mock:one", "mock", True),
    ],
)
def test_describing_needs_no_key(name: str, family: str, takes_seed: bool) -> None:
    info = describe_model(name)
    assert isinstance(info, ModelInfo)
    assert (info.name, info.family, info.takes_seed, info.completion) == (name, family, takes_seed, False)


def test_describing_and_checking_import_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from simulator.running.models import check_model, describe_model\n"
        "for name in ('embedded', 'mock', 'openai:gpt-4o', 'anthropic:x', 'google_genai:x', 'ollama:x'):\n"
        "    describe_model(name)\n"
        "check_model('openai:x', {'base_url': 'http://127.0.0.1:1'})\n"
        "heavy = ('langchain', 'openai', 'xllamacpp', 'polars', 'pydantic', 'numpy')\n"
        "print([name for name in sys.modules if name.partition('.')[0].startswith(heavy)])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("gpt-4o-mini", "openai:gpt-4o-mini"),
        ("opneai:gpt-4o", "Did you mean openai:"),
        ("google:gemini", "Did you mean google_genai:"),
        ("embeded", "embedded"),
        ("zzzzzz:x", "Known are: embedded, mock"),
        ("openai:", "provider:model"),
        ("", "provider:model"),
        (":", "provider:model"),
    ],
)
def test_a_name_that_is_none_gives_the_mend(name: str, mend: str) -> None:
    for verb in (describe_model, check_model, open_model):
        with pytest.raises(UsageError, match=mend):
            verb(name)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-4o-mini", "OPENAI_API_KEY"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY"),
        ("google_genai:gemini-2.5-flash", "GOOGLE_API_KEY or GEMINI_API_KEY"),
    ],
)
def test_no_key_is_an_error_before_the_first_call_and_names_the_variable(name: str, variable: str) -> None:
    for verb in (check_model, open_model):
        with pytest.raises(MissingError, match=variable):
            verb(name)


def test_a_blank_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "  \n")
    with pytest.raises(MissingError, match="OPENAI_API_KEY"):
        check_model("openai:gpt-4o-mini")


def test_either_of_googles_variables_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-not-a-key")
    check_model("google_genai:gemini-2.5-flash")


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingError, match="pip install langchain-fireworks"):
        check_model("fireworks:llama")


def test_no_key_is_needed_for_a_server_of_ones_own_or_for_ollama() -> None:
    check_model("openai:qwen", {"base_url": "http://localhost:8000/v1"})
    check_model("ollama:llama3:8b")


def test_a_variable_that_holds_the_servers_key_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", "localhost:8000=MY_SERVER_KEY")
    with pytest.raises(MissingError, match="MY_SERVER_KEY"):
        check_model("openai:qwen", {"base_url": "http://localhost:8000/v1"})
    check_model("openai:qwen", {"base_url": "http://localhost:8001/v1"})


def test_a_campaigns_script_is_found_in_its_study_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, here = tmp_path / "study", tmp_path / "here"
    for folder in (study / "models", here):
        folder.mkdir(parents=True)
    (study / "models" / "own.py").touch()
    (here / "other.py").touch()
    (study / "out.py").symlink_to(here / "other.py")
    (study / "in.py").symlink_to(study / "models" / "own.py")
    (study / "folder.py").mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(here))
    assert locate_model("mock:models/own.py", study) == f"mock:{study / 'models' / 'own.py'}"
    assert locate_model("mock:in.py", study) == f"mock:{study / 'in.py'}"
    for name in ("other.py", "~/other.py", "../here/other.py", f"{here / 'other.py'}", "out.py", "folder.py", "a\0.py"):
        with pytest.raises(UsageError, match="on the command line"):
            locate_model(f"mock:{name}", study)
        with pytest.raises(UsageError, match="on the command line"):
            locate_model(f"mock:{name}", study, given="mock:models/own.py")
        assert locate_model(f"mock:{name}", study, given=f"mock:{name}") == f"mock:{name}"
    assert locate_model("mock:nice", study) == "mock:nice"


@pytest.mark.parametrize("model", ["o3-mini", "gpt-5", "gpt-5.2-pro", "gpt-5-nano", "codex-mini"])
def test_reasoning_models_refuse_sampling_parameters(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    refused: dict[str, Parameter] = {"temperature": 0.0, "top_p": 0.5, "stop": "x"}
    for name, value in refused.items():
        with pytest.raises(UsageError, match=f"takes no parameter `{name}`"):
            check_model(f"openai:{model}", {name: value})
    check_model(f"openai:{model}", {"max_tokens": 10, "temperature": None})
    assert not describe_model(f"openai:{model}").takes_seed


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest", "gpt-4.1-mini"])
def test_other_models_of_the_same_provider_take_them(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    check_model(f"openai:{model}", {"temperature": 0.0, "top_p": 0.5, "stop": ("a", "b")})


def test_what_a_foreign_server_calls_its_models_says_nothing() -> None:
    check_model("openai:gpt-5", {"base_url": "http://localhost:1/v1", "temperature": 0.0, "top_k": 3, "min_p": 0.1})
    with pytest.raises(UsageError, match="takes no parameter `top_k`"):
        check_model("openai:gpt-4o", {"top_k": 3})


def test_temperature_and_top_p_exclude_each_other_at_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    check_model("anthropic:claude-haiku-4-5", {"temperature": 0.2})
    with pytest.raises(UsageError, match="not both"):
        check_model("anthropic:claude-haiku-4-5", {"temperature": 0.2, "top_p": 0.9})
    with pytest.raises(UsageError, match="takes no parameter `seed`"):
        check_model("anthropic:claude-haiku-4-5", {"seed": 1})


def test_a_missing_engine_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.running.models.embedded.find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r'pip install "sociolect\[embedded\]"'):
        check_model("embedded")


def test_a_model_file_must_be_one(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    other = tmp_path / "notes.gguf"
    other.write_text("notes", encoding="utf-8")
    for path, mend in [
        (tmp_path / "none.gguf", "no model file"),
        (tmp_path, "is a folder"),
        (other, "not a GGUF file"),
    ]:
        with pytest.raises(UsageError, match=mend):
            check_model(f"embedded:{path}")


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("openai:m", {"base_url": "http://127.0.0.1:1/v1"}),
        ("ollama:m", {"base_url": "http://127.0.0.1:1"}),
        ("google_genai:m", {"base_url": "http://127.0.0.1:1"}),
        ("anthropic:m", {"base_url": "http://127.0.0.1:1"}),
    ],
)
@pytest.mark.slow
def test_the_installed_providers_open_and_close(name: str, params: dict[str, Parameter]) -> None:
    async def go() -> None:
        model = open_model(name, {**params, "temperature": 0.5, "max_tokens": 5, "stop": ("x",)})
        assert model.info.name == name
        await model.close()
        await model.close()

    asyncio.run(go())
