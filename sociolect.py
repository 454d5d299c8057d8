"""Sociolect: simulate people who ask for the same software in their own words, and measure what that does to the code.

The front door. On the command line::

    sociolect run personas-quickstart

In Python::

    import sociolect

    run = sociolect.run("personas-quickstart", model="mock")
    print(run / "report.html")
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simulator.errors import SociolectError
from simulator.options import (
    BudgetOption,
    CampaignArgument,
    JsonOption,
    ModelOption,
    PricesOption,
    RunsOption,
    StudyOption,
)
from simulator.storage import disk_reason
from simulator.terminal import console, print_error, print_text, printable

# Threads that spin for long while they wait make the embedded model ten times slower on a busy machine, and threads
# that sleep at once a quarter slower on an idle one. OpenMP reads this once, when the first library that uses it loads.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulator.definitions import Study
    from simulator.running.ending import Ending
    from simulator.running.journal.shards import Shard
    from simulator.running.patience import Patience
    from simulator.running.progress import RunProgress
    from simulator.running.start import Start

__all__ = ["build_app", "main", "run"]

_DONE, _FAULT, _USAGE, _SOME_FAILED, _INTERRUPTED = 0, 1, 2, 3, 130

_PURPOSE = "Simulate people who ask for the same software in their own words, and measure what that does to the code."


def build_app() -> typer.Typer:
    """Assemble the command line from each room's verbs."""
    from analysis import commands as analysis_commands
    from reports import commands as report_commands
    from simulator.definitions import commands as definition_commands
    from simulator.running import commands as running_commands

    app = typer.Typer(
        name="sociolect",
        help=_PURPOSE,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    definition_commands.register(app)
    running_commands.register(app)
    app.command("run")(_run)
    analysis_commands.register(app)
    report_commands.register(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sociolect {metadata.version('sociolect')}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Simulate people who ask for the same software in their own words, and measure what that does to the code."""


def _run(
    campaign: CampaignArgument,
    model: ModelOption = None,
    retry: Annotated[bool, typer.Option("--retry", help="Ask again for replies that are not ok.")] = False,
    no_retry: Annotated[
        bool, typer.Option("--no-retry", help="One attempt at each call; what fails is an error.")
    ] = False,
    budget: BudgetOption = None,
    prices: PricesOption = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Walk the I-th of N parts, a journal each.")
    ] = None,
    study: StudyOption = Path(),
    runs: RunsOption = Path("runs"),
    json: JsonOption = False,
) -> None:
    """Execute a campaign, or resume it. What is recorded is not asked again. Ends with the report.

    A run that stops, whatever for, ends with the command that goes on with it. With --json, standard error has events
    as JSON lines (docs/cli.md says which).

    Example: sociolect run personas-quickstart --budget 5
    """
    from simulator.definitions import load_campaign
    from simulator.running.campaign_run import run_folder
    from simulator.running.ending import INTERRUPTED, Ending, print_ending
    from simulator.running.interrupts import InterruptedVerbError
    from simulator.running.progress import RunProgress, ceilings_of
    from simulator.running.start import Start

    start = Start(campaign, model, retry, no_retry, budget, prices, shard, study, runs, json)
    loaded = load_campaign(campaign, folder=study, model=model)
    folder = run_folder(loaded, runs, model=model)
    progress = RunProgress(console(stderr=True), ceilings=ceilings_of(loaded), events=json)
    ending = Ending(start, folder, progress)
    try:
        _execute(start, loaded, folder, progress, ending)
        if start.shard is not None:
            _end_without_the_others(start, folder)
        page, warnings, failed = _finish(folder)
    except SociolectError as error:
        ending.explain(error)
        raise
    except InterruptedVerbError:
        ending.tell_interrupted()
        raise typer.Exit(INTERRUPTED) from None
    if json:
        print_ending(folder, report=str(page), failed=failed, warnings=warnings)
    else:
        for warning in warnings:
            console(stderr=True).print(f"Note: {printable(warning)}")
        print_text(str(page))
    if failed:
        raise typer.Exit(_SOME_FAILED)


def _end_without_the_others(start: Start, folder: Path) -> None:
    """End, as done, a shard that is complete while others are not; return where all are, and there can be a report."""
    from simulator.running.ending import print_ending
    from simulator.running.status import count_failed, shards_to_go

    shard = str(start.shard)
    to_go = [str(one) for one in shards_to_go(folder)]
    if not to_go:
        return
    failed = count_failed(folder, shard)
    if start.json:
        print_ending(folder, failed=failed, shards_to_go=to_go)
    else:
        print_text(
            f"Shard {shard} is complete{f', {failed:,} of its replies not ok' if failed else ''}. Not complete, or not "
            f"here: {', '.join(to_go)}. Bring their journals into {folder}; when all are complete, this command, or "
            f"that of any other shard, ends with the report."
        )
    raise typer.Exit(_SOME_FAILED if failed else _DONE)


def _execute(start: Start, loaded: Study, folder: Path, progress: RunProgress, ending: Ending) -> None:
    """Walk a campaign to its end, or as far as it may go.

    Raises
    ------
    InterruptedVerbError
        It was stopped, and what was in flight is finished.
    """
    from simulator.running.campaign_run import run_campaign
    from simulator.running.interrupts import InterruptedVerbError
    from simulator.running.journal.shards import Shard
    from simulator.running.money.prices import read_prices
    from simulator.running.patience import Patience
    from simulator.running.size import size_of

    shard = None if start.shard is None else Shard.parse(start.shard)
    prices = read_prices(loaded, start.study, start.prices)
    with progress:
        for line in (*size_of(loaded, prices).warnings, *_introduce(loaded, folder, start, shard)):
            progress.say(line)
        complete = run_campaign(
            loaded,
            folder,
            retry=start.retry,
            patience=Patience.never() if start.no_retry else None,
            budget=start.budget,
            prices=prices,
            shard=shard,
            begin_stage=progress.begin_stage,
            report=progress.report,
            interrupted=ending.interrupt,
        )
    if not complete:
        raise InterruptedVerbError


def _introduce(loaded: Study, folder: Path, start: Start, shard: Shard | None) -> Iterator[str]:
    """Yield what a person is told before the first call: where it is kept, who is asked, what may be spent."""
    from simulator.running.amounts import dollars
    from simulator.running.models import describe_model
    from simulator.running.plan import models_of

    yield f"{loaded.campaign.name} in {folder}" + ("" if shard is None else f", shard {shard.number} of {shard.of}")
    shown = {choice.model: params for chosen in models_of(loaded).values() for choice, params in chosen}
    for name, params in shown.items():
        info = describe_model(name, params)
        yield f"{info.title}. {info.trust}"
    if shard is not None and start.budget is not None:
        share = dollars(start.budget / shard.of)
        yield f"This shard may spend {share}, its part of {dollars(start.budget)}, earlier starts included."


def _finish(folder: Path) -> tuple[Path, list[str], int]:
    """Analyse and report; return the page, the warnings, and how many replies are not ok (1 if no program is whole)."""
    from analysis.commands import analyze_run
    from reports.commands import report_run
    from simulator.tables import making_results, read_table

    with making_results(folder):  # several shards may end together
        warnings, _ = analyze_run(folder)
        replies, codes = (
            read_table(folder / "tables" / f"{name}.parquet", columns=["status"])["status"]
            for name in ("replies", "codes")
        )
        failed = int((replies != "ok").sum())
        return report_run(folder), warnings, failed if (codes == "ok").any() else max(failed, 1)


def run(
    campaign: str,
    *,
    model: str | None = None,
    study: Path | str = ".",
    runs: Path | str = "runs",
    retry: bool = False,
    budget: float | None = None,
    prices: Path | str | None = None,
    shard: str | None = None,
    patience: Patience | None = None,
) -> Path:
    """Execute or resume a campaign, analyse it and write its report; return the run folder.

    Parameters
    ----------
    campaign
        The name of a built-in campaign, or of one in the study folder, or the path of a YAML file.
    model
        Used in place of the campaign's models: ``mock``, ``embedded``, ``openai:gpt-4o-mini``.
    study
        The folder in which personas, tasks and campaigns are looked up before the built-in ones.
    runs
        Where the run folder is made.
    retry
        Ask again for replies that are not ``ok``.
    budget
        US dollars that the run may spend at most, earlier starts included; of n shards each may spend an n-th.
    prices
        A file of prices that go before the study's and the built-in ones.
    shard
        The part to walk, such as ``"2/4"``. There is a report only when all parts are there and complete.
    patience
        How failed attempts are repeated; `simulator.running.patience.Patience.never` makes one attempt at each call.

    Raises
    ------
    SociolectError
        One of the tree in `simulator.errors`.
    KeyboardInterrupt
        Stopped by Ctrl-C; call again to go on.
    """
    from simulator.definitions import load_campaign
    from simulator.running.campaign_run import run_campaign, run_folder
    from simulator.running.journal.shards import Shard
    from simulator.running.money.prices import read_prices
    from simulator.running.status import shards_to_go

    loaded = load_campaign(campaign, folder=Path(study), model=model)
    folder = run_folder(loaded, Path(runs), model=model)
    complete = run_campaign(
        loaded,
        folder,
        retry=retry,
        patience=patience,
        budget=budget,
        prices=read_prices(loaded, Path(study), None if prices is None else Path(prices)),
        shard=None if shard is None else Shard.parse(shard),
    )
    if not complete:
        raise KeyboardInterrupt
    if shard is None or not shards_to_go(folder):
        _finish(folder)
    return folder


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return its exit status: 0 done, 1 our fault, 2 wrong usage, 3 some failed, 4 no more, 130."""
    from simulator.running.interrupts import InterruptedVerbError, stoppable

    try:
        with stoppable():
            result = build_app()(arguments, standalone_mode=False)
        return result if isinstance(result, int) else _DONE
    except SociolectError as error:
        print_error("\n".join([f"sociolect: {error}", *getattr(error, "__notes__", ())]))
        return error.exit_status
    except (InterruptedVerbError, KeyboardInterrupt, typer.Abort):
        print_error("sociolect: interrupted. What is recorded is kept; give the command again.")
        return _INTERRUPTED
    except OSError as error:
        return _explain_system(error)
    except Exception as error:
        return _explain(error)


def _explain_system(error: OSError) -> int:
    """Say what the system did not do; it is nobody's fault here."""
    if isinstance(error, BrokenPipeError):  # the reader has gone (`| head`): nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or what is buffered fails once more at the end
        return _DONE
    what = "standard output" if error.filename is None else str(error.filename)
    text = f"sociolect: {what} cannot be used: {disk_reason(error)}. Mend that, and give the command again."
    print_error(text)
    return _USAGE if error.filename is not None else 4


def _explain(error: Exception) -> int:
    """Show wrong usage in the command line's own words, and any other exception as what it is: our fault."""
    show = getattr(error, "show", None)
    if show is not None:  # the command line's own exceptions
        show()
        return int(getattr(error, "exit_code", _USAGE))
    from simulator.running.models.failures import scrub

    # What a provider's package raised may be part of it, and may repeat the key.
    print_error(scrub("".join(traceback.format_exception(error))))
    print_error(
        "sociolect: this is a fault of ours, and what was recorded is kept. Please report it, with the lines above, to "
        "the issue tracker of the place that you have Sociolect from."
    )
    return _FAULT


if __name__ == "__main__":
    sys.exit(main())
