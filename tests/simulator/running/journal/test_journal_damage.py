"""A journal with any of its bytes changed: told by every verb in a paragraph, and whatever differs found by ``verify``.

Bytes of the file that carry no record are free pages, the space between the rows of a page, the file's header but for
the schema's version, and what SQLite reckons with on the way to a row (counts of cells, numbers of pages). A change of
these is found where it changes what is read, which is what is asked for here.
"""

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simulator.definitions import Study, load_campaign
from simulator.errors import JournalDamagedError, SociolectError
from simulator.running.calls import Call, Message
from simulator.running.campaign_run import run_campaign
from simulator.running.journal import Entry, FailedAttempt, Journal
from simulator.running.replies import Reply
from simulator.running.status import read_status, verify_records
from simulator.tables import run_tables

CAMPAIGN = """
name: small
study: personas
tasks: [calculator]
prompts: {{from: short, personas: [john, harold], iterations: 3, model: mock, max_tokens: 200}}
generate: {{models: [mock], sample: 1, repeats: {repeats}}}
seed: 7
"""
PAGE = 4096


def study(folder: Path, repeats: int) -> Study:
    path = folder / f"small-{repeats}.yaml"
    path.write_text(CAMPAIGN.format(repeats=repeats), encoding="utf-8")
    return load_campaign(str(path))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with something in every table, with texts that take several pages and texts that are not ASCII."""
    folder = tmp_path_factory.mktemp("whole")
    assert run_campaign(study(folder, 2), folder / "run")
    asked = [Call("generate", "mock", (Message("user", f"question {number}"),), repeat=number) for number in range(3)]
    with Journal(folder / "run", write=True) as journal:
        journal.record([FailedAttempt(asked[0], 1, 0.5, "zu viele Anfragen 😀", 0.25)])
        journal.record([Entry(asked[0], Reply("error", error="gave up"), 0.5, 2)])
        journal.record([Entry(asked[0], Reply("ok", "x = 'ä'\n" * 3000), 0.5, 1, 0.5, 0.5)])
        journal.record([Entry(asked[1], Reply("truncated", "😀"), 0.5, 1)])
        journal.record([FailedAttempt(asked[2], 1, 0.5, "cut", None)])
        assert list(journal.check()) == []
    return folder


def flip(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.choice([1, 1, 1, 2, 20])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def flip_in_text(data: bytearray, draw: random.Random) -> None:
    """Change a byte where texts are, to one that is not Unicode, or ends a text in JSON, or is just another one."""
    while not chr(data[place := draw.randrange(len(data))]).isalnum():
        pass
    data[place] = draw.choice([0, 0x22, 0x39, 0x78, 0x7B, 0xC3, 0xFF])


def truncate(data: bytearray, draw: random.Random) -> None:
    del data[draw.randrange(len(data)) :]


def overwrite(data: bytearray, draw: random.Random) -> None:
    first = draw.randrange(len(data))
    size = min(len(data) - first, draw.choice([1, 8, 100, PAGE]))
    data[first : first + size] = draw.choice([bytes(size), b"\xff" * size, draw.randbytes(size)])


def swap(data: bytearray, draw: random.Random) -> None:
    one, other = (draw.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (flip, flip_in_text, truncate, overwrite, swap)


def read_through(path: Path) -> object:
    """Return all that SQLite reads in a journal, or None where it cannot; a value's kind and bytes both count."""
    connection = sqlite3.connect(path)
    connection.text_factory = bytes
    try:
        named = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        read = {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name.decode()}"))) for (name,) in named}
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except (sqlite3.Error, UnicodeError):
        return None
    else:
        return version, read
    finally:
        connection.close()


def told(act: Callable[[], object]) -> SociolectError | None:
    """Do what may meet damage; return what it says of it. Anything but an error of our own is a failure."""
    try:
        act()
    except SociolectError as error:
        return error
    return None


def check_damaged(whole: Path, folder: Path, damage: Callable[[bytearray, random.Random], None], seed: int) -> bool:
    """Damage a copy of a run and let every verb meet it; return whether what is read in it has changed."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    data = bytearray((whole / "run" / "journal.sqlite").read_bytes())
    damage(data, random.Random(f"{damage.__name__} {seed}"))
    path = run / "journal.sqlite"
    path.write_bytes(data)
    recorded = read_through(whole / "run" / "journal.sqlite")
    assert recorded is not None
    changed = read_through(path) != recorded

    def status() -> None:
        found = read_status(run)
        assert found.document()
        assert found.sentences()

    def verify() -> None:
        found = verify_records(run)
        assert all(found.problems)
        if found.problems:
            raise JournalDamagedError("\n".join(found.problems))

    told(status)
    found = told(verify)
    assert found is not None or not changed
    told(lambda: run_tables(run))
    told(lambda: run_campaign(study(whole, 3), run))
    told(verify)
    return changed


def damages(each: int) -> Iterator[tuple[Callable[[bytearray, random.Random], None], int]]:
    for damage in DAMAGES:
        yield from ((damage, seed) for seed in range(each))


@pytest.mark.parametrize("each", [pytest.param(5, marks=pytest.mark.slow), pytest.param(400, marks=pytest.mark.prove)])
def test_any_damage_is_told_and_what_it_changes_is_found(whole: Path, tmp_path: Path, each: int) -> None:
    changed = [check_damaged(whole, tmp_path, damage, seed) for damage, seed in damages(each)]
    assert sum(changed) > len(changed) // 3


def test_a_run_killed_with_a_damaged_log_is_read_up_to_the_damage(whole: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with Journal(begun, write=True) as journal:
        journal.begin("name: a\n", "a")
        for number in range(10):
            journal.record([Entry(Call("generate", "mock", (), repeat=number), Reply("ok", "x" * 500), 0.5, 1)])
        shutil.copytree(begun, tmp_path / "killed")
    log = (tmp_path / "killed" / "journal.sqlite-wal").read_bytes()
    draw = random.Random(0)
    for damage in (*DAMAGES[:4], *DAMAGES[:4]):
        run = tmp_path / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(tmp_path / "killed", run)
        data = bytearray(log)
        damage(data, draw)
        (run / "journal.sqlite-wal").write_bytes(data)
        told(lambda: read_status(tmp_path / "run"))
        assert told(lambda: run_campaign(study(whole, 3), tmp_path / "run")) is None  # SQLite leaves out what is torn
        assert verify_records(run).problems == []
