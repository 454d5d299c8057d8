from pathlib import Path

import polars as pl
import pytest

from simulator.errors import RecordError, StorageError
from simulator.tables import making_results, read_state, read_tables, replacing_tables, write_tables

ONE, TWO = pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})


def test_tables_are_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    write_tables({"x": ONE, "y": ONE}, folder)
    (folder / "notes.txt").write_text("mine")

    class Broken(dict[str, pl.DataFrame]):
        def items(self):  # type: ignore[no-untyped-def]
            yield "x", TWO
            raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="no space is left"):
        write_tables(Broken(), folder)
    assert read_tables(folder)["x"].equals(ONE)
    write_tables({"x": TWO}, folder)
    assert list(read_tables(folder)) == ["x"]
    assert read_tables(folder)["x"].equals(TWO)
    assert (folder / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables"]


@pytest.mark.parametrize("kept", [".tables-old", "tables"])
def test_what_a_person_put_beside_the_tables_survives_a_kill(tmp_path: Path, kept: str) -> None:
    # As left by a process that was killed before, or right after, it moved the old tables out of the way.
    write_tables({"x": ONE}, tmp_path / kept)
    (tmp_path / kept / "notes.txt").write_text("mine")
    (tmp_path / ".tables-new").mkdir()
    (tmp_path / ".tables-new" / "x.parquet").write_bytes(b"half")
    write_tables({"y": TWO}, tmp_path / "tables")
    assert (tmp_path / "tables" / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables"]
    assert list(read_tables(tmp_path / "tables")) == ["y"]


def test_the_state_belongs_to_the_tables(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    with replacing_tables(folder, state={"reply": 3}):
        pass
    assert read_state(folder) == {"reply": 3}
    with pytest.raises(RuntimeError), replacing_tables(folder, state={"reply": 4}):
        raise RuntimeError
    assert read_state(folder) == {"reply": 3}
    write_tables({"x": ONE}, folder)
    assert read_state(folder) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables"]


def test_what_is_no_run_gets_no_lock(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is not a run"), making_results(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_table_is_named_with_its_mend(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(RecordError, match=r"x\.parquet cannot be read as a table.* sociolect analyze"):
        read_tables(tmp_path)
