"""What the server charged for never exceeds the budget, whatever is in flight, lost or not counted."""

import random
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openai_faults import FAULTS, prompt_of
from openai_server import Answer, OpenAIServer, completion

from command_line import Sociolect
from simulator.running.journal.records import Records

CAMPAIGN = """
name: priced
study: personas
tasks: [calculator, bicycle-shop]
prompts:
  from: short
  personas: [john, harold, ethan]
  iterations: 16
  max_tokens: 400
  model: {{model: "openai:served", base_url: "{url}", parallel: 16}}
generate:
  models: [{{model: "openai:served", base_url: "{url}", parallel: 16}}]
  sample: 4
  max_tokens: 300
seed: 7
"""
PRICES = """
as_of: 2026-01-01
prices:
  - {{model: "openai:served", base_url: "{url}", input: 2, cached: 0.5, output: 8, reasoning: 8}}
"""
CALLS = 2 * 3 * 16 + 2 * 3 * 4
LOST = ("close", "reset", "half", "no JSON", "no choices")


class Till:
    """A server that writes as much as it may, and counts what it charges whether it says so or not."""

    def __init__(self) -> None:
        self.charged = 0.0
        self.inside = self.most_inside = 0
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.over = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Answer:
        prompt = prompt_of(body)
        chance = random.Random(prompt)
        longest = body.get("max_tokens") or body["max_completion_tokens"]
        read = sum(len(message["content"].encode()) // chance.choice((1, 2, 4)) for message in body["messages"])
        written = longest if chance.random() < 0.5 else chance.randrange(1, longest)
        counted, loses = chance.random() < 0.8, chance.random() < 0.2
        with self.lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            self.charged += (read * 2 + written * 8) * 1e-6
            self.asked[prompt] += 1
            lost = loses and self.asked[prompt] == 1
            self.answered[prompt] += not lost
        self.over.wait(0.02)
        with self.lock:
            self.inside -= 1
        answer = completion(
            f"Please write me a calculator or a bicycle shop number {chance.randrange(10**6)}, with tests and a menu.",
            usage={"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
            counted=counted,
        )
        return FAULTS[chance.choice(LOST)][1](answer) if lost else answer


@pytest.mark.slow
def test_the_server_never_charges_more_than_the_budget(tmp_path: Path, sociolect: Sociolect) -> None:
    till = Till()
    with OpenAIServer(till) as server:
        (tmp_path / "priced.yaml").write_text(CAMPAIGN.format(url=server.base_url), encoding="utf-8")
        (tmp_path / "p.yaml").write_text(PRICES.format(url=server.base_url), encoding="utf-8")
        command = ("run", "priced.yaml", "--prices", "p.yaml", "--budget")

        for budget in (0.001, 0.25, 0.4):
            stopped = sociolect(*command, str(budget))
            assert stopped.status == 4, stopped
            assert "Traceback" not in stopped.err
            assert re.search(r"--budget", stopped.err)
            assert re.search(r"sociolect run priced\.yaml", stopped.err), stopped.err
            assert till.charged <= budget
            (run,) = (tmp_path / "runs").iterdir()
            with Records(run) as records:
                spent = records.spent()
                assert till.charged <= spent.at_most <= budget
                if budget > 0.01:
                    assert spent.at_most > budget - 0.02  # what one more call might have cost
        before = till.charged
        assert before > 0.1
        assert till.most_inside > 4
        ended = sociolect(*command, "50")
        assert ended.status in {0, 3}, ended
        assert before < till.charged < 50
    assert set(till.answered.values()) == {1}  # nobody who was answered was asked again
    with Records(run) as records:
        asked = {row.call for stage in ("rewrite", "generate") for row, _ in records.plan(stage)}
        assert sum(records.counts().values()) == len(asked) == len(till.answered)
        assert till.charged <= records.spent().at_most


@pytest.mark.slow
def test_no_budget_is_kept_for_what_has_no_price(tmp_path: Path, sociolect: Sociolect) -> None:
    with OpenAIServer(Till()) as server:
        (tmp_path / "priced.yaml").write_text(CAMPAIGN.format(url=server.base_url), encoding="utf-8")
        refused = sociolect("run", "priced.yaml", "--budget", "1")
        assert refused.status == 2
        assert "openai:served" in refused.err
        (tmp_path / "p.yaml").write_text(PRICES.format(url=server.base_url), encoding="utf-8")
        text = CAMPAIGN.format(url=server.base_url).replace("  max_tokens: 300\n", "")
        (tmp_path / "priced.yaml").write_text(text, encoding="utf-8")
        refused = sociolect("run", "priced.yaml", "--budget", "1", "--prices", "p.yaml")
        assert refused.status == 2
        assert "max_tokens" in refused.err
        assert server.requests == []
    assert not (tmp_path / "runs").exists()
