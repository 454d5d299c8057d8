"""What kind of thing a reply brings: a snippet, a script, a library, something with an interface, or no code at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node, Query

    from analysis.code.program import Program

__all__ = ["KINDS", "Kind", "KindFound", "tell_kind"]

Kind = Literal[
    "questions",
    "instructions",
    "notebook",
    "web_app",
    "gui",
    "cli",
    "snippet",
    "class_library",
    "script",
    "function_library",
    "none",
]

KINDS: Mapping[Kind, str] = {
    "questions": "No code: the reply asks for more.",
    "instructions": "No code: the reply says in words what to do.",
    "notebook": "Cells of a notebook.",
    "web_app": "A program that is used from a browser, or over HTTP.",
    "gui": "A program with a window.",
    "cli": "A program for a terminal, that reads arguments or typed answers.",
    "snippet": "A fragment: fewer than five lines, or one or two functions of which nothing runs.",
    "class_library": "Classes for other programs; at most a third of its lines runs by itself, as an example of use.",
    "script": "A program that does its work when it is started.",
    "function_library": "Three or more functions for other programs, of which nothing runs by itself.",
    "none": "There is nothing to tell by: an empty reply, or a code that was too large to read.",
}
"""What each kind means. Every reply is of exactly one: the first in this order that it fits."""

_BY_FEATURE: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("notebook", ("notebook_cells",)),
    ("web_app", ("web_interface",)),
    ("gui", ("window",)),
    ("cli", ("command_line", "user_input")),
)
_FEW_LINES = 5
_MANY_FUNCTIONS = 3

_BRANCHES = frozenset(
    ["if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause", "block"]
)
_IDLE = frozenset(
    [
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "function_definition",
        "class_definition",
        "decorated_definition",
        "pass_statement",
        "raise_statement",
        "global_statement",
        "type_alias_statement",
        "comment",
    ]
)
"""Statements that do nothing when a module is read but say what there is."""
_IDLE_EXPRESSIONS = frozenset(["string", "concatenated_string", "ellipsis", "identifier", "assignment", "attribute"])


@dataclass(frozen=True, slots=True)
class KindFound:
    """A kind, and the row (from 0) of the code or the reply that shows it; None where there is none."""

    kind: Kind
    row: int | None = None


def tell_kind(program: Program, reply: str, shown: Mapping[str, int]) -> KindFound:
    """Tell what kind of thing a reply brings.

    Parameters
    ----------
    program
        The code in it, parsed.
    reply
        The whole reply; empty where it is not known.
    shown
        The features that show, by name, each with the first row that shows it. Those by which it is decided are
        ``asks_back``, ``notebook_cells``, ``web_interface``, ``window``, ``command_line`` and ``user_input``.

    Returns
    -------
    found
        Of a program in another language than Python that has no interface, ``script``: what of it runs is not known.
    """
    if program.status in ("empty", "prose"):
        return _of_words(program.text if program.status == "prose" else reply, shown)
    for kind, names in _BY_FEATURE:
        for name in names:
            if name in shown:
                return KindFound(kind, shown[name])
    if program.root is None:
        return KindFound("none")
    code = [row for row, line in enumerate(program.lines) if line == "code"]
    if len(code) < _FEW_LINES:
        return KindFound("snippet", code[0] if code else 0)
    return _by_what_runs(program.root, code) if program.language == "python" else KindFound("script", code[0])


def _of_words(text: str, shown: Mapping[str, int]) -> KindFound:
    first = re.search(r"\S", text)
    if first is None:
        return KindFound("none")
    if "asks_back" in shown:
        return KindFound("questions", shown["asks_back"])
    return KindFound("instructions", text.count("\n", 0, first.start()))


def _by_what_runs(root: Node, code: list[int]) -> KindFound:
    from tree_sitter import QueryCursor  # noqa: PLC0415 - needed only where there is something parsed

    found = QueryCursor(_definitions()).captures(root)
    classes = sorted(node.start_point.row for node in found.get("class", []))
    functions = sorted(node.start_point.row for node in found.get("function", []))
    runs = sorted({row for first, last in set(_running(root)) for row in range(first, last + 1)} & set(code))
    if classes and 3 * len(runs) <= len(code):
        return KindFound("class_library", classes[0])
    if runs:
        return KindFound("script", runs[0])
    if len(functions) >= _MANY_FUNCTIONS:
        return KindFound("function_library", functions[0])
    return KindFound("snippet", code[0])


@lru_cache(maxsize=1)
def _definitions() -> Query:
    from tree_sitter import Query  # noqa: PLC0415

    source = """
    (class_definition) @class
    (module (function_definition) @function)
    (module (decorated_definition definition: (function_definition) @function))
    """
    return Query(load_grammar("python"), source)


def _running(root: Node) -> Iterator[tuple[int, int]]:
    """Yield first and last row of what a module does by itself: statements, branches that hold any, and `main`."""
    stack = [(child, child) for child in root.named_children]
    while stack:
        node, statement = stack.pop()
        if node.type in _BRANCHES:
            stack.extend((child, statement) for child in node.named_children)
        elif _does_something(node):
            yield statement.start_point.row, statement.end_point.row
        elif node.type == "function_definition" and node.parent == root:
            name = node.child_by_field_name("name")
            if name is not None and name.text == b"main":
                yield node.start_point.row, node.end_point.row


def _does_something(node: Node) -> bool:
    if node.type == "expression_statement":
        return not all(child.type in _IDLE_EXPRESSIONS for child in node.named_children)
    return node.type not in _IDLE and (node.type.endswith("_statement") or node.type == "ERROR")
