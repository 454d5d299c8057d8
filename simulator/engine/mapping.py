"""A pure function mapped over batches, on this machine or on a cluster, part by part.

The result is the same bytes whatever the engine, the number of workers and the order in which they finish: a batch is
turned into bytes, a function makes a frame of what those bytes say, and that frame is turned into bytes again, in the
same way everywhere. Only this process writes files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import polars as pl

from simulator.engine.attempts import InlineWorker, Job, Outcome, Workers
from simulator.engine.fingerprints import fingerprint, pickle_function
from simulator.engine.parts import Shelf, encode_frame, hash_bytes
from simulator.errors import UsageError
from simulator.storage import one_at_a_time, storing

__all__ = ["Engine", "map_batches"]

Function = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Engine:
    """Where batches are worked on.

    Parameters
    ----------
    kind
        ``local``: processes on this machine. ``ray``: a Ray cluster (extra ``cluster``).
    workers
        How many batches are worked on at once; None is as many as there are cores, here or in the cluster.
    address
        Of a Ray cluster that runs already (``host:port``, or ``auto`` for the one that this machine is part of); None
        starts one on this machine and ends it afterwards.

    Raises
    ------
    UsageError
        Fewer than one worker, or an address for the local engine.
    """

    kind: Literal["local", "ray"] = "local"
    workers: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("local", "ray"):
            raise UsageError(f"There is no engine {self.kind!r}; choose local (this machine) or ray (a cluster).")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"{self.workers} workers cannot work; give 1 or more, or none for one a core.")
        if self.address is not None and self.kind != "ray":
            raise UsageError("Only the engine ray has an address; choose it, or leave the address out.")


def map_batches(
    function: Function,
    batches: Iterable[pl.DataFrame],
    folder: Path,
    *,
    engine: Engine = Engine(),
    version: str = "",
    done: Callable[[int], None] | None = None,
) -> list[Path]:
    """Apply a pure function to each batch, each result a Parquet part, and return the parts in the batches' order.

    A part that is there already, was made by the same function of the same batch and is whole is not made again; what
    else lies in its place is removed. So a mapping that was killed goes on where it was.

    Parameters
    ----------
    function
        Of a module, or a `functools.partial` of one. What it returns depends on nothing but the batch and the
        arguments that are bound to it.
    batches
        Are drawn as there is room: at most two for each worker are in memory.
    folder
        Of this mapping and no other; made where it is not there. A second process waits until the first is done.
    engine
        Where the work is done.
    version
        Changed by whoever changes what the function does, so that parts made before are made again.
    done
        Called with the number of batches that are done, after each of them.

    Returns
    -------
    paths
        One a batch; read them by `simulator.engine.read_parts`.

    Raises
    ------
    UsageError
        The function cannot be found by its name, or its arguments cannot be sent to another process.
    StorageError
        The disk does not take a part.
    MissingError
        The engine is ray, and Ray is not installed.
    SociolectError
        A batch ended three processes that worked on it, or the engine cannot be started.
    Exception
        Any that the function raises, with a note that says in which batch: the first one that fails, on any engine.
        Whatever the error, all parts that are finished are kept.
    """
    identity, pickled = fingerprint(function, version), pickle_function(function)
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(folder / "parts.lock"):
        record = _Record(Shelf(folder), identity, done or (lambda _: None))
        missing = record.missing(batches)
        first = list(islice(missing, 2))
        if first:
            with _workers(function, pickled, engine, few=len(first) < 2) as workers:
                _work(chain(first, missing), workers, record)
        return record.finish()


def _workers(function: Function, pickled: bytes, engine: Engine, *, few: bool) -> AbstractContextManager[Workers]:
    """Return who works; for a single batch no process is worth its start."""
    workers = engine.workers or _cores()
    if engine.kind == "ray":
        from simulator.engine.ray_cluster import ray_workers  # noqa: PLC0415 - an extra, and slow to import

        # How many cores a cluster has that runs already, it says itself.
        return ray_workers(pickled, workers=engine.workers if engine.address else workers, address=engine.address)
    if few or workers == 1:
        return nullcontext(InlineWorker(function))
    from simulator.engine.local import local_workers  # noqa: PLC0415 - only where there is much to do

    return local_workers(pickled, workers=workers)


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Record:
    """Which batches are done, in which part, and of what each is made."""

    def __init__(self, shelf: Shelf, identity: str, done: Callable[[int], None]) -> None:
        self._shelf = shelf
        self._identity = identity
        self._done = done
        self._paths: dict[int, Path] = {}
        self._marks: dict[int, str] = {}

    def missing(self, batches: Iterable[pl.DataFrame]) -> Iterator[Job]:
        """Yield those batches whose part is not there."""
        for number, frame in enumerate(batches):
            batch = encode_frame(frame)
            mark = hash_bytes(self._identity.encode() + batch)
            if (kept := self._shelf.keep(number, mark)) is not None:
                self._enter(number, kept)
            else:
                self._marks[number] = mark
                yield Job(number, batch)

    def put(self, number: int, part: bytes) -> None:
        self._enter(number, self._shelf.put(number, self._marks.pop(number), part))

    def _enter(self, number: int, path: Path) -> None:
        self._paths[number] = path
        self._done(len(self._paths))

    def finish(self) -> list[Path]:
        """Remove the parts of batches that are no more, and return those of the batches in their order."""
        self._shelf.remove_others()
        return [self._paths[number] for number in sorted(self._paths)]


def _work(jobs: Iterator[Job], workers: Workers, record: _Record) -> None:
    """Have every job done, and every part written, or raise the error of the first batch that failed."""
    in_flight: set[int] = set()
    failed: Outcome | None = None

    def take() -> None:
        nonlocal failed
        for outcome in workers.wait():
            in_flight.discard(outcome.number)
            if outcome.part is not None:
                record.put(outcome.number, outcome.part)
            elif failed is None or outcome.number < failed.number:
                failed = outcome

    for job in jobs:
        in_flight.add(job.number)
        workers.begin(job)
        while failed is None and len(in_flight) >= workers.most_in_flight:
            take()
        if failed is not None:
            break
    # After a failure, only a batch before it can still change which error is the first.
    while in_flight and (failed is None or min(in_flight) < failed.number):
        take()
    if failed is not None and failed.error is not None:
        failed.error.add_note(f"This was in batch {failed.number}, counted from 0.")
        raise failed.error
