"""Where definitions lie: in a study's folder, or among the built-in ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from simulator.definitions.fields import fold_id
from simulator.definitions.persona import Persona
from simulator.definitions.problems import nearest, validate
from simulator.definitions.task import Task
from simulator.definitions.yaml_reading import Document, read_yaml, shorten
from simulator.errors import DefinitionError, MissingError, Problem, UsageError

__all__ = [
    "Found",
    "Kind",
    "Library",
    "builtin_folder",
    "definition_files",
    "find_persona",
    "find_task",
    "list_personas",
    "list_tasks",
    "load_personas",
    "load_tasks",
    "read_definition",
    "read_files",
]

Kind = Literal["personas", "tasks", "campaigns"]
T = TypeVar("T", bound=Persona | Task)
ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A definition and the file that it comes from."""

    definition: T
    path: Path
    builtin: bool
    replaces_builtin: bool = False


def builtin_folder(kind: Kind) -> Path:
    """Return the folder of the built-in personas, tasks or campaigns, in an installation as in a checkout.

    Raises
    ------
    MissingError
        The installation is not whole.
    """
    here = Path(__file__).resolve().parent
    folders = {
        "campaigns": [here.parent / "campaigns"],
        "personas": [here / "builtin" / "personas", here.parents[1] / "personas"],
        "tasks": [here / "builtin" / "tasks", here.parents[1] / "tasks"],
    }[kind]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise MissingError(f"the built-in {kind} are not where they belong ({folders[0]}); install Sociolect again")


def definition_files(folder: Path) -> list[Path]:
    """Return the YAML files that lie in a folder itself, by name; none where there is no such folder."""
    try:
        return sorted(
            (path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and not path.name.startswith(".")),
            key=lambda path: path.name,
        )
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        text = f"the folder cannot be read ({error.strerror}); check its permissions"
        raise DefinitionError([Problem(folder, 0, 0, text)]) from None


def read_definition(model: type[T], path: Path, root: Path) -> tuple[T, Document]:
    """Read one file; the id is the file's name where the file has none."""
    document = read_yaml(path, root=root)
    return validate(document, model, defaults={"id": path.stem}), document


def read_files(model: type[T], files: list[tuple[Path, Path]], *, builtin: bool = False) -> list[Found[T]]:
    """Read many files, each with the folder that it may not lead out of.

    Raises
    ------
    DefinitionError
        With all problems of all files; an id that two files have is a problem of the second, which names the first.
    """
    problems: list[Problem] = []
    found: list[Found[T]] = []
    first: dict[str, str] = {}
    for path, root in files:
        try:
            definition, document = read_definition(model, path, root)
        except DefinitionError as error:
            problems.extend(error.problems)
            continue
        line, column = document.place(("id",))
        place = f"{path}:{line}:{column}"
        earlier = first.setdefault(fold_id(definition.id), place)
        if earlier != place:
            what = f"the id {shorten(definition.id)} is already that of {earlier}"
            problems.append(Problem(path, line, column, f"{what} (capitals do not tell ids apart); change one of them"))
        found.append(Found(definition, path, builtin))
    if problems:
        raise DefinitionError(problems)
    return found


def _read_builtin(model: type[T], path: Path) -> T:
    return read_definition(model, path, path.parent)[0]


def _read_folder(model: type[T], folder: Path, root: Path | None = None) -> list[Found[T]]:
    return read_files(model, [(path, root or folder) for path in definition_files(folder)])


def load_personas(folder: Path, *, root: Path | None = None) -> dict[str, Persona]:
    """Return the personas whose files lie in ``folder`` itself, by id, in the order of the files' names.

    ``root`` is the folder that no link may lead out of, by default the same folder.
    """
    return {found.definition.id: found.definition for found in _read_folder(Persona, folder, root)}


def load_tasks(folder: Path, *, root: Path | None = None) -> dict[str, Task]:
    """Return the tasks whose files lie in ``folder`` itself, by id; see `load_personas`."""
    return {found.definition.id: found.definition for found in _read_folder(Task, folder, root)}


def _own(model: type[T], kind: Kind, study: Path | None) -> list[Found[T]]:
    """Return what a study itself defines; a checkout's own folders are the built-in ones, not a study's."""
    if study is None or (study / kind).resolve() == builtin_folder(kind).resolve():
        return []
    return _read_folder(model, study / kind, study)


def _list(model: type[T], kind: Kind, study: Path | None) -> list[Found[T]]:
    own = _own(model, kind, study)
    taken = {fold_id(found.definition.id) for found in own}
    files = definition_files(builtin_folder(kind))
    names = {fold_id(path.stem) for path in files}
    return [Found(found.definition, found.path, False, fold_id(found.definition.id) in names) for found in own] + [
        Found(_read_builtin(model, path), path, True) for path in files if fold_id(path.stem) not in taken
    ]


def list_personas(study: Path | None) -> list[Found[Persona]]:
    """Return a study's personas, then those built-in ones that it does not replace."""
    return _list(Persona, "personas", study)


def list_tasks(study: Path | None) -> list[Found[Task]]:
    """Return a study's tasks, then those built-in ones that it does not replace."""
    return _list(Task, "tasks", study)


class Library(Generic[T]):
    """One kind of definition as a study sees it; its own files are read once, a built-in one when asked for."""

    def __init__(self, model: type[T], kind: Kind, study: Path | None) -> None:
        self.model = model
        self.own = {fold_id(found.definition.id): found for found in _own(model, kind, study)}
        self.builtin = {fold_id(path.stem): path for path in definition_files(builtin_folder(kind))}

    def get(self, identifier: str) -> Found[T] | None:
        """Return the study's definition of that id, else the built-in one, else None."""
        key = fold_id(identifier)
        if key in self.own:
            return self.own[key]
        path = self.builtin.get(key)
        return Found(_read_builtin(self.model, path), path, True) if path else None

    def ids(self) -> list[str]:
        """Return all ids, the study's first."""
        own = [found.definition.id for found in self.own.values()]
        return own + [path.stem for key, path in self.builtin.items() if key not in self.own]

    def everything(self) -> list[Found[T]]:
        """Return what ``all`` means: all that the study defines, or all built-in ones where it defines none."""
        keys = self.own or self.builtin
        return [found for key in keys if (found := self.get(key))]


def _find(model: type[T], kind: Kind, noun: str, identifier: str, study: Path | None) -> Found[T]:
    library = Library(model, kind, study)
    if found := library.get(identifier):
        return found
    where = f"neither in {study / kind} nor built in" if study else "not built in"
    raise UsageError(f"the {noun} {shorten(identifier)} is {where}; {nearest(identifier, library.ids())}.")


def find_persona(identifier: str, folder: Path | None = None) -> Found[Persona]:
    """Return a study's persona of that id, or the built-in one. Capitals do not matter.

    Raises
    ------
    UsageError
        There is none; the text names the nearest.
    """
    return _find(Persona, "personas", "persona", identifier, folder)


def find_task(identifier: str, folder: Path | None = None) -> Found[Task]:
    """Return a study's task of that id, or the built-in one; see `find_persona`."""
    return _find(Task, "tasks", "task", identifier, folder)
