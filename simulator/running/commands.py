"""The verbs of a run, but for `run` itself, which ends with a report and so is the front door's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.options import JsonOption, RunArgument, StudyOption
from simulator.terminal import console, print_json, printable

if TYPE_CHECKING:
    from simulator.running.size import PlanSize, Range

__all__ = ["register"]

CampaignArgument = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A built-in campaign's name or a YAML file.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="Use this model in place of the campaign's.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("plan")(plan)
    app.command("status")(status)
    app.command("doctor")(doctor)


def plan(
    campaign: CampaignArgument,
    model: ModelOption = None,
    study: StudyOption = Path(),
    json: JsonOption = False,
) -> None:
    """Show what a campaign will ask. Calls, tokens, cost and time, as ranges; nothing is sent.

    Example: sociolect plan personas-quickstart
    """
    from simulator.definitions import load_campaign
    from simulator.running.models import describe_model
    from simulator.running.plan import models_of
    from simulator.running.size import size_of

    loaded = load_campaign(campaign, folder=study, model=model)
    size = size_of(loaded)
    if json:
        print_json(_plan_document(loaded.campaign.name, size))
        return
    out = console()
    out.print(_plan_table(loaded.campaign.name, size))
    infos = (describe_model(choice.model, params) for models in models_of(loaded).values() for choice, params in models)
    for line in dict.fromkeys(f"{info.title}. {info.trust}" for info in infos):
        out.print(line)
    for line in (*size.warnings, "Reckoned with:", *(f"- {line}" for line in size.assumptions)):
        out.print(line)


def _plan_document(name: str, size: PlanSize) -> dict[str, Any]:
    def ranges(of: Any) -> dict[str, Any]:
        return {
            what: {"low": getattr(of, what).low, "high": getattr(of, what).high}
            for what in ("calls", "tokens", "cost", "seconds")
        }

    return {
        "campaign": name,
        **ranges(size),
        "rows": [{"stage": row.stage, "model": row.model, **ranges(row)} for row in size.rows],
        "assumptions": list(size.assumptions),
        "warnings": list(size.warnings),
    }


def _plan_table(name: str, size: PlanSize) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"Plan of {name}", title_justify="left")
    table.add_column("stage")
    table.add_column("model")
    for heading in ("calls", "tokens", "cost", "time"):
        table.add_column(heading, justify="right")
    for row in size.rows:
        table.add_row(row.stage, Text(row.model), *_cells(row))
    table.add_section()
    table.add_row("all", "", *_cells(size))
    return table


def _cells(of: Any) -> tuple[str, str, str, str]:
    return (
        _between(of.calls, lambda value: f"{value:,.0f}"),
        _between(of.tokens, lambda value: f"{value:,.0f}"),
        _between(of.cost, lambda value: f"${value:,.2f}"),
        _between(of.seconds, _duration),
    )


def _between(value: Range, shown: Any) -> str:
    if value.low is None or value.high is None:
        return "not known"
    low, high = shown(value.low), shown(value.high)
    return low if low == high else f"{low} to {high}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def status(run: RunArgument, json: JsonOption = False) -> None:
    """Show what is recorded in a run, and what is still to ask.

    Example: sociolect status runs/personas-quickstart-1a2b3c4d
    """
    from rich.table import Table
    from rich.text import Text

    from simulator.running.campaign_run import frozen_study
    from simulator.running.journal import Journal
    from simulator.running.remaining import count_remaining

    study = frozen_study(run)
    with Journal(run) as journal:
        counts = journal.counts()
        tokens, cost = journal.spent()
        to_ask = count_remaining(study, journal)
    warnings = [f"{sum(to_ask.values())} calls are still to ask."] if any(to_ask.values()) else []
    if json:
        print_json(
            {
                "run": str(run),
                "campaign": study.campaign.name,
                "replies": [
                    {"stage": stage, "model": model, "status": word, "count": count}
                    for (stage, model, word), count in counts.items()
                ],
                "to_ask": to_ask,
                "tokens": tokens,
                "cost": cost,
                "warnings": warnings,
            }
        )
        return
    table = Table(title=f"{study.campaign.name} in {run}", title_justify="left")
    for heading in ("stage", "model", "status"):
        table.add_column(heading)
    table.add_column("replies", justify="right")
    for (stage, model, word), count in counts.items():
        table.add_row(stage, Text(model), word, f"{count:,}")
    out = console()
    out.print(table)
    out.print(f"{tokens:,} tokens so far.")
    for stage, count in to_ask.items():
        out.print(f"{stage}: {count:,} still to ask." if count else f"{stage}: complete.")


def doctor(
    model: Annotated[list[str] | None, typer.Option("--model", help="Ask this model for one word; repeatable.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what this machine has. Packages, keys (never their values), models that answer.

    Example: sociolect doctor --model embedded
    """
    from rich.table import Table
    from rich.text import Text

    from simulator.running.health import examine

    findings = examine(model or [])
    if json:
        print_json(
            {
                "checks": [{"what": one.what, "well": one.well, "found": one.found} for one in findings],
                "warnings": [f"{one.what}: {one.found}" for one in findings if one.well is False],
            }
        )
    else:
        table = Table(show_header=False, box=None)
        marks = {True: ("ok", "green"), False: ("missing", "red"), None: ("not set", "dim")}
        for one in findings:
            table.add_row(Text(*marks[one.well]), Text(one.what), Text(printable(one.found)))
        console().print(table)
    if any(one.well is False for one in findings):
        raise typer.Exit(3)
