"""The tables of a run's folder: replaced all at once, with the state of the records that they were made from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from simulator.running.journal.records import Records
from simulator.storage import one_at_a_time, storing, write_text
from simulator.tables.files import read_table, write_table

__all__ = ["add_tables", "making_results", "read_state", "read_tables", "replacing_tables", "write_tables"]

_STATE = "made-from.json"


@contextmanager
def making_results(run: Path) -> Iterator[None]:
    """Hold a run's results (tables, figures, report) while they are made or read; other processes wait.

    Raises
    ------
    RecordError
        The folder is no run.
    """
    with Records(run):
        pass  # before a file is made in it
    with one_at_a_time(run / "results.lock"):
        yield


@contextmanager
def replacing_tables(folder: Path, *, state: Mapping[str, int] | None = None) -> Iterator[Path]:
    """Give an empty folder to write tables to, and put them in the place of the old ones when that has ended well.

    Files that are no tables stay.

    Parameters
    ----------
    folder
        Where the tables are to be.
    state
        Of the records (`Records.state`) at the time that the tables are made from them.

    Raises
    ------
    StorageError
        The disk does not take it; the old tables are still there.
    """
    made, old = folder.with_name(f".{folder.name}-new"), folder.with_name(f".{folder.name}-old")
    with storing(folder):
        shutil.rmtree(made, ignore_errors=True)  # left by a process that was killed
        _keep_others(old, folder)
        made.mkdir(parents=True)
        try:
            yield made
            if state is not None:
                write_text(made / _STATE, json.dumps(dict(state), sort_keys=True) + "\n")
            if folder.exists():
                folder.replace(old)
            made.replace(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        _keep_others(old, folder)


def _keep_others(old: Path, folder: Path) -> None:
    """Remove a folder of old tables, but move to the new one what else is in it."""
    for path in old.iterdir() if old.exists() else ():
        if path.suffix not in (".parquet", ".csv") and path.name != _STATE:
            folder.mkdir(exist_ok=True)
            path.replace(folder / path.name)
    shutil.rmtree(old, ignore_errors=True)


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write each table as ``<name>.parquet`` and ``<name>.csv`` into a folder: all of them, or the old ones stay.

    Raises
    ------
    StorageError
        The disk does not take it.
    """
    with replacing_tables(folder) as made:
        add_tables(tables, made)


def add_tables(tables: Mapping[str, pl.DataFrame], made: Path) -> None:
    """Write each table into the folder that `replacing_tables` gave."""
    for name, frame in tables.items():
        write_table(frame, made / f"{name}.parquet")
        write_table(frame, made / f"{name}.csv")


def read_state(folder: Path) -> dict[str, int] | None:
    """Return the state of the journal that a folder's tables were made from; None where that is not known."""
    try:
        state: dict[str, int] = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state


def read_tables(folder: Path, names: Iterable[str] | None = None) -> dict[str, pl.DataFrame]:
    """Read the Parquet tables of a folder by name; all of them where no names are given.

    Raises
    ------
    RecordError
        A file that is no Parquet table.
    """
    wanted = sorted(path.stem for path in folder.glob("*.parquet")) if names is None else list(names)
    return {name: read_table(folder / f"{name}.parquet") for name in wanted}
