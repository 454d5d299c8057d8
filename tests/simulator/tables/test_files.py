import csv
import math
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from simulator.errors import RecordError, StorageError
from simulator.tables import SCHEMAS, read_table, scan_batches, write_table, writing_table
from simulator.tables.files import Write

RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")


def test_spreadsheets_get_no_formulas_and_parquet_gets_the_text(tmp_path: Path) -> None:
    texts = ["=cmd()", "+1", "-1", "@x", "\tx", "plain", "'quoted", "'=x", "", None]
    frame = pl.DataFrame({"text": texts, "names": [["=a", "b"]] * 10, "number": [-1.5] * 10})
    write_table(frame, tmp_path / "t.csv")
    write_table(frame, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = ["'=cmd()", "'+1", "'-1", "'@x", "'\tx", "plain", "'quoted", "''=x", "", ""]
    assert [row["text"] for row in rows] == shown
    assert rows[0]["names"] == "'=a; b"
    assert rows[0]["number"] == "-1.5"
    assert read_table(tmp_path / "t.parquet").equals(frame)
    assert read_table(tmp_path / "t.csv", columns=["text"])["text"].to_list() == texts


def cells(kind: pl.DataType | type[pl.DataType]) -> st.SearchStrategy[object]:
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    begun = st.builds(str.__add__, st.sampled_from(["=", "'=", "''@", "'", "\ufeff", "\r\n", '"', ",", " "]), texts)
    of = {
        pl.String: texts | begun | st.just("null"),
        pl.Int64: st.integers(-(2**63), 2**63 - 1),
        pl.Float64: st.floats(),
    }
    return st.none() | of[kind]  # type: ignore[index]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_every_table_comes_back_as_it_was(tmp_path: Path, name: str, kind: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    rows = data.draw(st.lists(st.tuples(*(cells(of) for of in schema.values())), max_size=4))
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if kind == "jsonl":  # JSON has no word for what is no number
        frame = frame.with_columns(
            pl.when(pl.col(column).is_finite()).then(pl.col(column))
            for column, of in schema.items()
            if of == pl.Float64
        )
    path = tmp_path / f"t.{kind}"
    write_table(frame, path)
    assert_frame_equal(read_table(path, schema), frame, check_exact=True)


@given(text=st.text(max_size=6) | st.sampled_from(RUN_BY_SPREADSHEETS).map(lambda one: one + "1"))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_cell_begins_like_a_formula(tmp_path: Path, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    write_table(pl.DataFrame({"text": [text], "other": ["x"]}), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        _, (cell, _) = csv.reader(file)
    assert not cell.startswith(RUN_BY_SPREADSHEETS)


def test_batches_come_back_one_by_one(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"a": [number] * number}, schema={"a": pl.Int64}) for number in range(1, 5)]
    for kind in ("parquet", "csv", "jsonl"):
        with writing_table(tmp_path / f"t.{kind}", frames[0].schema) as write:
            for frame in frames:
                write(frame)
        assert read_table(tmp_path / f"t.{kind}", frames[0].schema).equals(pl.concat(frames))
    assert [frame.height for frame in scan_batches(tmp_path / "t.parquet")] == [1, 2, 3, 4]


def test_some_columns_are_read_of_many(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1], "b": ["=x"], "c": [math.pi]})
    for kind in ("parquet", "csv", "jsonl"):
        write_table(frame, tmp_path / f"t.{kind}")
        found = read_table(tmp_path / f"t.{kind}", frame.schema, columns=["c", "b"])
        assert found.select("c", "b").equals(frame.select("c", "b"))
        assert found.width == 2


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_table_that_is_given_up_leaves_the_old_one(tmp_path: Path, kind: str) -> None:
    path, frame = tmp_path / f"t.{kind}", pl.DataFrame({"a": [1, 2]})
    write_table(frame, path)

    def begin(write: Write) -> None:
        write(frame)
        raise RuntimeError

    with pytest.raises(RuntimeError), writing_table(path, frame.schema) as write:
        begin(write)
    assert read_table(path, frame.schema).equals(frame)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_disk_that_is_full_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    frame = pl.DataFrame({"a": [os.urandom(100_000).hex() for _ in range(4)]})
    monkeypatch.setattr(Path, "open", lambda *_: open("/dev/full", "wb", buffering=0))  # noqa: PTH123, SIM115
    with pytest.raises(StorageError, match=rf"t\.{kind} cannot be written: no space is left"):
        write_table(frame, tmp_path / f"t.{kind}")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(pl.DataFrame({"a": ["x" * 100] * 100}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordError, match=r"t\.parquet cannot be read"):
        list(scan_batches(path))
    with pytest.raises(RecordError, match=r"t\.parquet cannot be read"):
        read_table(path)


@pytest.mark.parametrize("name", ["*", "?", "[1]", "[!a]", "~", "a b\n", "**", "{a,b}", "\udcff"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_name_is_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})
    for folder, frame in ((Path(name), one), (Path("another"), other), (Path("1"), other)):
        write_table(frame, folder / f"t.{kind}")
    assert read_table(Path(name) / f"t.{kind}", one.schema).equals(one)
    if kind == "parquet":
        assert pl.concat(scan_batches(Path(name) / "t.parquet")).equals(one)
