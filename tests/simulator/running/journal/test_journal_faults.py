"""A full, failing or half-writing disk under the real SQLite, at every operation of a small run."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_faults import FAULTS, Disk, Fault, find_sqlite

from simulator.errors import StorageError
from simulator.running.calls import Call, Message
from simulator.running.journal import Entry, FailedAttempt, Journal, PlanRow
from simulator.running.journal import file as journal_file
from simulator.running.journal.migrations import MIGRATIONS, add_functions
from simulator.running.replies import Reply, ReplyStatus, Tokens
from simulator.running.variants import Variant

LIBRARY = find_sqlite()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the module sqlite3 has SQLite linked into it")
NEVER = 10**9


def call(number: int) -> Call:
    return Call("generate", "mock", (Message("user", f"question {number}"),), repeat=number)


def entry(number: int, text: str, status: ReplyStatus = "ok", *, variants: int = 0) -> Entry:
    made = tuple(
        Variant(f"v{number}.{n}", "calculator", "rewrite", "john", n, None, "Make it", call(number).key, "ok")
        for n in range(variants)
    )
    return Entry(call(number), Reply(status, text, Tokens(3, 0, 4)), 0.25, 1, 0.5, 0.5, made)


BATCHES: tuple[tuple[Entry | FailedAttempt, ...], ...] = (
    (entry(0, "", "empty"),),
    (entry(1, "one"), FailedAttempt(call(2), 1, 0.5, "slow down", 0.0), entry(2, "two", variants=2)),
    (entry(3, "x = 1\n" * 5000),),
    (entry(0, "again"), entry(4, "four")),
)
ROWS = [PlanRow(number, f"v{number}", call(number).key) for number in range(40)]


def recorded(folder: Path) -> list[bool]:
    """Whether each batch is there; none of them may be there in part, or twice."""
    connection = sqlite3.connect(f"file:{folder / 'journal.sqlite'}?mode=ro", uri=True)
    there = connection.execute("SELECT call, text FROM replies").fetchall()
    attempts = connection.execute("SELECT count(*) FROM attempts").fetchall()[0][0]
    variants = connection.execute("SELECT count(*) FROM variants").fetchall()[0][0]
    connection.close()
    assert len(there) == len(set(there))
    found = []
    for batch in BATCHES:
        replies = [(one.call.key, one.reply.text) in there for one in batch if isinstance(one, Entry)]
        assert all(replies) or not any(replies)
        found.append(all(replies))
    assert (attempts, variants) == ((1, 2) if found[1] else (0, 0))
    return found


def record_all(journal: Journal) -> list[bool]:
    """Record every batch; return which were acknowledged."""
    acknowledged = []
    for batch in BATCHES:
        try:
            journal.record(batch)
        except StorageError as error:
            check_paragraph(error)
            acknowledged.append(False)
        else:
            acknowledged.append(True)
    return acknowledged


def check_paragraph(error: StorageError) -> None:
    text = str(error)
    assert "journal" in text
    assert "Everything recorded before is kept" in text
    assert "run the same command again" in text
    assert any(mend in text for mend in ("Free some", "mend it, or copy the run's folder", "Make the folder writable"))


def check_opened_anew(folder: Path, acknowledged: list[bool]) -> None:
    """What was acknowledged is there, what was not is there as a whole or not at all, and recording goes on."""
    with Journal(folder, write=True) as journal:
        there = recorded(folder)
        assert all(now for now, before in zip(there, acknowledged, strict=True) if before)
        assert list(journal.check()) == []
        finish(journal, there)
    assert recorded(folder) == [True] * len(BATCHES)


def finish(journal: Journal, there: list[bool]) -> None:
    for batch, is_there in zip(BATCHES, there, strict=True):
        if not is_there:
            journal.record(batch)
    assert list(journal.check()) == []
    journal.set_plan("generate", "f", ROWS)
    assert journal.planned("generate") == ("f", 40, 5)
    assert sum(journal.counts().values()) == 5
    assert journal.spent().cost == 3.0


def begin(folder: Path) -> None:
    with Journal(folder, write=True) as journal:
        journal.begin("name: a\n", "a")
        journal.set_plan("generate", "f", ROWS)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    assert LIBRARY is not None
    with Disk(LIBRARY, tmp_path / "run", tmp_path / "durable") as disk:
        yield disk


@pytest.fixture(params=[1000, 4], ids=["log", "checkpoints"])
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in which the log is copied into the file when it is closed, and one in which that is done all the time."""
    connect = journal_file._connect

    def connect_copying_often(path: Path, mode: str) -> sqlite3.Connection:
        connection = connect(path, mode)
        connection.execute(f"PRAGMA wal_autocheckpoint={request.param}")
        return connection

    monkeypatch.setattr(journal_file, "_connect", connect_copying_often)
    begin(tmp_path / "begun")
    return tmp_path / "run"


def fresh(run: Path) -> None:
    for name in ("run", "durable", "killed"):
        shutil.rmtree(run.with_name(name), ignore_errors=True)
    shutil.copytree(run.with_name("begun"), run)
    shutil.copytree(run.with_name("begun"), run.with_name("durable"))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_acknowledged_survives_a_fault_at_any_operation(run: Path, disk: Disk, fault: Fault) -> None:
    failed_once = False
    for at in range(NEVER):
        fresh(run)
        journal = Journal(run, write=True)
        disk.fail(fault, at)
        acknowledged = record_all(journal)
        failed_once |= not all(acknowledged)
        shutil.copytree(run, run.with_name("killed"))
        shutil.copytree(run.with_name("durable"), run.with_name("cut"), dirs_exist_ok=True)
        done = disk.mend()
        # In the same process, once the fault is gone.
        assert recorded(run) == acknowledged
        finish(journal, acknowledged)
        journal.close()
        # In a new one, after a kill and after a power cut.
        check_opened_anew(run.with_name("killed"), acknowledged)
        check_opened_anew(run.with_name("cut"), acknowledged)
        shutil.rmtree(run.with_name("cut"))
        if len(done) <= at:
            break
    assert failed_once
    assert at > 20


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("run", [1000], indirect=True, ids=["log"])
def test_closing_on_a_failing_disk_loses_nothing(run: Path, disk: Disk, fault: Fault) -> None:
    for at in range(NEVER):
        fresh(run)
        journal = Journal(run, write=True)
        disk.mend()
        assert all(record_all(journal))
        disk.fail(fault, at)
        journal.close()
        done = disk.mend()
        check_opened_anew(run.with_name("durable"), [True] * len(BATCHES))
        check_opened_anew(run, [True] * len(BATCHES))
        if len(done) <= at:
            break
    assert at > 5


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plan_is_set_as_a_whole_or_not_at_all(
    tmp_path: Path, disk: Disk, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_file, "_CACHE_KIB", 8)  # so that what is not committed is written to the log already
    begin(tmp_path / "begun")
    run = tmp_path / "run"
    rows = [PlanRow(number, "w", call(number % 30).key) for number in range(1000)]
    for at in range(NEVER):
        fresh(run)
        journal = Journal(run, write=True)
        disk.fail(fault, at)
        try:
            planned = journal.set_plan("generate", "g", rows)
            assert planned == ("g", 30, 0)
        except StorageError as error:
            check_paragraph(error)
            planned = None
        done = disk.mend()
        assert [*journal.plan("generate")] == (ROWS if planned is None else rows)
        assert list(journal.check()) == []
        assert journal.set_plan("generate", "g", rows) == ("g", 30, 0)
        assert list(journal.check()) == []
        journal.close()
        if len(done) <= at:
            break
    assert at > 20


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_a_journal_has_the_old_schema_or_the_new_one(tmp_path: Path, disk: Disk, version: int, fault: Fault) -> None:
    run = tmp_path / "run"
    for at in range(NEVER):
        shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(tmp_path / "durable", ignore_errors=True)
        run.mkdir()
        if version:
            disk.mend()
            connection = sqlite3.connect(run / "journal.sqlite")
            add_functions(connection)
            connection.executescript(f"{''.join(MIGRATIONS[:version])} PRAGMA user_version={version};")
            connection.execute("INSERT INTO calls VALUES (?, ?)", (call(0).key, call(0).to_json()))
            connection.commit()
            connection.close()
        disk.fail(fault, at)
        try:
            Journal(run, write=True).close()
        except StorageError as error:
            check_paragraph(error)
        done = disk.mend()
        if (tmp_path / "durable" / "journal.sqlite").exists():
            with Journal(tmp_path / "durable", write=True) as journal:
                assert list(journal.check()) == []
        with Journal(run, write=True) as journal:
            record_all(journal)
            assert list(journal.check()) == []
        assert recorded(run) == [True] * len(BATCHES)
        if len(done) <= at:
            break
    assert at > 10


def test_a_failing_disk_is_told_with_its_mend(tmp_path: Path, disk: Disk) -> None:
    with Journal(tmp_path / "run", write=True) as journal:
        disk.fail("error", 0)
        with pytest.raises(StorageError, match=r"input/output error.*the system's log.*copy the run's folder.*again"):
            journal.record([entry(0, "x")])
        disk.fail("full", 0)
        with pytest.raises(StorageError, match=r"no space is left on the disk\. Free some and run .* again"):
            journal.record([entry(0, "x")])
        disk.mend()
        journal.record([entry(0, "x")])


def test_a_disk_too_full_for_the_index_of_the_log_is_said_to_be_full(tmp_path: Path) -> None:
    # SQLite reports it as an input/output error. Only a disk of one's own can be filled.
    run, fill = tmp_path / "run", tmp_path / "fill"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", tmp_path], check=False)
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        with Journal(run, write=True) as journal:
            journal.record([entry(0, "x")])
        for free in (0, 4096, 12 * 1024):
            disk = os.statvfs(tmp_path)
            fill.write_bytes(bytes(max(0, disk.f_bavail * disk.f_frsize - free)))
            for write in (False, True):
                with pytest.raises(StorageError, match=r"no space is left on the disk\. Free some and run .* again"):
                    Journal(run, write=write)
            fill.unlink()
        with Journal(run, write=True) as journal:
            assert list(journal.check()) == []
            journal.record([entry(1, "x")])
    finally:
        subprocess.run(["umount", tmp_path], check=True)
