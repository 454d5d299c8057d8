"""What verbs print: one JSON document in UTF-8, tables without markup, plain where there is no terminal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.terminal import console, print_json, print_table, printable

ROOT = Path(__file__).parents[2]


def test_json_is_utf8_in_any_locale() -> None:
    code = "from simulator.terminal import print_json; print_json({'name': 'Zo\\xeb \\u76f4\\u7f8e'})"
    env = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, capture_output=True)
    assert json.loads(done.stdout.decode("utf-8")) == {"name": "Zoë 直美"}


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"p": float("nan")})
    print_json({"path": Path("a")})
    assert json.loads(capsys.readouterr().out) == {"path": "a"}


def test_tables_are_plain_and_data_is_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "[b]what[/b]"), [("a", "[red]x[/red] :smile: \x1b[31m")])
    shown = capsys.readouterr().out
    assert "[b]what[/b]" in shown
    assert "[red]x[/red] :smile:" in shown
    assert "\x1b" not in shown


def test_printable_takes_what_moves_a_cursor() -> None:
    assert printable("a\tb\nc\x1b[2J\u202e\r") == "a\tb\nc\ufffd[2J\ufffd\ufffd"


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert console().no_color
    assert console(stderr=True).stderr


@pytest.mark.parametrize("columns", ["0", "1", "20"])
def test_a_terminal_without_room_still_gets_the_text(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    print_table(("id", "what"), [("a", "some words")])
    console().print("more words")
    assert {"some words", "more words"} <= {
        line.removeprefix("a   ").strip() for line in capsys.readouterr().out.splitlines()
    }
