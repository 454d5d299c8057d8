import datetime
import decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from polars.testing.parametric import dataframes

from simulator.engine.parts import Shelf, decode_frame, encode_frame, encode_part, read_parts
from simulator.errors import RecordError, StorageError

DAY = datetime.datetime(2026, 12, 1)
EVERY_TYPE = pl.DataFrame(
    {
        "none": [None, None],
        "text": ["Straße", None],
        "whole": [1, None],
        "real": [float("nan"), None],
        "truth": [True, None],
        "bytes": [b"\0", None],
        "list": [["a", None], None],
        "struct": [{"x": 1, "y": "b"}, None],
        "date": [DAY.date(), None],
        "span": [datetime.timedelta(1), None],
        "hour": [datetime.time(1, 2), None],
        "decimal": [decimal.Decimal("1.50"), None],
    }
).with_columns(
    pl.Series("choice", ["a", None], dtype=pl.Enum(["b", "a"])),
    pl.Series("category", ["a", None], dtype=pl.Categorical),
    pl.Series("small", [1, None], dtype=pl.UInt8),
    pl.Series("single", [1, None], dtype=pl.Float32),
    pl.Series("array", [[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
    pl.Series("zone", [DAY, None], dtype=pl.Datetime("ns", "Europe/Berlin")),
)


@pytest.mark.parametrize("encode", [encode_frame, encode_part])
@pytest.mark.parametrize("frame", [EVERY_TYPE, EVERY_TYPE.clear(), pl.DataFrame()])
def test_a_frame_comes_back_as_it_was(encode: type, frame: pl.DataFrame) -> None:
    back: pl.DataFrame = decode_frame(encode(frame))
    assert back.schema == frame.schema
    assert back.equals(frame)


@given(dataframes(allowed_dtypes=[pl.String, pl.Int64, pl.Float64, pl.Boolean, pl.List(pl.String)], max_size=20))
def test_any_frame_comes_back_as_it_was(frame: pl.DataFrame) -> None:
    assert_frame_equal(decode_frame(encode_frame(frame)), frame)


def test_equal_frames_are_equal_bytes_however_they_lie_in_memory() -> None:
    whole = pl.DataFrame({"text": [f"text number {row}" for row in range(90)], "value": range(90)})
    plain = pl.DataFrame({"text": [f"text number {row}" for row in range(10, 60)], "value": range(10, 60)})
    chunks = pl.concat([whole.slice(10, 20), whole.slice(30, 30)], rechunk=False)
    assert encode_frame(whole.slice(10, 50)) == encode_frame(plain) == encode_frame(chunks)
    assert encode_part(whole.slice(10, 50)) == encode_part(plain) == encode_part(chunks)
    hidden = pl.DataFrame({"value": [1, 2, 3]}).select(pl.when(pl.col("value") != 2).then("value"))
    assert encode_frame(hidden) == encode_frame(pl.DataFrame({"value": [1, None, 3]}))
    assert encode_frame(plain) != encode_frame(plain.with_columns(pl.col("value").cast(pl.Int32)))
    assert encode_frame(plain) != encode_frame(plain.rename({"text": "code"}))
    assert encode_frame(plain) != encode_frame(plain.reverse())


def test_parts_are_read_when_their_turn_comes(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    paths = [shelf.put(number, "0" * 16, encode_part(pl.DataFrame({"value": [number]}))) for number in range(3)]
    parts = read_parts(paths)
    assert next(parts)["value"].to_list() == [0]
    paths[1].write_bytes(paths[0].read_bytes())  # whole, but another's
    with pytest.raises(RecordError, match="not as it was written"):
        next(parts)
    paths[2].unlink()
    with pytest.raises(RecordError, match="is not there"):
        next(read_parts(paths[2:]))


def test_a_part_is_kept_for_its_batch_and_what_it_was_made_of(tmp_path: Path) -> None:
    mark, other = "a" * 16, "b" * 16
    path = Shelf(tmp_path).put(7, mark, b"content")
    assert Shelf(tmp_path).keep(7, mark) == path
    assert Shelf(tmp_path).keep(8, mark) is None
    assert path.exists()
    assert Shelf(tmp_path).keep(7, other) is None
    assert not path.exists()


def test_a_folder_that_cannot_be_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be written"):
        Shelf(tmp_path / "file" / "parts")
