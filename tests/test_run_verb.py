"""How `run` ends early: always with one paragraph, the right status, and the command that goes on."""

import json
import shlex
import sqlite3
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from openai_server import Answer, OpenAIServer, completion, failure

import sociolect as front_door
from command_line import Ended, Sociolect
from simulator.errors import UsageError
from simulator.running.journal.records import Records

CAMPAIGN = """
name: small
study: personas
tasks: [calculator, bicycle-shop]
prompts:
  from: short
  personas: [john, harold, ethan]
  iterations: 24
  max_tokens: 300
  model: {{model: "openai:served", base_url: "{url}", parallel: 4}}
generate: {{models: [{{model: "openai:served", base_url: "{url}", parallel: 4}}], sample: 1, max_tokens: 300}}
seed: 7
"""
CALLS = 2 * 3 * 24 + 2 * 3


class Server:
    """Answers so many calls, then fails in one way until it is mended."""

    def __init__(self, good: int, bad: Answer | None) -> None:
        self.good, self.bad = good, bad
        self.answered = 0
        self.lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self.lock:
            if self.bad is not None and self.answered >= self.good:
                return self.bad
            self.answered += 1
            if "bicycle shop number" in body["messages"][-1]["content"]:  # an answer of ours: code is asked for
                return completion(f"```python\nprint({self.answered})\n```")
            return completion(f"Please write me a calculator or a bicycle shop number {self.answered}, with a menu.")


def write_study(folder: Path, server: OpenAIServer) -> None:
    (folder / "small.yaml").write_text(CAMPAIGN.format(url=server.base_url), encoding="utf-8")


def command_in(text: str) -> list[str]:
    """The command that a run ended with: the last line of what it said."""
    words = shlex.split(text.splitlines()[-1])
    assert words[:2] == ["sociolect", "run"], text
    return words[1:]


def check_stopped(ended: Ended, status: int) -> None:
    assert ended.status == status, ended
    assert "Traceback" not in ended.err
    assert ended.out == ""


QUOTA = failure(429, "You exceeded your current quota, please check your plan.")
REFUSED = failure(401, "Incorrect API key provided: sk-abcd1234efgh5678.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "status", "why", "options", "resume"),
    [
        pytest.param(QUOTA, 4, "quota", [], [], id="quota"),
        pytest.param(REFUSED, 2, "access", [], [], id="key"),
        pytest.param(failure(500, "broken"), 4, "outage", ["--no-retry"], ["--retry", "--no-retry"], id="outage"),
    ],
)
def test_a_provider_that_gives_no_more_ends_the_run_and_the_command_goes_on(
    tmp_path: Path,
    sociolect: Sociolect,
    bad: Answer,
    status: int,
    why: str,
    options: list[str],
    resume: list[str],
) -> None:
    script = Server(10, bad)
    with OpenAIServer(script) as server:
        write_study(tmp_path, server)
        stopped = sociolect("run", "small.yaml", "--runs", "my runs", *options)
        check_stopped(stopped, status)
        assert command_in(stopped.err) == ["run", "small.yaml", *resume, "--runs", "my runs"]
        assert "sk-abcd" not in stopped.err
        told = sociolect("run", "small.yaml", "--runs", "my runs", *options, "--json")
        assert told.status == status
        document = told.document()
        assert (document["complete"], document["report"]) == (False, None)
        assert document["stopped"]["why"] == why
        assert document["stopped"]["exit_status"] == status
        assert shlex.split(document["stopped"]["resume"])[1:-1] == command_in(stopped.err)
        last = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")][-1]
        assert last == {"event": "stopped", "elapsed": last["elapsed"], **document["stopped"]}

        script.bad = None
        ended = sociolect(*command_in(stopped.err))
        assert ended.status == 0, ended.err
        assert script.answered == CALLS, "what was answered is not asked again"
        (run,) = (tmp_path / "my runs").iterdir()
        assert set(pl.read_parquet(run / "tables" / "replies.parquet")["status"]) == {"ok"}


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_run_ends_with_the_command(tmp_path: Path, sociolect: Sociolect, times: int) -> None:
    (tmp_path / "model.py").write_text(
        "import os, signal, itertools\n"
        "asked = itertools.count(1)\n"
        "def answer(call):\n"
        f"    if next(asked) in range(5, {5 + times}) and not os.environ.get('CALM'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return 'Please write me a calculator, with tests and a menu, or a bicycle shop.'\n",
        encoding="utf-8",
    )
    run = ["run", "personas-quickstart", "--model", "mock:model.py", "--budget", "2.5"]
    stopped = sociolect(*run)
    check_stopped(stopped, 130)
    assert "press Ctrl-C again" in stopped.err
    assert command_in(stopped.err) == run
    told = sociolect(*run, "--json")
    assert told.status == 130
    assert told.document()["stopped"]["why"] == "interrupted"
    assert json.loads(told.err.splitlines()[-1])["event"] == "stopped"
    ended = sociolect(*command_in(stopped.err), environment={"CALM": "1"})
    assert ended.status in {0, 3}, ended.err
    assert "report.html" in ended.out


@pytest.mark.slow
def test_shards_end_without_a_report_until_all_are_there(tmp_path: Path, sociolect: Sociolect) -> None:
    run = ("run", "personas-quickstart", "--model", "mock")
    first = sociolect(*run, "--shard", "1/2", "--budget", "3")
    assert first.status == 0, first.err
    assert "may spend $1.50, its part of $3.00" in first.err
    assert "Shard 1/2 is complete" in first.out
    assert "2/2" in first.out
    (folder,) = (tmp_path / "runs").iterdir()
    assert not (folder / "report.html").exists()
    told = sociolect(*run, "--shard", "1/2", "--json").document()
    assert (told["complete"], told["shards_to_go"], told["report"], told["failed"]) == (True, ["2/2"], None, 0)

    last = sociolect(*run, "--shard", "2/2", "--json")
    assert last.status == 0, last.err
    assert last.document()["shards_to_go"] == []
    assert (folder / "report.html").is_file()
    together = pl.read_parquet(folder / "tables" / "codes.parquet")
    whole = sociolect(*run, "--runs", "whole", "--json").document()
    assert together.equals(pl.read_parquet(tmp_path / whole["run"] / "tables" / "codes.parquet"))


@pytest.mark.slow
def test_a_shards_failed_replies_are_not_hidden(tmp_path: Path, sociolect: Sociolect) -> None:
    (tmp_path / "model.py").write_text("def answer(call):\n    return ''\n", encoding="utf-8")
    ended = sociolect("run", "personas-quickstart", "--model", "mock:model.py", "--shard", "1/2")
    assert ended.status == 3, ended
    assert "of its replies not ok" in ended.out


def test_wrong_options_are_refused_before_anything_is_made(tmp_path: Path, sociolect: Sociolect) -> None:
    for options in (
        ["--budget", "0"],
        ["--budget", "-1"],
        ["--budget", "nan"],
        ["--budget", "inf"],
        ["--budget", "five"],
        ["--shard", "3/2"],
        ["--shard", "0/2"],
        ["--shard", "half"],
        ["--prices", "nowhere.yaml"],
    ):
        ended = sociolect("run", "personas-quickstart", "--model", "mock", *options)
        check_stopped(ended, 2)
    assert not (tmp_path / "runs").exists()


def test_retry_and_no_retry_are_not_two_ends_of_one_switch(tmp_path: Path, sociolect: Sociolect) -> None:
    calls = tmp_path / "calls"
    (tmp_path / "model.py").write_text(
        "from pathlib import Path\n"
        "from simulator.errors import RetryableError\n"
        f"LOG = Path({str(calls)!r})\n"
        "def answer(call):\n"
        "    with LOG.open('a') as log: log.write(call.key + chr(10))\n"
        "    if len(LOG.read_text().split()) % 3 == 0: raise RetryableError('a lost call')\n"
        "    return 'Please write me a calculator with a menu and tests, or a bicycle shop.'\n",
        encoding="utf-8",
    )
    once = sociolect("run", "personas-quickstart", "--model", "mock:model.py", "--no-retry", "--shard", "1/2")
    assert once.status == 3, once
    keys = calls.read_text().split()
    assert len(keys) == len(set(keys)), "one attempt at each call"
    both = sociolect(
        "run", "personas-quickstart", "--model", "mock:model.py", "--no-retry", "--retry", "--shard", "1/2"
    )
    assert both.status in (0, 3), both
    assert len(calls.read_text().split()) > len(keys)


def test_a_full_disk_ends_with_the_command(tmp_path: Path, sociolect: Sociolect) -> None:
    import resource

    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

    (tmp_path / "model.py").write_text("def answer(call):\n    return 'x' * 30000\n", encoding="utf-8")
    ended = sociolect("run", "personas-quickstart", "--model", "mock:model.py", preexec_fn=limit)
    check_stopped(ended, 4)
    assert command_in(ended.err) == ["run", "personas-quickstart", "--model", "mock:model.py"]


@pytest.mark.slow
def test_a_pilot_is_shown_recorded_and_part_of_the_run(tmp_path: Path, sociolect: Sociolect) -> None:
    planned = sociolect("plan", "personas-quickstart", "--model", "mock", "--json").document()
    assert planned["pilot"] is None
    assert planned["read"]["low"] < planned["read"]["high"]
    piloted = sociolect("plan", "personas-quickstart", "--model", "mock", "--pilot", "8", "--budget", "1", "--json")
    assert piloted.status == 0, piloted.err
    document = piloted.document()
    assert document["pilot"]["calls"] == 8
    assert document["budget"] == 1.0
    assert document["read"]["high"] - document["read"]["low"] < planned["read"]["high"] - planned["read"]["low"]
    progress = [json.loads(line) for line in piloted.err.splitlines() if line.startswith("{")]
    assert progress[-1]["stage"] == "pilot"
    assert progress[-1]["done"] == 8
    ended = sociolect("run", "personas-quickstart", "--model", "mock")
    assert ended.status == 0
    with Records(tmp_path / document["pilot"]["run"]) as records:
        assert sum(journal.last_reply for journal in records.journals) == sum(records.counts().values())


def test_a_plan_says_where_a_budget_is_not_enough(tmp_path: Path, sociolect: Sociolect) -> None:
    (tmp_path / "p.yaml").write_text(
        "as_of: 2026-01-01\nprices:\n  - {model: mock, input: 100, output: 1000}\n", encoding="utf-8"
    )
    plan = ("plan", "personas-quickstart", "--model", "mock", "--prices", "p.yaml")
    assert "is not enough" in sociolect(*plan, "--budget", "0.01").out
    assert "may not be enough" in sociolect(*plan, "--budget", "3").out
    assert "enough" not in sociolect(*plan, "--budget", "1000").out


@pytest.mark.slow
def test_the_python_api_takes_what_the_verb_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    half = front_door.run("personas-quickstart", model="mock", shard="1/2", budget=1.0)
    assert not (half / "report.html").exists()
    assert front_door.run("personas-quickstart", model="mock", shard="2/2", budget=1.0) == half
    assert (half / "report.html").is_file()
    with pytest.raises(UsageError):
        front_door.run("personas-quickstart", model="mock", shard="3/2")
    with sqlite3.connect(half / "journal-1-of-2.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM replies").fetchone()[0] > 0
    connection.close()
