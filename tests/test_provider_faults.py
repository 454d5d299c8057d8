"""The real client library against a real server that fails in every way: a run ends complete and accounts for all."""

import asyncio
import signal
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from openai_faults import FAULTS, Handled, Provider, answer_to, fault_of, prompt_of, usage_cost
from openai_server import Answer, OpenAIServer, completion, failure

from command_line import start_campaign, wait_for
from simulator.errors import AccessError, ModelError, OutageError, QuotaError
from simulator.running.calls import Call, Message, Parameter
from simulator.running.events import Event
from simulator.running.execution import execute
from simulator.running.journal import Journal, Recorded
from simulator.running.journal.records import Records
from simulator.running.lines import Ask
from simulator.running.models import open_model
from simulator.running.money import Money, Price
from simulator.running.patience import Patience
from simulator.running.replies import Tokens

PRICE = Price(input=2.0, cached=0.5, output=8.0, reasoning=8.0)
SHORT = Patience(first_wait=0.01, longest_wait=0.05)


def calls(count: int) -> list[Call]:
    return [
        Call("generate", "openai:served", (Message("user", f"question {n}"),), params={"max_tokens": 400}, seed=n)
        for n in range(count)
    ]


def ask_all(
    folder: Path,
    server: OpenAIServer,
    wanted: list[Call],
    *,
    lines: int = 1,
    report: Callable[[Event], None] = lambda _event: None,
    patience: Patience = SHORT,
    **params: Parameter,
) -> None:
    """Ask every call of a server, into the journal of a folder; in several lines, as if of so many models."""

    async def go(journal: Journal) -> None:
        labels = [f"line {number}" for number in range(lines)]
        models = {label: open_model("openai:served", {"base_url": server.base_url, **params}) for label in labels}
        try:
            await execute(
                {label: iter([Ask(call) for call in wanted[at::lines]]) for at, label in enumerate(labels)},
                models,
                journal,
                stop=asyncio.Event(),
                report=report,
                patience=patience,
                money=Money(dict.fromkeys(labels, PRICE)),
            )
        finally:
            for model in models.values():
                await model.close()

    with Journal(folder, write=True) as journal:
        asyncio.run(go(journal))


def recorded(journal: Journal, call: Call) -> Recorded:
    found = journal.reply_to(call.key)
    assert found is not None, call
    return found


def charges(journal: Journal, call: Call) -> list[bool]:
    """For each attempt at a call, in order, whether it is recorded that it was, or may have been, charged for."""
    reply = recorded(journal, call)
    amounts = [one.cost_at_most for one in journal.attempts(call.key)] + [reply.cost_at_most]
    assert reply.attempts == len(amounts)
    assert None not in amounts
    return [bool(amount) for amount in amounts]


def given_up(journal: Journal, call: Call) -> list[bool]:
    """For each attempt at a call, in order, whether the client gave up waiting, whatever the server then answered.

    So it may with any attempt where the machine is busy; nobody knows then whether it was charged for.
    """
    return [*("did not answer in time" in one.reason for one in journal.attempts(call.key)), False]


def owed(handled: list[Handled], late: list[bool]) -> Iterator[list[bool]]:
    """Yield what may be recorded of each attempt; one that was given up may never have come as far as the server."""
    given = [place for place, waited in enumerate(late) if waited]
    for lost in combinations(given, len(late) - len(handled)):
        arrived = iter(handled)
        yield [True if place in lost else next(arrived).charged or waited for place, waited in enumerate(late)]


@pytest.mark.slow
def test_two_thousand_calls_under_every_fault_end_as_without_any(tmp_path: Path) -> None:
    wanted = calls(2000)
    faulty = Provider(fault=lambda prompt, attempt: fault_of(1, prompt, attempt))
    with OpenAIServer(faulty) as server:
        ask_all(tmp_path / "faulty", server, wanted, lines=4, parallel=16, timeout=1.2, read_timeout=0.5)
    with OpenAIServer(Provider()) as server:
        ask_all(tmp_path / "whole", server, wanted, parallel=32)
    met = faulty.outcomes()
    assert set(met) == {"", *FAULTS}, met
    assert met.total() - met[""] > 1000
    with Journal(tmp_path / "faulty") as journal, Journal(tmp_path / "whole") as whole:
        for call in wanted:
            reply, expected = recorded(journal, call), recorded(whole, call)
            assert reply.reply.status == expected.reply.status, call
            assert reply.reply.text == expected.reply.text
            assert reply.reply.tokens == expected.reply.tokens
            assert reply.cost == expected.cost
            handled = faulty.ledger[prompt_of(call)]
            assert charges(journal, call) in owed(handled, given_up(journal, call)), [one.outcome for one in handled]
            check_cost(reply, handled[-1])
        assert {status for _, _, status in journal.counts()} == {
            *["ok", "truncated", "filtered", "refused", "empty", "error"]
        }
        spent = journal.spent()
        assert spent.unpriced == 0
        assert cost_of(faulty) <= spent.at_most


def check_cost(reply: Recorded, handled: Handled) -> None:
    cost = cost_of_answer(handled.answer)
    if cost is None:
        assert reply.cost is None
        assert reply.cost_at_most is not None
        assert reply.cost_at_most > 0
    else:
        assert reply.cost == reply.cost_at_most == pytest.approx(cost, abs=1e-12)


def cost_of_answer(answer: Answer) -> float | None:
    cost = usage_cost(answer, read=PRICE.input, cached=PRICE.cached, written=PRICE.output, unknown=-1.0)
    return None if cost < 0 else cost


def cost_of(provider: Provider) -> float:
    """What the server charged for, as far as it said."""
    costs = (cost_of_answer(answer_to(prompt)) or 0.0 for prompt, all_of in provider.ledger.items() for _ in all_of)
    charged = [one.charged for all_of in provider.ledger.values() for one in all_of]
    return sum(cost for cost, paid in zip(costs, charged, strict=True) if paid)


# -- a kill in the middle ---------------------------------------------------------------------------------------------

CAMPAIGN = """
name: served
study: personas
tasks: [calculator, bicycle-shop, todo-api]
prompts:
  from: short
  personas: [john, harold, ethan]
  iterations: 40
  max_tokens: 400
  model: {{model: "openai:served", base_url: "{url}", parallel: 12, params: {{timeout: 1.5, read_timeout: 0.75}}}}
generate:
  models: [{{model: "openai:served", base_url: "{url}", parallel: 12, params: {{timeout: 1.5, read_timeout: 0.75}}}}]
  sample: 10
  repeats: 2
  max_tokens: 400
seed: 7
"""
PRICES = """
prices:
  - {{model: "openai:served", base_url: "{url}", input: 2, cached: 0.5, output: 8, reasoning: 8}}
"""
PARALLEL = 12


def rewrite(prompt: str) -> Answer:
    """An answer that may be used as a prompt itself, the same for the same prompt."""
    number = int.from_bytes(prompt.encode()[-9:], "big")
    text = f"Please write me a calculator, a bicycle shop or a to-do list number {number}, with tests and a menu."
    return completion(text, usage={"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60})


class Killer:
    """Kills a process once its server has got so many requests."""

    def __init__(self) -> None:
        self.at = 0
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, requests: int) -> None:
        if self.process is not None and self.at and requests >= self.at:
            self.process.kill()


@pytest.mark.slow
def test_what_was_charged_and_is_not_recorded_was_in_flight_at_a_kill(tmp_path: Path) -> None:
    killer = Killer()
    provider = Provider(fault=lambda prompt, attempt: fault_of(2, prompt, attempt), answer=rewrite, arrived=killer)
    run = tmp_path / "run"
    with OpenAIServer(provider) as server:
        (tmp_path / "served.yaml").write_text(CAMPAIGN.format(url=server.base_url), encoding="utf-8")
        (tmp_path / "prices.yaml").write_text(PRICES.format(url=server.base_url), encoding="utf-8")

        def go(kill_at: int) -> int:
            killer.at = kill_at
            killer.process = start_campaign(tmp_path, tmp_path / "served.yaml", run, first_wait=0.01, longest_wait=0.05)
            return wait_for(killer.process).status

        kill_at = [40, 200, 480, 700]
        for at in kill_at:
            assert go(at) == -signal.SIGKILL
        assert go(0) == 0

    paid = {prompt: sum(one.charged for one in handled) for prompt, handled in provider.ledger.items()}
    kept: Counter[str] = Counter()
    with Records(run) as records:
        for stage in ("rewrite", "generate"):
            for row, journal in records.plan(stage):
                reply = journal.reply_to(row.call)
                assert reply is not None
                assert reply.reply.status == "ok"
                prompt = prompt_in(journal.call(row.call))
                amounts = [one.cost_at_most for one in journal.attempts(row.call)] + [reply.cost_at_most]
                kept[prompt] = sum(bool(amount) for amount in amounts)
        assert list(records.check()) == []
    assert set(kept) == set(paid)
    lost = {prompt: paid[prompt] - kept[prompt] for prompt in paid}
    assert all(0 <= number <= len(kill_at) for number in lost.values()), lost
    assert sum(lost.values()) <= PARALLEL * len(kill_at)


def prompt_in(document: Mapping[str, Any]) -> str:
    messages = tuple(Message(role, text) for role, text in document["messages"])
    return prompt_of(Call(document["stage"], document["model"], messages, seed=document["seed"]))


# -- every way in which one call can end ------------------------------------------------------------------------------

USED = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@pytest.mark.parametrize(
    ("answer", "status", "text", "charged"),
    [
        (completion("x = 1", usage=USED), "ok", "x = 1", True),
        (completion("x = 1", finish=None), "ok", "x = 1", True),
        (completion("x = 1", finish="eos"), "ok", "x = 1", True),
        (completion("x = 1", finish="length"), "truncated", "x = 1", True),
        (completion("x = 1", finish="max_tokens"), "truncated", "x = 1", True),
        (completion("", finish="length"), "truncated", "", True),
        (completion("x", finish="content_filter"), "filtered", "x", True),
        (completion(None, finish="content_filter"), "filtered", "", True),
        (completion(None, finish="tool_calls"), "empty", "", True),
        (completion(None, finish="function_call"), "empty", "", True),
        (completion(""), "empty", "", True),
        (completion(" \n\t"), "empty", " \n\t", True),
        (completion(None), "empty", "", True),
        (completion(None, refusal="I will not."), "refused", "I will not.", True),
        (completion("I'm sorry, but I can't help with that."), "refused", None, True),
        (completion("x = 1", counted=False), "ok", "x = 1", True),
        (failure(400, "filtered", code="content_filter"), "filtered", "", True),  # some charge for the prompt
        (failure(400, "maximum context length is 9 tokens"), "error", "", False),
        (failure(404, "no such model"), "error", "", False),
        (failure(422, "unknown parameter"), "error", "", False),
    ],
)
def test_how_one_call_ends(tmp_path: Path, answer: Answer, status: str, text: str | None, charged: bool) -> None:
    (call,) = calls(1)
    with OpenAIServer(lambda _: answer) as server:
        ask_all(tmp_path, server, [call])
        assert len(server.requests) == 1
    with Journal(tmp_path) as journal:
        found = recorded(journal, call)
        assert (found.reply.status, found.attempts) == (status, 1)
        assert text is None or found.reply.text == text
        assert charges(journal, call) == [charged]
        assert bool(found.reply.error) == (answer.status != 200)
        assert found.reply.sent["max_completion_tokens"] == 400
        if charged and answer.status != 200:
            assert found.cost is None
        else:
            check_cost(found, Handled("", charged, 0.0, answer))
        if answer.body.get("usage") == USED:  # type: ignore[union-attr]
            assert found.reply.tokens == Tokens(input=3, output=2)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_one_attempt_more(tmp_path: Path, fault: str) -> None:
    (call,) = calls(1)
    provider = Provider(
        fault=lambda _prompt, attempt: fault if attempt == 1 else "",
        answer=lambda _prompt: completion("x = 1", usage=USED),
    )
    with OpenAIServer(provider) as server:
        ask_all(tmp_path, server, [call], timeout=0.4, read_timeout=0.2)
    with Journal(tmp_path) as journal:
        assert recorded(journal, call).reply.status == "ok"
        (attempt,) = journal.attempts(call.key)
        assert attempt.reason
        (handled, _) = provider.ledger[prompt_of(call)]
        assert charges(journal, call) == [handled.charged, True]


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.startswith("429")])
def test_a_fault_that_stays_is_an_error_in_the_end(tmp_path: Path, fault: str) -> None:
    (call,) = calls(1)
    provider = Provider(fault=lambda _prompt, _attempt: fault, answer=lambda _prompt: completion("x = 1", usage=USED))
    patience = Patience(attempts=3, first_wait=0.01, longest_wait=0.02, longest_total=0.1)
    with OpenAIServer(provider) as server:
        if fault == "503 seconds":  # it says when to come back, which is no failure of the call
            with pytest.raises(QuotaError):
                ask_all(tmp_path, server, [call], timeout=0.3, read_timeout=0.15, patience=patience)
            return
        ask_all(tmp_path, server, [call], timeout=0.3, read_timeout=0.15, patience=patience)
    with Journal(tmp_path) as journal:
        found = recorded(journal, call)
        assert (found.reply.status, found.attempts) == ("error", 3)
        assert "given up after 3 attempts" in (found.reply.error or "")
        assert charges(journal, call) == [one.charged for one in provider.ledger[prompt_of(call)]]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (failure(401, "who are you?"), AccessError),
        (failure(402, "pay first"), QuotaError),
        (failure(429, "quota", code="insufficient_quota"), QuotaError),
        (failure(429, "tomorrow", headers={"Retry-After": "86400"}), QuotaError),
        (failure(418, "a teapot"), OutageError),
    ],
)
def test_what_concerns_every_call_ends_the_run_soon(tmp_path: Path, answer: Answer, kind: type[ModelError]) -> None:
    wanted = calls(200)
    with OpenAIServer(lambda _: answer) as server, pytest.raises(kind):
        ask_all(tmp_path, server, wanted, parallel=4)
    assert len(server.requests) < 30
    with OpenAIServer(Provider()) as server:
        ask_all(tmp_path, server, wanted[:50], parallel=4)
    with Journal(tmp_path) as journal:
        statuses = Counter(recorded(journal, call).reply.status for call in wanted[:50])
        assert statuses["ok"] > 10


# -- limits as the server sees them -----------------------------------------------------------------------------------


class Crowded:
    """A script that takes so many calls at once, for so many seconds each, and refuses what exceeds them."""

    def __init__(self, places: int, seconds: float) -> None:
        self.places, self.seconds = places, seconds
        self.inside = self.refused = self.most = 0
        self.arrivals: list[float] = []
        self.lock = threading.Lock()
        self.over = threading.Event()

    def __call__(self, _: dict[str, Any]) -> Answer:
        with self.lock:
            self.arrivals.append(time.monotonic())
            if self.inside >= self.places:
                self.refused += 1
                return failure(429, "too many at once")
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.over.wait(self.seconds)
        with self.lock:
            self.inside -= 1
        return completion("x = 1")


@pytest.fixture(name="crowd")
def _crowd() -> Iterator[Callable[[int, float], Crowded]]:
    made: list[Crowded] = []

    def make(places: int, seconds: float) -> Crowded:
        made.append(Crowded(places, seconds))
        return made[-1]

    yield make
    for one in made:
        one.over.set()


@pytest.mark.slow
def test_the_number_of_calls_at_once_settles_where_the_server_bears_it(
    tmp_path: Path, crowd: Callable[[int, float], Crowded]
) -> None:
    places = 12
    crowded = crowd(places, 0.1)
    limits: list[int] = []
    with OpenAIServer(crowded) as server:
        ask_all(
            tmp_path,
            server,
            calls(400),
            parallel=64,
            report=lambda event: limits.append(event.limit) if event.kind == "recorded" else None,
        )
    late = limits[len(limits) // 2 :]
    assert places / 2 <= statistics.median(late) <= places + 1, limits
    assert max(late) <= places + 3
    assert crowded.most >= places - 1
    assert crowded.refused / len(crowded.arrivals) < 0.15
    with Journal(tmp_path) as journal:
        assert journal.counts() == {("generate", "openai:served", "ok"): 400}
        assert sum(len(journal.attempts(call.key)) for call in calls(400)) == crowded.refused


@pytest.mark.slow
def test_requests_per_minute_hold_by_the_servers_clock(tmp_path: Path, crowd: Callable[[int, float], Crowded]) -> None:
    crowded = crowd(64, 0.0)
    with OpenAIServer(crowded) as server:
        ask_all(tmp_path, server, calls(30), parallel=16, requests_per_minute=600)
    arrived = crowded.arrivals
    assert len(arrived) == 30
    # Ten a second, and a second's worth at once to begin with. A tenth of a second is the network's and the thread's.
    for first, at in enumerate(arrived):
        within = sum(at <= other < at + 1.0 for other in arrived[first:])
        assert within <= 20 + 1, arrived
    assert 1.8 <= arrived[-1] - arrived[0] <= 4.0


@pytest.mark.slow
def test_nothing_begins_before_the_server_allows_it(tmp_path: Path) -> None:
    arrivals: list[float] = []
    lock = threading.Lock()

    def script(_: dict[str, Any]) -> Answer:
        with lock:
            arrivals.append(time.monotonic())
            if len(arrivals) == 6:
                return failure(429, "a second, please", headers={"Retry-After-Ms": "900"})
        return completion("x = 1")

    with OpenAIServer(script) as server:
        ask_all(tmp_path, server, calls(40), parallel=2)
    asked = arrivals[5]
    during = [at for at in arrivals if asked + 0.1 < at < asked + 0.9]
    assert during == []
    assert len(arrivals) == 41


def test_no_retry_makes_one_attempt(tmp_path: Path) -> None:
    wanted = calls(4)
    with OpenAIServer(Provider(fault=lambda _prompt, attempt: "503" if attempt == 1 else "")) as server:
        ask_all(tmp_path, server, wanted, patience=Patience.never())
        assert len(server.requests) == len(wanted)
    with Journal(tmp_path) as journal:
        assert {recorded(journal, call).reply.status for call in wanted} == {"error"}
