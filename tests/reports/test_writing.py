"""The report's files are whole or not there, and a disk that takes nothing is said to be that."""

import ast
import errno
from pathlib import Path

import pytest
from report_frames import build_tables

import reports
from reports import write_report
from simulator.errors import StorageError
from simulator.storage import write_bytes

FILES = ("report.html", "report.md", "overlap.svg", "overlap.png", "overlap.graphml", "entity-map.png", "tsed.svg")


def _write(folder: Path, title: str) -> None:
    write_report(build_tables(), folder, title=title, models=[], warnings=[], personas={}, tasks={})


def _read(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", FILES)
def test_a_full_disk_is_said_and_leaves_every_file_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, "before")
    before = _read(tmp_path)
    replace = Path.replace

    def fail(self: Path, target: Path) -> Path:
        if target.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(StorageError, match="no space is left on the disk") as caught:
        _write(tmp_path, "after")
    assert name in str(caught.value)
    after = _read(tmp_path)
    assert list(after) == list(before)  # and no part of a file beside them
    assert next(content for path, content in after.items() if path.name == name) == next(
        content for path, content in before.items() if path.name == name
    )


@pytest.mark.parametrize("place", ["", "figures"])
def test_a_file_where_a_folder_must_be_is_said(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        _write(folder, "t")


def test_a_folder_where_an_old_figure_would_be_taken_away_is_said(tmp_path: Path) -> None:
    (tmp_path / "figures" / "tsed.svg").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"tsed\.svg"):
        write_report(
            build_tables(code_status="empty"), tmp_path, title="t", models=[], warnings=[], personas={}, tasks={}
        )


def test_bytes_are_written_whole(tmp_path: Path) -> None:
    write_bytes(tmp_path / "new" / "file", b"\x00\r\n\xff")
    assert (tmp_path / "new" / "file").read_bytes() == b"\x00\r\n\xff"
    assert len(list((tmp_path / "new").iterdir())) == 1


def test_nothing_in_reports_writes_past_the_storage() -> None:
    found = []
    for path in sorted(Path(reports.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                direct = isinstance(called, ast.Attribute) and name in {"write_text", "write_bytes", "mkdir", "write"}
                reads = name == "open" and [ast.literal_eval(one) for one in node.args] == ["rb"]
                if reads:
                    continue
                if direct or name in {"open", "write_graphml_lxml", "write_csv", "write_parquet", "save"}:
                    found.append(f"{path.name}:{node.lineno} {name}")
    assert found == []
