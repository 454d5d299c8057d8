"""How asking ends before all is asked: no more to be had, stopped, or a fault; on a clock of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import virtual_clock
from scripted_model import Answer, Answers, call, clock, fine, kinds, run, run_lines

from simulator.errors import (
    AccessError,
    MissingError,
    ModelError,
    OutageError,
    QuotaError,
    RateLimitError,
    RejectedError,
    RetryableError,
    StorageError,
)
from simulator.running.calls import Call
from simulator.running.events import Event
from simulator.running.execution import execute
from simulator.running.journal import Journal
from simulator.running.lines import Ask
from simulator.running.patience import Patience
from simulator.running.replies import Reply
from simulator.running.variants import Variant

MINUTES = Patience(first_wait=60.0, longest_wait=60.0)


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path, write=True) as journal:
        yield journal


# -- the end of a line ------------------------------------------------------------------------------------------------


def test_the_days_quota_ends_the_line_and_keeps_what_was_answered(journal: Journal) -> None:
    def answer(call: Call, _: int) -> Reply:
        if call.repeat >= 5:
            raise QuotaError("nothing more today.")
        return Reply("ok", "x")

    other = Answers(fine)
    lines = {
        "spent": (Answers(answer, parallel=1), [call(number, "spent") for number in range(20)]),
        "other": (other, [call(number, "other") for number in range(20)]),
    }
    events: list[Event] = []
    with pytest.raises(QuotaError, match=r"^nothing more today\.$"):
        run_lines(journal, lines, events=events)
    assert [journal.status_of(call(number, "spent").key) for number in range(7)] == ["ok"] * 5 + [None] * 2
    assert len(other.asked) == 20
    assert [(event.model, event.reason) for event in events if event.kind == "paused"] == [
        ("spent", "nothing more today.")
    ]


def test_the_first_error_names_the_others_models(journal: Journal) -> None:
    def raising(error: Exception) -> Answer:
        def answer(call: Call, _: int) -> Reply:
            if call.repeat >= 10:
                raise error
            return Reply("ok")

        return answer

    lines = {
        "a": (Answers(raising(AccessError("no such key.")), parallel=1), [call(n, "a") for n in (0, 10)]),
        "b": (Answers(raising(QuotaError("spent.")), parallel=1), [call(n, "b") for n in (0, 1, 10)]),
        "c": (Answers(raising(MissingError("no weights.")), parallel=1), [call(n, "c") for n in (0, 1, 2, 10)]),
        "d": (Answers(fine), [call(0, "d")]),
    }
    with pytest.raises(AccessError) as caught:
        run_lines(journal, lines)
    assert str(caught.value) == "no such key. Ended early as well: b (quota), c (failed)."
    assert sum(journal.counts().values()) == 7


def test_a_key_that_is_not_accepted_ends_the_line_at_once_and_records_nothing(journal: Journal) -> None:
    def answer(call: Call, _: int) -> Reply:
        raise AccessError("the key is not accepted.")

    model = Answers(answer, parallel=3)
    with pytest.raises(AccessError):
        run(journal, model, [call(number) for number in range(50)])
    assert sum(model.asked.values()) == 3
    assert (journal.counts(), journal.last_attempt) == ({}, 0)


@pytest.mark.parametrize("kind", [RejectedError, RetryableError])
def test_too_many_errors_in_a_row_are_an_outage(journal: Journal, kind: type[ModelError]) -> None:
    def answer(call: Call, _: int) -> Reply:
        if call.repeat in range(10, 14) or call.repeat >= 20:
            raise kind("the model is not there.")
        return Reply("ok")

    model = Answers(answer, parallel=1)
    patience = Patience(attempts=1, in_a_row=5)
    with pytest.raises(OutageError, match=r"^mock: 5 calls in a row ended in errors.* not there\. .*--retry"):
        run(journal, model, [call(number) for number in range(100)], patience=patience)
    statuses = [journal.status_of(call(number).key) for number in range(26)]
    assert statuses == ["ok"] * 10 + ["error"] * 4 + ["ok"] * 6 + ["error"] * 5 + [None]
    run(journal, Answers(fine), [call(number) for number in range(30)], again=frozenset({"error"}))
    assert {journal.status_of(call(number).key) for number in range(30)} == {"ok"}


def test_a_provider_that_asks_for_an_hour_ends_the_line_and_wakes_those_that_wait(journal: Journal) -> None:
    def answer(call: Call, _: int) -> Reply:
        raise RateLimitError("slow down.", seconds=3600.0 if call.repeat == 3 else 250.0)

    model = Answers(answer, parallel=4)
    with pytest.raises(QuotaError, match=r"^mock: .*run the same command again"):
        run(journal, model, [call(number) for number in range(9)])
    assert journal.counts() == {}
    assert max(model.times) == 0.0
    assert [len(journal.attempts(call(number).key)) for number in range(5)] == [1, 1, 1, 1, 0]


def test_a_call_is_not_put_off_for_ever(journal: Journal) -> None:
    def answer(call: Call, _: int) -> Reply:
        raise RateLimitError("not now.", seconds=100.0)

    model = Answers(answer, parallel=2)
    with pytest.raises(QuotaError, match="put a call off"):
        run(journal, model, [call(number) for number in range(3)], patience=Patience(longest_total=1000.0))
    assert 900.0 <= max(model.times) <= 1100.0


# -- stopping ---------------------------------------------------------------------------------------------------------


def test_stopping_finishes_what_is_in_flight_and_begins_nothing(journal: Journal) -> None:
    stop = asyncio.Event()

    def answer(call: Call, _: int) -> Reply:
        if call.repeat == 3:
            stop.set()
        return Reply("ok", "x")

    model = Answers(answer, parallel=2)
    run(journal, model, [call(number) for number in range(10)], stop=stop)
    assert len(model.asked) == sum(journal.counts().values()) == 4


@pytest.mark.parametrize("failure", [RateLimitError("later", seconds=250.0), RetryableError("reset")])
def test_stopping_wakes_everybody_who_waits(journal: Journal, failure: RetryableError) -> None:
    async def go() -> float:
        stop = asyncio.Event()

        def answer(call: Call, _: int) -> Reply:
            raise failure

        asyncio.get_running_loop().call_later(20.0, stop.set)
        asks = {"m": (Ask(call(number)) for number in range(9))}
        await execute(asks, {"m": Answers(answer)}, journal, stop=stop, report=lambda _: None, patience=MINUTES)
        return clock()

    assert virtual_clock.run(go()) == 20.0
    assert journal.counts() == {}
    assert sum(len(journal.attempts(call(number).key)) for number in range(9)) == 4, "what failed is on the disk"


def test_stopping_before_the_start_asks_nothing(journal: Journal) -> None:
    stop = asyncio.Event()
    stop.set()
    model = Answers(fine)
    assert run(journal, model, [call(0)], stop=stop) == []
    assert not model.asked


def test_a_cancelled_execution_keeps_what_had_arrived(journal: Journal) -> None:
    async def go() -> None:
        def answer(call: Call, attempt: int) -> Reply:
            if call.repeat == 7 and attempt == 1:
                raise RetryableError("reset")
            return Reply("ok")

        asks = {"m": (Ask(call(number)) for number in range(100))}
        running = asyncio.create_task(
            execute(asks, {"m": Answers(answer)}, journal, stop=asyncio.Event(), report=lambda _: None)
        )
        await asyncio.sleep(5.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    virtual_clock.run(go())
    assert 15 <= sum(journal.counts().values()) <= 20
    assert len(journal.attempts(call(7).key)) == 1


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_failing_disk_ends_the_run_and_no_reply_is_acknowledged(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_entries: object) -> None:
        raise StorageError("no space is left on the disk")

    run(journal, Answers(fine), [call(0)])
    events: list[Event] = []
    calls = [call(number) for number in range(50)]
    with monkeypatch.context() as broken:
        broken.setattr(journal, "record", failing)
        with pytest.raises(StorageError):
            run(journal, Answers(fine), calls, events=events)
    assert kinds(events) == {"known": 1}
    run(journal, Answers(fine), calls)
    assert sum(journal.counts().values()) == 50


def test_a_disk_that_fails_over_a_failed_attempt_ends_the_run_too(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(call: Call, _: int) -> Reply:
        raise RetryableError("reset")

    def failing(_entries: object) -> None:
        raise StorageError("no space is left on the disk")

    monkeypatch.setattr(journal, "record", failing)
    with pytest.raises(StorageError):
        run(journal, Answers(answer), [call(0)], patience=MINUTES)


@pytest.mark.parametrize("where", ["answer", "variants", "asks"])
def test_a_fault_of_ours_loses_no_other_reply(journal: Journal, where: str) -> None:
    def answer(call: Call, _: int) -> Reply:
        return Reply("ok" if call.repeat != 2 or where != "answer" else 1 / 0)  # type: ignore[arg-type]

    def make(reply: Reply) -> tuple[Variant, ...]:
        raise ZeroDivisionError

    def asks() -> Iterator[Ask]:
        for number in range(20):
            if number == 5 and where == "asks":
                raise ZeroDivisionError
            yield Ask(call(number), make) if number == 2 and where == "variants" else Ask(call(number))

    model = Answers(answer)
    with pytest.raises(ZeroDivisionError):
        run(journal, model, asks())
    lost = 0 if where == "asks" else 1
    assert sum(journal.counts().values()) == len(model.asked) - lost >= 3
    assert model.at_once == 0


def test_a_model_that_cannot_be_loaded_ends_its_line_alone(journal: Journal) -> None:
    def answer(call: Call, _: int) -> Reply:
        raise MissingError("there are no weights.")

    other = Answers(fine)
    with pytest.raises(MissingError):
        run_lines(journal, {"a": (Answers(answer), [call(0, "a")]), "b": (other, [call(n, "b") for n in range(9)])})
    assert len(other.asked) == 9
