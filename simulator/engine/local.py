"""The local engine: processes on this machine.

Each worker is a Python of its own, started from nothing: a fork would copy the locks that other threads hold, and
would have to run the main program's file again. It is the first of its own process group, so that Ctrl-C in a
terminal does not reach it, and so that what it has started ends with it.

A worker has one batch at a time, and the next one is sent to it before the part of the last one is written.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from simulator.engine.attempts import MOST_DEATHS, Job, Outcome, deadly_batch, read_attempt
from simulator.errors import SociolectError

__all__ = ["LocalWorkers", "local_workers"]

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from simulator.engine.worker import serve; serve(int(sys.argv[2]))"
)


@contextmanager
def local_workers(function: bytes, *, workers: int) -> Iterator[LocalWorkers]:
    """Give processes of this machine that work on batches; afterwards none of them is left.

    Parameters
    ----------
    function
        Pickled (`simulator.engine.fingerprints.pickle_function`).
    workers
        How many at most; they are started as there is work for them.
    """
    local = LocalWorkers(function, workers)
    try:
        yield local
    finally:
        local.close()


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    ready: bool = False
    job: Job | None = None


class LocalWorkers:
    """Processes of this machine; see `local_workers`, and `simulator.engine.attempts.Workers` for what they do."""

    def __init__(self, function: bytes, workers: int) -> None:
        self._function = function
        self._most = workers
        self._workers: list[_Worker] = []
        self._queue: deque[Job] = deque()
        self._deaths: dict[int, int] = {}
        self._failed_starts = 0
        self.most_in_flight = 2 * workers

    def begin(self, job: Job) -> None:
        """Take a job, and give it to a worker as soon as one is free."""
        self._queue.append(job)
        self._assign()

    def wait(self) -> list[Outcome]:
        """Return what is done, after waiting for at least one job.

        Raises
        ------
        SociolectError
            No worker can be started.
        """
        outcomes: list[Outcome] = []
        while not outcomes:
            busy = [worker for worker in self._workers if worker.job or not worker.ready]
            heard = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in heard]:
                try:
                    message = worker.connection.recv_bytes()
                except (EOFError, OSError):
                    outcomes += self._bury(worker)
                    continue
                if worker.job is not None:
                    outcomes.append(read_attempt(worker.job.number, message))
                    self._deaths.pop(worker.job.number, None)
                worker.ready, worker.job, self._failed_starts = True, None, 0
            self._assign()
        return outcomes

    def _assign(self) -> None:
        """Give a job to each free worker, and start as many as there is work for."""
        for worker in [worker for worker in self._workers if worker.ready and worker.job is None]:
            if not self._queue:
                break
            try:
                worker.connection.send_bytes(self._queue[0].batch)
            except OSError:  # it died without work: nobody's fault, and found out only now
                self._end(worker)
            else:
                worker.job = self._queue.popleft()
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(len(self._queue) - starting, self._most - len(self._workers))):
            self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            try:
                process = subprocess.Popen(  # noqa: S603 - ourselves
                    [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    env={"POLARS_MAX_THREADS": "1", **os.environ},  # the batches share the cores, not each of them
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                )
            except OSError as error:
                raise _no_worker(error.strerror or str(error)) from error
            worker = _Worker(process, Connection(ours.detach()))
        self._workers.append(worker)
        with suppress(OSError):  # it died already, which is noticed when it does not answer
            worker.connection.send_bytes(self._function)

    def _bury(self, worker: _Worker) -> list[Outcome]:
        """Put the batch of a worker that died back in its place, or give it up."""
        reason = self._end(worker)
        job = worker.job
        if job is None:
            self._failed_starts += 1
            if self._failed_starts == MOST_DEATHS:
                raise _no_worker(reason)
            return []
        self._deaths[job.number] = self._deaths.get(job.number, 0) + 1
        if self._deaths[job.number] == MOST_DEATHS:
            return [Outcome(job.number, None, deadly_batch(job.number, reason))]
        self._queue.appendleft(job)
        return []

    def _end(self, worker: _Worker) -> str:
        """End a worker, and all that it started, and return how it had ended by itself, in words."""
        self._workers.remove(worker)
        worker.connection.close()
        with suppress(subprocess.TimeoutExpired):
            worker.process.wait(1)  # a process that dies closes its socket a moment before it can be waited for
        with suppress(ProcessLookupError, PermissionError):  # PermissionError: how macOS calls a group of the dead
            os.killpg(worker.process.pid, signal.SIGKILL)
        return _how_it_ended(worker.process.wait())

    def close(self) -> None:
        """End every worker at once; none has anything to lose."""
        for worker in self._workers:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(worker.process.pid, signal.SIGKILL)
        for worker in self._workers:
            worker.connection.close()
            worker.process.wait()
        self._workers.clear()


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"the process ended by itself with status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
    why = ", which is also how the system ends a process when memory is short" if name == "SIGKILL" else ""
    return f"the process was ended by the signal {name}{why}"


def _no_worker(reason: str) -> SociolectError:
    return SociolectError(
        f"No worker process of {sys.executable} can be started on this machine: {reason}. The parts of all finished "
        f"batches are kept; free memory or processes and run the same command again, or use one worker, which needs "
        f"no other process."
    )
