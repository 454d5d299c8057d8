"""What a journal knows without counting: it must be what counting would give, after any history."""

import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import JournalError
from simulator.running.calls import Call, Message, Stage
from simulator.running.journal import Entry, FailedAttempt, Journal, Planned, PlanRow, Spent
from simulator.running.journal import reading as journal_reading
from simulator.running.journal.file import connect_writer
from simulator.running.replies import REPLY_STATUSES, Reply, ReplyStatus, Tokens
from simulator.running.variants import Variant

FIRST, LAST = -100, 100_000


def call(number: int, stage: Stage = "generate") -> Call:
    return Call(stage, f"mock:{number % 2}", (Message("user", f"question {number}"),), repeat=number)


def entry(number: int, status: ReplyStatus = "ok", text: str = "x", **options: object) -> Entry:
    return Entry(call(number), Reply(status, text, Tokens(3, None, 4)), 0.5, 1, **options)  # type: ignore[arg-type]


def rows(*numbers: int) -> list[PlanRow]:
    """Rows of a plan with gaps."""
    return [PlanRow(place * 7, f"v{number}", call(number).key) for place, number in enumerate(numbers)]


calls = st.integers(0, 7)
costs = st.none() | st.sampled_from([0.0, -0.0, 0.1, 0.25, 1e-7])
tokens = st.none() | st.integers(0, 5) | st.just(2**63 - 1)
entries = st.builds(
    Entry,
    st.builds(call, calls, st.sampled_from(get_args(Stage))),
    st.builds(
        Reply,
        st.sampled_from(REPLY_STATUSES),
        st.text(max_size=5),
        st.builds(Tokens, tokens, tokens, tokens, tokens),
        error=st.none() | st.text(max_size=3),
    ),
    st.sampled_from([0, 0.0, -0.0, 1.5]),
    st.integers(1, 3),
    costs,
    costs,
)
attempts = st.builds(FailedAttempt, st.builds(call, calls), st.integers(1, 3), st.just(0.5), st.text(max_size=3), costs)
plans = st.lists(calls, max_size=12)
steps = st.lists(st.lists(entries | attempts, max_size=6) | plans.map(tuple) | st.sampled_from("abc"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_tallies_are_what_counting_gives_after_any_history(steps: list[object]) -> None:
    latest: dict[str, tuple[Call, str]] = {}
    planned: set[str] | None = None
    campaign = "a"
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder), write=True) as journal:
        journal.begin("a", "a")
        for step in steps:
            if isinstance(step, str):
                journal.begin(step, step)
                planned = planned if step == campaign else None
                campaign = step
            elif isinstance(step, tuple):
                journal.set_plan("generate", "f", rows(*step))
                planned = {call(number).key for number in step}
            else:
                assert isinstance(step, list)
                journal.record(step)
                latest |= {one.call.key: (one.call, one.reply.status) for one in step if isinstance(one, Entry)}
            counts = Counter((one.stage, one.model, status) for one, status in latest.values())
            assert journal.counts() == counts
            done = None if planned is None else Planned("f", len(planned), len(planned & set(latest)))
            assert journal.planned("generate") == done
            missing = {row.call for row in journal.missing("generate", first=FIRST, last=LAST)}
            assert missing == (planned or set()) - set(latest)
            assert list(journal.check()) == []  # the sums, and every digest


def test_sums_count_all_replies_and_attempts(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        assert journal.spent() == Spent()
        journal.record([entry(1, "error", cost=0.25), entry(1, cost=None, cost_at_most=0.5), entry(2)])
        journal.record(
            [FailedAttempt(call(3), 1, 0.5, "slow\ud83d", 0.125), FailedAttempt(call(3), 2, 0.5, "cut", None)]
        )
        assert journal.spent() == Spent(9, 0, 12, 0, cost=0.25, at_most=0.875, unpriced=2)
        assert [(one.attempt, one.reason, one.cost_at_most) for one in journal.attempts(call(3).key)] == [
            (1, "slow\ufffd", 0.125),
            (2, "cut", None),
        ]
        assert journal.status_of(call(3).key) is None  # asked in vain is not answered
        journal.record([entry(3)])
        assert journal.counts() == {("generate", "mock:0", "ok"): 1, ("generate", "mock:1", "ok"): 2}


def test_what_is_missing_is_told_page_by_page_while_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_reading, "_PAGE", 3)
    monkeypatch.setattr(journal_reading, "_WINDOW", 20)
    with Journal(tmp_path, write=True) as journal:
        journal.begin("a", "a")
        journal.record([entry(number, "empty" if number % 2 else "ok") for number in range(20)])
        plan = rows(*range(40))
        journal.set_plan("generate", "f", plan)
        assert list(journal.plan("generate")) == plan
        assert list(journal.missing("generate", first=FIRST, last=LAST)) == plan[20:]
        assert list(journal.missing("generate", first=plan[25].position, last=plan[30].position)) == plan[25:30]
        since = journal.last_reply
        asked = []
        for row in journal.missing("generate", first=FIRST, last=LAST, again=frozenset({"empty"}), since=since):
            asked.append(row)
            journal.record([entry(row.position // 7, "empty")])  # which is not asked again in this start
        assert asked == [*plan[1:20:2], *plan[20:]]
        assert list(journal.missing("generate", first=FIRST, last=LAST, again=frozenset({"empty"}), since=since)) == []
        assert journal.planned("generate") == ("f", 40, 40)
        assert list(journal.missing("generate", first=FIRST, last=LAST)) == []


def test_a_new_plan_takes_the_place_of_those_of_earlier_campaigns(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.begin("a", "a")
        journal.set_plan("rewrite", "f", rows(1, 2))
        journal.set_plan("generate", "f", rows(3))
        states = [journal.state()]
        journal.begin("b", "b")
        assert journal.planned("rewrite") is None
        assert list(journal.plan("rewrite")) == []
        states.append(journal.state())
        assert journal.set_plan("rewrite", "g", rows(2, 2, 4)) == ("g", 2, 0)
        states.append(journal.state())
        assert len({tuple(state.values()) for state in states}) == 3
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        found = connection.execute("SELECT campaign, stage, count(*) FROM plans GROUP BY 1, 2 ORDER BY 1").fetchall()
    connection.close()
    assert found == [(2, "rewrite", 3)]


def test_new_variants_make_the_plan_to_send_them_void(tmp_path: Path) -> None:
    made = Variant("v", "calculator", "rewrite", "john", 0, None, "Make it", call(1).key, "ok")
    with Journal(tmp_path, write=True) as journal:
        journal.begin("a", "a")
        for record in (
            lambda: journal.record([entry(1, variants=(made,))]),
            lambda: journal.add_variants([made]),
            lambda: journal.set_plan("rewrite", "f", [PlanRow(0, "v", call(1).key, (made,))]),
        ):
            journal.set_plan("generate", "f", rows(3))
            record()
            assert journal.planned("generate") is None
            assert [row.variant for row in journal.plan("generate")] == ["v3"]  # the tables still have it
        assert journal.variant("v") == made
        assert journal.planned("rewrite") == ("f", 1, 1)
        assert list(journal.check()) == []


def test_a_call_of_several_rows_is_counted_once(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.begin("a", "a")
        journal.set_plan("generate", "f", rows(1, 2, 2, 3, 3, 3))
        assert journal.count_missing("generate") == 3
        journal.record([entry(1), entry(2, "empty"), entry(3, "error")])
        assert journal.count_missing("generate") == 0
        assert journal.count_missing("generate", again=frozenset({"empty", "error"})) == 2
        journal.record([entry(3, "ok")])  # the latest reply counts
        assert journal.count_missing("generate", again=frozenset({"empty", "error"})) == 1
        assert journal.count_missing("rewrite") == 0


def test_a_plan_that_is_given_up_leaves_the_last_one(tmp_path: Path) -> None:
    class StoppedError(Exception): ...

    def stopping() -> Iterator[PlanRow]:
        yield from rows(1, 2)
        raise StoppedError

    with Journal(tmp_path, write=True) as journal:
        journal.begin("a", "a")
        journal.set_plan("generate", "f", rows(3))
        with pytest.raises(StoppedError):
            journal.set_plan("generate", "g", stopping())
        assert journal.planned("generate") == ("f", 1, 0)
        assert list(journal.plan("generate")) == rows(3)
        journal.record([entry(3)])
        assert journal.planned("generate") == ("f", 1, 1)


def test_reading_sees_what_is_committed_and_nothing_else(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def entries() -> Iterator[Entry]:
        yield entry(1)
        begun.set()
        assert go_on.wait(30)

    with Journal(tmp_path, write=True) as journal:
        thread = threading.Thread(target=journal.record, args=[entries()])
        thread.start()
        assert begun.wait(30)
        assert journal.status_of(call(1).key) is None
        assert journal.counts() == {}
        go_on.set()
        thread.join()
        assert journal.status_of(call(1).key) == "ok"


def test_what_is_open_for_reading_takes_nothing(tmp_path: Path) -> None:
    Journal(tmp_path, write=True).close()
    with Journal(tmp_path) as journal, pytest.raises(ValueError, match="not open for writing"):
        journal.record([entry(1)])


def test_a_connection_that_cannot_even_undo_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(sqlite3.Connection):
        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
            if sql in ("COMMIT", "ROLLBACK"):
                super().execute("UNDO")
            return super().execute(sql, *values)  # type: ignore[arg-type]

    with Journal(tmp_path, write=True) as journal:
        journal.record([entry(1)])
        assert journal._writer is not None
        journal._writer.close()
        journal._writer = sqlite3.connect(journal.path, isolation_level=None, factory=Broken)
        opened: list[Path] = []

        def connect(path: Path) -> sqlite3.Connection:
            opened.append(path)
            return connect_writer(path)

        monkeypatch.setattr("simulator.running.journal.journal.connect_writer", connect)
        with pytest.raises(JournalError):
            journal.record([entry(2)])
        journal.record([entry(3)])
        assert opened == [journal.path]
        assert [journal.status_of(call(number).key) for number in (1, 2, 3)] == ["ok", None, "ok"]
