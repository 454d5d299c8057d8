"""One batch handed to one worker, and what came of it; the same on every engine."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

import polars as pl

from simulator.engine.parts import decode_frame, encode_part
from simulator.errors import SociolectError

__all__ = [
    "MOST_DEATHS",
    "InlineWorker",
    "Job",
    "Outcome",
    "Workers",
    "attempt",
    "deadly_batch",
    "make_part",
    "read_attempt",
]

Function = Callable[[pl.DataFrame], pl.DataFrame]

MOST_DEATHS = 3
"""A batch with which so many workers died is not tried again: once may be chance, thrice is the batch."""


class Job(NamedTuple):
    """A batch to work on: its number, from 0, and its bytes (`simulator.engine.parts.encode_frame`)."""

    number: int
    batch: bytes


class Outcome(NamedTuple):
    """What came of a batch: the content of its part, or why there is none."""

    number: int
    part: bytes | None
    error: Exception | None = None


class Workers(Protocol):
    """Whoever works on batches: this process, others on this machine, or a cluster."""

    @property
    def most_in_flight(self) -> int:
        """How many jobs may have begun whose outcome has not been taken: as many as keep every worker busy."""

    def begin(self, job: Job) -> None:
        """Take a job. It does not wait for the work."""

    def wait(self) -> list[Outcome]:
        """Return what is done, after waiting for at least one job."""


class InlineWorker:
    """No other process than the one that asks: one job after another."""

    most_in_flight = 1

    def __init__(self, function: Function) -> None:
        self._function = function
        self._jobs: list[Job] = []

    def begin(self, job: Job) -> None:
        """Take a job."""
        self._jobs.append(job)

    def wait(self) -> list[Outcome]:
        """Do the jobs taken."""
        done = []
        for number, batch in self._jobs:
            try:
                done.append(Outcome(number, make_part(self._function, batch)))
            except Exception as error:  # whatever the function raises is the outcome
                done.append(Outcome(number, None, error))
        self._jobs.clear()
        return done


def make_part(function: Function, batch: bytes) -> bytes:
    """Return the content of the part that a function makes of a batch.

    Raises
    ------
    TypeError
        The function did not return a frame.
    Exception
        Any that the function raises.
    """
    made = function(decode_frame(batch))
    if not isinstance(made, pl.DataFrame):
        raise TypeError(f"{function!r} returned {type(made).__name__}; a function over batches returns a polars frame")
    return encode_part(made)


def attempt(function: bytes, batch: bytes) -> bytes:
    """Work on a batch in another process, and return what came of it as bytes for `read_attempt`.

    Parameters
    ----------
    function
        Pickled.
    batch
        `simulator.engine.parts.encode_frame` of it.
    """
    try:
        return pickle.dumps((make_part(_load(function), batch), None))
    except Exception as error:  # it goes to the process that asked
        return pickle.dumps((None, _portable(error)))


def read_attempt(number: int, content: bytes) -> Outcome:
    """Return what came of the batch of that number."""
    part, error = pickle.loads(content)  # noqa: S301 - from a process of ours
    return Outcome(number, part, error)


def deadly_batch(number: int, reason: str) -> SociolectError:
    """Return the error for a batch with which every worker died that tried it."""
    return SociolectError(
        f"Batch {number} (counted from 0) ended the process that worked on it {MOST_DEATHS} times, so it is not tried "
        f"again: {reason}. The parts of all finished batches are kept. If memory was short, use fewer workers or "
        f"smaller batches, then run the same command again: it works only on what is missing."
    )


@lru_cache(maxsize=1)
def _load(function: bytes) -> Function:
    loaded: Function = pickle.loads(function)  # noqa: S301 - from the process that started us
    return loaded


def _portable(error: Exception) -> Exception:
    """Return an error that can be pickled and read again, with the way it came as a note."""
    way = "In the worker:\n" + "".join(traceback.format_exception(error)).rstrip()
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        portable = error if type(again) is type(error) and str(again) == str(error) else None
    except Exception:  # an error may refuse in any way to be pickled or made again
        portable = None
    if portable is None:
        portable = RuntimeError(f"{type(error).__name__}: {error}")
    portable.add_note(way)
    return portable
