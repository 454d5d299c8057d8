"""How long a resume takes to ask its first call, against reading every reply back from a file of JSON lines."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from big_campaign import resume, write_campaign

from rows import Row, median_seconds
from simulator.definitions import Study, load_campaign
from simulator.running.asks import rewrite_ask
from simulator.running.campaign_run import open_run
from simulator.running.journal import Entry
from simulator.running.lines import Ask
from simulator.running.models.mock import answer_plausibly
from simulator.running.plan import GeneratePlan, RewritePlan
from simulator.running.replies import Reply, Tokens

GROUPS = 22 * 14
ITERATIONS, SAMPLE, REPEATS = 300, 180, 2
REPLIES = 200_000

_PEER = """
import json
replies = {}
with open("replies.jsonl", encoding="utf-8") as file:
    for line in file:
        record = json.loads(line)
        replies[record["key"]] = record
with open("plan.txt", encoding="utf-8") as file:
    next(key for key in map(str.strip, file) if key not in replies)
"""


def measure() -> Iterator[Row]:
    """Record 200,000 replies, the last calls of the plan left out, and time processes that go on from there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_campaign(folder, iterations=ITERATIONS, sample=SAMPLE, repeats=REPEATS)
        _record(load_campaign(str(folder / "big.yaml"), folder=folder), folder)
        begun = time.perf_counter()
        resume(folder, calls=1)
        planning = time.perf_counter() - begun
        ours = median_seconds(lambda: resume(folder, calls=1), runs=3)
        peer = median_seconds(lambda: subprocess.run([sys.executable, "-c", _PEER], check=True, cwd=folder), runs=3)
    yield Row("resume with 200,000 replies, first call, s", f"{ours:.2f}", f"{peer:.2f}", f"{ours / peer:.2f}")
    yield Row("the same, with the plan to be made anew, s", f"{planning:.2f}", f"{peer:.2f}", f"{planning / peer:.2f}")


def _record(study: Study, folder: Path) -> None:
    """Record replies to all calls but the last ones, and write the same and the plan's keys as plain files."""
    rewrites, plan = RewritePlan(study), GeneratePlan(study)
    with (
        open_run(study, folder / "run") as journal,
        (folder / "replies.jsonl").open("w", encoding="utf-8") as replies,
        (folder / "plan.txt").open("w", encoding="utf-8") as keys,
    ):
        seen: set[str] = set()

        def answer(asks: Iterable[Ask]) -> Iterator[Entry]:
            for ask in asks:
                keys.write(f"{ask.call.key}\n")
                if ask.call.key in seen:
                    continue
                seen.add(ask.call.key)
                entry = _entry(ask)
                record = {"key": ask.call.key, "call": ask.call.to_json(), **asdict(entry.reply), "seconds": 0.5}
                replies.write(json.dumps(record) + "\n")
                yield entry

        journal.record(answer(rewrite_ask(rewrites, rewrites.at(position)) for position in range(len(rewrites))))
        draws = ((group, rewrites.draw(group, journal.variant)) for group in range(GROUPS))
        asks = (Ask(call) for group, drawn in draws for _, _, call in plan.calls(group, drawn))
        journal.record(islice(answer(asks), REPLIES - len(rewrites)))
        keys.writelines(f"{ask.call.key}\n" for ask in asks)


def _entry(ask: Ask) -> Entry:
    sent: dict[str, object] = {"max_tokens": 200, "seed": ask.call.seed}
    text = f"{answer_plausibly(ask.call)} This is number {ask.call.seed}."  # no two are one call
    reply = Reply("ok", text, Tokens(60, 0, 20, 0), "mock:model.py", "stop", sent)
    return Entry(ask.call, reply, 0.5, 1, 0.0, 0.0, ask.make_variants(reply))
