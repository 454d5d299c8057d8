"""The command line as a process of its own, and how it ended."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent


class Ended(NamedTuple):
    """How a process of the command line ended."""

    status: int
    out: str
    err: str

    def document(self) -> Any:
        return json.loads(self.out)


Sociolect = Callable[..., Ended]

_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); import sociolect as s; sys.exit(s.main(sys.argv[2:]))"


def start(
    folder: Path, *arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """Start ``sociolect ARGUMENTS`` in a folder, without any key but those given."""
    return start_program(folder, _PROGRAM, ROOT, *arguments, environment=environment, **options)


def start_program(
    folder: Path, program: str, *arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """Start a Python program, given as text, in a folder, without any key but those given."""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env={**inherited, "NO_COLOR": "1", "COLUMNS": "200", **(environment or {})},
        **options,
    )


def wait_for(process: subprocess.Popen[str]) -> Ended:
    """Wait for a process to end and say how it did; it is killed where the test does not wait for it."""
    with process:
        try:
            out, err = process.communicate()
        except BaseException:
            process.kill()
            raise
        return Ended(process.returncode, out, err)


_CAMPAIGN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from simulator.definitions import load_campaign
from simulator.errors import SociolectError
from simulator.running.campaign_run import run_campaign
from simulator.running.patience import Patience
campaign, run, patience = sys.argv[2:]
try:
    whole = run_campaign(load_campaign(campaign, folder=Path()), Path(run), patience=Patience(**json.loads(patience)))
except SociolectError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_status)
sys.exit(0 if whole else 130)
"""


def start_campaign(
    folder: Path, campaign: Path, run: Path, *, environment: Mapping[str, str] | None = None, **patience: float
) -> subprocess.Popen[str]:
    """Start what `sociolect run` does before the analysis: execute or resume a campaign in a run folder."""
    return start_program(folder, _CAMPAIGN, ROOT, campaign, run, json.dumps(patience), environment=environment)
