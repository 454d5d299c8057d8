"""The verbs of a run, but for `run` itself, which ends with a report and so is the front door's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.options import (
    BudgetOption,
    CampaignArgument,
    JsonOption,
    ModelOption,
    PricesOption,
    RunArgument,
    RunsOption,
    StudyOption,
)
from simulator.running.amounts import dollars, duration, plural
from simulator.terminal import console, print_error, print_json, print_table, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulator.definitions import Study
    from simulator.running.money.prices import PriceTable
    from simulator.running.size import PlanSize, SizeRow
    from simulator.running.size.pilot import Pilot
    from simulator.running.size.ranges import Range

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("plan")(plan)
    app.command("status")(status)
    app.command("verify")(verify)
    app.command("doctor")(doctor)


def plan(
    campaign: CampaignArgument,
    model: ModelOption = None,
    pilot: Annotated[
        int | None, typer.Option("--pilot", metavar="N", min=1, help="Ask N of the calls first, for real.")
    ] = None,
    budget: BudgetOption = None,
    prices: PricesOption = None,
    study: StudyOption = Path(),
    runs: RunsOption = Path("runs"),
    json: JsonOption = False,
) -> None:
    """Show what a campaign will ask. Calls, tokens, cost and time, as ranges with what they are reckoned from.

    Nothing is sent, but for the calls of --pilot: they are part of the campaign, recorded in its run folder, and not
    asked again by `run`. The ranges are then reckoned from them.

    Example: sociolect plan personas-quickstart --pilot 3 --budget 1
    """
    from simulator.definitions import load_campaign
    from simulator.running.campaign_run import run_folder
    from simulator.running.money.prices import read_prices
    from simulator.running.size import size_of
    from simulator.running.size.pilot import narrow

    loaded = load_campaign(campaign, folder=study, model=model)
    table = read_prices(loaded, study, prices)
    size, tried, folder = size_of(loaded, table), None, None
    if pilot is not None:
        folder = run_folder(loaded, runs, model=model)
        tried = _pilot(loaded, folder, pilot, prices=table, budget=budget, json=json)
        size = narrow(size, tried)
    warnings = [*size.warnings, *_compare(size, budget)]
    if json:
        print_json(_plan_document(loaded.campaign.name, size, budget, warnings, pilot=tried, run=folder))
        return
    out = console()
    columns = ("stage", "model", "calls", "tokens read", "tokens written", "cost", "time")
    rows = [(row.stage, row.model, *_cells(row)) for row in size.rows]
    print_table(columns, [*rows, ("all", "", *_cells(size))], title=f"Plan of {loaded.campaign.name}")
    for line in (*_introduce(loaded), *warnings, "Reckoned with:", *(f"- {line}" for line in size.assumptions)):
        out.print(printable(line), soft_wrap=True)


def _pilot(loaded: Study, folder: Path, calls: int, *, prices: PriceTable, budget: float | None, json: bool) -> Pilot:
    """Make some of a campaign's calls, with progress; an interrupted pilot measures what it has."""
    import os

    from simulator.running.ending import FINISHING, INTERRUPTED
    from simulator.running.events import StageProgress
    from simulator.running.journal.entries import Spent
    from simulator.running.progress import RunProgress, ceilings_of
    from simulator.running.size.pilot import run_pilot

    with RunProgress(console(stderr=True), ceilings=ceilings_of(loaded), events=json) as progress:

        def interrupted(times: int) -> None:
            if times == 1:
                progress.say(FINISHING)
                return
            progress.close()
            print_error("Stopped; every finished reply is recorded. Go on with the same command.")
            os._exit(INTERRUPTED)  # threads that wait for a model cannot be called back

        progress.say(f"A pilot of {plural(calls, 'call')}, recorded in {folder}.")
        progress.begin_stage(StageProgress("pilot", calls, 0, Spent(), budget))
        return run_pilot(
            loaded, folder, calls, prices=prices, budget=budget, report=progress.report, interrupted=interrupted
        )


def _introduce(loaded: Study) -> Iterator[str]:
    from simulator.running.models import describe_model
    from simulator.running.plan import models_of

    infos = (describe_model(choice.model, params) for models in models_of(loaded).values() for choice, params in models)
    yield from dict.fromkeys(f"{info.title}. {info.trust}" for info in infos)


def _compare(size: PlanSize, budget: float | None) -> Iterator[str]:
    """Yield how the cost compares with the budget, where it may not be enough."""
    low, high = size.cost.low, size.cost.high
    if budget is None:
        return
    if low is not None and low > budget:
        yield f"The budget of {dollars(budget)} is not enough: the run would stop before its end, resumable."
    elif high is None or high > budget:
        yield f"The budget of {dollars(budget)} may not be enough; the run would stop before it is exceeded."


_SHOWN: dict[str, Callable[[float], str]] = {
    "calls": lambda value: f"{value:,.0f}",
    "read": lambda value: f"{value:,.0f}",
    "written": lambda value: f"{value:,.0f}",
    "cost": dollars,
    "seconds": duration,
}


def _plan_document(
    name: str, size: PlanSize, budget: float | None, warnings: list[str], *, pilot: Pilot | None, run: Path | None
) -> dict[str, Any]:
    def ranges(of: PlanSize | SizeRow) -> dict[str, Any]:
        names = ("calls", "tokens", "read", "written", "cost", "seconds")
        both: dict[str, Range] = {what: getattr(of, what) for what in names}
        return {what: {"low": value.low, "high": value.high} for what, value in both.items()}

    return {
        "campaign": name,
        **ranges(size),
        "rows": [{"stage": row.stage, "model": row.model, **ranges(row)} for row in size.rows],
        "budget": budget,
        "pilot": pilot
        and {
            "run": str(run),
            "wanted": pilot.wanted,
            "calls": pilot.calls,
            "rewrites": pilot.rewrites,
            "usable": pilot.usable,
        },
        "assumptions": list(size.assumptions),
        "warnings": warnings,
    }


def _cells(of: PlanSize | SizeRow) -> Iterator[str]:
    for what, shown in _SHOWN.items():
        value: Range = getattr(of, what)
        if value.low is None or value.high is None:
            yield "not known"
        else:
            low, high = shown(value.low), shown(value.high)
            yield low if low == high else f"{low} to {high}"


def status(run: RunArgument, json: JsonOption = False) -> None:
    """Show what is recorded in a run. Replies by status, what is still to ask, tokens and money spent.

    Example: sociolect status runs/personas-quickstart-1a2b3c4d
    """
    from simulator.running.status import read_status

    found = read_status(run)
    if json:
        print_json(found.document())
        return
    console().print(printable(f"{found.campaign} in {run}"), soft_wrap=True)
    rows = [(stage, model, word, f"{count:,}") for (stage, model, word), count in found.counts.items()]
    if rows:
        print_table(("stage", "model", "status", "replies"), rows)
    for line in (*found.sentences(), *(f"Note: {warning}" for warning in found.warnings)):
        console().print(printable(line), soft_wrap=True)


def verify(run: RunArgument, json: JsonOption = False) -> None:
    """Check that what a run recorded is whole. Every record is hashed again. Exit status 3 if there are problems.

    Example: sociolect verify runs/personas-quickstart-1a2b3c4d
    """
    from simulator.running.status import verify_records

    found = verify_records(run)
    if json:
        shown = {"calls": found.calls, "replies": found.replies, "problems": found.problems, "warnings": []}
        print_json({"run": str(run), **shown})
    else:
        for problem in found.problems:
            console().print(printable(problem), soft_wrap=True)
        whole = "not whole; what is named above cannot be trusted" if found.problems else "whole"
        console().print(f"{plural(found.calls, 'call')} and {plural(found.replies, 'reply', 'replies')}: {whole}.")
    if found.problems:
        raise typer.Exit(3)


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
