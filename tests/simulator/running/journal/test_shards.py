from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import JournalLockedError, RecordError, UsageError
from simulator.running.journal import Journal
from simulator.running.journal.shards import Shard, check_shards, journal_path, journals_of


@given(st.integers(1, 9), st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=20))
def test_every_task_and_persona_is_exactly_one_shards(of: int, names: list[tuple[str, str]]) -> None:
    shards = [Shard(number, of) for number in range(1, of + 1)]
    for task, persona in names:
        assert sum(shard.takes(task, persona) for shard in shards) == 1


def test_shards_are_about_equal_and_stable() -> None:
    names = [(f"task-{task}", f"persona-{persona}") for task in range(40) for persona in range(50)]
    taken = Counter(shard.number for shard in (Shard(n, 4) for n in (1, 2, 3, 4)) for one in names if shard.takes(*one))
    assert all(400 < taken[number] < 600 for number in (1, 2, 3, 4))
    # On any machine, in any version: a campaign is shared by processes that do not speak to one another.
    assert [names[index] for index in range(10) if Shard(2, 4).takes(*names[index])] == STABLE


STABLE = [("task-0", "persona-7"), ("task-0", "persona-9")]


@pytest.mark.parametrize(("text", "shard"), [("1/1", Shard(1, 1)), ("2/4", Shard(2, 4)), (" 10 / 10 ", Shard(10, 10))])
def test_a_shard_is_read_and_written(text: str, shard: Shard) -> None:
    assert Shard.parse(text) == shard
    assert Shard.parse(str(shard)) == shard


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "-1/4", "1/0", "1/4/2", "a/b", "1/99999", "²/4", "1.0/2"])
def test_what_is_no_shard_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"such as `--shard 1/4`"):
        Shard.parse(text)


def test_each_shard_has_a_journal_and_a_lock_of_its_own(tmp_path: Path) -> None:
    assert journals_of(tmp_path / "nowhere") == []
    with (
        Journal(tmp_path, write=True, shard=Shard(10, 10)) as last,
        Journal(tmp_path, write=True, shard=Shard(2, 10)) as second,
    ):
        assert second.path == journal_path(tmp_path, Shard(2, 10)) == tmp_path / "journal-2-of-10.sqlite"
        assert (tmp_path / "journal-2-of-10.lock").is_file()
        assert last.shard == Shard(10, 10)
        with pytest.raises(JournalLockedError, match=r"journal-2-of-10\.sqlite is being written by process"):
            Journal(tmp_path, write=True, shard=Shard(2, 10))
    assert journals_of(tmp_path) == [Shard(2, 10), Shard(10, 10)]
    with pytest.raises(RecordError, match="holds the journals of the shards 2/10, 10/10"):
        Journal(tmp_path)
    with pytest.raises(RecordError, match=r"no journal-1-of-3\.sqlite in it"):
        Journal(tmp_path / "nowhere", shard=Shard(1, 3))


@pytest.mark.parametrize(
    ("there", "given", "mend"),
    [
        (None, Shard(1, 2), r"begun as a whole .*Leave --shard out"),
        (Shard(1, 2), None, r"begun in 2 shards .*one of 1/2 to 2/2"),
        (Shard(1, 2), Shard(1, 3), r"begun in 2 shards .*one of 1/2 to 2/2"),
    ],
)
def test_a_run_is_not_shared_in_two_ways(tmp_path: Path, there: Shard | None, given: Shard | None, mend: str) -> None:
    Journal(tmp_path, write=True, shard=there).close()
    check_shards(tmp_path, there)
    for refused in (lambda: check_shards(tmp_path, given), lambda: Journal(tmp_path, write=True, shard=given)):
        with pytest.raises(UsageError, match=mend):
            refused()
    assert journals_of(tmp_path) == [there]


def test_other_files_are_no_journals(tmp_path: Path) -> None:
    for name in ("journal.sqlite-wal", "journal-1-of-2.lock", "journal-01-of-2.sqlite", "journal.sqlite.bak"):
        (tmp_path / name).touch()
    (tmp_path / "journal.sqlite").mkdir()
    assert journals_of(tmp_path) == []
    (tmp_path / "journal-3-of-2.sqlite").touch()
    with pytest.raises(RecordError, match="name of no shard's journal"):
        journals_of(tmp_path)
