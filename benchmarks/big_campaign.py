"""A campaign of any size over all built-in tasks and personas, with a model that stops the process, for benchmarks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["resume", "write_campaign"]

CAMPAIGN = """
name: big
study: personas
tasks: all
prompts: {{from: short, personas: all, iterations: {iterations}, max_tokens: 200, model: "mock:model.py"}}
generate: {{models: "mock:model.py", sample: {sample}, repeats: {repeats}, max_tokens: 400}}
seed: 7
"""
MODEL = """
import os, resource, sys
from simulator.running.models.mock import answer_plausibly

CALLS = int(os.environ.get("CALLS", "1"))
asked = 0

def answer(call):
    global asked
    asked += 1
    if asked == CALLS:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        sys.stdout.flush()
        os._exit(0)  # nothing is waited for: what is measured is how the run got here
    return f"{answer_plausibly(call)} This is number {call.seed}."
"""
_RUN = """
import sys
from pathlib import Path
from simulator.definitions import load_campaign
from simulator.running.campaign_run import run_campaign
run_campaign(load_campaign("big.yaml", folder=Path()), Path("run"))
"""


def write_campaign(folder: Path, *, iterations: int, sample: int = 1, repeats: int = 1) -> None:
    """Write ``big.yaml`` and its model into a folder."""
    text = CAMPAIGN.format(iterations=iterations, sample=sample, repeats=repeats)
    (folder / "big.yaml").write_text(text, encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")


def resume(folder: Path, *, calls: int) -> int:
    """Begin or resume the campaign in a process that ends when so many calls are asked; return its peak KiB."""
    ended = subprocess.run(
        [sys.executable, "-c", _RUN],
        check=True,
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parent.parent), "CALLS": str(calls)},
        stdout=subprocess.PIPE,
    )
    return int(ended.stdout)
