"""The command that goes on with a run that has stopped."""

import shlex
from pathlib import Path

import pytest
import typer.main
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import (
    AccessError,
    BudgetError,
    JournalDamagedError,
    JournalLockedError,
    MissingError,
    OutageError,
    QuotaError,
    SociolectError,
    StorageError,
    UsageError,
)
from simulator.running.start import Start, resume_command
from sociolect import build_app

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


def parsed(command: str) -> dict[str, object]:
    """What the command line makes of a command: the very parser that will read it."""
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("sociolect", "run")
    run = typer.main.get_command(build_app()).commands["run"]  # type: ignore[attr-defined]
    return dict(run.make_context("run", words).params)


@settings(deadline=None)  # the whole command line is assembled each time
@given(
    campaign=TEXT,
    model=st.none() | TEXT,
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    budget=st.none() | st.floats(1e-6, 1e6),
    paths=st.tuples(TEXT, TEXT, st.none() | TEXT),
    shard=st.none() | st.just("2/4"),
)
def test_the_command_asks_for_the_same_run(
    campaign: str,
    model: str | None,
    flags: tuple[bool, bool, bool],
    budget: float | None,
    paths: tuple[str, str, str | None],
    shard: str | None,
) -> None:
    study, runs, prices = paths
    asked = {
        "campaign": campaign,
        "model": model,
        "retry": flags[0],
        "no_retry": flags[1],
        "json": flags[2],
        "budget": budget,
        "shard": shard,
        "study": Path(study),
        "runs": Path(runs),
        "prices": None if prices is None else Path(prices),
    }
    assert parsed(Start(**asked).command) == asked  # type: ignore[arg-type]


def test_the_command_is_short_where_little_was_asked() -> None:
    assert Start("personas-quickstart").command == "sociolect run personas-quickstart"
    assert Start("c.yaml", budget=5.0).command == "sociolect run c.yaml --budget 5"


def test_no_key_is_in_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2hunter2")
    command = Start("hunter2hunter2", model="openai:sk-abcdefghijklmnop", runs=Path("a hunter2hunter2")).command
    assert "hunter2" not in command
    assert "sk-abc" not in command


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (BudgetError("x"), "budget"),
        (QuotaError("x"), "quota"),
        (OutageError("x"), "outage"),
        (AccessError("x"), "access"),
        (StorageError("x"), "storage"),
        (JournalLockedError("x", pid=1, host="h"), None),
        (JournalDamagedError("x"), None),
        (UsageError("x"), None),
        (MissingError("x"), None),
    ],
)
def test_what_can_go_on_says_why_it_stopped(error: SociolectError, why: str | None) -> None:
    assert error.stops == why


def test_an_outage_goes_on_with_what_it_left_as_errors() -> None:
    assert resume_command(Start("c"), "outage") == "sociolect run c --retry"
    assert resume_command(Start("c", retry=True), "outage") == "sociolect run c --retry"
    assert resume_command(Start("c"), "quota") == "sociolect run c"
