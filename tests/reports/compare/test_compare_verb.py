"""`sociolect compare` as a person, or a script, meets it."""

import json
from pathlib import Path

import polars as pl
import pytest

from command_line import Sociolect
from simulator.tables import read_table

BEFORE = "import os\n\n\ndef total(values):\n    return sum(values)\n"
AFTER = "import sys\n\n\ndef total(numbers):\n    return sum(numbers) + 1\n"
HOSTILE = "x = '<script>alert(1)</script>[red]\x1b[31m\u202e'\n"
KEYS = {"a", "b", "tsed", "tsed_published", "status", "status_published", "a_nodes", "b_nodes", "edits"}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_two_files_are_one_document(tmp_path: Path, sociolect: Sociolect) -> None:
    put(tmp_path / "a.py", BEFORE)
    put(tmp_path / "b.py", AFTER)
    ended = sociolect("compare", "a.py", "b.py", "--json")
    assert (ended.status, ended.err) == (0, "")
    document = ended.document()
    assert set(document) == {"pairs", "floor", "warnings"}
    (pair,) = document["pairs"]
    assert set(pair) >= KEYS
    assert (pair["a"], pair["b"], pair["status"], pair["status_published"]) == ("a.py", "b.py", "ok", "ok")
    assert 0 < pair["tsed"] < 1


@pytest.mark.parametrize(("columns", "beside"), [("80", False), ("99", False), ("100", True), ("200", True)])
def test_one_pair_is_shown_in_the_width_of_the_terminal(
    tmp_path: Path, sociolect: Sociolect, columns: str, beside: bool
) -> None:
    put(tmp_path / "a.py", BEFORE + "".join(f"line_{n} = {n}\n" for n in range(30)))
    put(tmp_path / "b.py", AFTER + "".join(f"line_{n} = {n}\n" for n in range(30)) + f"wide = '{'x' * 300}'\n")
    ended = sociolect("compare", "a.py", "b.py", environment={"COLUMNS": columns})
    assert ended.status == 0
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert any("edits between trees of" in line for line in lines)
    assert "says something only between its floor" in " ".join(ended.out.split())
    assert any("⋮  24 unchanged lines" in line for line in lines)
    assert any("def total(values):" in line and "def total(numbers):" in line for line in lines) == beside
    assert ("│" in ended.out) == beside
    assert ended.out.count("x") >= 300


def test_a_terminal_is_not_obeyed_and_needs_no_utf8(tmp_path: Path, sociolect: Sociolect) -> None:
    put(tmp_path / "a.py", HOSTILE)
    put(tmp_path / "b.py", HOSTILE.replace("x", "é"))
    ended = sociolect("compare", "a.py", "b.py", environment={"PYTHONIOENCODING": "ascii:strict"})
    assert ended.status == 0
    assert "\x1b" not in ended.out
    assert "[red]⟨U+001B⟩[31m⟨U+202E⟩" in ended.out


def test_folders_end_with_three_where_a_pair_has_no_score(tmp_path: Path, sociolect: Sociolect) -> None:
    for folder, text in (("fa", BEFORE), ("fb", AFTER)):
        put(tmp_path / folder / "x.py", text)
        put(tmp_path / folder / "sub" / "y.py", BEFORE)
    assert sociolect("compare", "fa", "fb").status == 0
    put(tmp_path / "fa" / "alone.py", BEFORE)
    ended = sociolect("compare", "fa", "fb", "--out", "out")
    assert ended.status == 3
    rows = [line.split()[0] for line in ended.out.splitlines() if ".py" in line]
    assert rows == ["x.py", "sub/y.py", "alone.py"]
    assert "only in fa" in ended.out
    assert "3 pairs, 2 with a score" in ended.out
    assert "1 no partner" in ended.out
    page = (tmp_path / "out" / "compare.html").read_text(encoding="utf-8")
    assert "alone.py" in page
    table = read_table(tmp_path / "out" / "compare.parquet")
    assert table["id"].to_list() == ["alone.py", "sub/y.py", "x.py"]
    assert table["status"].to_list() == ["no_partner", "ok", "ok"]
    joined = table.with_columns(pl.col("features_both", "features_a", "features_b").list.join("; "))
    assert read_table(tmp_path / "out" / "compare.csv", table.schema).equals(joined)


def test_a_bad_row_loses_only_itself(tmp_path: Path, sociolect: Sociolect) -> None:
    rows = [
        json.dumps({"old": BEFORE, "new": AFTER}),
        "{broken",
        json.dumps({"old": BEFORE, "new": BEFORE, "id": "two"}),
    ]
    put(tmp_path / "p.jsonl", "\n".join(rows))
    ended = sociolect("compare", "p.jsonl", "--a", "old", "--b", "new", "--json")
    assert ended.status == 3
    document = ended.document()
    assert [pair["id"] for pair in document["pairs"]] == ["row 1", "two"]
    assert [pair["tsed"] == 1.0 for pair in document["pairs"]] == [False, True]
    assert any("p.jsonl, row 2: is not JSON" in warning for warning in document["warnings"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone.py", "a.py"), "there is no such file or folder"),
        (("a.py",), "is one program"),
        (("a.py", "bin.py"), "is binary"),
        (("empty.jsonl",), "the file is empty"),
        (("a.py", "a.py", "--show", "0"), "--show"),
    ],
)
def test_wrong_usage_is_one_paragraph(
    tmp_path: Path, sociolect: Sociolect, arguments: tuple[str, ...], said: str
) -> None:
    put(tmp_path / "a.py", BEFORE)
    put(tmp_path / "empty.jsonl", "")
    (tmp_path / "bin.py").write_bytes(b"\0\1\2")
    ended = sociolect("compare", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_language_without_a_grammar_is_a_status_and_the_mend(tmp_path: Path, sociolect: Sociolect) -> None:
    put(tmp_path / "a.zig", BEFORE)
    ended = sociolect("compare", "a.zig", "a.zig", "--language", "zig-no-such")
    assert ended.status == 3
    assert "the grammar of the language is not installed" in ended.out
    assert "pip install tree-sitter-zig-no-such" in ended.err.replace("\n", " ")
