"""Code beside code: how alike two texts are, and where they differ.

``pairs`` reads what is to be compared, ``scores`` makes the table and ``floor`` what it is to be read against;
``alignment``, ``lines`` and ``diff`` put two texts side by side; ``printing`` and ``page`` show them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.compare.diff import diff_texts
    from reports.compare.page import write_comparison
    from reports.compare.pairs import read_pairs
    from reports.compare.scores import compare_pairs

__all__ = ["compare_pairs", "diff_texts", "read_pairs", "write_comparison"]

_HOMES = {"compare_pairs": "scores", "diff_texts": "diff", "read_pairs": "pairs", "write_comparison": "page"}


def __getattr__(name: str) -> object:
    """Import a public name, and with it polars and jinja2, only when somebody asks for it."""
    if name in _HOMES:
        return getattr(import_module(f"reports.compare.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
