import sqlite3
from collections.abc import Callable
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
        *(
            (f"UPDATE campaigns SET {column} = {value}", "the frozen campaign")
            for column, value in {
                "number": "2",
                "begun": "''",
                "text": "'name: b'",
                "name": "'b'",
                "digest": "''",
                "text ": "CAST(x'ff' AS TEXT)",
            }.items()
        ),
        *(
            (f"UPDATE attempts SET {column} = {value}", "failed attempt 1, at the call")
            for column, value in {
                "attempt": "2",
                "recorded": "''",
                "seconds": "9e999",
                "reason": "'speed up'",
                "cost_at_most": "NULL",
                "digest": "''",
            }.items()
        ),
        *(
            (f"UPDATE plans SET {column} = {value} WHERE position = 1", "the plan of stage rewrite has other rows")
            for column, value in {"variant": "'x'", "position": "2", "call": "variant"}.items()
        ),
        ("UPDATE plans SET stage = 'rewrote'", "rows of a plan of campaign 1, stage rewrote, which was never made"),
        ("UPDATE plans SET campaign = 2", "rows of a plan of campaign 2, stage rewrite, which was never made"),
        *(
            (f"UPDATE planned SET {column} = {value}", "in sum, is not what was recorded")
            for column, value in {
                "stage": "'generate'",
                "campaign": "2",
                "number": "2",
                "fingerprint": "'g'",
                "calls": "3",
                "done": "-1",
                "void": "1",
                "plan_digest": "''",
                "digest": "''",
            }.items()
        ),
        ("UPDATE tallies SET status = 'okay'", "the tally of rewrite mock okay is not what was recorded: 2"),
        ("UPDATE tallies SET stage = 'write'", "the tally of write mock ok is not what was recorded: 2"),
        ("UPDATE tallies SET calls = -1", "the tally of rewrite mock ok is not what was recorded: -1"),
        ("INSERT INTO tallies VALUES ('generate', 'mock', 'ok', 0)", "the tally says 0 generate mock ok, but 0 are"),
        ("UPDATE sums SET cost = 9e999", "the sums are not what was recorded"),
        ("DELETE FROM sums", "the sums are not what was recorded: none"),
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
        problems = list(journal.check())
    assert all(problem.startswith(f"{journal.path}: ") for problem in problems)
    assert any(part in "\n".join(problems) for part in told.split("|"))
    assert len(problems) <= 3  # what hangs on it is told as well


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


ALL_THAT_IS_READ: dict[str, Callable[[Journal], object]] = {
    "campaigns": Journal.campaign,
    "calls": lambda journal: journal.calls([call(1).key]),
    "replies": lambda journal: journal.replies_to([call(1).key]),
    "attempts": lambda journal: journal.attempts(call(3).key),
    "variants": lambda journal: journal.variants(["v"]),
    "plans": lambda journal: list(journal.plan("rewrite")),
    "planned": lambda journal: journal.planned("rewrite"),
    "tallies": Journal.counts,
    "sums": Journal.spent,
}


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("campaigns", "text = 'name: b'", "the frozen campaign 1 does not hash"),
        ("campaigns", "text = CAST(x'ff' AS TEXT)", "Could not decode"),
        ("calls", "document = CAST(x'7bff' AS TEXT)", "Could not decode"),
        ("calls", "document = '{\"stage\": '", "does not hash to it"),
        ("replies", "sent = CAST(x'ff' AS TEXT)", "Could not decode"),
        ("replies", "sent = 'nothing'", "the reply to the call [0-9a-f]{32} does not hash"),
        ("replies", "cost = 9e999", "does not hash"),
        ("replies", "status = 'okay'", "does not hash"),
        ("attempts", "reason = 'speed up'", "does not hash"),
        ("variants", "text = CAST(x'ff' AS TEXT)", "Could not decode"),
        ("variants", "method = 'chance'", "the variant v does not hash"),
        ("plans", "position = 9223372036854775807 WHERE position = 1", "never recorded"),
        ("planned", "fingerprint = 'g'", "the plan of stage rewrite does not hash"),
        ("planned", "done = 3", "more of it is done"),
        ("tallies", "status = 'okay'", "never recorded"),
        ("tallies", "calls = -1", "never recorded"),
        ("sums", "cost = 9e999", "never recorded"),
    ],
)
def test_what_cannot_be_read_any_more_is_said_when_it_is_read(run: Path, table: str, change: str, told: str) -> None:
    with sqlite3.connect(run / "journal.sqlite") as connection:
        connection.execute(f"UPDATE {table} SET {change}")
    connection.close()
    with Journal(run) as journal:
        with pytest.raises(JournalDamagedError, match=rf"{told}[^\n]*sociolect verify"):
            ALL_THAT_IS_READ[table](journal)
        assert list(journal.check())
        for other, read in ALL_THAT_IS_READ.items():
            if other != table:
                read(journal)


def test_a_reply_of_which_the_call_is_lost_is_not_given(run: Path) -> None:
    with sqlite3.connect(run / "journal.sqlite") as connection:
        connection.execute("DELETE FROM calls WHERE key = ?", (call(2).key,))
    connection.close()
    with Journal(run) as journal:
        assert journal.reply_to(call(1).key) is not None
        with pytest.raises(JournalDamagedError, match=f"the call {call(2).key}, to which there is a reply"):
            journal.reply_to(call(2).key)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP INDEX plans_by_call", "its index plans_by_call is not as schema"),
        ("ALTER TABLE variants ADD COLUMN mood TEXT", "its table variants is not as schema"),
        ("DROP TABLE replies", "its table replies is not as schema"),
        ("PRAGMA user_version=0", "its table campaigns is not as schema 0 has it"),
        ("PRAGMA user_version=-4", "it says that it has schema -4"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_tables_that_are_not_as_they_were_made_are_refused(run: Path, change: str, told: str, write: bool) -> None:
    connection = sqlite3.connect(run / "journal.sqlite")
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(JournalDamagedError, match=told):
        Journal(run, write=write)


def test_what_somebody_has_added_to_a_journal_is_no_damage(run: Path) -> None:
    connection = sqlite3.connect(run / "journal.sqlite")
    connection.executescript(
        "CREATE VIEW mine AS SELECT text FROM replies; CREATE INDEX too ON replies(text); ANALYZE;"
    )
    connection.close()
    with Journal(run, write=True) as journal:
        assert list(journal.check()) == []


def test_a_statement_that_fails_on_a_whole_file_is_a_fault_of_ours(run: Path) -> None:
    twice = [PlanRow(0, "v", call(1).key), PlanRow(0, "w", call(2).key)]
    with Journal(run, write=True) as journal:
        with pytest.raises(sqlite3.IntegrityError):
            journal.set_plan("rewrite", "g", twice)
        assert journal.planned("rewrite") == ("f", 2, 2)
