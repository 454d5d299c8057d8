import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from simulator.errors import RecordError
from simulator.running.calls import Call, Message
from simulator.running.journal import Entry, Journal, PlanRow, Spent
from simulator.running.journal.records import Records
from simulator.running.journal.shards import Shard
from simulator.running.replies import Reply, Tokens


def call(number: int) -> Call:
    return Call("generate", "mock", (Message("user", f"question {number}"),))


def fill(folder: Path, shard: Shard | None, numbers: list[int], *, text: str = "name: a\n", reply: str = "x") -> None:
    with Journal(folder, write=True, shard=shard) as journal:
        journal.begin(text, "a")
        journal.set_plan("generate", "f", [PlanRow(number, f"v{number}", call(number % 6).key) for number in numbers])
        for number in numbers[:-1]:
            if journal.status_of(call(number % 6).key) is None:
                journal.record([Entry(call(number % 6), Reply("ok", reply, Tokens(1, 0, 2)), 0.1, 1, 0.5, 0.5)])


def test_several_journals_are_read_as_one(tmp_path: Path) -> None:
    fill(tmp_path, Shard(1, 3), [1, 4, 7])  # 7 asks what 1 asks
    fill(tmp_path, Shard(3, 3), [0, 2, 10, 12], reply="y")  # 10 asks what 4 asks, 12 what 0 asks
    with Records(tmp_path) as records:
        assert records.missing_shards() == [Shard(2, 3)]
        assert (records.campaign(), records.name()) == ("name: a\n", "a")
        found = [(row.position, journal.shard) for row, journal in records.plan("generate")]
        first, third = Shard(1, 3), Shard(3, 3)
        assert found == [(0, third), (1, first), (2, third), (4, first), (7, first), (10, third), (12, third)]
        assert list(records.plan("rewrite")) == []
        assert records.planned("rewrite") is None
        assert records.planned("generate") == ("f f", 5, 5)
        assert records.counts() == {("generate", "mock", "ok"): 5}
        assert records.spent() == Spent(5, 0, 10, 0, 2.5, 2.5, 0)
        texts = [recorded.reply.text for n in range(5) if (recorded := records.reply_to(call(n).key))]
        assert texts == ["y", "x", "y", "x"]  # of 4, which both have, the lower shard's
        assert records.reply_to(call(5).key) is None
        assert records.call(call(2).key)["messages"] == [["user", "question 2"]]
        with pytest.raises(KeyError):
            records.call(call(5).key)
        assert list(records.check()) == []
        before = records.state()
    fill(tmp_path, Shard(2, 3), [5, 6])
    with Records(tmp_path) as records:
        assert records.missing_shards() == []
        assert records.state() != before
        assert [row.position for row, _ in records.plan("generate")] == [0, 1, 2, 4, 5, 6, 7, 10, 12]


def test_one_journal_is_read_as_itself(tmp_path: Path) -> None:
    fill(tmp_path, None, [0, 1])
    with Records(tmp_path) as records, Journal(tmp_path) as journal:
        assert records.missing_shards() == []
        assert records.planned("generate") == journal.planned("generate") == ("f", 2, 1)
        assert records.state() == journal.state()
        assert records.counts() == journal.counts()
        assert records.spent() == journal.spent()


def test_shards_with_different_campaigns_are_named(tmp_path: Path) -> None:
    fill(tmp_path, Shard(1, 2), [0])
    fill(tmp_path, Shard(2, 2), [1], text="name: b\n")
    with Records(tmp_path) as records:
        for read in (records.campaign, records.name):
            with pytest.raises(RecordError, match=r"journal-1-of-2\.sqlite and journal-2-of-2\.sqlite hold different"):
                read()
        assert list(records.check()) == []


def test_a_shard_in_which_nothing_was_begun_is_no_obstacle(tmp_path: Path) -> None:
    Journal(tmp_path, write=True, shard=Shard(1, 2)).close()
    with Records(tmp_path) as records, pytest.raises(RecordError, match="no campaign was begun"):
        records.campaign()
    fill(tmp_path, Shard(2, 2), [0, 1])
    with Records(tmp_path) as records:
        assert records.campaign() == "name: a\n"
        assert records.planned("generate") is None  # the first shard's is not known yet


def test_what_does_not_belong_together_is_not_read_as_one(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is not a run"):
        Records(tmp_path)
    fill(tmp_path, Shard(1, 2), [0])
    fill(tmp_path / "other", None, [0])
    (tmp_path / "other" / "journal.sqlite").rename(tmp_path / "journal.sqlite")
    with pytest.raises(RecordError, match=r"shared in different ways \(the whole, 1/2\)"):
        Records(tmp_path)


def test_a_journal_that_cannot_be_opened_leaves_none_open(tmp_path: Path) -> None:
    fill(tmp_path, Shard(1, 2), [0])
    with closing(sqlite3.connect(tmp_path / "journal-2-of-2.sqlite")) as newer:
        newer.execute("PRAGMA user_version = 99")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(RecordError, match="has schema 99"):
        Records(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
