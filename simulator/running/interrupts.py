"""Ctrl-C, SIGTERM and SIGHUP: how they end what is being done.

Those that whoever started the process had ignored (``nohup``, a job in the background of a script) stay ignored.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["InterruptedVerbError", "draining", "stoppable"]


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A person's Ctrl-C, a scheduler's wish that the process end, and a terminal that was closed."""


class InterruptedVerbError(BaseException):
    """A signal asks the process to end. No `KeyboardInterrupt`: that is caught by the library of the command line."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn the signals into `InterruptedVerbError`, so that what was begun is put away before the process ends.

    Afterwards they are handled as before. Outside of the main thread they are left alone.
    """

    def stop(_signum: int, _frame: FrameType | None) -> None:
        raise InterruptedVerbError

    before = _handlers()
    for signum in before:
        signal.signal(signum, stop)
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _handlers() -> dict[signal.Signals, Any]:
    """Return how the signals are handled, but for those that are ignored, or handled by a library in C (None)."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    found = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    return {signum: handler for signum, handler in found.items() if handler not in (signal.SIG_IGN, None)}


@contextmanager
def draining(stop: asyncio.Event, interrupted: Callable[[int], None]) -> Iterator[None]:
    """Set ``stop`` at the first signal, so that what is in flight is finished; a third one has its ordinary effect.

    Afterwards signals are handled as before. Outside of the main thread they are left alone.

    Parameters
    ----------
    stop
        Watched by whoever begins calls.
    interrupted
        Called with 1 and with 2 at the first two signals.
    """
    loop = asyncio.get_running_loop()
    times = 0

    def drain() -> None:
        nonlocal times
        times += 1
        stop.set()
        if times == 2:
            _give_back(loop, before)
        interrupted(times)

    before = _handlers()
    for signum in before:
        loop.add_signal_handler(signum, drain)
    try:
        yield
    finally:
        _give_back(loop, before)


def _give_back(loop: asyncio.AbstractEventLoop, before: dict[signal.Signals, Any]) -> None:
    """Let signals be handled as they were, unless that has been done."""
    for signum, handler in before.items():
        if loop.remove_signal_handler(signum):
            signal.signal(signum, handler)
