"""What is read as pairs: files, folders, rows; and what is said where that cannot be."""

import gzip
import json
import os
from pathlib import Path, PurePath

import pytest

from reports.compare.pairs import Pairs, language_of, read_pairs
from simulator.errors import RecordError, UsageError


def write(path: Path, content: str | bytes = "x = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def statuses(found: Pairs) -> dict[str, str]:
    return {pair.id: pair.status for pair in found.pairs}


def test_two_files_take_their_language_from_either_suffix(tmp_path: Path) -> None:
    py, java, plain = write(tmp_path / "a.py"), write(tmp_path / "B.java"), write(tmp_path / "c")
    (pair,) = read_pairs(py, plain).pairs
    assert (pair.language, pair.status, pair.a_text, pair.b) == ("python", "ok", "x = 1\n", str(plain))
    (mixed,) = read_pairs(py, java).pairs
    assert (mixed.language, mixed.status) == ("", "languages_differ")
    assert mixed.note == "python and java have no common syntax tree"
    assert mixed.b_text == "x = 1\n"
    assert read_pairs(py, java, language="python").pairs[0].language == "python"
    with pytest.raises(UsageError, match="--language python"):
        read_pairs(plain, plain)


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path) -> None:
    (pair,) = read_pairs(write(tmp_path / "a.py", b"\xef\xbb\xbfx"), write(tmp_path / "b.py", "é𝒳")).pairs
    assert (pair.a_text, pair.b_text) == ("x", "é𝒳")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\0\1\xff", "is binary: it holds zero bytes"),
        (b"x\0", "is binary: it holds zero bytes"),
        ("x\né".encode("latin-1"), r"is not UTF-8 \(line 2\)"),
        ("x".encode("utf-16"), "is in UTF-16, not in UTF-8"),
        (b"x" * (16 * 1024 * 1024 + 1), "is longer than 16,777,216 bytes"),
    ],
)
def test_a_file_that_is_no_text_is_one_paragraph(tmp_path: Path, content: bytes, said: str) -> None:
    bad, good = write(tmp_path / "bad.py", content), write(tmp_path / "good.py")
    with pytest.raises(RecordError, match=rf"bad.py: {said}\. Give two files"):
        read_pairs(good, bad)


@pytest.mark.parametrize(
    ("a", "b", "error", "said"),
    [
        ("gone.py", "a.py", RecordError, "no such file or folder"),
        ("fa", "a.py", UsageError, "is a folder and"),
        ("a.py", "fa", UsageError, "is a folder and"),
        ("fa", None, UsageError, "nothing to compare it with"),
        ("a.py", None, UsageError, "is one program"),
        ("gone.jsonl", None, RecordError, "no such file"),
        ("p.jsonl", "p.jsonl", UsageError, "One JSONL file of pairs is given alone"),
        ("fa", "fa", RecordError, "there is no program in them"),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, a: str, b: str | None, error: type[Exception], said: str) -> None:
    write(tmp_path / "a.py")
    write(tmp_path / "p.jsonl", "{}")
    (tmp_path / "fa").mkdir()
    with pytest.raises(error, match=said):
        read_pairs(tmp_path / a, None if b is None else tmp_path / b)


def test_folders_are_paired_by_path_and_nothing_is_dropped_unsaid(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for folder in (a, b):
        for name in ("same.py", "sub/deep.py", "Main.java", "notes.txt", ".git/hook.py", "__pycache__/x.py"):
            write(folder / name)
    write(a / "only_a.py")
    write(b / "sub/only_b.py")
    write(a / "bad.py", b"\0")
    write(b / "bad.py")
    write(a / "latin.py")
    write(b / "latin.py", b"\xe9")
    write(a / "wide.py", "é" * 10)
    write(b / "wide.py", "")
    found = read_pairs(a, b)
    assert statuses(found) == {
        "Main.java": "ok",
        "bad.py": "binary",
        "latin.py": "not_utf8",
        "only_a.py": "no_partner",
        "same.py": "ok",
        "sub/deep.py": "ok",
        "sub/only_b.py": "no_partner",
        "wide.py": "ok",
    }
    by_id = {pair.id: pair for pair in found.pairs}
    assert by_id["Main.java"].language == "java"
    assert by_id["only_a.py"].b is None
    assert by_id["only_a.py"].a == str(a / "only_a.py")
    assert by_id["latin.py"].note.endswith("latin.py is not UTF-8 (line 1)")
    assert by_id["latin.py"].b_text is None
    assert len(found.warnings) == 1
    assert "1 of 9 files are no programs by their suffix and are left out: notes.txt" in found.warnings[0]
    assert statuses(read_pairs(a, b, language="python"))["notes.txt"] == "ok"


def test_links_pipes_and_odd_names_do_no_harm(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    write(a / "x.py")
    write(b / "x.py")
    (a / "loop").symlink_to(a)
    (a / "gone.py").symlink_to(a / "nowhere")
    os.mkfifo(a / "pipe.py")
    write(Path(os.fsdecode(os.fsencode(a) + b"/\xff.py")))
    write(a / "<b>\u202e.py")
    found = read_pairs(a, b)
    assert statuses(found) == {
        "x.py": "ok",
        "gone.py": "no_partner",
        "⟨U+DCFF⟩.py": "no_partner",
        "<b>⟨U+202E⟩.py": "no_partner",
    }
    assert any("loop is a link to a folder" in warning for warning in found.warnings)
    assert any("pipe.py is no regular file" in warning for warning in found.warnings)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_has_a_status(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name / "x.py").chmod(0)
    found = read_pairs(tmp_path / "a", tmp_path / "b")
    assert statuses(found) == {"x.py": "unreadable"}


def test_rows_are_pairs_and_a_bad_row_loses_only_itself(tmp_path: Path) -> None:
    rows = [
        {"a": "x = 1", "b": "x = 2"},
        {"a": "class A {}", "b": "", "language": "Java", "id": "second"},
        {"a": 1, "b": "x"},
        {"b": "x"},
        {"a": "half \ud83d", "b": "x", "id": 7},
    ]
    lines = [json.dumps(row) for row in rows]
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([*lines[:2], "{broken", *lines[2:]]).encode()))
    found = read_pairs(path)
    assert [(pair.id, pair.a, pair.language) for pair in found.pairs] == [
        ("row 1", "p.jsonl.gz:1:a", "python"),
        ("second", "p.jsonl.gz:2:a", "java"),
        ("7", "p.jsonl.gz:6:a", "python"),
    ]
    assert found.pairs[2].a_text == "half \ufffd"
    assert found.lost == 3
    assert [warning.partition(":")[0] for warning in found.warnings] == [
        "p.jsonl.gz",
        "p.jsonl.gz, row 3",
        "p.jsonl.gz, row 4",
        "p.jsonl.gz, row 5",
    ]
    assert "'a' is a number, not a text" in found.warnings[2]
    assert "has no text in 'a'" in found.warnings[3]


def test_columns_are_renamed_and_csv_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "before,after\nx = 1,y = 1\n")
    (pair,) = read_pairs(path, a_column="before", b_column="after").pairs
    assert (pair.a_text, pair.b_text, pair.b) == ("x = 1", "y = 1", "p.csv:2:after")
    with pytest.raises(RecordError, match=r"no column 'a' .* name other columns with --a and --b"):
        read_pairs(path)
    with pytest.raises(RecordError, match=r"none of its 1 rows can be used as a pair"):
        read_pairs(write(tmp_path / "p.jsonl", '{"a": null, "b": "x"}'))


@pytest.mark.parametrize(("name", "language"), [("A.PY", "python"), ("x.test.ts", "typescript"), ("Makefile", "")])
def test_a_suffix_tells_the_language(name: str, language: str) -> None:
    assert language_of(PurePath(name)) == language
