"""What a run does when whoever listens goes away, or a signal comes at any time: nothing is lost and all is said."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from command_line import Ended, Sociolect, start, wait_for
from simulator.running.journal.records import Records

pytestmark = pytest.mark.slow

RUN = ("run", "personas-quickstart", "--model", "mock")


def folder_of(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "runs").iterdir()
    return found


def stop_in_the_analysis(process: subprocess.Popen[str], signum: signal.Signals) -> Ended:
    """Send a signal when the analysis has begun, and wait for the end."""
    assert process.stderr is not None
    for line in process.stderr:
        if "analysing: overlap" in line:
            process.send_signal(signum)
            break
    return wait_for(process)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_run_that_nobody_listens_to_goes_on(tmp_path: Path, options: tuple[str, ...]) -> None:
    with start(tmp_path, *RUN, *options) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        process.stderr.readline()
        process.stderr.close()
        out = process.stdout.read()
        assert process.wait() == 0
    assert "report.html" in out
    with Records(folder_of(tmp_path)) as records:
        assert sum(records.counts().values()) == 48


def test_a_run_whose_messages_do_not_fit_on_the_disk_goes_on(tmp_path: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full, start(tmp_path, *RUN) as process:
        process.communicate()
        assert process.returncode == 0
        failing = subprocess.run(
            process.args, cwd=tmp_path / "runs", stdout=subprocess.DEVNULL, stderr=full, check=False
        )
    assert failing.returncode == 0


def test_an_error_is_not_printed_among_the_results(tmp_path: Path) -> None:
    process = start(tmp_path, "status", "nowhere")
    arguments = ["sh", "-c", 'exec "$@" 2>&-', "sh", *map(str, process.args)]  # type: ignore[arg-type]
    wait_for(process)
    ended = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_analysis_ends_the_run_with_its_command(
    tmp_path: Path, sociolect: Sociolect, signum: signal.Signals
) -> None:
    stopped = stop_in_the_analysis(start(tmp_path, *RUN), signum)
    assert (stopped.status, stopped.out) == (130, "")
    assert "Go on with:\n  sociolect run personas-quickstart --model mock" in stopped.err
    told = stop_in_the_analysis(start(tmp_path, *RUN, "--json"), signum)
    assert told.status == 130
    assert told.document()["stopped"]["why"] == "interrupted"
    left = {path.name for path in folder_of(tmp_path).iterdir() if path.name.startswith(".")}
    assert left <= {".parts"}  # what was extracted is kept for the next time
    ended = sociolect(*RUN)
    assert ended.status == 0, ended.err
    assert not list(folder_of(tmp_path).glob(".*"))


def test_a_signal_to_another_verb_is_not_silent(tmp_path: Path, sociolect: Sociolect) -> None:
    assert sociolect(*RUN).status == 0
    stopped = stop_in_the_analysis(start(tmp_path, "analyze", folder_of(tmp_path)), signal.SIGINT)
    assert (stopped.status, stopped.out) == (130, "")
    assert "interrupted. What is recorded is kept" in stopped.err


def test_a_terminal_that_is_closed_loses_nothing_in_flight(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import itertools, os, signal\n"
        "asked = itertools.count(1)\n"
        "def answer(call):\n"
        "    with open('asked', 'a') as file:\n"
        "        file.write(f'{call.key}\\n')\n"
        "    if next(asked) == 9:\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "    return 'Please write me a calculator, with tests and a menu, or a bicycle shop.'\n",
        encoding="utf-8",
    )
    ended = wait_for(start(tmp_path, "run", "personas-quickstart", "--model", "mock:model.py", "--json"))
    assert ended.status == 130
    assert json.loads(ended.out)["stopped"]["why"] == "interrupted"
    with Records(folder_of(tmp_path)) as records:
        assert sum(records.counts().values()) == len((tmp_path / "asked").read_text(encoding="utf-8").splitlines())


def test_a_signal_that_was_ignored_stays_ignored(tmp_path: Path) -> None:
    process = start(tmp_path, *RUN, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    ended = stop_in_the_analysis(process, signal.SIGHUP)
    assert ended.status == 0
    assert "report.html" in ended.out


def test_a_disk_that_fails_after_the_calls_is_told_with_the_command(tmp_path: Path, sociolect: Sociolect) -> None:
    assert sociolect(*RUN).status == 0
    (folder_of(tmp_path) / ".tables-new").write_text("in the way", encoding="utf-8")
    told = sociolect(*RUN, "--json")
    assert told.status == 4
    assert told.document()["stopped"]["why"] == "storage"
    assert "Go on with:\n  sociolect run personas-quickstart --model mock --json" in told.err
