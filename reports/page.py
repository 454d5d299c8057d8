"""The report: one page that asks no network for anything, the same in prose, and its figures."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl
from markupsafe import Markup

from reports import cells, prose
from reports.charts import draw_topics, draw_tsed, topic_words
from reports.drawing import Figure
from reports.entity_map import draw_entity_map, kind_of
from reports.graph import draw_overlap
from reports.graphml import write_graphml
from reports.rendering import read_template, render_template
from reports.side_by_side import lay_out
from reports.statuses import MEANINGS
from reports.table_rows import list_entities, list_overlap, list_speakers, list_tsed, sum_counts
from reports.visible import one_line
from simulator.storage import storing, write_bytes, write_text

__all__ = ["ModelLike", "write_report"]

_FIGURES = ("overlap", "entity-map", "topics", "tsed")
_PNG_SCALE = 2.0


class ModelLike(Protocol):
    """What the page says of a model: `simulator.running.models.ModelInfo` is one."""

    @property
    def name(self) -> str:
        """As the campaign writes it."""

    @property
    def title(self) -> str:
        """What people are shown."""

    @property
    def licence(self) -> str:
        """Of the weights, or whose terms hold."""

    @property
    def trust(self) -> str:
        """One sentence: what its answers can be trusted for."""


def write_report(
    tables: Mapping[str, pl.DataFrame],
    folder: Path,
    *,
    title: str,
    models: Sequence[ModelLike],
    warnings: Sequence[str],
    personas: Mapping[str, tuple[str, str]],
    tasks: Mapping[str, str],
    humans: Collection[str] = (),
) -> Path:
    """Write ``report.html``, ``report.md`` and ``figures/`` from tables.

    Parameters
    ----------
    tables
        Those of docs/architecture.md, by name. A table that is missing has its section left out, an empty one has
        it say that there is nothing. Without ``variants`` the report is of texts alone, and says nothing of code.
    folder
        Where to write; made where it is missing. The page's own files are replaced, nothing else is touched.
    title
        The heading.
    models
        The models that were asked, each once.
    warnings
        What a reader must know, one paragraph each.
    personas
        Speaker id to shown name and role, ``("Ada", "a nurse")``, either of which may be empty; in the order in which
        speakers are shown. Speakers that are not in it follow, shown by their ids.
    tasks
        Task id to title, in order.
    humans
        Speaker ids of real people who stand beside personas: they are marked wherever they are shown.

    Returns
    -------
    Path
        Of ``report.html``. The same arguments give the same bytes in every file.

    Raises
    ------
    simulator.errors.StorageError
        The disk does not take a file. Every file is the old one or the new one, whole.
    """
    names = cells.name_speakers(_order_speakers(tables, personas), personas, humans=humans)
    figures = _draw_all(tables, names)
    _write_figures(figures, folder / "figures")
    write_graphml(tables.get("speakers"), tables.get("overlap"), names, folder / "figures" / "overlap.graphml")
    context = _gather(tables, names, figures, title=title, models=models, warnings=warnings, tasks=tasks)
    page = folder / "report.html"
    write_text(page, _render("report.html.j2", context))
    write_text(folder / "report.md", _render("report.md.j2", context))
    return page


def _order_speakers(tables: Mapping[str, pl.DataFrame], personas: Mapping[str, object]) -> list[str]:
    """Return every speaker that any table names, those of ``personas`` first."""
    seen = dict.fromkeys(row["speaker"] for row in cells.rows(tables, "speakers"))
    for name, column in (("texts", "speaker"), ("variants", "persona"), ("topic_shares", "speaker")):
        if name in tables:
            seen |= dict.fromkeys(tables[name].get_column(column).drop_nulls().unique(maintain_order=True).to_list())
    for name in ("overlap", "persona_tsed"):
        for row in cells.rows(tables, name):
            seen |= {row["a"]: None, row["b"]: None}
    return [*(speaker for speaker in personas if speaker in seen), *(s for s in seen if s not in personas)]


def _draw_all(tables: Mapping[str, pl.DataFrame], names: Mapping[str, cells.Name]) -> dict[str, Figure]:
    drawn = (
        draw_overlap(cells.rows(tables, "speakers"), cells.rows(tables, "overlap"), names),
        draw_entity_map(cells.rows(tables, "entity_map"), _pairs_in_map(tables), len(names)),
        draw_topics(cells.rows(tables, "topics"), cells.rows(tables, "topic_shares"), names),
        draw_tsed(cells.rows(tables, "persona_tsed"), names),
    )
    return {figure.key: figure for figure in drawn if figure is not None}


def _pairs_in_map(tables: Mapping[str, pl.DataFrame]) -> list[cells.Row]:
    """Return the pairs of two entities of the map, all speakers together: a small part of a large table."""
    if "pairs" not in tables or "entity_map" not in tables:
        return []
    drawn = tables["entity_map"].get_column("entity").unique().to_list()
    both = tables["pairs"].filter(pl.col("a").is_in(drawn), pl.col("b").is_in(drawn))
    return both.group_by("a", "b", maintain_order=True).agg(pl.col("count").sum()).to_dicts()


def _write_figures(figures: Mapping[str, Figure], folder: Path) -> None:
    """Write each figure as SVG and PNG, and take away one of an earlier report that there is no longer."""
    import vl_convert  # noqa: PLC0415

    for key in _FIGURES:
        svg, png = folder / f"{key}.svg", folder / f"{key}.png"
        if key in figures:
            write_text(svg, figures[key].svg + "\n")
            write_bytes(png, vl_convert.svg_to_png(figures[key].svg, scale=_PNG_SCALE))
        else:
            for path in (svg, png):
                with storing(path):
                    path.unlink(missing_ok=True)


def _gather(
    tables: Mapping[str, pl.DataFrame],
    names: Mapping[str, cells.Name],
    figures: Mapping[str, Figure],
    *,
    title: str,
    models: Sequence[ModelLike],
    warnings: Sequence[str],
    tasks: Mapping[str, str],
) -> dict[str, Any]:
    """Put together everything that the templates show."""
    with_code = "variants" in tables
    people = any(name.human for name in names.values())
    shelf = lay_out(tables, names, tasks)
    speakers = cells.rows(tables, "speakers")
    task_titles = {task: one_line(shown or task, 80) for task, shown in tasks.items()}
    topics = topic_words(cells.rows(tables, "topics"))
    counts = sum_counts(cells.rows(tables, "counts"), names, task_titles)
    return {
        "title": one_line(title, 200),
        "models": models,
        "warnings": [warning for warning in dict.fromkeys(warnings) if warning.strip()],
        "with_code": with_code,
        "people": people,
        "who": "persona" if with_code and not people else "speaker",
        "made": "rewrite" if with_code and not people else "text",
        "names": names,
        "figures": figures,
        "findings": prose.find_all(tables, names),
        "tiles": _count_tiles(tables, names, shelf.texts, with_code=with_code),
        "speakers": list_speakers(speakers, names),
        "overlap": list_overlap(cells.rows(tables, "overlap"), names),
        "entities": list_entities(cells.rows(tables, "entity_map")),
        "topics": topics,
        "tsed": list_tsed(cells.rows(tables, "persona_tsed"), names, task_titles),
        "shelf": shelf,
        "counts": counts,
        "kind_of": kind_of,
        "meanings": {what: told for what, told in MEANINGS.items() if people or what != "text by a person"},
    }


def _count_tiles(
    tables: Mapping[str, pl.DataFrame], names: Mapping[str, cells.Name], texts: int, *, with_code: bool
) -> list[tuple[str, str]]:
    """Return the numbers at the head of the page, each with its noun."""

    def tile(number: int, one: str, many: str) -> tuple[str, str]:
        return cells.count_of(number), one if number == 1 else many

    source = tables.get("variants" if with_code else "texts")
    tasks = 0 if source is None else source.get_column("task").n_unique()
    people = sum(name.human for name in names.values())
    tiles = [tile(people, "real person", "real people")] if people else []
    if len(names) > people or not people:
        tiles.insert(0, tile(len(names) - people, *(("persona", "personas") if with_code else ("speaker", "speakers"))))
    tiles.append(tile(tasks, "task", "tasks"))
    tiles.append(tile(texts, *(("rewrite", "rewrites") if with_code and not people else ("text", "texts"))))
    mentioned = tables.get("entities")
    if mentioned is not None:
        tiles.append(tile(mentioned.get_column("entity").n_unique(), "entity", "entities"))
    if with_code and "codes" in tables:
        whole = tables["codes"].filter(pl.col("status") == "ok").height
        asked = tables["replies"].filter(pl.col("stage") == "generate").height if "replies" in tables else whole
        tiles.append((f"{whole:,} of {asked:,}", "replies gave a whole program"))
    return tiles


# Emphasis, code, links, tables, mathematics; an address that would become a link by itself; and, at the beginning, what
# would make a heading, a list or a quotation.
_OBEYED = re.compile(r"[\\`*_\[\]|~$]|(?<=:)/(?=/)|(?<=www)\.|@|^[#+\-=]|(?<=^\d)[.)]")


def _markdown(text: object) -> Markup:
    """Return text on one line with all that Markdown or HTML would obey escaped."""
    escaped = html.escape(one_line(str(text)), quote=False)
    return Markup(_OBEYED.sub(lambda match: "\\" + match.group(), escaped))  # noqa: S704 - escaped above


def _render(name: str, context: Mapping[str, Any]) -> str:
    script = read_template("script.js")
    extra = {
        "style": read_template("style.css"),
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "drawings": {key: Markup(figure.svg) for key, figure in context["figures"].items()},  # noqa: S704 - escaped when drawn
    }
    return render_template(name, {**context, **extra}, {"md": _markdown})
