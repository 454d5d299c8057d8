"""Whether a text parses as a program, and what it defines: by Python's own compiler, or by a tree-sitter grammar."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from simulator.errors import MissingError

if TYPE_CHECKING:
    from tree_sitter import Language

__all__ = ["MAX_CHECKED", "defined_names", "fault_line", "load_grammar", "parses"]

MAX_CHECKED = 200_000
"""Longer code is not parsed, and counts as not parsing: a second and 0.3 GB for 1 MB."""

_PLACE = "<the code of a reply>"
_QUIET = re.escape(_PLACE) + r"\Z"


@lru_cache(maxsize=16)
def load_grammar(language: str) -> Language:
    """Return the tree-sitter grammar of a language, from the installed package ``tree_sitter_<language>``.

    Nothing is ever fetched.

    Raises
    ------
    MissingError
        The package is not installed, or holds no such grammar.
    """
    from tree_sitter import Language  # noqa: PLC0415 - only other languages than Python need it

    name = language.lower().replace("-", "_")
    try:
        module = import_module(f"tree_sitter_{name if name.isidentifier() else 0}")
        return Language((getattr(module, "language", None) or getattr(module, f"language_{name}"))())
    except (ImportError, AttributeError) as error:
        package = f"tree-sitter-{name.replace('_', '-')}"
        mend = (
            f"Install it beside Sociolect: pip install {package}" if name.isidentifier() else "Name another language."
        )
        raise MissingError(
            f"There is no grammar for the language {language!r}: the package {package} is not installed. {mend}"
        ) from error


@lru_cache(maxsize=16)
def _read(code: str) -> tuple[int | None, frozenset[str]]:
    """Parse Python code once for both questions about it: where it goes wrong, and what it defines."""
    try:
        module = _parse_quietly(code)
    except SyntaxError as error:
        return max(error.lineno or 1, 1), frozenset()
    except (ValueError, RecursionError, MemoryError):
        return 1, frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return None, frozenset(statement.name for statement in module.body if isinstance(statement, kinds))


def fault_line(code: str) -> int | None:
    """Return the line, counted from 1, at which Python code stops being Python; None where it never does."""
    return _read(code)[0]


def parses(code: str, language: str) -> bool | None:
    """Whether the code parses; None where nobody can tell."""
    if len(code) > MAX_CHECKED:
        return False
    if language == "python":
        return fault_line(code) is None
    try:
        from tree_sitter import Parser  # noqa: PLC0415 - only other languages than Python need it

        grammar = load_grammar(language)
    except MissingError:
        return None
    return not Parser(grammar).parse(code.encode("utf-8")).root_node.has_error


def _parse_quietly(code: str) -> ast.Module:
    r"""Parse without the compiler's remarks about the code (``"\d"``, ``1 is 1``), and without hiding anybody else's.

    A warning about code carries the name of the file that it is in; ours has a name that no file has. One filter for
    that name, put first where it is not, silences no other warning and need not be taken away, so that threads are
    safe.
    """
    if len(code) > MAX_CHECKED:
        raise ValueError
    if not warnings.filters or getattr(warnings.filters[0][3], "pattern", None) != _QUIET:
        warnings.filterwarnings("ignore", module=_QUIET)
    return ast.parse(code, filename=_PLACE)


def defined_names(code: str, language: str) -> frozenset[str]:
    """Return the functions and classes that Python code defines at its top level; of other languages nothing."""
    return _read(code)[1] if language == "python" else frozenset()
