"""From tables to tables: pure functions over what was recorded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.code import TsedResult, tsed, tsed_pairs

__all__ = ["TsedResult", "tsed", "tsed_pairs"]

_HOMES = {"analysis.code": ("TsedResult", "tsed", "tsed_pairs")}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for, so that importing the package costs nothing."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
