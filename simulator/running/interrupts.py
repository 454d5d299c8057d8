"""Ctrl-C and SIGTERM: the first one lets what is in flight be finished."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["draining"]


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""A person's Ctrl-C, and a scheduler's wish that the process end."""


@contextmanager
def draining(stop: asyncio.Event, interrupted: Callable[[int], None]) -> Iterator[None]:
    """Set ``stop`` at the first signal, so that what is in flight is finished; a third one has its ordinary effect.

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
            _forget(loop)
        interrupted(times)

    try:
        for signum in _SIGNALS:
            loop.add_signal_handler(signum, drain)
    except (ValueError, RuntimeError):  # not in the main thread: the embedding program owns its signals
        yield
        return
    try:
        yield
    finally:
        _forget(loop)


def _forget(loop: asyncio.AbstractEventLoop) -> None:
    for signum in _SIGNALS:
        loop.remove_signal_handler(signum)
