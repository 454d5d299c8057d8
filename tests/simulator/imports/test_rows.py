import csv
import gzip
import io
import json
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import RecordError
from simulator.imports import rows as reading
from simulator.imports.rows import Row, open_rows

WANTED = ("a", "b")


def read(path: Path) -> list[Row]:
    with open_rows(path, wanted=WANTED, what="texts") as (_, rows):
        return list(rows)


def read_bytes(folder: Path, content: bytes, name: str = "x.jsonl") -> list[Row]:
    (folder / name).write_bytes(content)
    return read(folder / name)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": 1, "a": 2}', "names 'a' twice"),
        (b'{"a": {"b": 1, "b": 2}}', "names 'b' twice"),
        (b'{"a": 1' + b"0" * 5_000 + b"}", "thousands of digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": "\x00"}', "is not JSON"),
        (b'{"a": 1} {"a": 2}', "is not JSON"),
        (b'"a"', "not an object"),
        (b'{"a": tru', "is not JSON"),
    ],
)
def test_a_bad_line_is_one_problem(tmp_path: Path, line: bytes, problem: str) -> None:
    # Zero bytes at the beginning of a file make it binary, so a long good row goes before.
    first = json.dumps({"a": "x" * 70_000}).encode()
    found = read_bytes(tmp_path, first + b"\r\n" + line + b"\r\n\r\n" + b'{"a": NaN}')
    assert [row.number for row in found] == [1, 2, 4]
    assert problem in found[1].problem
    assert not found[0].problem + found[2].problem


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_a_line_of_any_length_is_never_in_memory_as_a_whole(tmp_path: Path, name: str) -> None:
    head, row = (b"a,b\n", b"1,2\n") if name == "x.csv" else (b"", b'{"a": "1", "b": "2"}\n')
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(head + row + b'{"a": "')
        for _ in range(100):
            file.write(b"y" * 1_000_000)
        file.write(b'"}\n' + row)
    tracemalloc.start()
    found = read(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [bool(one.problem) for one in found] == [False, True, False]
    assert "longer than 16,777,216 characters" in found[1].problem
    assert found[2].fields == {"a": "1", "b": "2"}
    assert found[2].number == found[0].number + 2
    assert most < 90_000_000


def test_an_open_quotation_mark_swallows_no_other_row(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, b'a,b\n1,"open\n2,"two\nlines"\n3,x\n4,"open\n5,y\n', "x.csv")
    assert [(row.number, dict(row.fields)) for row in found] == [
        (2, {}),
        (3, {"a": "2", "b": "two\nlines"}),
        (5, {"a": "3", "b": "x"}),
        (6, {}),
        (7, {"a": "5", "b": "y"}),
    ]


@pytest.mark.parametrize("line", [b'1,"open\n', b'1,"""\n', b'1,"a""\n', b'"1""\n', b'"\n', b'a"",b\n', b'a",""\n'])
def test_no_line_is_read_more_than_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    passed = 0
    through = reading._Lines.__next__

    def count(lines: reading._Lines) -> str:
        nonlocal passed
        passed += 1
        return through(lines)

    monkeypatch.setattr(reading._Lines, "__next__", count)
    found = read_bytes(tmp_path, b"a,b\n" + (line + b"2,x\n") * 1_000 + b'1,"open\n' + b"2,x\n" * 1_000, "x.csv")
    assert passed < 2 * 4_002 + 10
    assert [row.number for row in found if not row.problem][-1] == 3002


def test_a_row_of_several_lines_says_where_it_ends(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, b'a,b\n1,"two\nlines",3\n1,2\n', "x.csv")
    assert found[0].problem == "has, up to line 3, 3 cells where the header has 2"
    assert found[1].number == 4


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_of_every_system(tmp_path: Path, end: bytes) -> None:
    found = read_bytes(tmp_path, end.join([b"\xef\xbb\xbfa,b", b"1,2", b"", b" ,", b"3,4", b""]), "x.csv")
    assert [(row.number, list(row.fields.values())) for row in found] == [(2, ["1", "2"]), (5, ["3", "4"])]


def test_a_header_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b'\n\n"a";"b\nc"\n1;2\n')
    with open_rows(path, wanted=("a",), what="texts") as (header, rows):
        assert header == ["a", "b\nc"]
        assert [(row.number, row.fields["b\nc"]) for row in rows] == [(5, "2")]


@pytest.mark.parametrize("kept", [5, 15, -9, -1])
def test_a_gzip_that_was_cut_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 100_000, mtime=0)[:kept])
    with pytest.raises(RecordError, match=r"damaged or cut off after line \d+ .*gzip -dc"):
        read(path)


def test_a_gzip_that_was_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    data = bytearray(gzip.compress("\n".join(json.dumps({"a": n}) for n in range(50_000)).encode()))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(bytes(data))
    with pytest.raises(RecordError, match="damaged or cut off"):
        read(path)


def test_a_plain_file_that_was_cut_loses_its_last_row(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, b'{"a": 1}\n{"a": 2}\n{"a"')
    assert [bool(row.problem) for row in found] == [False, False, True]


@pytest.mark.parametrize("content", [b"", b" \r\n\n", gzip.compress(b"", mtime=0), b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x"])
def test_empty_files(tmp_path: Path, content: bytes, name: str) -> None:
    with pytest.raises(RecordError, match="file is empty"):
        read_bytes(tmp_path, content, name)


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=8),
            min_size=2,
            max_size=2,
        ),
        max_size=20,
    )
)
def test_what_csv_wrote_comes_back(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([["a", "b"], *table])
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    path.write_text(written.getvalue(), encoding="utf-8", newline="")
    found = [list(row.fields.values()) for row in read(path)]
    assert found == [row for row in table if any(cell.strip() for cell in row)]


@given(st.binary(max_size=400))
def test_any_bytes_give_rows_or_one_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("rows")
    for name, head in (("x.csv", b"a,b\n"), ("x.jsonl", b""), ("x", b"")):
        with suppress(RecordError):
            found = read_bytes(folder, head + content, name)
            assert [row for row in found if row.problem and row.fields] == []
            assert [row.number for row in found] == sorted({row.number for row in found})
