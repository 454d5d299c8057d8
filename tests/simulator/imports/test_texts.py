import csv
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import RecordError
from simulator.imports import TEXTS, read_texts

ROWS: list[dict[str, Any]] = [
    {"speaker": "ann", "task": "calculator", "iteration": 1, "text": "A calculator, please."},
    {"speaker": "bob", "task": "calculator", "iteration": 2, "text": "Build\r\na “calculator” 🧮 مرحبا\u2028now"},
]


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def bare(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.select("speaker", "task", "iteration", "text").to_dicts()


def test_jsonl_and_csv_give_the_same_table(tmp_path: Path) -> None:
    lines, warnings = read_texts(write_jsonl(tmp_path / "a.jsonl", ROWS))
    cells, more = read_texts(write_csv(tmp_path / "a.csv", ROWS))
    assert lines.schema == TEXTS
    assert bare(lines) == ROWS
    assert lines.equals(cells)
    assert warnings == more == []


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    texts, _ = read_texts(write_csv(tmp_path / "a.csv", ROWS, delimiter))
    assert bare(texts) == ROWS


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a", "a.txt"])
def test_gzip_and_names_that_say_nothing(tmp_path: Path, name: str) -> None:
    plain = write_csv(tmp_path / "b", ROWS) if "csv" in name else write_jsonl(tmp_path / "b", ROWS)
    data = plain.read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith("gz") else data)
    texts, _ = read_texts(tmp_path / name)
    assert bare(texts) == ROWS


def test_byte_order_mark_is_no_part_of_a_column(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", ROWS)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert bare(read_texts(path)[0]) == ROWS


def test_columns_by_option(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"who": "ann", "statement": "Hello.", "debate": "1st", "text": "no"}])
    texts, _ = read_texts(path, speaker="who", text="statement", task="debate")
    assert bare(texts) == [{"speaker": "ann", "task": "1st", "iteration": None, "text": "Hello."}]


def test_without_task_and_iteration(tmp_path: Path) -> None:
    texts, _ = read_texts(write_jsonl(tmp_path / "a.jsonl", [{"speaker": 7, "text": " as it stands\n"}]))
    assert bare(texts) == [{"speaker": "7", "task": "", "iteration": None, "text": " as it stands\n"}]


BAD = [
    ('{"speaker": "ann", "te', "not JSON"),
    ("[1, 2]", "not an object"),
    ('{"speaker": "ann"}', "no text"),
    ('{"speaker": "ann", "text": null}', "no text"),
    ('{"speaker": "ann", "text": "  "}', "no text"),
    ('{"speaker": "ann", "text": 12}', "a number, not a text"),
    ('{"speaker": "ann", "text": ["a"]}', "a list, not a text"),
    ('{"speaker": "", "text": "a"}', "no speaker"),
    ('{"speaker": true, "text": "a"}', "true or false, not the name"),
    ('{"speaker": {"id": 1}, "text": "a"}', "an object, not the name"),
    ('{"speaker": "ann", "text": "a", "task": 1.5}', "a number, not the name"),
    ('{"speaker": "ann", "text": "a", "iteration": "two"}', "not a whole number"),
    ('{"speaker": "ann", "text": "a", "iteration": 1.5}', "not a whole number"),
    ('{"speaker": "ann", "text": "a", "iteration": 1e300}', "not a whole number"),
    ('{"speaker": "ann", "text": "half \\ud83d"}', "half a surrogate pair"),
    ('{"speaker": "\\udc00", "text": "a"}', "half a surrogate pair"),
    ("[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_row_loses_only_itself(tmp_path: Path, line: str, reason: str) -> None:
    texts, warnings = read_texts(write_jsonl(tmp_path / "a.jsonl", [ROWS[0], line, ROWS[1]]))
    assert bare(texts) == ROWS
    assert warnings[0] == "a.jsonl: 1 of 3 rows were left out; the others are used"
    assert warnings[1].startswith("a.jsonl, row 2: ")
    assert reason in warnings[1]


def test_bytes_that_are_not_utf8_lose_only_their_row(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", ROWS)
    path.write_bytes(path.read_bytes() + b'{"speaker": "eve", "text": "caf\xe9"}\n')
    texts, warnings = read_texts(path)
    assert texts.height == 2
    assert "row 3: 'text' holds what is not valid UTF-8" in warnings[1]


def test_a_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", ['{"speaker": "ann", "text": "\\ud83d\\ude00"}'])
    assert read_texts(path)[0]["text"].to_list() == ["😀"]


def test_bad_rows_of_a_csv_file_are_named_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('speaker,text\nann,"two\nlines"\nbob,one,too many\neve\nzoe,"never closed\n', encoding="utf-8")
    texts, warnings = read_texts(path)
    assert texts["text"].to_list() == ["two\nlines"]
    assert [warning.partition(":")[0] for warning in warnings[1:]] == [f"a.csv, row {row}" for row in (4, 5, 6)]


def test_only_the_first_bad_rows_are_named(tmp_path: Path) -> None:
    _, warnings = read_texts(write_jsonl(tmp_path / "a.jsonl", [ROWS[0], *["nonsense"] * 50]))
    assert len(warnings) == 22
    assert warnings[-1] == "a.jsonl: 30 more rows were left out"


def test_long_texts_and_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = write_csv(tmp_path / "a.csv", [{"speaker": "ann", "text": "word " * 400_000}])
    assert len(read_texts(path)[0]["text"][0]) == 2_000_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"PK\x03\x04\x00\x00", "binary"),
        ("speaker,text\nann,hello\n".encode("utf-16"), "not in UTF-8"),
        (gzip.compress(b"speaker,text\nann,hello\n", mtime=0)[:-9], "damaged"),
        (b"speaker,text\n", "none of its 0 rows"),
        (b'{"speaker": "ann", "text": ""}\n', "row 1: has no text"),
        (b"speaker,speaker,text\na,b,c\n", "2 columns 'speaker'"),
        (b'"speaker,text\na,b\n', "header is not CSV"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "texts"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=said):
        read_texts(path)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such file"):
        read_texts(tmp_path / "none.jsonl")
    with pytest.raises(RecordError, match="is a folder"):
        read_texts(tmp_path)


def test_a_missing_column_names_those_that_are_there_and_the_option(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"speaker": "ann", "statement": "Hello.", "debate": "1st"}])
    with pytest.raises(RecordError, match=r"'speaker', 'statement', 'debate'.*--text COLUMN"):
        read_texts(path)
    with pytest.raises(RecordError, match=r"no column 'round' for the task.*--task COLUMN"):
        read_texts(path, text="statement", task="round")


def test_ids_are_unique_and_do_not_depend_on_the_order(tmp_path: Path) -> None:
    rows = [*ROWS, ROWS[0], {"speaker": "eve", "text": "x"}]
    texts, _ = read_texts(write_jsonl(tmp_path / "a.jsonl", rows))
    turned, _ = read_texts(write_jsonl(tmp_path / "b.jsonl", rows[::-1]))
    assert texts["text_id"].n_unique() == 4
    assert sorted(texts["text_id"]) == sorted(turned["text_id"])


def test_names_keep_the_joiners_that_tell_them_apart(tmp_path: Path) -> None:
    names = ["می\u200cخواهم", "میخواهم", "👩\u200d💻", "rené\u00a0x", "a\uffffb"]
    rows = [{"speaker": name, "text": "x"} for name in names]
    texts, _ = read_texts(write_jsonl(tmp_path / "a.jsonl", rows))
    assert texts["speaker"].to_list() == [*names[:3], "rené x", "a b"]


def test_columns_are_named_so_that_they_move_no_cursor(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"speaker": "ann", "sta\u001b[2Jte": "x", "z\ud800": "y"}])
    with pytest.raises(RecordError, match="there is no column 'text'") as caught:
        read_texts(path)
    assert str(caught.value).replace("\n", "").isprintable()


def test_names_have_no_control_characters(tmp_path: Path) -> None:
    texts, _ = read_texts(write_jsonl(tmp_path / "a.jsonl", [{"speaker": " <b>ann\u0001\n smith</b> ", "text": "x"}]))
    assert texts["speaker"].to_list() == ["<b>ann smith</b>"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, found: list[str]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    rows = [{"speaker": "ann", "text": text} for text in found]
    wanted = [text for text in found if text.strip()]
    if not wanted:
        return
    texts, _ = read_texts(write_jsonl(folder / "a.jsonl", rows))
    assert texts["text"].to_list() == wanted


def test_recorded_debates(shared_data: Path) -> None:
    path = shared_data / "debates" / "presidential_debates_2016.csv.gz"
    texts, warnings = read_texts(path, text="statement", task="debate")
    assert (texts.height, texts["speaker"].n_unique(), texts["text_id"].n_unique()) == (1122, 9, 1122)
    assert warnings == []


def test_the_nearest_column_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"Speakers": "ann", "text": "Hello."}])
    with pytest.raises(RecordError, match=r"no column 'speaker' for the speaker.*Nearest is 'Speakers'"):
        read_texts(path)


def test_batches_make_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"speaker": "ann", "text": str(number)} for number in range(10)])
    whole, _ = read_texts(path)
    monkeypatch.setattr("simulator.imports.texts._BATCH", 3)
    assert read_texts(path)[0].equals(whole)
