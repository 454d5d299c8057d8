"""Ctrl-C, SIGTERM and SIGHUP: how they end what is being done.

Those that whoever started the process had ignored (``nohup``, a job in the background of a script) stay ignored.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

__all__ = ["InterruptedVerbError", "run_draining", "stoppable"]


T = TypeVar("T")

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


def run_draining(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]], interrupted: Callable[[int], None]) -> T:
    """Run a coroutine in an event loop of its own, in which the first signal lets what is in flight be finished.

    A handler that raises would do so anywhere, also in the loop's own code, and leave it in pieces; so from before the
    loop begins until it has ended a signal only sets an event. A third one has its ordinary effect. Afterwards signals
    are handled as before. Outside of the main thread they are left alone.

    Parameters
    ----------
    main
        Called with an event that is set at the first signal; watched by whoever begins calls.
    interrupted
        Called with 1 and with 2 at the first two signals.
    """
    draining = _Draining(interrupted)
    try:
        for signum in draining.before:
            signal.signal(signum, draining.take)
        return asyncio.run(draining.run(main))
    finally:
        draining.give_back()


class _Draining:
    def __init__(self, interrupted: Callable[[int], None]) -> None:
        self.before = _handlers()
        self._interrupted = interrupted
        self._times = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    async def run(self, main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        for times in range(1, self._times + 1):  # signals that came before the loop did
            self._tell(times)
        return await main(self._stop)

    def take(self, _signum: int, _frame: FrameType | None) -> None:
        self._times += 1
        if self._times == 2:
            self.give_back()
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._tell, self._times)

    def _tell(self, times: int) -> None:
        if self._stop is not None:
            self._stop.set()
        self._interrupted(times)

    def give_back(self) -> None:
        """Let signals be handled as they were, unless that has been done."""
        for signum in list(self.before):
            signal.signal(signum, self.before.pop(signum))
