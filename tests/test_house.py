"""The rules of the house that can be read off the code."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("simulator", "analysis", "reports")
MAY_IMPORT = {
    "simulator": {"simulator"},
    "analysis": {"analysis", "simulator"},
    "reports": {"reports", "analysis", "simulator"},
}
MOST_LINES = 450
"""A file is meant to have at most 400; the rest is for what one more commit adds before it is split."""

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}


def source_files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported_rooms(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; name the room"
            names.add(node.module or "")
    return {name.split(".")[0] for name in names} & {*ROOMS, "sociolect"}


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_go_one_way(room: str) -> None:
    files = source_files(room)
    assert files
    for path in files:
        assert imported_rooms(path) <= MAY_IMPORT[room], f"{path.relative_to(ROOT)} imports against the arrow"


def test_no_two_rooms_of_running_need_each_other() -> None:
    running = ROOT / "simulator" / "running"
    needs: dict[str, set[str]] = {}
    for path in running.rglob("*.py"):
        room = path.relative_to(running).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("simulator.running."):
                needs.setdefault(room, set()).add(str(node.module).split(".")[2])
    TopologicalSorter({room: others - {room} for room, others in needs.items()}).prepare()  # a circle is an error


def public_modules() -> list[str]:
    names = [*ROOMS]
    for room in ROOMS:
        names += [found.name for found in pkgutil.walk_packages([str(ROOT / room)], f"{room}.")]
    return [*names, "sociolect"]


@pytest.mark.parametrize("name", public_modules())
def test_all_is_complete_and_true(name: str) -> None:
    module = importlib.import_module(name)
    stated = module.__all__
    assert len(set(stated)) == len(stated)
    for public in stated:
        assert getattr(module, public) is not None, f"{name}.{public} is promised by __all__ but not there"
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name and callable(value)
    }
    is_package = module.__spec__ is None or module.__spec__.submodule_search_locations is not None
    if not is_package and not name.endswith(".commands"):  # verbs are reached by their register()
        assert defined <= set(stated), f"{name} defines {defined - set(stated)} in public, but not in __all__"


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_named_and_small(room: str) -> None:
    for path in source_files(room):
        assert path.stem not in VAGUE_NAMES
        lines = path.read_text(encoding="utf-8").count("\n")
        assert lines <= MOST_LINES, f"{path.relative_to(ROOT)} has {lines} lines; one thing a file"


def test_importing_the_front_door_imports_nothing_heavy() -> None:
    heavy = "polars spacy gensim altair networkx langchain langchain_core pydantic numpy jinja2 tree_sitter numba"
    program = f"import sys, sociolect; sociolect.build_app(); print(sorted(set(sys.modules) & set({heavy.split()!r})))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"
