"""Pictures and pages from tables: the report of a run, or of anybody's texts by speaker.

Nothing here reads a record or computes a measure. Every figure and every sentence is made from the tables of
docs/architecture.md, which are saved beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.page import write_report

__all__ = ["write_report"]


def __getattr__(name: str) -> object:
    """Import the page, and with it polars and jinja2, only when somebody asks for it."""
    if name == "write_report":
        from reports.page import write_report  # noqa: PLC0415

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
