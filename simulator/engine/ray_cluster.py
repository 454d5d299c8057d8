"""The engine of many machines: a Ray cluster, our own on this machine or one that runs already.

A batch travels to a worker, and what came of it travels back, so no file system need be shared. Ray is asked for one
try only: which batch a worker died with is for us to count, as on the local engine.

Of Ray's own doings: it reports no use to anybody (``RAY_USAGE_STATS_ENABLED``); our own cluster has no dashboard, keeps
its logs in a folder that is removed with it, and speaks only to processes that know its token, unless the environment
says ``RAY_AUTH_MODE=disabled``, which lets anybody who reaches its port run programs.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.engine.attempts import MOST_DEATHS, Job, Outcome, deadly_batch, read_attempt
from simulator.engine.fingerprints import program_versions
from simulator.engine.ray_address import check_address
from simulator.errors import MissingError, SociolectError, UsageError

__all__ = ["RayWorkers", "ray_workers"]

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # as it is going to be; unset, it warns
    "POLARS_MAX_THREADS": os.environ.get("POLARS_MAX_THREADS", "1"),  # the batches share the cores, not each of them
}
_SECONDS_TO_ANSWER = 60.0
"""Within which every machine must say what is installed on it, and a cluster without machines must have one again."""

_STORE = 200 * 2**20
_STORE_A_WORKER = 32 * 2**20
"""Bytes for batches and results under way in a cluster of ours: two a worker, which are a few megabytes each."""


@contextmanager
def ray_workers(function: bytes, *, workers: int | None, address: str | None) -> Iterator[RayWorkers]:
    """Give the workers of a Ray cluster; one that we started is ended afterwards, one that runs is left running.

    Parameters
    ----------
    function
        Pickled (`simulator.engine.fingerprints.pickle_function`).
    workers
        How many batches are worked on at once; None is one a core of a cluster that runs.
    address
        Of a cluster that runs; None starts one on this machine, of as many cores as workers.

    Raises
    ------
    MissingError
        Ray is not installed.
    UsageError
        At the address there is no cluster that can be used, or its machines have other versions of the program.
    SociolectError
        No cluster can be started on this machine.
    """
    if find_spec("ray") is None:
        raise MissingError(
            'The engine ray needs the package ray, which is not installed. Install it with: pip install "sociolect'
            '[cluster]", or choose the engine local.'
        )
    if address is not None:
        check_address(address)
    with _connected(workers, address):
        on_cluster = RayWorkers(function, workers, ours=address is None)
        try:
            on_cluster.check_machines()
            yield on_cluster
        finally:
            on_cluster.close()


@contextmanager
def _connected(workers: int | None, address: str | None) -> Iterator[None]:
    import ray  # noqa: PLC0415 - an extra, and slow to import

    if ray.is_initialized():
        raise UsageError(
            "This process is connected to a Ray cluster already. End that (ray.shutdown()) before mapping, or give "
            "its address from another process."
        )
    # A short path: the sockets in it may have 107 characters. RAY_TMPDIR is Ray's own variable.
    own = None if address else tempfile.mkdtemp(prefix="sociolect-", dir=os.environ.get("RAY_TMPDIR", "/tmp"))  # noqa: S108
    try:
        with _environment(_ENVIRONMENT), _own_signals():
            _connect(workers, address, own)
        with redirect_stdout(sys.stderr):  # where Ray says that it lost a machine must be no results
            yield
    finally:
        with _own_signals():
            ray.shutdown()
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)


def _connect(workers: int | None, address: str | None, own: str | None) -> None:
    """Connect to the cluster at an address, or start one that has its files in a folder of its own."""
    import ray  # noqa: PLC0415 - an extra, and slow to import

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            cores = workers or 1
            store = _STORE + cores * _STORE_A_WORKER
            ray.init(
                "local", num_cpus=cores, object_store_memory=store, include_dashboard=False, _temp_dir=own, **quiet
            )
    except Exception as error:
        where = f"The Ray cluster at {address} cannot be used" if address else "No Ray cluster starts on this machine"
        raise SociolectError(
            f"{where}: {' '.join(str(error).split())}. Choose the engine local, or mend it and run the same command "
            f"again."
        ) from error


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _own_signals() -> Iterator[None]:
    """Put back the handler of SIGTERM, which Ray replaces by its own."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


class RayWorkers:
    """The workers of a Ray cluster; see `simulator.engine.attempts.Workers` for what they do."""

    def __init__(self, function: bytes, workers: int | None, *, ours: bool) -> None:
        import ray  # noqa: PLC0415 - an extra, and slow to import

        self._ray = ray
        lost = ray.exceptions
        self._losses = (lost.WorkerCrashedError, lost.OutOfMemoryError, lost.NodeDiedError, lost.ObjectLostError)
        self._versions = program_versions()
        self._paths = _search_path() if ours else []
        self._function = ray.put(function)
        self._task = ray.remote(max_retries=0)(_make_task())
        self._most = workers
        cores = int(ray.cluster_resources().get("CPU", 0))
        self.most_in_flight = 2 * (workers or max(cores, 1))
        self._queue: deque[Job] = deque()
        self._running: dict[Any, Job] = {}
        self._deaths: dict[int, int] = {}

    def check_machines(self) -> None:
        """Ask every machine of the cluster what is installed on it.

        Raises
        ------
        UsageError
            A machine has another version of Sociolect, polars or pyarrow, or none, or does not answer.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - as above

        machines = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        asked = [
            self._task.options(
                num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote(self._versions, self._paths, b"", b"")
            for node in machines
        ]
        answered, silent = (
            self._ray.wait(asked, num_returns=len(asked), timeout=_SECONDS_TO_ANSWER) if asked else ([], [])
        )
        if silent:
            names = ", ".join(
                node["NodeManagerAddress"] for node, one in zip(machines, asked, strict=True) if one in silent
            )
            raise UsageError(
                f"These machines of the Ray cluster do not answer within {_SECONDS_TO_ANSWER:.0f} s: {names}. Take "
                f"them out of the cluster (ray stop), or mend them."
            )
        for answer in answered:
            with suppress(
                self._ray.exceptions.TaskUnschedulableError, *self._losses
            ):  # a machine that is there no more
                self._check(self._ray.get(answer))

    def _check(self, answer: bytes | tuple[str, dict[str, str]]) -> bytes:
        """Return what a task sent, unless that is that it cannot do it on its machine."""
        if isinstance(answer, bytes):
            return answer
        machine, versions = answer
        others = "; ".join(
            f"{name} {versions.get(name, 'is not installed')} there, {here} here"
            for name, here in self._versions.items()
            if versions.get(name) != here
        )
        raise UsageError(
            f"The machine {machine} of the Ray cluster cannot make the same results as this one: {others}. Install "
            f"the same versions in the Python that Ray runs in on every machine, and run the same command again."
        )

    def begin(self, job: Job) -> None:
        """Take a job, and send it to the cluster, unless as many as were asked for are there."""
        self._queue.append(job)
        self._send()

    def _send(self) -> None:
        while self._queue and (self._most is None or len(self._running) < self._most):
            job = self._queue.popleft()
            reference = self._task.remote(self._versions, self._paths, self._function, job.batch)
            self._running[reference] = job

    def wait(self) -> list[Outcome]:
        """Return what is done, after waiting for at least one job.

        Raises
        ------
        UsageError
            A machine that came to the cluster meanwhile has other versions of the program.
        SociolectError
            The cluster has no machine left that could do the work.
        """
        outcomes: list[Outcome] = []
        while not outcomes:
            ready, _ = self._ray.wait(list(self._running), timeout=_SECONDS_TO_ANSWER)
            if not ready and not self._ray.cluster_resources().get("CPU"):
                raise SociolectError(
                    f"The Ray cluster has had no machine to work on for {_SECONDS_TO_ANSWER:.0f} s. The parts of all "
                    f"finished batches are kept; start a machine, or choose the engine local, and run the same "
                    f"command again."
                )
            for reference in ready:
                outcomes += self._take(reference, self._running.pop(reference))
            self._send()
        return outcomes

    def _take(self, reference: Any, job: Job) -> list[Outcome]:
        """Return what came of a job; nothing where its worker died, so that it is to be done again."""
        try:
            return [read_attempt(job.number, self._check(self._ray.get(reference)))]
        except self._losses as error:
            self._deaths[job.number] = self._deaths.get(job.number, 0) + 1
            if self._deaths[job.number] == MOST_DEATHS:
                return [Outcome(job.number, None, deadly_batch(job.number, _first_sentence(error)))]
            self._queue.appendleft(job)
            return []
        except self._ray.exceptions.RayTaskError:
            raise  # what is installed there does not even begin to work
        except self._ray.exceptions.RayError as error:
            raise SociolectError(
                f"The Ray cluster failed at batch {job.number} (counted from 0): {_first_sentence(error)}. The parts "
                f"of all finished batches are kept; mend the cluster, or choose the engine local, and run the same "
                f"command again."
            ) from error

    def close(self) -> None:
        """Give up what is under way."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")


def _search_path() -> list[str]:
    """Return where this process finds modules, for workers on this machine."""
    return [str(Path(entry).resolve()) for entry in sys.path]


def _make_task() -> Callable[[dict[str, str], list[str], bytes, bytes], bytes | tuple[str, dict[str, str]]]:
    """Return what runs on a machine of the cluster.

    It is defined in here, for Ray then sends the program and not only its name: it must say what is missing also where
    nothing of ours is installed.
    """

    def work(
        versions: dict[str, str], paths: list[str], function: bytes, batch: bytes
    ) -> bytes | tuple[str, dict[str, str]]:
        import importlib  # noqa: PLC0415 - what is sent brings nothing with it
        import platform  # noqa: PLC0415
        import sys  # noqa: PLC0415
        from importlib import metadata  # noqa: PLC0415

        sys.path += [path for path in paths if path not in sys.path]
        found = {}
        for name in versions:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
        if found != versions:
            return platform.node(), found
        made: bytes = importlib.import_module("simulator.engine.attempts").attempt(function, batch) if function else b""
        return made

    return work
