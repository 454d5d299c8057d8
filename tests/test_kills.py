"""A run that is killed, interrupted, resumed and amended in any order ends like one that was left alone."""

import os
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from command_line import Ended, Sociolect, start, start_campaign, wait_for
from simulator.definitions import load_campaign
from simulator.running.campaign_run import run_campaign
from simulator.running.journal import Journal
from simulator.running.journal.records import Records

CAMPAIGN = """
name: killed
study: personas
tasks: [calculator, bicycle-shop]
prompts: {{from: short, personas: [{personas}], iterations: {iterations}, model: {{model: mock, parallel: 2}}}}
generate: {{models: [{models}], sample: {sample}, repeats: {repeats}}}
seed: 7
"""
PERSONAS = ("john", "harold", "ethan", "ingrid")
MODELS = ("{model: mock, parallel: 3}", "{model: 'mock:other', parallel: 1}", "{model: 'mock:third', parallel: 16}")
SAMPLE = 6


def replies_in(journal: Path) -> int:
    """How many replies a journal holds that another process is writing; 0 before there is one."""
    if not journal.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.Error:  # it is being made
        return 0


def wait_until(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    """Wait until something happened or the process ended."""
    while not happened():
        try:
            process.wait(0.002)
        except subprocess.TimeoutExpired:
            continue
        return


def outcome(run: Path) -> set[tuple[str, int, str, str, str, str]]:
    """What a finished run holds: of every planned call the stage, position, variant, key, status and text."""
    found: set[tuple[str, int, str, str, str, str]] = set()
    with Records(run) as records:
        for stage in ("rewrite", "generate"):
            for row, journal in records.plan(stage):
                recorded = journal.reply_to(row.call)
                assert recorded is not None, row
                found.add((stage, row.position, row.variant, row.call, recorded.reply.status, recorded.reply.text))
    return found


class Kills(RuleBasedStateMachine):
    """One campaign in one run folder."""

    kills: ClassVar[int] = 0
    """Processes that were killed while they were still at work, by all machines together."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="kills-")
        self.path = Path(self.folder.name)
        self.run_folder = self.path / "run"
        self.personas, self.iterations, self.models, self.repeats = 1, 12, 1, 1
        self.write()

    def write(self) -> None:
        text = CAMPAIGN.format(
            personas=", ".join(PERSONAS[: self.personas]),
            iterations=self.iterations,
            models=", ".join(MODELS[: self.models]),
            repeats=self.repeats,
            sample=SAMPLE,
        )
        (self.path / "killed.yaml").write_text(text, encoding="utf-8")

    def start(self) -> subprocess.Popen[str]:
        return start_campaign(self.path, self.path / "killed.yaml", self.run_folder)

    def recorded(self) -> int:
        return replies_in(self.run_folder / "journal.sqlite")

    def send(self, process: subprocess.Popen[str], number: signal.Signals) -> Ended:
        process.send_signal(number)
        ended = wait_for(process)
        Kills.kills += ended.status == -signal.SIGKILL
        assert ended.status in {0, -number, 130}, ended
        assert "Traceback" not in ended.err or "KeyboardInterrupt" in ended.err, ended.err
        return ended

    def missing(self) -> int:
        """How many calls are still to ask, or a few fewer."""
        groups = 2 * self.personas
        calls = groups * self.iterations + groups * SAMPLE * self.models * self.repeats
        return max(0, calls - self.recorded())

    def start_and_wait(self, share: float) -> subprocess.Popen[str]:
        """Start a process, and wait until it has recorded a share of what is missing, or one reply at least."""
        goal = self.recorded() + max(1, int(share * self.missing()))
        process = self.start()
        wait_until(process, lambda: self.recorded() >= goal)
        return process

    @precondition(lambda self: self.missing())
    @rule(share=st.floats(0.0, 0.95))
    def kill_after_replies(self, share: float) -> None:
        self.send(self.start_and_wait(share), signal.SIGKILL)

    @precondition(lambda self: self.missing())
    @rule(seconds=st.floats(0.0, 0.6))
    def kill_after_a_while(self, seconds: float) -> None:
        process = self.start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        self.send(process, signal.SIGKILL)

    @precondition(lambda self: self.missing())
    @rule(share=st.floats(0.0, 0.9))
    def interrupt(self, share: float) -> None:
        self.send(self.start_and_wait(share), signal.SIGINT)

    @rule()
    def run(self) -> None:
        ended = wait_for(self.start())
        assert ended.status == 0, ended
        before = self.recorded()
        with Journal(self.run_folder) as journal:
            assert before == journal.last_reply

    @precondition(lambda self: self.iterations < 40)
    @rule(more=st.integers(1, 12))
    def ask_for_more_rewrites(self, more: int) -> None:
        self.iterations += more
        self.write()

    @precondition(lambda self: self.personas < len(PERSONAS))
    @rule()
    def add_a_persona(self) -> None:
        self.personas += 1
        self.write()

    @precondition(lambda self: self.models < len(MODELS))
    @rule()
    def add_a_model(self) -> None:
        self.models += 1
        self.write()

    @precondition(lambda self: self.repeats < 3)
    @rule()
    def ask_for_more_repeats(self) -> None:
        self.repeats += 1
        self.write()

    def teardown(self) -> None:
        with self.folder:
            self.run()
            self.check()

    def check(self) -> None:
        whole = self.path / "whole"
        assert run_campaign(load_campaign(str(self.path / "killed.yaml"), folder=self.path), whole)
        assert outcome(self.run_folder) == outcome(whole)
        with Records(self.run_folder) as records:
            assert list(records.check()) == []
        with closing(sqlite3.connect(self.run_folder / "journal.sqlite")) as connection:
            twice = "SELECT call FROM replies WHERE status = 'ok' GROUP BY call HAVING count(*) > 1"
            assert connection.execute(twice).fetchall() == []


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(20, marks=pytest.mark.slow, id="20"),
        pytest.param(200, marks=pytest.mark.prove, id="200"),
    ],
)
def test_a_run_killed_at_any_moments_ends_like_one_left_alone(kills: int) -> None:
    Kills.kills = 0
    while Kills.kills < kills:
        run_state_machine_as_test(
            Kills,
            settings=settings(
                max_examples=4,  # the first is the simplest there is
                stateful_step_count=12,
                phases=[Phase.generate],  # moments cannot be repeated, so nothing can be made smaller
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


GATED = """
import os

def answer(call):
    if "GATE" in os.environ:
        open(os.environ["GATE"]).read()  # nobody ever writes: it waits until the writer is gone
    return "Please write me a calculator or a bicycle shop, with tests and a menu."
"""


@pytest.mark.slow
def test_one_process_at_a_time(tmp_path: Path, sociolect: Sociolect) -> None:
    (tmp_path / "gated.py").write_text(GATED, encoding="utf-8")
    campaign = tmp_path / "killed.yaml"
    text = CAMPAIGN.format(personas="john", iterations=6, models="'mock:gated.py'", repeats=1, sample=1)
    campaign.write_text(text.replace("model: mock,", "model: 'mock:gated.py',"), encoding="utf-8")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    first = start(tmp_path, "run", campaign, environment={"GATE": str(gate)})
    try:
        with gate.open("w"):  # opens once the first process asks
            second = sociolect("run", campaign)
            assert second.status == 2, second
            assert str(first.pid) in second.err
            assert second.out == ""
            (run,) = (tmp_path / "runs").iterdir()
            assert sociolect("status", run).status == 0
            first.kill()
            assert wait_for(first).status == -signal.SIGKILL
    finally:
        first.kill()
    assert sociolect("run", campaign).status in {0, 3}
