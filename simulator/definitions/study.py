"""A study: a campaign with every definition that it names, found, checked and, for a run, frozen."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from simulator.definitions.campaign import Campaign, ModelChoice
from simulator.definitions.dumping import dump_yaml, to_plain
from simulator.definitions.fields import Definition, RawText, fold_id
from simulator.definitions.finding import ENDINGS, Library, T, builtin_folder, definition_files
from simulator.definitions.humans import HumanTexts, read_humans
from simulator.definitions.persona import Persona
from simulator.definitions.problems import nearest, validate
from simulator.definitions.task import Task
from simulator.definitions.text_reading import as_written, is_below, read_text, resolve_inside
from simulator.definitions.yaml_reading import Document, parse_yaml, read_yaml, shorten
from simulator.errors import DefinitionError, Problem, UsageError
from simulator.running.models import locate_model
from simulator.terminal import printable

__all__ = ["Study", "dump_study", "list_campaigns", "load_campaign", "load_study"]

MAX_FROZEN_BYTES = 200_000_000
"""A frozen study holds all its definitions; this only keeps a wrong file from filling the memory."""


@dataclass(frozen=True)
class Study:
    """A campaign and what it names, resolved.

    Parameters
    ----------
    campaign
        As written, with the model that was asked for in place of its own where one was.
    personas, tasks
        By id, in the campaign's order.
    root
        The campaign's own folder, out of which nothing that it names may lead. Not part of equality: the same study
        may lie elsewhere.
    source
        The campaign's file.
    humans
        What real people wrote, by task and speaker; the texts themselves, so that no file is needed again.
    template
        The text of the rewriting template, where the campaign names one of its own.
    given
        The model that was asked for in place of the campaign's own, as the person at the keyboard named it: only this
        one may be a program outside ``root``. Not part of equality.
    """

    campaign: Campaign
    personas: dict[str, Persona]
    tasks: dict[str, Task]
    root: Path = field(compare=False)
    source: Path = field(compare=False)
    template: str | None = None
    humans: tuple[HumanTexts, ...] = ()
    given: str | None = field(default=None, compare=False)


class _Frozen(Definition):
    """The YAML of a frozen study."""

    campaign: Campaign
    personas: tuple[Persona, ...]
    tasks: tuple[Task, ...]
    humans: tuple[HumanTexts, ...] = ()
    template: RawText | None = None


def load_campaign(name_or_path: str, *, folder: Path | None = None, model: str | None = None) -> Study:
    """Read a campaign and every persona, task, template and file of people's texts that it names.

    Parameters
    ----------
    name_or_path
        A path to a YAML file (it ends in ``.yaml``, or is a path to something), or the name of a campaign: first of
        ``campaigns/NAME.yaml`` and ``NAME.yaml`` in the study's folder, then of the built-in ones.
    folder
        The study's folder. By default, and where it is the current folder, that of the campaign's file: the folder in
        which it lies, or the one above where that has the ``personas`` and ``tasks`` (a file in ``campaigns/``).
        Names are looked up in it, by default in the current folder. A built-in campaign uses its personas and tasks
        before built-in ones of the same id, and without it built-in ones only.
    model
        Replaces the models of both stages.

    Raises
    ------
    DefinitionError
        A file is wrong, or the campaign names what does not exist. All problems of a file are told at once.
    UsageError
        There is no such campaign.
    """
    path, root, own = _find_campaign(name_or_path, folder)
    document = read_yaml(path, root=root)
    if document.root is not None and isinstance(document.root.value, dict) and "campaign" in document.root.value:
        study = _thaw(document, root)
        frozen = [*_find_in_template(study.template, document)]
        if model is None:
            frozen += _find_script_problems(document, study.campaign, root, ("campaign",))
        if frozen:
            raise DefinitionError(frozen)
        return _with_model(study, model)
    campaign = validate(document, Campaign, defaults={"name": path.stem})
    problems: list[Problem] = []
    template = _read_template(document, campaign, root, problems)
    if model is None:
        problems += _find_script_problems(document, campaign, root)
    personas = _resolve(
        Persona, "personas", campaign.prompts.personas, ("prompts", "personas"), document, own, problems
    )
    tasks = _resolve(Task, "tasks", campaign.tasks, ("tasks",), document, own, problems)
    source = campaign.prompts.source
    positions = {fold_id(identifier): index for index, identifier in enumerate(campaign.tasks)}
    for task in tasks.values() if campaign.prompts.personas else ():
        if not (task.short if source == "short" else task.prompt):
            text = (
                f"the task `{task.id}` has no `{source}`, which `prompts.from` asks for; write one, or name the other"
            )
            problems.append(document.problem(("tasks", positions.get(fold_id(task.id), 0)), text))
    humans = (
        ()
        if problems
        else read_humans(document, campaign.humans, root, tasks=tasks, personas=personas, problems=problems)
    )
    if problems:
        raise DefinitionError(problems)
    return _with_model(Study(campaign, personas, tasks, root, path, template, humans), model)


def _with_model(study: Study, model: str | None) -> Study:
    if model is None:
        return study
    if not model.strip():
        raise UsageError("the model's name is empty; name one, such as `--model embedded` or `--model mock`.")
    campaign = study.campaign.with_model(model)
    return replace(study, campaign=campaign, given=campaign.generate.models[0].model)


def list_campaigns(folder: Path) -> list[Path]:
    """Return the files of a study's campaigns, then those of the built-in ones."""
    return [*definition_files(folder / "campaigns"), *definition_files(builtin_folder("campaigns"))]


def _find_campaign(name_or_path: str, folder: Path | None) -> tuple[Path, Path, Path | None]:
    """Return a campaign's file, the folder that nothing in it may lead out of, and where its definitions are sought."""
    if name_or_path.endswith(ENDINGS) or "/" in name_or_path or os.sep in name_or_path:
        path = Path(name_or_path)
        chosen = folder if folder is not None and not _is_current(folder) else None
        if chosen and not path.is_absolute() and not path.exists():
            path = chosen / path
        if chosen and is_below(path, chosen):
            return path, chosen, chosen
        root = _study_of(path)
        own = chosen or (root if folder is None or _has_definitions(root) else folder)
        return path, root, own
    study = folder or Path()
    wanted = name_or_path.strip()
    for place in (study / "campaigns", study):
        for file in definition_files(place) if wanted else ():
            if file.stem == wanted:
                return file, study, study
    builtin = builtin_folder("campaigns")
    for file in definition_files(builtin):
        if file.stem == wanted:
            return file, builtin, folder
    known = [file.stem for file in list_campaigns(study)]
    raise UsageError(
        f"there is no campaign {shorten(name_or_path)} in {study / 'campaigns'} and none built in; "
        f"{nearest(wanted, known)}. A path to a YAML file serves as well."
    )


def _is_current(folder: Path) -> bool:
    return as_written(folder) == as_written(Path())


def _has_definitions(folder: Path) -> bool:
    return any((folder / kind).is_dir() for kind in ("personas", "tasks"))


def _study_of(path: Path) -> Path:
    folder = as_written(path).parent
    if _has_definitions(folder):
        return folder
    return folder.parent if folder.name == "campaigns" or _has_definitions(folder.parent) else folder


def _resolve(
    model: type[T],
    kind: str,
    ids: tuple[str, ...] | str,
    location: tuple[str, ...],
    document: Document,
    study: Path | None,
    problems: list[Problem],
) -> dict[str, T]:
    noun = kind.removesuffix("s")
    try:
        library = Library(model, kind, study)  # type: ignore[arg-type]
        if isinstance(ids, str):
            return {found.definition.id: found.definition for found in library.everything()}
        resolved: dict[str, T] = {}
        for index, identifier in enumerate(ids):
            if found := library.get(identifier):
                resolved[found.definition.id] = found.definition
            else:
                where = f"neither in {study / kind} nor built in" if study else "not built in"
                text = f"the {noun} {shorten(identifier)} is {where}; {nearest(identifier, library.ids())}"
                problems.append(document.problem((*location, index), text))
    except DefinitionError as error:
        problems.extend(error.problems)
        return {}
    return resolved


def _read_template(document: Document, campaign: Campaign, root: Path, problems: list[Problem]) -> str | None:
    name = campaign.prompts.template
    if name is None:
        return None
    location = ("prompts", "template")
    try:
        path = resolve_inside(name, root)
        text = read_text(path, root=root)
    except (ValueError, DefinitionError) as error:
        problems.append(document.problem(location, f"`prompts.template` {error}"))
        return None
    problems += [Problem(path, line, column, said) for line, column, said in _find_template_problems(text)]
    return text


def _find_in_template(template: str | None, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a frozen template, at its place in the frozen study."""
    for line, _, said in _find_template_problems(template) if template is not None else ():
        where = f" in line {line} of it" if line else ""
        yield document.problem(("template",), f"`template`{where}: {said}")


def _find_template_problems(template: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and text of what is wrong with a template; line and column 0 mean the whole of it."""
    from simulator.prompts import TEMPLATE_VARIABLES, find_template_problems  # noqa: PLC0415 - Jinja, for few campaigns

    known = ", ".join(f"`{name}`" for name in TEMPLATE_VARIABLES)
    lines = template.split("\n")
    for line, said in find_template_problems(template):
        column = 0
        if 0 < line <= len(lines):
            named = re.search(r"variable `(\w+)`", said)
            found = re.search(rf"\b{named[1]}\b" if named else r"\S", lines[line - 1])
            column = found.start() + 1 if found else 1
        text = f"the template cannot be used: {said}"
        yield line, column, f"{text}; it must use `persona` and `task`, and can use no variables but {known}"


def _find_script_problems(
    document: Document, campaign: Campaign, root: Path, above: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """Yield a problem for each model that is a program (a mock's script) and does not lie in the campaign's study."""
    places: list[tuple[tuple[str | int, ...], ModelChoice]] = []
    if campaign.prompts.personas and campaign.prompts.model is not None:
        places.append((("prompts", "model"), campaign.prompts.model))
    places += [(("generate", "models", index), choice) for index, choice in enumerate(campaign.generate.models)]
    for location, choice in places:
        if not choice.model.startswith("mock:"):
            continue
        try:
            locate_model(choice.model, root)
        except UsageError as error:
            yield document.problem((*above, *location, "model"), printable(str(error)))


def dump_study(study: Study) -> str:
    """Return one YAML document with the campaign and every definition that it uses, the same bytes for equal studies.

    No path of this machine is in it. `load_study` reads it back equal.
    """
    document: dict[str, object] = {
        "campaign": to_plain(study.campaign),
        "personas": [to_plain(persona) for persona in study.personas.values()],
        "tasks": [to_plain(task) for task in study.tasks.values()],
    }
    if study.humans:
        document["humans"] = [to_plain(texts) for texts in study.humans]
    if study.template is not None:
        document["template"] = study.template
    head = "# The campaign and every definition that it used, frozen when the run began. Not to be edited.\n"
    return head + dump_yaml(document)


def load_study(source: str | Path) -> Study:
    """Read a frozen study: a `Path` to its file, or, given a `str`, the text itself.

    Raises
    ------
    DefinitionError
        It is not what `dump_study` wrote.
    """
    if isinstance(source, Path):
        return _thaw(read_yaml(source, root=source.parent, max_bytes=MAX_FROZEN_BYTES), source.parent)
    return _thaw(parse_yaml(source, Path("campaign.yaml")), Path())


def _thaw(document: Document, root: Path) -> Study:
    frozen = validate(document, _Frozen)
    personas = {persona.id: persona for persona in frozen.personas}
    tasks = {task.id: task for task in frozen.tasks}
    return Study(frozen.campaign, personas, tasks, root, document.path, frozen.template, frozen.humans)
