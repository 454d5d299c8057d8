"""Asking, with all that providers do to those who ask; on a clock of its own, so that no test waits."""

from __future__ import annotations

import asyncio
import doctest
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import pytest
import virtual_clock
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_model import Answers, call, fine, kinds, run, run_lines

from simulator.errors import (
    ModelError,
    RateLimitError,
    RejectedError,
    RetryableError,
)
from simulator.running.calls import Call
from simulator.running.journal import Journal
from simulator.running.lines import Ask
from simulator.running.patience import Patience
from simulator.running.replies import Reply
from simulator.running.variants import Variant

AT_ONCE = Patience(attempts=3, first_wait=0.0, longest_wait=0.0)
MINUTES = Patience(first_wait=60.0, longest_wait=60.0)


def test_the_clock_runs_its_example() -> None:
    assert doctest.testmod(virtual_clock).failed == 0


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path, write=True) as journal:
        yield journal


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_every_call_is_asked_once_and_recorded(journal: Journal) -> None:
    model = Answers(lambda call, _: Reply("ok", call.messages[0].text))
    calls = [call(number) for number in range(100)]
    events = run(journal, model, [*calls, *calls])
    assert model.asked == {one.key: 1 for one in calls}
    assert kinds(events) == {"recorded": 100}
    recorded = [journal.reply_to(one.key) for one in calls]
    assert [one.reply.text for one in recorded if one] == [f"question {number}" for number in range(100)]
    assert model.most_at_once == 4


def test_a_resumed_run_asks_only_for_what_is_missing(journal: Journal) -> None:
    model = Answers(fine)
    run(journal, model, [call(number) for number in range(10)])
    events = run(journal, model, [call(number) for number in range(15)])
    assert kinds(events) == {"known": 10, "recorded": 5}
    assert set(model.asked.values()) == {1}
    assert len(model.asked) == 15


def test_nothing_to_do_is_fine(journal: Journal) -> None:
    assert run(journal, Answers(fine), []) == []
    assert run_lines(journal, {}) == []


def test_calls_are_taken_no_sooner_than_they_can_be_asked(journal: Journal) -> None:
    model, taken = Answers(fine, parallel=3), 0

    def calls() -> Iterator[Call]:
        nonlocal taken
        for number in range(50):
            assert number - sum(model.asked.values()) <= 3
            taken += 1
            yield call(number)

    run(journal, model, calls())
    assert taken == 50


def test_what_did_not_succeed_is_asked_again_once_a_start(journal: Journal) -> None:
    calls = [call(number) for number in range(3)]
    run(journal, Answers(lambda call, _: Reply("ok", "x") if call.repeat else Reply("refused", "no")), calls)
    second = Answers(lambda _call, _: Reply("refused", "still not"), parallel=1)
    run(journal, second, calls)
    assert not second.asked
    run(journal, second, [*calls, *calls], again=frozenset({"refused"}))
    assert second.asked == {calls[0].key: 1}
    run(journal, Answers(fine), calls, again=frozenset({"refused"}))
    assert journal.status_of(calls[0].key) == "ok"


def test_variants_are_made_of_the_reply_that_is_recorded_with_them(journal: Journal) -> None:
    made = Variant("v", "task", "rewrite", "persona", 0, None, "text", "", "ok")
    seen: list[Reply] = []

    def make(reply: Reply) -> tuple[Variant, ...]:
        seen.append(reply)
        return (made,)

    run(journal, Answers(lambda _call, _: Reply("ok", "a\ud83d")), [Ask(call(0), make)])
    assert [(reply.text, reply.error) for reply in seen] == [("a\ufffd", "1 lone surrogates were replaced")]
    assert journal.variant("v") == made


# -- attempts ---------------------------------------------------------------------------------------------------------


def test_what_can_pass_is_tried_again_and_what_cannot_is_not(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if call.repeat == 0:
            raise RejectedError("the context is too long.")
        if call.repeat == 1 and attempt < 6:
            raise RateLimitError("slow down.", seconds=0.0)
        if call.repeat == 2:
            raise RetryableError("the connection broke.")
        return Reply("ok", "x")

    calls = [call(number) for number in range(4)]
    events = run(journal, Answers(answer), calls, patience=AT_ONCE)
    recorded = [journal.reply_to(one.key) for one in calls]
    statuses = [(one.reply.status, one.attempts) for one in recorded if one]
    assert statuses == [("error", 1), ("ok", 6), ("error", 3), ("ok", 1)]
    assert [one.reply.error for one in recorded if one][:3:2] == [
        "the context is too long.",
        "the connection broke. (given up after 3 attempts)",
    ]
    waits = [event for event in events if event.kind == "waiting" and event.call == calls[1]]
    assert [(event.reason, event.attempts) for event in waits] == [("slow down.", number) for number in range(1, 6)]
    failed = [(one.attempt, one.seconds, one.reason) for one in journal.attempts(calls[2].key)]
    assert failed == [(1, 1.0, "the connection broke."), (2, 1.0, "the connection broke.")]
    assert len(journal.attempts(calls[1].key)) == 5
    assert journal.attempts(calls[0].key) == []


def test_no_retry_makes_one_attempt_and_whatever_failed_is_an_error(journal: Journal) -> None:
    failures = [RetryableError("a"), RateLimitError("b"), RateLimitError("c", seconds=9.0), RejectedError("d")]

    def answer(call: Call, _: int) -> Reply:
        raise failures[call.repeat]

    model = Answers(answer)
    events = run(journal, model, [call(number) for number in range(4)], patience=Patience.never())
    assert set(model.asked.values()) == {1}
    assert [event.status for event in events if event.kind == "recorded"] == ["error"] * 4
    assert all(journal.attempts(call(number).key) == [] for number in range(4))


def test_what_took_a_second_is_recorded_so_however_long_it_was_waited_for(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if attempt == 1:
            raise RetryableError("reset")
        return Reply("ok")

    run(journal, Answers(answer, parallel=1), [call(0)], patience=MINUTES)
    recorded = journal.reply_to(call(0).key)
    assert recorded is not None
    assert (recorded.seconds, recorded.attempts) == (1.0, 2)


def test_a_call_that_waits_holds_no_place(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if call.repeat == 0 and attempt == 1:
            raise RetryableError("reset")
        return Reply("ok")

    model = Answers(answer, parallel=2)
    events = run(journal, model, [call(number) for number in range(100)], patience=MINUTES)
    (waiting,) = (event for event in events if event.kind == "waiting")
    assert waiting.in_flight <= 1
    assert model.order[-1] == 0 or model.times[-1] >= 60.0
    assert 60.0 <= model.times[[i for i, one in enumerate(model.order) if one == 0][1]] <= 92.0


# -- limits -----------------------------------------------------------------------------------------------------------


def test_retry_after_pauses_the_model_as_a_whole_and_no_other(journal: Journal) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        if call.repeat == 3 and attempt == 1:
            raise RateLimitError("come back later.", seconds=30.0)
        return Reply("ok")

    slow, free = Answers(answer), Answers(fine)
    lines = {
        "slow": (slow, [call(number, "slow") for number in range(20)]),
        "free": (free, [call(number, "free") for number in range(100)]),
    }
    events = run_lines(journal, lines)
    assert [time for time in slow.times if 1.0 < time < 31.0] == []
    assert len([time for time in slow.times if time >= 31.0]) == 17
    assert max(free.times) < 31.0
    (paused,) = (event for event in events if event.kind == "paused")
    assert (paused.model, paused.seconds, paused.reason) == ("slow", 30.0, "come back later.")
    first = next(event for event in events if event.kind == "limit")
    assert (first.limit, first.reason) == (2, "come back later.")


def test_a_pause_is_told_once_though_calls_end_meanwhile(journal: Journal) -> None:
    async def late(call: Call) -> Reply:
        await asyncio.sleep(call.repeat)
        return Reply("ok")

    def answer(call: Call, attempt: int) -> Reply | Awaitable[Reply]:
        if call.repeat == 0 and attempt == 1:
            raise RateLimitError("come back later.", seconds=30.0)
        return late(call)

    events = run(journal, Answers(answer), [call(number) for number in range(12)])
    (paused,) = (event for event in events if event.kind == "paused")
    assert 25.0 <= paused.seconds <= 30.0


def test_an_overloaded_provider_is_asked_less_and_then_more_again(journal: Journal) -> None:
    def answer(call: Call, _: int) -> Reply:
        if model.at_once > 5:
            raise RetryableError("too much to do.", overloaded=True)
        return Reply("ok")

    model = Answers(answer, parallel=64)
    events = run(journal, model, [call(number) for number in range(300)], patience=Patience(attempts=100))
    assert sum(journal.counts().values()) == 300
    limits = [event for event in events if event.kind == "limit"]
    assert min(event.limit for event in limits) >= 1
    assert {event.limit for event in limits[-3:]} <= {2, 3, 4, 5, 6, 7}
    assert {event.reason for event in limits} == {"too much to do.", "answers arrive without trouble"}
    pairs = itertools.pairwise(limits)
    assert all(later.limit != earlier.limit for earlier, later in pairs), "only changes are told"


def test_what_may_begin_in_a_minute_begins_in_order(journal: Journal) -> None:
    model = Answers(fine, parallel=16, requests_per_minute=30.0)
    events = run(journal, model, [call(number) for number in range(10)])
    assert model.times == pytest.approx([2.0 * number for number in range(10)])
    assert model.order == list(range(10))
    assert {event.reason for event in events if event.kind == "paused"} == {"at most 30 requests a minute"}


def test_tokens_in_a_minute_are_estimated_and_then_corrected(journal: Journal) -> None:
    """Ten characters and a quarter of a hundred tokens; fifteen are used in truth."""
    calls = [call(number, max_tokens=100) for number in range(10)]
    model = Answers(fine, parallel=1, tokens_per_minute=60.0)
    run(journal, model, calls)
    steady = [later - earlier for earlier, later in itertools.pairwise(model.times)]
    assert steady == pytest.approx([15.0] * 9, abs=1.5)
    guessed = Answers(lambda _call, _: Reply("ok"), parallel=1, tokens_per_minute=60.0)
    run(journal, guessed, [call(number, max_tokens=100) for number in range(20, 23)])
    assert guessed.times == pytest.approx([0.0, 102.75, 205.5], abs=1.5)


def test_the_limit_of_one_line_is_reported_with_every_reply(journal: Journal) -> None:
    events = run(journal, Answers(fine, parallel=2), [call(number) for number in range(5)])
    assert {(event.model, event.limit) for event in events} == {("mock", 2)}
    assert all(0 <= event.in_flight <= 2 for event in events)


# -- all of it --------------------------------------------------------------------------------------------------------

FAILURES: Mapping[str, Callable[[], ModelError]] = {
    "reset": lambda: RetryableError("reset", charged=True),
    "overloaded": lambda: RetryableError("busy", overloaded=True),
    "limited": lambda: RateLimitError("slow down"),
    "asked": lambda: RateLimitError("slow down", seconds=7.0),
    "rejected": lambda: RejectedError("no"),
}


def _end_of(meets: list[str]) -> tuple[str, int]:
    """Return how a call ends that meets these failures, with 8 attempts that count, and after how many of all."""
    counted = 0
    for made, kind in enumerate(meets, start=1):
        counted += kind in {"reset", "overloaded"}
        if kind == "rejected" or counted == 8:
            return "error", made
    return "ok", len(meets) + 1


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(0, 30), st.lists(st.sampled_from(sorted(FAILURES)), max_size=12)),
    st.integers(1, 9),
    st.sampled_from([None, 20.0, 600.0]),
)
def test_whatever_fails_every_call_has_one_reply(
    tmp_path_factory: pytest.TempPathFactory, failures: dict[int, list[str]], parallel: int, per_minute: float | None
) -> None:
    def answer(call: Call, attempt: int) -> Reply:
        meets = failures.get(call.repeat, [])
        if attempt <= len(meets):
            raise FAILURES[meets[attempt - 1]]()
        return Reply("ok")

    model = Answers(answer, parallel=parallel, requests_per_minute=per_minute)
    calls = [call(number) for number in range(31)]
    with Journal(tmp_path_factory.mktemp("run"), write=True) as journal:
        events = run(journal, model, calls, patience=Patience(attempts=8))
        assert sum(journal.counts().values()) == 31
        assert model.most_at_once <= parallel
        assert kinds(events)["recorded"] == 31
        for one in calls:
            ends, made = _end_of(failures.get(one.repeat, []))
            recorded = journal.reply_to(one.key)
            assert recorded is not None
            assert (recorded.reply.status, recorded.attempts) == (ends, made)
            assert model.asked[one.key] == made
            assert [attempt.attempt for attempt in journal.attempts(one.key)] == list(range(1, made))
