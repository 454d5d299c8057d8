"""The parts of a mapping: one Parquet file a batch, whole or not there, whose name says what it was made of.

::

    0000012-<mark>-<sum>.parquet
    number  what it was made of: function, arguments, version, and the batch (`simulator.engine.fingerprints`)
                   the hash of its own bytes, so that a part which was cut short or has rotted is known to be none
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from simulator.errors import RecordError
from simulator.storage import storing, write_bytes

__all__ = ["Shelf", "decode_frame", "encode_frame", "encode_part", "hash_bytes", "read_parts"]

_PART = re.compile(r"(?P<number>\d{7,})-(?P<mark>[0-9a-f]{16})-(?P<sum>[0-9a-f]{16})\.parquet")
_LEFT_OVER = re.compile(r"\.\d{7,}-[0-9a-f]{16}-[0-9a-f]{16}\.parquet-[0-9a-f]{8}\.parquet")
"""What `simulator.storage.replacing` calls a part that is still being written."""


def encode_frame(frame: pl.DataFrame) -> bytes:
    """Return a frame as bytes that are the same for equal frames, however their rows came to lie in memory.

    Parquet stores no value where there is none, and no chunks of columns; Arrow's own format does. Every type that a
    polars frame can hold, but Object, comes back as it was.
    """
    return _as_parquet(frame, compression="none", use_dictionary=False)


def encode_part(frame: pl.DataFrame) -> bytes:
    """Return a frame as the content of a part: compressed, one row group."""
    return _as_parquet(frame, compression="zstd", use_dictionary=True)


def _as_parquet(frame: pl.DataFrame, *, compression: str, use_dictionary: bool) -> bytes:
    from pyarrow import parquet  # noqa: PLC0415 - only who maps needs it

    file = io.BytesIO()
    parquet.write_table(
        frame.rechunk().to_arrow(),
        file,
        compression=compression,
        use_dictionary=use_dictionary,
        write_statistics=False,
        row_group_size=max(frame.height, 1),
    )
    return file.getvalue()


def decode_frame(content: bytes) -> pl.DataFrame:
    """Return the frame that `encode_frame` or `encode_part` was given."""
    return pl.read_parquet(io.BytesIO(content))


def hash_bytes(content: bytes) -> str:
    """Return 16 hexadecimal digits of a hash: enough to tell a file from another in its place."""
    return hashlib.sha256(content).hexdigest()[:16]


def read_parts(paths: Iterable[Path]) -> Iterator[pl.DataFrame]:
    """Yield the frame of each part in the order given, one in memory at a time.

    Raises
    ------
    RecordError
        A part is not there, or not as it was written.
    """
    for path in paths:
        content = _read_whole(path)
        if content is None:
            raise RecordError(
                f"{path} is not there, or not as it was written: it was cut short or changed since. Run the same "
                f"command again: it makes this part anew and keeps the others."
            )
        yield decode_frame(content)


def _read_whole(path: Path) -> bytes | None:
    """Return the content of a part; None where it is not what was written."""
    named = _PART.fullmatch(path.name)
    with suppress(OSError):
        content = path.read_bytes()
        if named is not None and hash_bytes(content) == named["sum"]:
            return content
    return None


class Shelf:
    """The parts in a folder that one mapping writes to, and those that it finds there.

    Parameters
    ----------
    folder
        Is made where it is not there. What a process that was killed left half written in it is removed.

    Raises
    ------
    StorageError
        The folder cannot be made or read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[int, list[Path]] = {}
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                if named := _PART.fullmatch(path.name):
                    self._found.setdefault(int(named["number"]), []).append(path)
                elif _LEFT_OVER.fullmatch(path.name):
                    path.unlink()

    def keep(self, number: int, mark: str) -> Path | None:
        """Return the part of a batch that was made before, if it is whole; remove what else is in its place."""
        kept: Path | None = None
        for path in sorted(self._found.pop(number, ())):
            if kept is None and f"-{mark}-" in path.name and _read_whole(path) is not None:
                kept = path
            else:
                _remove(path)
        return kept

    def put(self, number: int, mark: str, content: bytes) -> Path:
        """Write the part of a batch and return its path.

        Raises
        ------
        StorageError
            The disk does not take it; the parts that are there stay.
        """
        path = self._folder / f"{number:07d}-{mark}-{hash_bytes(content)}.parquet"
        write_bytes(path, content)
        return path

    def remove_others(self) -> None:
        """Remove the parts of batches that there were once and are no more."""
        for paths in self._found.values():
            for path in paths:
                _remove(path)
        self._found.clear()


def _remove(path: Path) -> None:
    with storing(path):
        path.unlink(missing_ok=True)
