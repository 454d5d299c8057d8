"""What a run's records say of it, in one journal or several, and whether they are whole."""

import sqlite3
from pathlib import Path

import pytest

from command_line import Sociolect
from simulator.errors import JournalDamagedError, RecordError
from simulator.running.calls import Call, Message
from simulator.running.journal import Journal
from simulator.running.journal.entries import Entry, FailedAttempt, PlanRow
from simulator.running.journal.shards import Shard
from simulator.running.replies import Reply, ReplyStatus, Tokens
from simulator.running.status import count_failed, read_status, shards_to_go, verify_records


def call(number: int, stage: str = "rewrite") -> Call:
    return Call(stage, "openai:m", (Message("user", f"text {number}"),), repeat=number)  # type: ignore[arg-type]


def answered(number: int, status: ReplyStatus = "ok", *, cost: float | None = 0.25) -> Entry:
    reply = Reply(status, "print(1)", Tokens(10, 2, 30, 4))
    return Entry(call(number), reply, seconds=1.0, attempts=1, cost=cost, cost_at_most=0.5 if cost is None else cost)


def begin(folder: Path, calls: range, *, shard: Shard | None = None, stages: tuple[str, ...] = ("rewrite",)) -> Journal:
    journal = Journal(folder, write=True, shard=shard)
    journal.begin("name: small", "small")
    for stage in stages:
        rows = [PlanRow(number, f"variant-{number}", call(number, stage).key) for number in calls]
        journal.set_plan(stage, "made from", rows if stage == "rewrite" else [])  # type: ignore[arg-type]
    return journal


def test_a_status_counts_replies_money_tokens_and_failures(tmp_path: Path) -> None:
    with begin(tmp_path, range(5)) as journal:
        journal.record([answered(0), answered(1, "refused", cost=None), answered(1), answered(2, "error")])
        journal.record([FailedAttempt(call(3), 1, 0.5, "HTTP 503", 0.0), FailedAttempt(call(3), 2, 9.0, "cut", 0.125)])
        found = read_status(tmp_path)  # while the run goes on
    assert found.campaign == "small"
    assert found.counts == {("rewrite", "openai:m", "error"): 1, ("rewrite", "openai:m", "ok"): 2}
    assert found.to_ask == {"rewrite": 2, "generate": None}
    assert found.failed_attempts == 2
    document = found.document()
    assert document["tokens"] == {"input": 40, "cached": 8, "output": 120, "reasoning": 16}
    assert document["cost"] == {"known": 0.75, "at_most": 1.375, "unpriced": 0}
    assert document["stages"] == [
        {"stage": "rewrite", "calls": 5, "done": 3},
        {"stage": "generate", "calls": None, "done": None},
    ]
    assert document["warnings"] == ["2 calls are still to ask."]
    words = "\n".join(found.sentences())
    assert "rewrite: 3 of 5 calls done, 2 to ask." in words
    assert "generate: not planned yet." in words
    assert "Spent: $0.75, at most $1.38." in words
    assert "2 attempts failed." in words


def test_a_price_that_is_not_known_is_never_a_zero(tmp_path: Path) -> None:
    unpriced = Entry(call(0), Reply("ok", "x"), seconds=1.0, attempts=1)
    with begin(tmp_path, range(1)) as journal:
        journal.record([unpriced])
    found = read_status(tmp_path)
    assert "Spent: price not known." in found.sentences()
    assert found.document()["cost"]["unpriced"] == 1
    assert found.warnings == ["The price of 1 reply or failed attempt is not known: the cost is that of the others."]


def test_shards_are_read_as_one_and_the_missing_are_named(tmp_path: Path) -> None:
    both = ("rewrite", "generate")
    with begin(tmp_path, range(2), shard=Shard(1, 3), stages=both) as journal:
        journal.record([answered(0), answered(1, "error")])
    with begin(tmp_path, range(2, 5), shard=Shard(3, 3), stages=both) as journal:
        journal.record([answered(2)])
    found = read_status(tmp_path)
    assert found.to_ask == {"rewrite": 2, "generate": 0}
    assert found.document()["shards"] == {"present": ["1/3", "3/3"], "missing": ["2/3"]}
    assert any("2/3" in warning for warning in found.warnings)
    assert shards_to_go(tmp_path) == [Shard(2, 3), Shard(3, 3)]
    assert count_failed(tmp_path, "1/3") == 1
    assert count_failed(tmp_path, "3/3") == 0
    with Journal(tmp_path, write=True, shard=Shard(3, 3)) as journal:
        journal.record([answered(3), answered(4)])
    assert shards_to_go(tmp_path) == [Shard(2, 3)]


def test_a_shard_that_has_not_planned_its_second_stage_is_not_complete(tmp_path: Path) -> None:
    with begin(tmp_path, range(1), shard=Shard(1, 1)) as journal:
        journal.record([answered(0)])
    assert shards_to_go(tmp_path) == [Shard(1, 1)]


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    for read in (read_status, verify_records, shards_to_go):
        with pytest.raises(RecordError):
            read(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE replies SET text = 'print(2)' WHERE number = 2",
        "UPDATE replies SET status = 'ok' WHERE number = 3",
        "UPDATE calls SET document = replace(document, 'text 1', 'text 9')",
        "DELETE FROM calls WHERE document LIKE '%text 0%'",
        "UPDATE campaigns SET text = 'name: other'",
        "UPDATE plans SET variant = 'other' WHERE position = 1",
    ],
)
def test_whatever_was_changed_by_hand_is_found(tmp_path: Path, sociolect: Sociolect, damage: str) -> None:
    run = tmp_path / "run"
    with begin(run, range(3)) as journal:
        journal.record([answered(0), answered(1), answered(2, "refused")])
    whole = sociolect("verify", run, "--json")
    assert whole.status == 0, whole.err
    assert whole.document() == {"run": str(run), "calls": 3, "replies": 3, "problems": [], "warnings": []}
    with sqlite3.connect(run / "journal.sqlite") as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute(damage)
    connection.close()
    found = sociolect("verify", run, "--json")
    assert found.status == 3
    assert found.document()["problems"]
    shown = sociolect("verify", run)
    assert shown.status == 3
    assert found.document()["problems"][0] in shown.out
    assert "not whole" in shown.out


def test_a_file_that_is_no_journal_any_more_is_a_problem(tmp_path: Path) -> None:
    with begin(tmp_path, range(1)) as journal:
        journal.record([answered(0)])
    (tmp_path / "journal.sqlite").write_bytes(b"\0" * 5000)
    assert len(verify_records(tmp_path).problems) == 1


def test_a_damaged_shard_does_not_keep_the_others_from_being_checked(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with begin(tmp_path, range(number, number + 1), shard=Shard(number, 3)) as journal:
            journal.record([answered(number)])
    (tmp_path / "journal-1-of-3.sqlite").write_bytes(b"\0" * 5000)
    with sqlite3.connect(tmp_path / "journal-3-of-3.sqlite") as connection:
        connection.execute("UPDATE replies SET text = 'print(2)'")
    connection.close()
    problems = verify_records(tmp_path).problems
    assert len(problems) == 2
    assert "journal-1-of-3.sqlite is not a whole SQLite file" in problems[0]
    assert "journal-3-of-3.sqlite: reply 1, to the call" in problems[1]


def test_what_is_found_before_the_records_cannot_be_counted_is_told(tmp_path: Path) -> None:
    with begin(tmp_path, range(2)) as journal:
        journal.record([answered(0)])
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        connection.execute("UPDATE replies SET text = 'print(2)'")
        connection.execute("UPDATE tallies SET status = 'okay'")
    connection.close()
    problems = verify_records(tmp_path).problems
    assert "reply 1, to the call" in "\n".join(problems)
    assert "the tally of rewrite openai:m okay is not what was recorded" in "\n".join(problems)
    with pytest.raises(JournalDamagedError, match="sociolect verify"):
        read_status(tmp_path)


def test_the_verb_shows_it_to_people(tmp_path: Path, sociolect: Sociolect) -> None:
    with begin(tmp_path / "run", range(2)) as journal:
        journal.record([answered(0)])
    shown = sociolect("status", "run")
    assert shown.status == 0
    assert "small in run" in shown.out
    assert "1 of 2 calls done, 1 to ask." in shown.out
    assert sociolect("status", "run", "--json").document()["campaign"] == "small"
