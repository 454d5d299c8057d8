"""What `doctor` finds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.running.health import Finding, examine
from simulator.running.models.providers import PROVIDERS


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.endswith(("_API_KEY", "_TOKEN")) or name == "SOCIOLECT_KEYS_FOR":
            monkeypatch.delenv(name)


def _find(what: str, *models: str) -> Finding:
    (found,) = (one for one in examine(models) if one.what == what)
    return found


def test_every_variable_that_would_be_sent_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _find("key for google_genai") == Finding(
        "key for google_genai", None, "GOOGLE_API_KEY or GEMINI_API_KEY is not set"
    )
    for name, provider in PROVIDERS.items():
        for variable in provider.keys:
            monkeypatch.setenv(variable, "hunter2hunter2")
            found = _find(f"key for {name}")
            assert found.found.startswith(f"{variable} is set")
            assert found.well is not False
            monkeypatch.delenv(variable)
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert _find("key for openai").well is None


def test_keys_for_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _find("keys for servers").well is None
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", "gpu1:8000=MY_SERVER_KEY")
    assert _find("keys for servers").well is False
    monkeypatch.setenv("MY_SERVER_KEY", "hunter2")
    assert _find("keys for servers") == Finding("keys for servers", True, "SOCIOLECT_KEYS_FOR names MY_SERVER_KEY")
    monkeypatch.setenv("SOCIOLECT_KEYS_FOR", "gpu1=sk-hunter2")
    assert _find("keys for servers").well is False
    assert not any("hunter2" in one.found for one in examine([]))


@pytest.fixture(name="answering")
def _answering(tmp_path: Path) -> Callable[[str], str]:
    def write(body: str) -> str:
        path = tmp_path / "answers.py"
        path.write_text(f"def answer(call):\n    {body}\n", encoding="utf-8")
        return f"mock:{path}"

    return write


@pytest.mark.parametrize(
    ("body", "well", "said"),
    [
        ("return 'ready'", True, "answers, ok: ready"),
        ("return ''", False, "answers, but not well, empty: nothing"),
        ("return 'I cannot help with that.'", False, "answers, but not well, refused: I cannot help with that."),
        ("return 'ready \\x1b[2J'", True, "answers, ok: ready \N{REPLACEMENT CHARACTER}[2J"),
        ("1 / 0", False, "ZeroDivisionError"),
    ],
)
def test_a_model_is_well_if_it_answers_well(answering: Callable[[str], str], body: str, well: bool, said: str) -> None:
    name = answering(body)
    found = _find(f"model {name}", name)
    assert found.well is well
    assert said in found.found
