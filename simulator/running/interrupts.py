"""Ctrl-C and SIGTERM: the first one lets what is in flight be finished."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["draining"]


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""A person's Ctrl-C, and a scheduler's wish that the process end."""


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

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    for signum in before:
        loop.add_signal_handler(signum, drain)
    try:
        yield
    finally:
        _give_back(loop, before)


def _give_back(loop: asyncio.AbstractEventLoop, before: dict[signal.Signals, Any]) -> None:
    """Let signals be handled as they were, unless that has been done."""
    for signum, handler in before.items():
        if loop.remove_signal_handler(signum) and handler is not None:  # None: of a library in C, which we cannot name
            signal.signal(signum, handler)
