import sqlite3
from pathlib import Path

import pytest

from simulator.definitions import load_campaign
from simulator.errors import JournalDamagedError, RecordError
from simulator.running.calls import Call, Message, Stage
from simulator.running.campaign_run import run_campaign
from simulator.running.events import Event
from simulator.running.journal import Journal, PlanRow, Spent
from simulator.running.journal.digests import digest_row
from simulator.running.journal.migrations import MIGRATIONS, add_functions
from simulator.running.variants import Variant
from simulator.tables import run_tables

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
    add_functions(connection)
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


@pytest.mark.parametrize("void", [False, True])
def test_what_schema_3_did_not_hash_is_hashed_from_schema_4_on(tmp_path: Path, void: bool) -> None:
    make(tmp_path, 2)
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    add_functions(connection)
    connection.executescript(f"{MIGRATIONS[2]} PRAGMA user_version=3;")
    attempt = (call(7).key, 1, "2026-01-01T00:00:00.000+00:00", 0.5, "slow down 😀", 0.25)
    connection.execute("INSERT INTO calls VALUES (?, ?)", (call(7).key, call(7).to_json()))
    connection.execute(
        "INSERT INTO attempts(call, attempt, recorded, seconds, reason, cost_at_most) VALUES (?, ?, ?, ?, ?, ?)",
        attempt,
    )
    connection.execute("UPDATE sums SET at_most = at_most + 0.25, plans = 7")
    connection.execute("INSERT INTO tallies VALUES ('generate', 'mock', 'empty', 0)")
    connection.execute("DELETE FROM planned" if void else "UPDATE planned SET fingerprint = 'f'")
    connection.commit()
    connection.close()
    with Journal(tmp_path, write=True) as journal:
        assert list(journal.check()) == []
        assert journal.state() == {"campaign": 2, "plan": 7, "reply": 4}
        assert journal.planned("generate") == (None if void else ("f", 3, 2))
        assert [row.position for row in journal.plan("generate")] == [0, 1, 2, 3]
        assert [(one.reason, one.cost_at_most) for one in journal.attempts(call(7).key)] == [("slow down 😀", 0.25)]
        journal.set_plan("rewrite", "g", [PlanRow(0, "v0", call(0, "rewrite").key)])
        assert journal.state()["plan"] == 8
    for change in ("campaigns SET text = 'name: c'", "attempts SET attempt = 2", "plans SET variant = 'w'"):
        connection = sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)
        connection.execute("BEGIN")
        connection.execute(f"UPDATE {change} WHERE rowid = 2" if "campaigns" in change else f"UPDATE {change}")
        connection.execute("COMMIT")
        connection.close()
        with Journal(tmp_path) as journal:
            assert list(journal.check()), change


@pytest.mark.parametrize(
    ("version", "damage"),
    [
        (1, "UPDATE calls SET document = 'nothing'"),
        (1, "UPDATE calls SET document = '{}'"),
        (2, "UPDATE replies SET text = CAST(x'ff' AS TEXT)"),
        (2, "UPDATE replies SET seconds = 9e999"),
    ],
)
def test_what_cannot_be_brought_up_to_date_is_damaged_and_left(tmp_path: Path, version: int, damage: str) -> None:
    make(tmp_path, version)
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    connection.execute(damage)
    connection.commit()
    connection.close()
    with pytest.raises(JournalDamagedError, match=f"schema {version} of it cannot be brought up.*sociolect verify"):
        Journal(tmp_path, write=True)
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    assert connection.execute("SELECT count(*) FROM replies").fetchone() == (4,)
    connection.close()


CAMPAIGN = """
name: small
study: personas
tasks: [calculator]
prompts: {{from: short, personas: [john, harold], iterations: 2, model: mock, max_tokens: 200}}
generate: {{models: [mock], sample: 1, repeats: {repeats}}}
seed: 7
"""
COLUMNS = {
    "campaigns": "number, begun, text, name",
    "calls": "key, document",
    "replies": "number, call, status, text, tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, "
    "seconds, attempts, error, finish, model_reported, sent, recorded, cost_at_most, digest",
    "variants": "variant, task, method, persona, replicate, seed, text, made_by, status, note, digest",
    "plans": "campaign, stage, position, variant, call",
    "planned": "campaign, stage, fingerprint, calls, done",
    "tallies": "stage, model, status, calls",
    "sums": "one, tokens_input, tokens_cached, tokens_output, tokens_reasoning, cost, at_most, unpriced",
}


def walk(folder: Path, repeats: int, run: Path) -> int:
    """Walk a campaign to its end; return how many calls were asked."""
    (folder / "small.yaml").write_text(CAMPAIGN.format(repeats=repeats), encoding="utf-8")
    asked: list[Event] = []
    assert run_campaign(load_campaign(str(folder / "small.yaml")), run, report=asked.append)
    return sum(event.kind == "recorded" for event in asked)


def make_older(run: Path) -> None:
    """Write a run's journal as schema 3 had it."""
    new, old = run / "journal.sqlite", run / "older.sqlite"
    connection = sqlite3.connect(old)
    add_functions(connection)
    connection.executescript(f"{''.join(MIGRATIONS[:3])} PRAGMA user_version=3;")
    connection.execute("ATTACH ? AS new", (str(new),))
    connection.execute("DELETE FROM sums")
    for table, columns in COLUMNS.items():
        count = (", plans", ", 2") if table == "sums" else ("", "")
        connection.execute(f"INSERT INTO {table}({columns}{count[0]}) SELECT {columns}{count[1]} FROM new.{table}")
    connection.commit()
    connection.close()
    old.replace(new)


def test_a_run_of_schema_3_goes_on_with_nothing_asked_twice(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert walk(tmp_path, 2, run) == 4 + 4
    make_older(run)
    with pytest.raises(RecordError, match="has schema 3"):
        run_tables(run)
    assert walk(tmp_path, 2, run) == 0
    with Journal(run) as journal:
        assert journal.state()["plan"] == 2  # no plan was made anew
        assert list(journal.check()) == []
    make_older(run)
    assert walk(tmp_path, 5, run) == 6
    walk(tmp_path, 5, tmp_path / "other")
    made, other = run_tables(run), run_tables(tmp_path / "other")
    for name, frame in made.items():
        assert frame.drop("seconds", strict=False).equals(other[name].drop("seconds", strict=False)), name
    with Journal(run) as journal:
        assert list(journal.check()) == []


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
