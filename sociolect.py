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
from simulator.storage import disk_reason

# Threads that spin for long while they wait make the embedded model ten times slower on a busy machine, and threads
# that sleep at once a quarter slower on an idle one. OpenMP reads this once, when the first library that uses it loads.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if TYPE_CHECKING:
    from simulator.running.progress import RunProgress

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
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A built-in campaign's name or a YAML file.")],
    model: Annotated[str | None, typer.Option("--model", help="Use this model in place of the campaign's.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Ask again for replies that are not ok.")] = False,
    study: Annotated[
        Path, typer.Option("--study", help="The study folder, where your own YAML is looked up.")
    ] = Path(),
    runs: Annotated[Path, typer.Option("--runs", help="Where run folders are kept.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Execute a campaign, or resume it. What is recorded is not asked again. Ends with the report.

    Example: sociolect run personas-quickstart --model openai:gpt-4o-mini
    """
    from simulator.running.progress import RunProgress
    from simulator.terminal import console, print_json

    err = console(stderr=True)
    with RunProgress(err) as progress:
        folder, complete = _execute(campaign, model, retry=retry, study=study, runs=runs, progress=progress)
    if not complete:
        err.print("Stopped; every finished reply is recorded. Run the same command again to go on.", highlight=False)
        raise typer.Exit(_INTERRUPTED)
    page, warnings, failed = _finish(folder)
    if json:
        print_json({"run": str(folder), "report": str(page), "failed": failed, "warnings": warnings})
    else:
        for warning in warnings:
            err.print(f"Note: {warning}", markup=False, highlight=False)
        console().print(str(page), markup=False, highlight=False, soft_wrap=True)
    if failed:
        raise typer.Exit(_SOME_FAILED)


def _execute(
    campaign: str, model: str | None, *, retry: bool, study: Path, runs: Path, progress: RunProgress
) -> tuple[Path, bool]:
    from simulator.definitions import load_campaign
    from simulator.running.campaign_run import run_campaign, run_folder
    from simulator.running.models import describe_model
    from simulator.running.plan import models_of
    from simulator.running.size import size_of

    loaded = load_campaign(campaign, folder=study, model=model)
    for line in size_of(loaded).warnings:
        progress.say(line)
    folder = run_folder(loaded, runs, model=model)
    shown = {choice.model: params for chosen in models_of(loaded).values() for choice, params in chosen}
    progress.say(f"{loaded.campaign.name} in {folder}")
    for name, params in shown.items():
        info = describe_model(name, params)
        progress.say(f"{info.title}. {info.trust}")
    complete = run_campaign(
        loaded,
        folder,
        retry=retry,
        begin_stage=progress.begin_stage,
        report=progress.report,
        interrupted=lambda times: _interrupt(progress, times),
    )
    return folder, complete


def _interrupt(progress: RunProgress, times: int) -> None:
    if times == 1:
        progress.say("Finishing what is in flight; press Ctrl-C again to stop at once.")
        return
    progress.say("Stopped; every finished reply is recorded. Run the same command again to go on.")
    # Threads that wait for a model cannot be called back, and the journal needs no goodbye.
    sys.stderr.flush()
    os._exit(_INTERRUPTED)


def _finish(folder: Path) -> tuple[Path, list[str], int]:
    """Analyse and report; return the page, the warnings, and how many replies are not ok (1 if no program is whole)."""
    from analysis.commands import analyze_run
    from reports.commands import report_run
    from simulator.tables import read_tables

    warnings, _ = analyze_run(folder)
    tables = read_tables(folder / "tables", ["replies", "codes"])
    failed = tables["replies"].filter(tables["replies"]["status"] != "ok").height
    whole = tables["codes"].filter(tables["codes"]["status"] == "ok").height
    return report_run(folder), warnings, failed if whole else max(failed, 1)


def run(
    campaign: str, *, model: str | None = None, study: Path | str = ".", runs: Path | str = "runs", retry: bool = False
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

    Raises
    ------
    SociolectError
        One of the tree in `simulator.errors`.
    KeyboardInterrupt
        Stopped by Ctrl-C; call again to go on.
    """
    from simulator.definitions import load_campaign
    from simulator.running.campaign_run import run_campaign, run_folder

    loaded = load_campaign(campaign, folder=Path(study), model=model)
    folder = run_folder(loaded, Path(runs), model=model)
    if not run_campaign(loaded, folder, retry=retry):
        raise KeyboardInterrupt
    _finish(folder)
    return folder


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return its exit status: 0 done, 1 our fault, 2 wrong usage, 3 some failed, 4 no more, 130."""
    try:
        result = build_app()(arguments, standalone_mode=False)
        return result if isinstance(result, int) else _DONE
    except SociolectError as error:
        print(f"sociolect: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_status
    except OSError as error:
        return _explain_system(error)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # the reader has gone (`| head`): nothing is left to say
            return _DONE
        raise
    except Exception as error:
        return _explain(error)


def _explain_system(error: OSError) -> int:
    """Say what the system did not do; it is nobody's fault here."""
    if isinstance(error, BrokenPipeError):
        return _DONE
    what = "standard output" if error.filename is None else str(error.filename)
    text = f"sociolect: {what} cannot be used: {disk_reason(error)}. Mend that, and give the command again."
    print(text, file=sys.stderr)  # noqa: T201
    return _USAGE if error.filename is not None else 4


def _explain(error: Exception) -> int:
    """Show wrong usage in the command line's own words, and any other exception as what it is: our fault."""
    show = getattr(error, "show", None)
    if show is not None:  # the command line's own exceptions
        show()
        return int(getattr(error, "exit_code", _USAGE))
    traceback.print_exception(error)
    print(  # noqa: T201
        "sociolect: this is a fault of ours, and what was recorded is kept. Please report it, with the lines above, to "
        "the issue tracker of the place that you have Sociolect from.",
        file=sys.stderr,
    )
    return _FAULT


if __name__ == "__main__":
    sys.exit(main())
