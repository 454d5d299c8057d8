import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from simulator.errors import QuotaError, RateLimitError, RejectedError, RetryableError, StorageError
from simulator.running.calls import Call, Message
from simulator.running.execution import Event, Patience, execute
from simulator.running.journal import Journal
from simulator.running.models import ModelInfo, describe_model
from simulator.running.replies import Reply


def call(number: int, model: str = "mock") -> Call:
    return Call("generate", model, (Message("user", f"question {number}"),), repeat=number)


class Answers:
    """A model whose answers are a function, and which counts what it was asked."""

    def __init__(self, answer: Callable[[Call], Reply], parallel: int = 4) -> None:
        self._answer = answer
        self.asked: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        info = describe_model("mock", {})
        fields = {name: getattr(info, name) for name in info.__slots__}
        self.info = ModelInfo(**{**fields, "parallel": parallel})

    async def ask(self, call: Call) -> Reply:
        self.asked[call.key] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self._answer(call)

    async def close(self) -> None: ...


def run(journal: Journal, model: Answers, calls: Iterable[Call], **options: object) -> list[Event]:
    events: list[Event] = []

    async def go() -> None:
        stop = options.pop("stop", None) or asyncio.Event()
        report = options.pop("report", events.append)
        await execute({"m": iter(calls)}, {"m": model}, journal, stop=stop, report=report, **options)  # type: ignore[arg-type]

    asyncio.run(go())
    return events


AT_ONCE = Patience(attempts=3, first_wait=0.0, longest_wait=0.0)


def test_every_call_is_asked_once_and_recorded(tmp_path: Path) -> None:
    model = Answers(lambda call: Reply("ok", call.messages[0].text))
    calls = [call(number) for number in range(100)]
    with Journal(tmp_path, write=True) as journal:
        events = run(journal, model, [*calls, *calls])
        assert model.asked == {one.key: 1 for one in calls}
        assert Counter(event.kind for event in events) == {"recorded": 100}
        recorded = [journal.reply_to(one.key) for one in calls]
        assert [one.reply.text for one in recorded if one] == [f"question {number}" for number in range(100)]
    assert model.most_at_once == 4


def test_a_resumed_run_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    model = Answers(lambda call: Reply("ok", "x"))
    with Journal(tmp_path, write=True) as journal:
        run(journal, model, [call(number) for number in range(10)])
        events = run(journal, model, [call(number) for number in range(15)])
    assert Counter(event.kind for event in events) == {"known": 10, "recorded": 5}
    assert set(model.asked.values()) == {1}
    assert len(model.asked) == 15


def test_nothing_to_do_is_fine(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        assert run(journal, Answers(lambda call: Reply("ok")), []) == []


def test_what_can_pass_is_tried_again_and_what_cannot_is_not(tmp_path: Path) -> None:
    tries: Counter[str] = Counter()

    def answer(call: Call) -> Reply:
        tries[call.key] += 1
        if call.repeat == 0:
            raise RejectedError("the context is too long")
        if call.repeat == 1 and tries[call.key] < 3:
            raise RateLimitError("slow down", seconds=0.0)
        if call.repeat == 2:
            raise RetryableError("the server is overloaded")
        return Reply("ok", "x")

    calls = [call(number) for number in range(4)]
    with Journal(tmp_path, write=True) as journal:
        events = run(journal, Answers(answer), calls, patience=AT_ONCE)
        recorded = [journal.reply_to(one.key) for one in calls]
    statuses = [(one.reply.status, one.attempts) for one in recorded if one]
    assert statuses == [("error", 1), ("ok", 3), ("error", 3), ("ok", 1)]
    assert recorded[2] is not None
    assert "given up after 3 attempts" in (recorded[2].reply.error or "")
    assert [event.reason for event in events if event.kind == "waiting" and event.call.repeat == 1] == ["slow down"] * 2


def test_only_what_did_not_succeed_is_asked_again(tmp_path: Path) -> None:
    first = Answers(lambda call: Reply("ok", "x") if call.repeat else Reply("refused", "no"))
    second = Answers(lambda call: Reply("ok", "y"))
    calls = [call(number) for number in range(3)]
    with Journal(tmp_path, write=True) as journal:
        run(journal, first, calls)
        run(journal, second, calls)
        assert not second.asked
        run(journal, second, calls, again=frozenset({"refused"}))
        assert second.asked == {calls[0].key: 1}
        assert journal.status_of(calls[0].key) == "ok"


def test_the_days_quota_ends_the_run_and_keeps_what_was_answered(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        if call.repeat >= 5:
            raise QuotaError("nothing more today")
        return Reply("ok", "x")

    with Journal(tmp_path, write=True) as journal:
        with pytest.raises(QuotaError):
            run(journal, Answers(answer, parallel=1), [call(number) for number in range(20)])
        assert [journal.status_of(call(number).key) for number in range(7)] == ["ok"] * 5 + [None] * 2


def test_stopping_finishes_what_is_in_flight_and_begins_nothing(tmp_path: Path) -> None:
    stop = asyncio.Event()

    def answer(call: Call) -> Reply:
        if call.repeat == 3:
            stop.set()
        return Reply("ok", "x")

    model = Answers(answer, parallel=1)
    with Journal(tmp_path, write=True) as journal:
        run(journal, model, [call(number) for number in range(10)], stop=stop)
        assert [journal.status_of(call(number).key) for number in range(5)] == ["ok"] * 4 + [None]
    assert len(model.asked) == 4


def test_a_failing_disk_ends_the_run_and_no_reply_is_acknowledged(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        record = journal.record

        def failing(entries: Iterable[object]) -> None:
            raise StorageError("no space is left on the disk")

        run(journal, Answers(lambda call: Reply("ok", "x")), [call(0)])
        journal.record = failing  # type: ignore[method-assign]
        events: list[Event] = []
        calls = [call(number) for number in range(50)]
        with pytest.raises(StorageError):
            run(journal, Answers(lambda call: Reply("ok", "x")), calls, report=events.append)
        assert {event.kind for event in events} == {"known"}
        journal.record = record  # type: ignore[method-assign]
        run(journal, Answers(lambda call: Reply("ok", "x")), [call(number) for number in range(50)])
        assert sum(journal.counts().values()) == 50


def test_waits_double_up_to_the_longest_and_obey_the_provider() -> None:
    patience = Patience(first_wait=1.0, longest_wait=8.0)
    waits = [patience.wait_after(attempt, RetryableError("x"), call(0)) for attempt in range(1, 7)]
    for wait, least in zip(waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert least <= wait <= 1.5 * least
    assert 5.0 <= patience.wait_after(1, RateLimitError("x", seconds=5.0), call(0)) <= 7.5
    with pytest.raises(QuotaError, match="asks to wait 3,600 s"):
        patience.wait_after(1, RateLimitError("x", seconds=3600.0), call(0))


def test_a_fault_in_one_answer_loses_no_other_reply(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        if call.repeat == 2:
            raise ZeroDivisionError
        return Reply("ok", "x")

    with Journal(tmp_path, write=True) as journal:
        model = Answers(answer, parallel=4)
        with pytest.raises(ZeroDivisionError):
            run(journal, model, [call(number) for number in range(20)])
        assert sum(journal.counts().values()) == len(model.asked) - 1 >= 3


def test_a_provider_that_asks_for_an_hour_ends_the_run_and_wakes_those_that_wait(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        raise RateLimitError("slow down", seconds=3600.0 if call.repeat == 3 else 250.0)

    with Journal(tmp_path, write=True) as journal:
        with pytest.raises(QuotaError, match="run the same command again"):
            run(journal, Answers(answer, parallel=4), [call(number) for number in range(9)])
        assert journal.counts() == {}


def test_half_a_surrogate_pair_is_repaired_before_anything_is_made_of_it(tmp_path: Path) -> None:
    seen: list[Reply] = []

    def make_variants(call: Call, reply: Reply) -> tuple[()]:
        seen.append(reply)
        return ()

    with Journal(tmp_path, write=True) as journal:
        run(journal, Answers(lambda call: Reply("ok", "a\ud83d")), [call(0)], make_variants=make_variants)
    assert [(reply.text, reply.error) for reply in seen] == [("a\ufffd", "1 lone surrogates were replaced")]
