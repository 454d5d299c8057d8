"""Text from a file of a study: UTF-8 whatever the locale, any newline, and never a byte from outside the study."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath

from simulator.errors import DefinitionError, Problem

__all__ = ["MAX_BYTES", "as_written", "is_below", "read_text", "resolve_inside"]

_LEADS_OUT = "leads out of the study; name a file by its path from the study's folder, without `..` or `~`"

MAX_BYTES = 1_000_000
"""A larger definition is a mistake: the largest built-in one has 2 kB."""


def read_text(path: Path, *, root: Path, max_bytes: int = MAX_BYTES) -> str:
    """Read UTF-8 text, with or without a byte order mark, any newline, from a regular file inside ``root``.

    Raises
    ------
    DefinitionError
        There is no such file; it is a folder, a pipe or a device; it is a link that leads out of ``root``; it may not
        be read; it is too large; it is not UTF-8 text.
    """

    def refuse(text: str, line: int = 0, column: int = 0) -> DefinitionError:
        return DefinitionError([Problem(path, line, column, text)])

    try:
        real = path.resolve()
        mode = real.stat().st_mode
        inside = real.is_relative_to(root.resolve())
        if not inside:
            text = f"this is a link that leads out of the study, to {real}; copy the file into {root} instead"
            raise refuse(text)
        if stat.S_ISDIR(mode):
            raise refuse("this is a folder where a file is needed; name a file in it")
        if not stat.S_ISREG(mode):
            raise refuse("this is not a regular file (a pipe, socket or device); copy its content into a file")
        with real.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except FileNotFoundError:
        raise refuse("there is no such file; check the name and the folder") from None
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links; ValueError: NUL in a name
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise refuse(f"the file cannot be read ({reason}); check its name and its permissions") from None
    if len(data) > max_bytes:
        raise refuse(f"the file is larger than {max_bytes:,} bytes, too large for a definition; split it")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refuse("the file is in UTF-16; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        raise refuse("this is a binary file, not text; a definition is YAML in UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        byte = data[error.start]
        mend = "save the file as UTF-8"
        raise refuse(
            f"the byte 0x{byte:02X} is not UTF-8 (a binary file, or another encoding); {mend}", line, column
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def as_written(path: Path) -> Path:
    """Return a path made absolute and free of ``..`` by its letters alone, following no link."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def is_below(path: Path, root: Path) -> bool:
    """Whether a path, as it is written and without following links, lies below ``root``."""
    return as_written(path).is_relative_to(as_written(root))


def resolve_inside(relative: str, root: Path) -> Path:
    """Return the file that a definition names by a path relative to the study's folder.

    Raises
    ------
    ValueError
        The path is absolute, climbs with ``..``, begins with ``~``, or is a link that leads out of the study.
    """
    windows, posix = PureWindowsPath(relative), PurePosixPath(relative)
    if windows.drive or windows.root or posix.is_absolute() or ".." in windows.parts or "\0" in relative:
        raise ValueError(_LEADS_OUT)
    if relative.startswith("~"):  # which programs take for somebody's home
        raise ValueError(_LEADS_OUT)
    path = root / posix
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside:
        raise ValueError("is a link that leads out of the study; copy the file into the study's folder")
    return path
