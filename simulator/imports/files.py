"""Opening a file of text, plain or gzip, that somebody else made, and saying in words why it cannot be read."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

from simulator.errors import RecordError

__all__ = ["open_bytes", "unreadable"]

_HEAD = 65_536  # bytes by which the kind of a file is told


@contextmanager
def open_bytes(path: Path, what: str) -> Iterator[tuple[io.BufferedReader[Any], bytes]]:
    """Open a file, unpacking gzip (told by its first bytes); yield it and its first 64 KB without a byte-order mark.

    Parameters
    ----------
    path
        The file.
    what
        What it should be and hold, for errors: ``JSONL or CSV file of texts``.

    Raises
    ------
    RecordError
        It is not there, a folder, empty, or not text in UTF-8, or its gzip data are damaged at the beginning.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb", buffering=0))
            data: io.BufferedReader[Any] = stack.enter_context(io.BufferedReader(file, _HEAD))
            if data.peek(2)[:2] == b"\x1f\x8b":
                unpacked = stack.enter_context(gzip.GzipFile(fileobj=data))
                data = stack.enter_context(io.BufferedReader(cast("io.RawIOBase", unpacked), _HEAD))
            head = data.peek(_HEAD)[:_HEAD]
        except FileNotFoundError:
            raise RecordError(f"{path}: there is no such file. Give the path of a {what}.") from None
        except IsADirectoryError:
            raise RecordError(f"{path}: is a folder, not a file. Give the path of a {what}.") from None
        except (EOFError, zlib.error, OSError) as error:
            raise unreadable(path, error, 0) from error
        if not head:
            raise RecordError(f"{path}: the file is empty. Give the path of a {what}.")
        if b"\0" in head or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise RecordError(
                f"{path}: is a binary file or is not in UTF-8 (it holds zero bytes), where a {what} is needed. "
                "Export it in UTF-8; a spreadsheet cannot be read here."
            )
        yield data, head.removeprefix(b"\xef\xbb\xbf")


def unreadable(path: Path, error: Exception, line: int) -> RecordError:
    """Return the error to raise when reading failed after so many lines."""
    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
        return RecordError(
            f"{path}: the gzip file is damaged or cut off after line {line} ({error}), and what is missing is not "
            "known. Fetch or pack it again; or, to use what can be read as if it were all, unpack it with: "
            "gzip -dc FILE > PART"
        )
    reason = error.strerror if isinstance(error, OSError) else None
    return RecordError(f"{path}: cannot be read ({reason or error}).")
