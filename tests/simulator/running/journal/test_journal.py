import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from simulator.errors import JournalDamagedError, JournalLockedError, RecordError, StorageError
from simulator.running.calls import Call, Message
from simulator.running.journal import Entry, Journal, Spent
from simulator.running.journal.migrations import MIGRATIONS
from simulator.running.replies import Reply, Tokens
from simulator.running.variants import Variant


def call(number: int) -> Call:
    return Call(
        "generate", "mock", (Message("user", f"question {number}"),), params={"temperature": 0.0}, repeat=number
    )


def entry(number: int, text: str = "x = 1\n", status: str = "ok") -> Entry:
    reply = Reply(status, text, Tokens(3, 0, 4, 0), "mock-1", "stop", {"temperature": 0.0})  # type: ignore[arg-type]
    return Entry(call(number), reply, seconds=0.25, attempts=1, cost=0.0)


def test_what_is_recorded_is_read_back(tmp_path: Path) -> None:
    variant = Variant("v1", "calculator", "rewrite", "john", 0, 7, "Make\x00 it 😀", call(1).key, "ok", "")
    with Journal(tmp_path, write=True) as journal:
        journal.begin("name: a\n", "a")
        first = entry(1)
        journal.record([Entry(first.call, first.reply, 0.25, 2, 0.5, variants=(variant,))])
    with Journal(tmp_path) as journal:
        recorded = journal.reply_to(call(1).key)
        assert recorded is not None
        assert recorded.reply == first.reply
        assert (recorded.cost, recorded.seconds, recorded.attempts) == (0.5, 0.25, 2)
        assert journal.variant("v1") == variant
        assert (journal.campaign(), journal.name()) == ("name: a\n", "a")
        assert journal.status_of(call(2).key) is None
        assert journal.reply_to(call(2).key) is None
        assert journal.counts() == {("generate", "mock", "ok"): 1}
        assert journal.spent() == Spent(3, 0, 4, 0, 0.5, 0.5, 0)
        assert list(journal.check()) == []


def test_a_reply_asked_for_again_counts_and_the_earlier_one_is_kept(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.record([entry(1, "", "empty")])
        journal.record([entry(1, "y = 2")])
        assert journal.status_of(call(1).key) == "ok"
        assert journal.latest(call(1).key) == (2, "ok")
        assert journal.last_reply == 2
        assert journal.counts() == {("generate", "mock", "ok"): 1}
        assert journal.spent().tokens == 14
        assert list(journal.check()) == []
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        rows = connection.execute("SELECT status, text FROM replies ORDER BY number").fetchall()
    connection.close()
    assert rows == [("empty", ""), ("ok", "y = 2")]


def test_half_a_surrogate_pair_is_stored_as_a_replacement_character(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.record([entry(1, "a\ud83d")])
        recorded = journal.reply_to(call(1).key)
        assert recorded is not None
        assert recorded.reply.text == "a\ufffd"


def test_a_second_writer_is_refused_with_the_first_ones_pid(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True):
        program = (
            "from pathlib import Path; from simulator.running.journal import Journal; "
            f"Journal(Path({str(tmp_path)!r}), write=True)"
        )
        second = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "JournalLockedError" in second.stderr
        assert f"process {os.getpid()} on" in second.stderr
        with pytest.raises(JournalLockedError) as caught:
            Journal(tmp_path, write=True)
        assert caught.value.pid == os.getpid()
        with Journal(tmp_path) as reader:  # reading is free
            assert reader.counts() == {}
    Journal(tmp_path, write=True).close()


def test_the_lock_of_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from simulator.running.journal import Journal
        journal = Journal(Path({str(tmp_path)!r}), write=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    Journal(tmp_path, write=True).close()


def test_a_folder_without_a_journal_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is not a run"):
        Journal(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_journal_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"\x00\xff" * 4096)
    with pytest.raises(JournalDamagedError, match="not a whole SQLite file"):
        Journal(tmp_path)
    with pytest.raises(JournalDamagedError):
        Journal(tmp_path, write=True)
    with pytest.raises(JournalDamagedError):  # and not locked by the attempt before
        Journal(tmp_path, write=True)


def test_a_journal_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    Journal(tmp_path, write=True).close()
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(RecordError, match="newer"):
        Journal(tmp_path, write=True)


def test_a_call_that_was_tampered_with_is_found(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.record([entry(1), entry(2)])
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    connection.execute("UPDATE calls SET document = replace(document, 'question 1', 'question 9')")
    connection.commit()
    connection.close()
    with Journal(tmp_path) as journal:
        (problem,) = journal.check()
    assert call(1).key in problem


def test_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    class UnstorableError(Exception):
        pass

    def entries() -> list[Entry]:
        return [entry(1), entry(2)]

    class Failing(list[Entry]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield entries()[0]
            raise UnstorableError

    with Journal(tmp_path, write=True) as journal:
        with pytest.raises(UnstorableError):
            journal.record(Failing())
        assert journal.status_of(call(1).key) is None
        journal.record(entries())
        assert journal.status_of(call(2).key) == "ok"


def test_a_full_disk_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    # A limit on the size of files is the full disk that needs no privileges: every write beyond it fails.
    program = textwrap.dedent(f"""
        import resource, signal, sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_journal import Journal, StorageError, entry
        with Journal(Path({str(tmp_path)!r}), write=True) as journal:
            journal.record([entry(0)])
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
            done = 1
            try:
                while done < 1000:
                    journal.record([entry(done, "x" * 10_000)])
                    done += 1
            except StorageError as error:
                print(done, error)
    """)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    done, _, message = ended.stdout.partition(" ")
    assert "Everything recorded before is kept" in message
    assert int(done) > 5
    with Journal(tmp_path, write=True) as journal:  # the disk has space again
        assert sum(journal.counts().values()) == int(done)
        assert list(journal.check()) == []
        journal.record([entry(int(done))])


def test_an_unwritable_folder_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be used: Not a directory"):
        Journal(tmp_path / "file" / "run", write=True)


def test_documents_in_the_journal_are_plain_json(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.record([entry(1)])
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    (document,) = connection.execute("SELECT document FROM calls").fetchone()
    connection.close()
    assert json.loads(document)["messages"] == [["user", "question 1"]]


def test_another_programs_database_is_no_journal(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    connection.executescript(f"CREATE TABLE other(x); PRAGMA user_version={len(MIGRATIONS)};")
    connection.close()
    with pytest.raises(RecordError, match="is no journal"):
        Journal(tmp_path)


def test_a_run_on_a_read_only_disk_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.record([entry(1)])
    monkeypatch.setattr("simulator.running.journal.file.takes_files", lambda _folder: False)
    before = sorted(path.name for path in tmp_path.iterdir())
    with Journal(tmp_path) as journal:
        assert journal.status_of(call(1).key) == "ok"
    assert sorted(path.name for path in tmp_path.iterdir()) == before
