"""An engine as something that maps: what an analysis is given in place of the builtin ``map``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path

import polars as pl

from simulator.engine.mapping import Engine, Function, map_batches
from simulator.engine.parts import read_parts

__all__ = ["hash_program", "map_in"]


def map_in(
    folder: Path, engine: Engine | None = None
) -> Callable[[Function, Iterable[pl.DataFrame]], Iterator[pl.DataFrame]]:
    """Return a function that maps as the builtin ``map`` does, but on an engine, and with its parts in a folder.

    Parameters
    ----------
    folder
        Of the parts of one mapping (`map_batches`). Parts that another version of the program made are made again.
    engine
        Where the work is done; by default in a process for each core of this machine.

    Returns
    -------
    mapped
        ``mapped(function, batches)`` yields what comes back, in the batches' order, once all of it is there.
    """

    def mapped(function: Function, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        yield from read_parts(map_batches(function, batches, folder, engine=engine or Engine(), version=hash_program()))

    return mapped


@lru_cache(maxsize=1)
def hash_program() -> str:
    """Return a hash of the program's version, and of the source and rules that a batch may be worked on with."""
    found = hashlib.sha256(metadata.version("sociolect").encode())
    for room in ("simulator", "analysis"):
        folder = Path(import_module(room).__path__[0])
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".yaml")):
            found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
