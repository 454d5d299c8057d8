"""What calls cost while they are made: set aside before, counted after, and never more than the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_model import Answers, call, fine, run, run_lines

from simulator.errors import BudgetError, QuotaError, RateLimitError, RejectedError, RetryableError
from simulator.running.calls import Call
from simulator.running.events import Event
from simulator.running.journal import Journal
from simulator.running.money import FREE, Money, Price
from simulator.running.patience import Patience
from simulator.running.replies import Reply, Tokens

DEAR = Price(1000, 500, 2000, 2000)
"""US dollars per million tokens, so that a token costs a tenth of a cent."""

AT_ONCE = Patience(attempts=3, first_wait=0.0, longest_wait=0.0)


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path, write=True) as journal:
        yield journal


def bound(number: int = 0) -> float:
    found = DEAR.at_most(call(number, max_tokens=10))
    assert found is not None
    return found


def calls(count: int, model: str = "mock") -> list[Call]:
    return [call(number, model, max_tokens=10) for number in range(count)]


def test_what_a_reply_cost_is_recorded_and_reported(journal: Journal) -> None:
    money = Money({"m": DEAR})
    events = run(journal, Answers(fine), calls(3), money=money)
    assert [event.cost for event in events if event.kind == "recorded"] == pytest.approx([0.02] * 3)
    recorded = journal.reply_to(calls(1)[0].key)
    assert recorded is not None
    assert recorded.cost == recorded.cost_at_most == pytest.approx(0.02)
    assert money.spent == pytest.approx(0.06)
    assert money.reserved == 0.0
    assert journal.spent().cost == pytest.approx(0.06)


def test_without_usage_a_reply_may_have_cost_all_that_was_set_aside(journal: Journal) -> None:
    money = Money({"m": DEAR})
    run(journal, Answers(lambda _call, _: Reply("ok", "x")), calls(1), money=money)
    recorded = journal.reply_to(calls(1)[0].key)
    assert recorded is not None
    assert (recorded.cost, recorded.cost_at_most) == (None, bound())
    assert (money.spent, money.reserved) == (bound(), 0.0)


def test_a_failed_attempt_costs_what_the_provider_may_have_charged(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if call.repeat == 2:
            raise RejectedError("no")
        if call.repeat == 3:
            raise RetryableError("cut", charged=True)
        if attempt < 3:
            raise RetryableError("cut", charged=True) if call.repeat else RateLimitError("slow down")
        return fine(call, attempt)

    money = Money({"m": DEAR})
    run(journal, Answers(answer), calls(4), money=money, patience=AT_ONCE)
    costs = [[one.cost_at_most for one in journal.attempts(one.key)] for one in calls(4)]
    assert costs == [[0.0, 0.0], [bound(1)] * 2, [], [bound(3)] * 2]
    recorded = [journal.reply_to(one.key) for one in calls(4)]
    ends = [(one.cost, one.cost_at_most) for one in recorded if one]
    assert ends[2:] == [(0.0, 0.0), (None, bound(3))]
    assert money.spent == pytest.approx(2 * 0.02 + 2 * bound(1) + 3 * bound(3))
    assert money.spent == pytest.approx(journal.spent().at_most)
    assert money.reserved == 0.0


def test_without_a_price_nothing_is_said_to_cost_nothing(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if attempt == 1:
            raise RetryableError("reset")
        return fine(call, attempt)

    run(journal, Answers(answer), calls(1), money=Money({"m": None}), patience=AT_ONCE)
    run(journal, Answers(answer, "openai:m"), [call(7)], patience=AT_ONCE)
    for one in (calls(1)[0], call(7)):
        recorded = journal.reply_to(one.key)
        assert recorded is not None
        assert (recorded.cost, recorded.cost_at_most) == (None, None)
        assert [attempt.cost_at_most for attempt in journal.attempts(one.key)] == [None]


@pytest.mark.parametrize("money", [None, Money({"m": FREE}, budget=0.0)])
def test_what_is_free_costs_nothing_even_without_usage(journal: Journal, money: Money | None) -> None:
    run(journal, Answers(lambda _call, _: Reply("ok", "x")), [call(0)], money=money)
    recorded = journal.reply_to(call(0).key)
    assert recorded is not None
    assert (recorded.cost, recorded.cost_at_most) == (0.0, 0.0)


def test_the_budget_ends_the_line_before_it_is_exceeded(journal: Journal) -> None:
    free = Answers(fine)
    lines = {
        "dear": (Answers(fine, parallel=4), calls(100, "dear")),
        "free": (free, [call(n, "free") for n in range(20)]),
    }
    money = Money({"dear": DEAR, "free": FREE}, budget=bound() + 0.02 * 10.5)
    events: list[Event] = []
    with pytest.raises(BudgetError, match=r"^dear: the next call might exceed the budget. \$0.22\d\d of .*--budget"):
        run_lines(journal, lines, money=money, events=events)
    assert len(free.asked) == 20
    assert journal.counts()[("generate", "dear", "ok")] == 11
    assert money.spent == pytest.approx(0.22)
    reasons = [event.reason for event in events if event.kind == "paused"]
    assert "all that is left of the budget is set aside for the calls in flight" in reasons
    with_more = Money({"m": DEAR}, budget=100, spent=money.spent)
    run(journal, Answers(fine), calls(100, "dear"), money=with_more)
    assert journal.counts()[("generate", "dear", "ok")] == 100


def test_a_line_waits_for_what_another_may_give_back(journal: Journal) -> None:
    """Only one call fits into the budget at a time, and each gives most of it back."""
    lines = {label: (Answers(fine), calls(6, label)) for label in ("a", "b")}
    money = Money({"a": DEAR, "b": DEAR}, budget=bound() + 12 * 0.02)
    run_lines(journal, lines, money=money)
    assert sum(journal.counts().values()) == 12


def test_stopping_wakes_those_who_wait_for_money(journal: Journal) -> None:
    stop = asyncio.Event()

    def answer(call: Call, attempt: int) -> Reply:
        stop.set()
        return fine(call, attempt)

    money = Money({"m": DEAR}, budget=bound() * 1.5)
    run(journal, Answers(answer), calls(10), money=money, stop=stop)
    assert sum(journal.counts().values()) == 1
    assert money.reserved == 0.0


def test_money_is_given_back_whatever_becomes_of_an_attempt(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if call.repeat == 3:
            raise QuotaError("spent.")
        if call.repeat == 5:
            raise ZeroDivisionError
        return fine(call, attempt)

    money = Money({"m": DEAR})
    with pytest.raises((QuotaError, ZeroDivisionError)):
        run(journal, Answers(answer, parallel=8), calls(8), money=money)
    assert money.reserved == 0.0
    assert money.spent == pytest.approx(6 * 0.02 + bound(5)), "nobody knows what became of the one with the fault"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.sampled_from(["fine", "uncounted", "cut", "limited", "rejected"]), min_size=40, max_size=40),
    st.integers(1, 12),
    st.floats(0, 3),
)
def test_no_budget_is_ever_exceeded(
    tmp_path_factory: pytest.TempPathFactory, ends: list[str], parallel: int, budget: float
) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        assert money.spent + money.reserved <= budget + 1e-9
        end = ends[call.repeat - 10]
        if attempt == 1 and end in {"cut", "limited"}:
            raise RetryableError("cut", charged=True) if end == "cut" else RateLimitError("slow down")
        if end == "rejected":
            raise RejectedError("no")
        return fine(call, attempt) if end == "fine" else Reply("ok", "x", Tokens())

    money = Money({"m": DEAR}, budget=budget)
    with Journal(tmp_path_factory.mktemp("run"), write=True) as journal:
        model = Answers(answer, parallel=parallel)
        try:
            run(
                journal,
                model,
                [call(number, max_tokens=10) for number in range(10, 50)],
                money=money,
                patience=Patience(in_a_row=99),
            )
        except BudgetError:
            assert money.spent + bound(10) > budget - 1e-9, "all prompts are of one length, and so have one bound"
        else:
            assert sum(journal.counts().values()) == 40
        assert money.spent <= budget + 1e-9
        assert money.spent == pytest.approx(journal.spent().at_most, abs=1e-9)
        assert money.reserved == 0.0
