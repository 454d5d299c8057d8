import sqlite3
from pathlib import Path

import pytest

from simulator.errors import RecordError
from simulator.running.calls import Call, Message, Stage
from simulator.running.journal import Journal, PlanRow, Spent
from simulator.running.journal.migrations import MIGRATIONS, digest_row
from simulator.running.variants import Variant

REPLY = (
    "INSERT INTO replies(call, status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, "
    "seconds, attempts, error, finish, model_reported, sent, recorded) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
VARIANT = Variant("v0", "calculator", "rewrite", "john", 0, None, "Make\x00 it 😀", "", "ok")


def call(number: int, stage: Stage = "generate") -> Call:
    return Call(stage, "mock", (Message("user", f"question {number}"),), repeat=number)


def make(folder: Path, version: int) -> None:
    """Write a journal as an earlier version of the program left it."""
    folder.mkdir(exist_ok=True)
    connection = sqlite3.connect(folder / "journal.sqlite")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(f"{''.join(MIGRATIONS[:version])} PRAGMA user_version={version};")
    for campaign in ("name: a\n", "name: b\n"):
        connection.execute("INSERT INTO campaigns(begun, text) VALUES ('2026-01-01T00:00:00.000+00:00', ?)", [campaign])
    for one in (call(0, "rewrite"), call(0), call(1)):
        connection.execute("INSERT INTO calls VALUES (?, ?)", (one.key, one.to_json()))
    rest = (0.5, 1, None, "stop", "mock-1", '{"seed": 1}', "2026-01-01T00:00:00.000+00:00")
    connection.execute(REPLY, (call(0, "rewrite").key, "ok", "Make it", 1, 0, 2, None, 0.25, *rest))
    connection.execute(REPLY, (call(0).key, "empty", "", 1, 0, 2, None, 0.25, *rest))
    connection.execute(REPLY, (call(1).key, "ok", "x = 1", 1, 0, 2, None, None, *rest))
    connection.execute(REPLY, (call(0).key, "ok", "x = 2", 1, None, 2, 0, 0.0, *rest))
    made = VARIANT
    connection.execute(
        "INSERT INTO variants VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*(getattr(made, name) for name in made.__slots__),),
    )
    if version > 1:
        rows = [(1, 0, call(0)), (2, 0, call(1)), (2, 1, call(0)), (2, 2, call(1)), (2, 3, call(7))]
        for campaign_number, position, one in rows:
            connection.execute(
                "INSERT INTO plans VALUES (?, 'generate', ?, 'v0', ?)", (campaign_number, position, one.key)
            )
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_journal_of_an_older_version_is_brought_up_to_date_by_its_writer(tmp_path: Path, version: int) -> None:
    make(tmp_path, version)
    with pytest.raises(RecordError, match="give that run's command again"):
        Journal(tmp_path)
    with Journal(tmp_path, write=True) as journal:
        assert list(journal.check()) == []
        assert journal.counts() == {("generate", "mock", "ok"): 2, ("rewrite", "mock", "ok"): 1}
        assert journal.spent() == Spent(4, 0, 8, 0, cost=0.5, at_most=0.5, unpriced=1)
        recorded = journal.reply_to(call(0).key)
        assert recorded is not None
        assert (recorded.reply.text, recorded.cost_at_most) == ("x = 2", 0.0)
        assert journal.variant("v0") == VARIANT
        # A plan that is there was made by another program: its fingerprint fits none.
        assert journal.planned("generate") == (("", 3, 2) if version == 2 else None)
        keys = [call(1).key, call(0).key, call(1).key, call(7).key]
        assert [row.call for row in journal.plan("generate")] == (keys if version == 2 else [])
        assert journal.name() == ""
        journal.begin("name: b\n", "b")
        assert (journal.name(), journal.state()["campaign"]) == ("b", 2)
        journal.set_plan("generate", "f", [PlanRow(5, "v0", call(7).key)])
        assert [row.position for row in journal.plan("generate")] == [5]
    with Journal(tmp_path) as journal:
        assert list(journal.check()) == []
        assert journal.counts()["generate", "mock", "ok"] == 2


def test_a_sum_that_no_integer_holds_is_no_obstacle(tmp_path: Path) -> None:
    make(tmp_path, 2)
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    connection.execute("UPDATE replies SET tokens_output = 9223372036854775807")
    connection.commit()
    connection.close()
    with Journal(tmp_path, write=True) as journal:
        assert journal.spent().tokens_output == 2**63 - 1


def test_a_digest_does_not_hang_on_anything_but_the_values() -> None:
    assert digest_row("a", 1, 0.5, None) == digest_row(*("a", 1, 0.5, None))
    assert len({digest_row("a", 1), digest_row("a", 1.0), digest_row("a", "1"), digest_row("a1"), digest_row("a")}) == 5
