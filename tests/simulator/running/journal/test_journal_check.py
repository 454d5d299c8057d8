import sqlite3
from pathlib import Path

import pytest

from simulator.errors import JournalDamagedError
from simulator.running.calls import Call, Message
from simulator.running.journal import Entry, FailedAttempt, Journal, PlanRow
from simulator.running.replies import Reply, Tokens
from simulator.running.variants import Variant


def call(number: int) -> Call:
    return Call("rewrite", "mock", (Message("user", f"question {number}"),), repeat=number)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with something in every table."""
    made = Variant("v", "calculator", "rewrite", "john", 0, None, "Make it", call(1).key, "ok")
    reply = Reply("ok", "x = 1", Tokens(3, 1, 4, 0), "mock-1", "stop", {"seed": 1})
    with Journal(tmp_path, write=True) as journal:
        journal.begin("name: a\n", "a")
        journal.set_plan("rewrite", "f", [PlanRow(0, "v", call(1).key), PlanRow(1, "w", call(2).key)])
        journal.record(
            [
                Entry(call(1), reply, 0.25, 2, 0.5, 0.5, (made,)),
                Entry(call(2), reply, 0.25, 2),
                FailedAttempt(call(3), 1, 0.5, "slow down", 0.25),
            ]
        )
        assert list(journal.check()) == []
    return tmp_path


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE calls SET document = replace(document, 'question 1', 'question 9')", "does not hash to it"),
        ("UPDATE calls SET document = 'nothing' WHERE document LIKE '%question 1%'", "does not hash to it"),
        *(
            (f"UPDATE replies SET {column} = {value} WHERE number = 2", "reply 2, to the call")
            for column, value in {
                "text": "'x = 2'",
                "seconds": "seconds + 1e-9",
                "attempts": "3",
                "error": "''",
                "finish": "'length'",
                "model_reported": "'mock-2'",
                "sent": "'{}'",
                "recorded": "''",
                "digest": "''",
                "text ": "CAST(x'ff' AS TEXT)",
            }.items()
        ),
        ("UPDATE variants SET text = 'Make that'", "the variant v is not what was recorded"),
        ("UPDATE variants SET digest = ''", "the variant v is not what was recorded"),
        ("UPDATE tallies SET calls = 3", "the tally says 3 rewrite mock ok, but 2 are recorded"),
        ("INSERT INTO tallies VALUES ('generate', 'mock', 'ok', 1)", "the tally says 1 generate mock ok, but 0 are"),
        ("UPDATE sums SET tokens_cached = 3", "the sum of tokens_cached is said to be 3, but is 2"),
        ("UPDATE sums SET cost = 0.4", "the sum of cost is said to be 0.4, but is 0.5"),
        ("UPDATE sums SET unpriced = 0", "the sum of unpriced is said to be 0, but is 1"),
        ("UPDATE attempts SET cost_at_most = 0.5", "the sum of at_most is said to be 0.75, but is 1.0"),
        ("UPDATE planned SET done = 1", "said to have 2 calls, 1 of them answered, but has 2 and 2"),
        ("DELETE FROM calls WHERE document LIKE '%question 3%'", "failed attempt 1 was at the call"),
        ("DELETE FROM plans WHERE position = 0", "row missing from index|said to have 2 calls"),
    ],
)
def test_what_was_changed_is_found(run: Path, change: str, told: str) -> None:
    connection = sqlite3.connect(run / "journal.sqlite")
    connection.execute(change)
    connection.commit()
    connection.close()
    with Journal(run) as journal:
        (problem,) = journal.check()
    assert problem.startswith(f"{journal.path}: ")
    assert any(part in problem for part in told.split("|"))


def test_a_reply_without_its_call_and_a_variant_without_its_reply_are_found(run: Path) -> None:
    connection = sqlite3.connect(run / "journal.sqlite")
    connection.execute("DELETE FROM calls WHERE key = ?", (call(2).key,))
    connection.execute("DELETE FROM replies WHERE call = ?", (call(1).key,))
    connection.commit()
    connection.close()
    with Journal(run) as journal:
        problems = "\n".join(journal.check())
    assert f"reply 2 is to the call {call(2).key}, which is not recorded" in problems
    assert f"the variant v was made from a reply to the call {call(1).key}, which has none" in problems


def test_a_damaged_page_is_found(run: Path) -> None:
    path = run / "journal.sqlite"
    connection = sqlite3.connect(path)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'replies'").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with path.open("rb+") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with Journal(run) as journal:
        problems = list(journal.check())
    assert problems
    assert all(str(path) in problem for problem in problems)


def test_a_journal_is_looked_at_as_it_was_at_one_time(run: Path) -> None:
    with Journal(run, write=True) as journal:
        looking = journal.check()
        connection = sqlite3.connect(run / "journal.sqlite")
        connection.execute("UPDATE variants SET text = 'changed'")
        connection.commit()
        connection.close()
        assert "the variant v" in next(looking)
        journal.record([Entry(call(4), Reply("ok"), 0.1, 1)])  # in between
        assert list(looking) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE calls SET document = CAST(x'7bff' AS TEXT)", "Could not decode"),
        ("UPDATE calls SET document = '{\"stage\": '", "Expecting value"),
        ("UPDATE replies SET sent = CAST(x'ff' AS TEXT)", "Could not decode"),
        ("UPDATE replies SET sent = 'nothing'", "Expecting value"),
        ("UPDATE variants SET text = CAST(x'ff' AS TEXT)", "Could not decode"),
    ],
)
def test_what_cannot_be_read_any_more_is_said_when_it_is_read(run: Path, change: str, told: str) -> None:
    with sqlite3.connect(run / "journal.sqlite") as connection:
        connection.execute(change)
    connection.close()

    def read_all(journal: Journal) -> None:
        journal.calls([call(1).key])
        journal.replies_to([call(1).key])
        journal.variants(["v"])

    with Journal(run) as journal, pytest.raises(JournalDamagedError, match=rf"{told}[^\n]*sociolect verify"):
        read_all(journal)
