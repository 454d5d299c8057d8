"""The authoring verbs, called as a user calls them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from simulator.definitions import find_persona, load_campaign, load_personas
from simulator.definitions.commands import register
from simulator.errors import DefinitionError, StorageError, UsageError

APP = typer.Typer(pretty_exceptions_enable=False)
register(APP)


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(APP, [str(word) for word in words], env={"COLUMNS": "200"})


def document(*words: str | Path) -> dict[str, Any]:
    result = call(*words, "--json")
    assert result.exit_code == 0, result.output
    loaded = json.loads(result.stdout)
    assert isinstance(loaded["warnings"], list)
    return dict(loaded)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    assert call("init", folder).exit_code == 0
    return folder


def test_init_writes_a_study_that_loads(study: Path) -> None:
    loaded = load_campaign("first-campaign", folder=study)
    assert list(loaded.personas) == ["maria", "harold"]
    assert list(loaded.tasks) == ["opening-hours", "calculator"]
    assert call("persona", "check", "--study", study).exit_code == 0
    assert call("task", "check", "--study", study).exit_code == 0


def test_init_never_overwrites(study: Path, tmp_path: Path) -> None:
    (study / "personas" / "maria.yaml").write_text("mine", encoding="utf-8")
    result = call("init", study)
    assert isinstance(result.exception, UsageError)
    assert "nothing was written" in str(result.exception)
    assert (study / "personas" / "maria.yaml").read_text(encoding="utf-8") == "mine"
    other = tmp_path / "other"
    (other / "tasks").mkdir(parents=True)
    (other / "notes.txt").write_text("kept", encoding="utf-8")
    assert len(document("init", other)["files"]) == 7
    assert (other / "notes.txt").read_text(encoding="utf-8") == "kept"
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert isinstance(call("init", tmp_path / "file").exception, UsageError)


def test_init_does_not_write_through_a_link_out_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "personas").symlink_to(tmp_path / "outside")
    assert isinstance(call("init", tmp_path / "study").exception, UsageError)
    assert not list((tmp_path / "outside").iterdir())


def test_a_full_disk_is_told_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open

    def full(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        stream = real(path, mode, *rest, **options)
        if mode == "x":
            stream.close()
            raise OSError(28, "No space left on device")
        return stream

    monkeypatch.setattr(Path, "open", full)
    result = call("init", tmp_path / "s")
    assert isinstance(result.exception, StorageError)
    assert "No space left" in str(result.exception)


def test_lists_have_the_study_s_own_first_and_say_what_is_replaced(study: Path) -> None:
    (study / "personas" / "john.yaml").write_text(
        "description: somebody else altogether, of the same name\n", encoding="utf-8"
    )
    listed = document("persona", "list", "--study", study)
    assert [one["id"] for one in listed["personas"][:2]] == ["john", "maria"]
    assert [one["id"] for one in listed["personas"]].count("john") == 1
    assert "replaces the built-in persona" in listed["warnings"][0]
    tasks = document("task", "list", "--study", study)["tasks"]
    assert len(tasks) == 23
    assert not tasks[0]["built_in"]
    shown = call("persona", "list", "--study", study)
    assert "astrophysicist" in shown.stdout
    assert "Note:" in shown.stderr


def test_show(study: Path) -> None:
    assert document("persona", "show", "harold")["told"] == find_persona("harold").definition.describe()
    assert document("task", "show", "calculator")["task"]["short"] == "Write code to make a calculator"
    result = call("persona", "show", "harold")
    assert "role: English teacher" in result.stdout
    assert "What a model is told" in result.stdout
    assert "precedence" in call("task", "show", "calculator").stdout
    assert isinstance(call("task", "show", "calculater").exception, UsageError)


def test_data_can_neither_be_markup_nor_move_the_cursor(study: Path) -> None:
    text = 'name: "[bold red]x[/] :smile: \\u202e"\nrole: "[link=http://x]keeper of the harbour library[/link]"\n'
    (study / "personas" / "odd.yaml").write_text(text, encoding="utf-8")
    shown = call("persona", "list", "--study", study).stdout + call("persona", "show", "odd", "--study", study).stdout
    assert "[bold red]x[/] :smile:" in shown
    assert "[link=http://x]" in shown
    assert "\u202e" not in shown


def test_new_writes_a_valid_file_once(study: Path) -> None:
    made = document("persona", "new", "zoe\u0308", "--role", "keeper: of #bees", "--study", study)
    path = Path(made["file"])
    assert path == study / "personas" / "zoë.yaml"
    persona = load_personas(study / "personas")["zoë"]
    assert (persona.name, persona.role) == ("Zoë", "keeper: of #bees")
    again = call("persona", "new", "ZOË", "--study", study)
    assert isinstance(again.exception, UsageError)
    assert "already has a persona `zoë`" in str(again.exception)
    assert document("persona", "new", "john", "--study", study)["warnings"]


@pytest.mark.parametrize(
    "description",
    [
        "a: b # c | > - [x] {y} 'z' \"w\" of five words",
        "five\nlines\n\nof\ntext\n",
        "-x five words are these " * 40,
        "日本語の説明文がここにあります",
    ],
)
def test_new_takes_any_description(tmp_path: Path, description: str) -> None:
    document("persona", "new", "a", "--name", 'T "x" \\ y', "--description", description, "--study", tmp_path)
    persona = load_personas(tmp_path / "personas")["a"]
    assert persona.name == 'T "x" \\ y'
    assert persona.description == " ".join(description.split())


@pytest.mark.parametrize("identifier", ["../x", "a/b", "con", "", "all", ".x"])
def test_new_refuses_an_unsafe_id(study: Path, identifier: str) -> None:
    assert isinstance(call("persona", "new", "--study", study, "--", identifier).exception, UsageError)


def test_check_tells_all_problems_of_all_files(study: Path) -> None:
    (study / "personas" / "a.yaml").write_text("nmae: x\nrole: [y]\n", encoding="utf-8")
    (study / "personas" / "b.yaml").write_text("name:\n\tx\n", encoding="utf-8")
    result = call("persona", "check", "--study", study)
    assert isinstance(result.exception, DefinitionError)
    assert result.exception.exit_status == 2
    assert len(result.exception.problems) == 3
    told = call("persona", "check", "--study", study, "--json")
    assert told.exit_code == 2
    listed = json.loads(told.stdout)
    assert [(Path(one["file"]).name, one["line"]) for one in listed["problems"]] == [
        ("a.yaml", 1),
        ("a.yaml", 2),
        ("b.yaml", 2),
    ]
    assert listed["checked"] == 3


def test_check_takes_files_and_folders_each_once(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maria = study / "personas" / "maria.yaml"
    assert document("persona", "check", maria, study / "personas")["checked"] == 1
    monkeypatch.chdir(study)
    assert call("persona", "check").stdout == "1 persona checked, all right.\n"
    assert isinstance(call("persona", "check", "missing.yaml").exception, DefinitionError)
    (study / "empty").mkdir()
    assert isinstance(call("persona", "check", "empty").exception, UsageError)
    monkeypatch.chdir(study / "empty")
    assert isinstance(call("task", "check").exception, UsageError)


def test_check_refuses_a_link_out_of_the_study_and_a_second_id(study: Path, tmp_path: Path) -> None:
    os.link(study / "personas" / "maria.yaml", study / "personas" / "other.yaml")
    (tmp_path / "out.yaml").write_text("x", encoding="utf-8")
    (study / "personas" / "z.yaml").symlink_to(tmp_path / "out.yaml")
    error = call("persona", "check", "--study", study).exception
    assert isinstance(error, DefinitionError)
    assert "already that of" in str(error)
    assert "leads out of the study" in str(error)


@pytest.mark.parametrize(
    "verb",
    [
        ["init"],
        *(["persona", v] for v in ("list", "show", "new", "check")),
        *(["task", v] for v in ("list", "show", "check")),
    ],
)
def test_every_verb_has_json_and_an_example(verb: list[str]) -> None:
    shown = call(*verb, "--help").stdout
    assert "--json" in shown
    assert f"Example: sociolect {' '.join(verb)}" in shown
