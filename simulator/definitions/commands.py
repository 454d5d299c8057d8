"""The authoring verbs: ``init``, ``persona list|show|new|check``, ``task list|show|check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.errors import DefinitionError, Problem, UsageError
from simulator.options import JsonOption, StudyOption
from simulator.terminal import console, print_json, print_table, print_text, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.definitions.finding import Found, Kind
    from simulator.definitions.persona import Persona
    from simulator.definitions.task import Task

__all__ = ["register"]

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILES]", help="YAML files or folders of them; by default the study's own."),
]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("init")(init)
    persona = typer.Typer(no_args_is_help=True, help="Write, look at and check personas.", rich_markup_mode=None)
    persona.command("list")(list_personas)
    persona.command("show")(show_persona)
    persona.command("new")(new_persona)
    persona.command("check")(check_personas)
    app.add_typer(persona, name="persona")
    task = typer.Typer(no_args_is_help=True, help="Look at and check tasks.", rich_markup_mode=None)
    task.command("list")(list_tasks)
    task.command("show")(show_task)
    task.command("check")(check_tasks)
    app.add_typer(task, name="task")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new study's folder.")], json: JsonOption = False
) -> None:
    """Make a study folder. A persona, a task, a campaign, each commented, and JSON Schemas for the editor.

    Example: sociolect init my-study
    """
    from simulator.definitions.starter import write_study

    written = write_study(folder)
    if json:
        print_json({"folder": str(folder), "files": [str(path) for path in written], "warnings": []})
        return
    for path in written:
        print_text(printable(str(path)))
    console(stderr=True).print(
        f"A study that runs as it is: cd {printable(str(folder))} && sociolect plan first-campaign", soft_wrap=True
    )


def list_personas(study: StudyOption = Path(), json: JsonOption = False) -> None:
    """List the study's personas and the built-in ones.

    Example: sociolect persona list
    """
    from simulator.definitions.finding import list_personas as find_all

    found = find_all(study)
    warnings = _replaced(found, "persona")
    if json:
        print_json({"personas": [_record(one) for one in found], "warnings": warnings})
        return
    rows = [(one.definition.id, one.definition.name or "", _gist(one.definition), _origin(one)) for one in found]
    print_table(("id", "name", "who they are", "from"), rows)
    _warn(warnings)


def list_tasks(study: StudyOption = Path(), json: JsonOption = False) -> None:
    """List the study's tasks and the built-in ones.

    Example: sociolect task list
    """
    from simulator.definitions.finding import list_tasks as find_all

    found = find_all(study)
    warnings = _replaced(found, "task")
    if json:
        print_json({"tasks": [_record(one) for one in found], "warnings": warnings})
        return
    rows = [
        (one.definition.id, one.definition.topic or "", one.definition.short or one.definition.label, _origin(one))
        for one in found
    ]
    print_table(("id", "topic", "in short", "from"), rows)
    _warn(warnings)


def show_persona(
    persona: Annotated[str, typer.Argument(metavar="ID", help="A persona of the study or a built-in one.")],
    study: StudyOption = Path(),
    json: JsonOption = False,
) -> None:
    """Show a persona, and the description of it that a model is given.

    Example: sociolect persona show harold
    """
    from simulator.definitions.finding import find_persona

    found = find_persona(persona, study)
    told = found.definition.describe()
    if json:
        print_json({"persona": _record(found), "told": told, "warnings": []})
        return
    _show(found)
    print_text(printable(f"\nWhat a model is told:\n{told}"))


def show_task(
    task: Annotated[str, typer.Argument(metavar="ID", help="A task of the study or a built-in one.")],
    study: StudyOption = Path(),
    json: JsonOption = False,
) -> None:
    """Show a task: its request in full and in short.

    Example: sociolect task show calculator
    """
    from simulator.definitions.finding import find_task

    found = find_task(task, study)
    if json:
        print_json({"task": _record(found), "warnings": []})
        return
    _show(found)


def new_persona(
    persona: Annotated[str, typer.Argument(metavar="ID", help="The new persona's id, also its file's name.")],
    name: Annotated[str | None, typer.Option("--name", help="What people call them.")] = None,
    role: Annotated[str | None, typer.Option("--role", help="What they do.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="Who they are.")] = None,
    study: StudyOption = Path(),
    json: JsonOption = False,
) -> None:
    """Write a commented persona file into the study, valid as it stands, for you to change. Nothing is overwritten.

    Example: sociolect persona new maria --role florist
    """
    from simulator.definitions.fields import check_id, fold_id
    from simulator.definitions.finding import builtin_folder, definition_files, load_personas
    from simulator.definitions.schemas import schema_text
    from simulator.definitions.starter import persona_text, write_new

    try:
        identifier = check_id(persona)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    folder = study / "personas"
    for other in load_personas(folder, root=study):
        if fold_id(other) == fold_id(identifier):
            raise UsageError(f"{folder} already has a persona `{other}`; choose another id, or change that one.")
    path = folder / f"{identifier}.yaml"
    write_new(path, persona_text(identifier, name=name, role=role, description=description), root=study)
    schema = study / "schemas" / "persona.schema.json"
    if not schema.exists():
        write_new(schema, schema_text("persona"), root=study)
    builtin = {fold_id(file.stem) for file in definition_files(builtin_folder("personas"))}
    warnings = [f"`{identifier}` replaces the built-in persona of that id"] if fold_id(identifier) in builtin else []
    if json:
        print_json({"file": str(path), "id": identifier, "warnings": warnings})
        return
    print_text(printable(str(path)))
    _warn(warnings)


def check_personas(files: FilesArgument = None, study: StudyOption = Path(), json: JsonOption = False) -> None:
    """Check persona files: all problems of all files, each with its place and its mend. Exit status 2 if there are any.

    Example: sociolect persona check personas/maria.yaml
    """
    from simulator.definitions.persona import Persona

    _check(Persona, "personas", files, study, json=json)


def check_tasks(files: FilesArgument = None, study: StudyOption = Path(), json: JsonOption = False) -> None:
    """Check task files: all problems of all files, each with its place and its mend. Exit status 2 if there are any.

    Example: sociolect task check tasks/
    """
    from simulator.definitions.task import Task

    _check(Task, "tasks", files, study, json=json)


def _check(model: Any, kind: Kind, files: list[Path] | None, study: Path, *, json: bool) -> None:
    from simulator.definitions.finding import read_files

    problems: list[Problem] = []
    found: Sequence[Found[Any]] = []
    chosen = _choose(kind, files, study)
    try:
        found = read_files(model, chosen)
    except DefinitionError as error:
        if not json:
            raise
        problems = error.problems
    if json:
        listed = [
            {"file": str(one.path), "line": one.line, "column": one.column, "problem": one.text} for one in problems
        ]
        good = [{"id": one.definition.id, "file": str(one.path)} for one in found]
        print_json({"checked": len(chosen), kind: good, "problems": listed, "warnings": []})
        if problems:
            raise typer.Exit(DefinitionError.exit_status)
        return
    print_text(f"{len(found)} {kind if len(found) != 1 else kind[:-1]} checked, all right.")


def _choose(kind: Kind, files: list[Path] | None, study: Path) -> list[tuple[Path, Path]]:
    """Return the files to check, each once, with the folder that it may not lead out of."""
    from simulator.definitions.finding import definition_files
    from simulator.definitions.text_reading import is_below

    if not files and not (study / kind).is_dir():
        raise UsageError(
            f"there is no folder {study / kind}; name files or a folder, or make a study with `sociolect init`."
        )
    chosen: dict[Path, tuple[Path, Path]] = {}
    for given in files or [study / kind]:
        inside = definition_files(given) if given.is_dir() else [given]
        if not inside:
            raise UsageError(f"the folder {given} holds no .yaml file; name one that does.")
        for path in inside:
            root = study if is_below(path, study) else path.parent
            chosen.setdefault(path.absolute(), (path, root))
    return list(chosen.values())


def _record(found: Found[Any]) -> dict[str, object]:
    from simulator.definitions.dumping import to_plain

    return {**to_plain(found.definition), "file": str(found.path), "built_in": found.builtin}


def _gist(persona: Persona) -> str:
    text = persona.role or persona.describe()
    return text if len(text) <= 72 else f"{text[:71]}…"


def _origin(found: Found[Any]) -> str:
    return "built in" if found.builtin else "study"


def _replaced(found: Sequence[Found[Persona]] | Sequence[Found[Task]], noun: str) -> list[str]:
    return [
        f"{one.path}: `{one.definition.id}` replaces the built-in {noun} of that id"
        for one in found
        if one.replaces_builtin
    ]


def _show(found: Found[Any]) -> None:
    from simulator.definitions.dumping import dump_yaml, to_plain

    print_text(printable(f"# {found.path}\n{dump_yaml(to_plain(found.definition))}"))


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        console(stderr=True).print(f"Note: {printable(warning)}", soft_wrap=True)
