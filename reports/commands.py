"""The verbs that end in a picture: report and overlap."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from reports.compare.commands import register as register_compare
from simulator.errors import RecordError
from simulator.options import EntitiesOption, JsonOption, RunArgument
from simulator.terminal import console, print_json

if TYPE_CHECKING:
    import polars as pl

__all__ = ["register", "report_run"]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("report")(report)
    app.command("overlap")(overlap)
    app.command("export")(export)
    register_compare(app)


def report(
    run: RunArgument,
    json: JsonOption = False,
) -> None:
    """Write a run's report and figures again. From its tables; no model is asked.

    Example: sociolect report runs/personas-quickstart-1a2b3c4d
    """
    from analysis.commands import analyze_if_stale, warnings_of
    from simulator.tables import making_results, read_tables

    with making_results(run):
        analyze_if_stale(run)
        page = report_run(run)
    if json:
        print_json({"report": str(page), "warnings": warnings_of(read_tables(run / "tables"))})
    else:
        console().print(str(page), soft_wrap=True)


def export(
    run: RunArgument,
    kind: Annotated[
        Literal["csv", "parquet", "jsonl", "graphml"], typer.Option("--format", help="What to write.")
    ] = "csv",
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write to; RUN/export by default.")] = None,
    json: JsonOption = False,
) -> None:
    """Write a run's tables or graph for others. As CSV, Parquet, JSON lines or GraphML.

    Example: sociolect export runs/personas-quickstart-1a2b3c4d --format jsonl --out shared
    """
    from analysis.commands import analyze_if_stale
    from simulator.storage import write_bytes
    from simulator.tables import making_results, read_tables, write_table

    folder = out or run / "export"
    written: list[Path] = []
    with making_results(run):
        if analyze_if_stale(run):
            report_run(run)
        if kind == "graphml":
            source = run / "figures" / "overlap.graphml"
            if not source.is_file():
                report_run(run)
            write_bytes(folder / source.name, source.read_bytes())
            written.append(folder / source.name)
        else:
            for name, frame in read_tables(run / "tables").items():
                write_table(frame, folder / f"{name}.{kind}")
                written.append(folder / f"{name}.{kind}")
    if json:
        print_json({"files": [str(path) for path in written], "warnings": []})
        return
    for path in written:
        console().print(str(path), soft_wrap=True)


def report_run(run: Path) -> Path:
    """Write the report of a run from its tables; return the page's path."""
    from reports import write_report
    from simulator.running.campaign_run import frozen_study
    from simulator.running.models import describe_model
    from simulator.running.plan import models_of
    from simulator.tables import read_tables

    study = frozen_study(run)
    tables = read_tables(run / "tables")
    warnings = tables.pop("warnings")["warning"].to_list() if "warnings" in tables else []
    models = {choice.model: params for chosen in models_of(study).values() for choice, params in chosen}
    return write_report(
        tables,
        run,
        title=study.campaign.name,
        models=[describe_model(name, params) for name, params in models.items()],
        warnings=warnings,
        personas={name: (persona.name or name, persona.role or "") for name, persona in study.personas.items()}
        | {texts.speaker: ("", "") for texts in study.humans},
        tasks={name: task.label for name, task in study.tasks.items()},
        humans={texts.speaker for texts in study.humans},
    )


def overlap(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A run folder, or texts as JSONL or CSV (.gz too).")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for page, figures and tables.")] = None,
    speaker: Annotated[str, typer.Option("--speaker", help="Column of who speaks.")] = "speaker",
    text: Annotated[str, typer.Option("--text", help="Column of what was said.")] = "text",
    task: Annotated[str, typer.Option("--task", help="Column of what it was about; may be absent.")] = "task",
    iteration: Annotated[str, typer.Option("--iteration", help="Column that counts repetitions.")] = "iteration",
    max_distance: Annotated[int, typer.Option("--max-distance", min=1, help="Most words between a pair.")] = 5,
    shuffles: Annotated[int, typer.Option("--shuffles", min=99, help="Shuffles for expected, z, p.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Of shuffles, layout and topics.")] = 7,
    entities: EntitiesOption = None,
    json: JsonOption = False,
) -> None:
    """Draw who talks like whom. The persona-overlap graph of a run, or of anybody's texts.

    Example: sociolect overlap people.csv --text statement --out people-overlap
    """
    from analysis.language import read_entity_rules, tell_separability
    from analysis.texts import analyze_texts
    from reports import write_report
    from simulator.tables import write_tables

    texts, humans, warnings = _texts(source, speaker=speaker, text=text, task=task, iteration=iteration)
    folder = out or (source / "overlap" if source.is_dir() else Path("runs") / f"overlap-{_name_of(source)}")
    err = console(stderr=True)

    def step(what: str) -> None:
        err.print(f"analysing: {what}")

    rules = None if entities is None else read_entity_rules(entities)
    tables, found = analyze_texts(
        texts, seed=seed, shuffles=shuffles, max_distance=max_distance, rules=rules, step=step
    )
    warnings += found
    write_tables(tables, folder / "tables")
    names = {name: (name, "") for name in tables["speakers"]["speaker"]}
    page = write_report(
        tables,
        folder,
        title=f"Who talks like whom: {source.name}",
        models=[],
        warnings=warnings,
        personas=names,
        tasks={},
        humans=humans,
    )
    if json:
        print_json({**_document(tables), "report": str(page), "warnings": warnings})
        return
    _print_overlap(tables["overlap"], humans)
    if not tables["separability"].is_empty():
        console().print(tell_separability(tables["separability"], tables["confusion"]))
    for warning in warnings:
        err.print(f"Note: {warning}")
    console().print(str(page), soft_wrap=True)


def _name_of(source: Path) -> str:
    """Name a file's results after it, and after where it lies: two files of one name do not share a folder."""
    name = source.name
    for suffix in (".gz", ".csv", ".tsv", ".jsonl", ".ndjson", ".json"):
        name = name.removesuffix(suffix)
    return f"{name[:80]}-{hashlib.sha256(str(source.resolve()).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def _texts(source: Path, **columns: str) -> tuple[pl.DataFrame, set[str], list[str]]:
    """Return texts by speaker, who of the speakers is a real person beside personas, and warnings."""
    from simulator.imports import read_texts

    if not source.is_dir():
        texts, warnings = read_texts(source, **columns)
        return texts, set(), warnings
    import polars as pl

    from analysis.personas import rewrites_as_texts
    from simulator.running.journal.records import Records
    from simulator.tables import stream_tables

    with Records(source) as records:
        variants = pl.concat(batch.tables["variants"] for batch in stream_tables(records))
    texts = rewrites_as_texts(variants)
    if texts.is_empty():
        raise RecordError(f"{source} holds no usable text yet. Run its campaign again: sociolect status {source}")
    return texts, set(variants.filter(pl.col("method") == "human")["persona"]), []


def _document(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    edges = ("a", "b", "shared_entities", "shared_pairs", "jaccard", "expected", "z", "p", "q")
    return {
        "speakers": tables["speakers"].select("speaker", "texts", "entities").to_dicts(),
        "edges": tables["overlap"].select(edges).to_dicts(),
        "separability": tables["separability"].to_dicts(),
    }


def _print_overlap(frame: pl.DataFrame, humans: set[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from reports.cells import HUMAN

    table = Table(title="Overlap of speakers, most shared entities first", title_justify="left")
    table.add_column("speakers", overflow="fold")
    for heading in ("shared entities", "shared pairs", "Jaccard", "expected", "z", "q"):
        table.add_column(heading, justify="right")
    for row in frame.sort("shared_entities", "a", "b", descending=[True, False, False]).iter_rows(named=True):
        table.add_row(
            Text(" - ".join(one + HUMAN * (one in humans) for one in (row["a"], row["b"]))),
            str(row["shared_entities"]),
            str(row["shared_pairs"]),
            *(_number(row[name], places) for name, places in (("jaccard", 3), ("expected", 1), ("z", 2), ("q", 3))),
        )
    console().print(table)


def _number(value: float | None, places: int) -> str:
    return "-" if value is None or value != value else f"{value:.{places}f}"  # noqa: PLR0124
