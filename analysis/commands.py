"""The verb `analyze`: the tables of a study, made again from the records of a run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simulator.options import (
    AddressOption,
    EngineOption,
    EntitiesOption,
    JsonOption,
    RulesOption,
    RunArgument,
    WorkersOption,
)
from simulator.terminal import console, print_json

if TYPE_CHECKING:
    import polars as pl

    from analysis.code.rules import Rules
    from simulator.definitions import Study
    from simulator.engine import Engine

__all__ = ["analyze_if_stale", "analyze_run", "register", "warnings_of"]


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("analyze")(analyze)


def analyze(
    run: RunArgument,
    engine: EngineOption = "local",
    workers: WorkersOption = None,
    address: AddressOption = None,
    rules: RulesOption = None,
    entities: EntitiesOption = None,
    json: JsonOption = False,
) -> None:
    """Make a run's tables again. From its records; no model is asked.

    What was computed before an interruption is not computed again. The tables are the same on any engine.

    Example: sociolect analyze runs/personas-quickstart-1a2b3c4d --engine ray
    """
    from simulator.engine import Engine
    from simulator.tables import making_results

    with making_results(run):
        warnings, rows = analyze_run(run, engine=Engine(engine, workers, address), rules=rules, entities=entities)
    if json:
        print_json({"tables": rows, "folder": str(run / "tables"), "warnings": warnings})
        return
    for name, count in rows.items():
        console().print(f"{name}: {count:,} rows")
    for warning in warnings:
        console(stderr=True).print(f"Note: {warning}")


def analyze_run(
    run: Path, *, engine: Engine | None = None, rules: Path | None = None, entities: Path | None = None
) -> tuple[list[str], dict[str, int]]:
    """Write every table of a run's study into ``<run>/tables``.

    Parameters
    ----------
    run
        The run folder.
    engine
        What codes are extracted, compared and measured on; by default every core of this machine.
    rules
        A file of further features to look for in codes (`analysis.code.rules.read_rules`).

    entities
        A file of further entities (`analysis.language.entity_rules.read_entity_rules`).

    Returns
    -------
    list of str, dict of str to int
        What a reader must be warned of (what was lost is counted too), and the rows of each table.
    """
    import polars as pl

    from analysis.code.rules import read_rules
    from analysis.language import read_entity_rules
    from analysis.personas import analyze_personas
    from simulator.definitions import load_study
    from simulator.engine import map_in
    from simulator.running.journal.records import Records
    from simulator.tables import REPLIES, add_tables, read_table, replacing_tables, write_run_tables

    err, parts = console(stderr=True), run / ".parts"
    looked_for = None if rules is None else read_rules(rules)
    named = None if entities is None else read_entity_rules(entities)

    def step(what: str) -> None:
        err.print(f"analysing: {what}")

    with Records(run) as records, replacing_tables(run / "tables", state=records.state()) as made:
        study = load_study(records.campaign())
        write_run_tables(records, made, mapped=map_in(parts / "codes", engine))
        # The texts of replies, which are most of what is recorded, are read batch by batch.
        needed = {"replies": [name for name in REPLIES if name not in ("text", "sent")]}
        recorded = {
            name: read_table(made / f"{name}.parquet", columns=needed.get(name))
            for name in ("variants", "asks", "replies", "codes")
        }
        found, warnings = analyze_personas(
            recorded,
            seed=study.campaign.seed,
            rules=named,
            requests={task.id: "\n".join(filter(None, (task.short, task.prompt))) for task in study.tasks.values()},
            step=step,
            mapped=map_in(parts / "comparisons", engine),
        )
        step("features of code")
        found |= _measure_codes(recorded, made, study, engine=engine, parts=parts, rules=looked_for)
        found["warnings"] = pl.DataFrame({"warning": warnings}, schema={"warning": pl.String})
        add_tables(found, made)
    shutil.rmtree(parts, ignore_errors=True)
    rows = {name: frame.height for name, frame in {**recorded, **found}.items()}
    return warnings_of(found), rows


def _measure_codes(
    recorded: Mapping[str, pl.DataFrame],
    made: Path,
    study: Study,
    *,
    engine: Engine | None,
    parts: Path,
    rules: Rules | None,
) -> dict[str, pl.DataFrame]:
    """Return the tables that say of each code how large it is, what it is, and how alike to the reference solution."""
    from analysis.code.features import feature_table
    from analysis.code.outcomes import collect_features, gather_codes, measure_outcomes
    from simulator.engine import map_in
    from simulator.tables import scan_batches

    references = {task.id: task.reference for task in study.tasks.values() if task.reference}

    def batches() -> Iterator[pl.DataFrame]:
        return gather_codes(recorded, scan_batches(made / "replies.parquet"), references)

    outcomes = measure_outcomes(batches(), mapped=map_in(parts / "outcomes", engine))
    features = collect_features(batches(), rules=rules, mapped=map_in(parts / "features", engine))
    asked_by = (
        recorded["asks"]
        .join(recorded["variants"].select("variant", "persona"), on="variant", how="inner", maintain_order="left")
        .join(recorded["codes"].select("reply", "code"), on="reply", how="inner", maintain_order="left")
    )
    return {
        "outcomes": outcomes,
        "code_features": features,
        "features": feature_table(features, asked_by, rules=rules),
    }


def analyze_if_stale(run: Path) -> bool:
    """Analyse a run unless its tables were made from what the journal holds now; return whether that was needed."""
    from simulator.running.journal.records import Records
    from simulator.tables import read_state

    with Records(run) as records:
        if read_state(run / "tables") == records.state():
            return False
    analyze_run(run)
    return True


def warnings_of(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return what a reader of a run's tables must be warned of, and what was lost on the way."""
    from analysis.personas import describe_losses

    return [*tables["warnings"]["warning"], *describe_losses(tables["counts"])]
