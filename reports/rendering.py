"""Templates and their environment: what every page of ours is rendered with. Text from data never becomes markup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from reports import cells
from reports.statuses import status_words
from reports.visible import one_line, visible

__all__ = ["read_template", "render_template"]

_TEMPLATES = Path(__file__).parent / "templates"


def render_template(name: str, context: Mapping[str, Any], filters: Mapping[str, Any] | None = None) -> str:
    """Return a template filled in.

    Parameters
    ----------
    name
        Of a file in ``reports/templates``.
    context
        What it names. A text is escaped, and its invisible characters are shown, unless it is `Markup`.
    filters
        Besides those that every template has.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_show,
    )
    environment.filters.update(
        count_of=cells.count_of,
        decimal=cells.decimal,
        signed=cells.signed,
        probability=cells.probability,
        plural=cells.plural,
        line=one_line,
        words=status_words,
    )
    environment.filters.update(filters or {})
    return environment.get_template(name).render(context)


def read_template(*names: str) -> Markup:
    """Return files of ``reports/templates``, such as styles and scripts, joined: they are ours, and are not escaped."""
    texts = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    return Markup("\n".join(texts))  # noqa: S704 - our own files


def _show(shown: object) -> object:
    return visible(shown) if isinstance(shown, str) and not isinstance(shown, Markup) else shown
