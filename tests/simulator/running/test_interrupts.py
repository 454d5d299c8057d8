"""Ctrl-C and SIGTERM while calls are made, and the handling of signals before and after."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from simulator.running.interrupts import draining


@contextmanager
def handled_by(signum: signal.Signals, seen: list[int]) -> Iterator[object]:
    """A program around ours that handles a signal itself."""

    def handle(number: int, _frame: FrameType | None) -> None:
        seen.append(number)

    before = signal.signal(signum, handle)
    try:
        yield handle
    finally:
        signal.signal(signum, before)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_drains_and_the_third_is_the_program_arounds(signum: signal.Signals) -> None:
    theirs: list[int] = []
    ours: list[int] = []

    async def go() -> None:
        stop = asyncio.Event()
        told = asyncio.Event()

        def interrupted(times: int) -> None:
            ours.append(times)
            told.set()

        with draining(stop, interrupted):
            for _ in range(2):
                os.kill(os.getpid(), signum)
                async with asyncio.timeout(30):
                    await told.wait()
                told.clear()
            assert stop.is_set()
            assert theirs == []
            os.kill(os.getpid(), signum)

    with handled_by(signum, theirs):
        asyncio.run(go())
    assert ours == [1, 2]
    assert theirs == [signum]


@pytest.mark.parametrize("fault", [None, RuntimeError("theirs")])
def test_afterwards_signals_are_handled_as_before(fault: Exception | None) -> None:
    async def go() -> None:
        with draining(asyncio.Event(), lambda _: None):
            assert signal.getsignal(signal.SIGTERM) is not handler
            if fault is not None:
                raise fault

    with handled_by(signal.SIGTERM, []) as handler:
        if fault is None:
            asyncio.run(go())
        else:
            with pytest.raises(RuntimeError, match="theirs"):
                asyncio.run(go())
        assert signal.getsignal(signal.SIGTERM) is handler


def test_outside_of_the_main_thread_signals_are_left_alone_and_errors_are_as_they_were() -> None:
    async def go() -> None:
        with draining(asyncio.Event(), lambda _: None):
            raise KeyError("ours")

    async def elsewhere() -> None:
        await asyncio.to_thread(asyncio.run, go())

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyError) as caught:
        asyncio.run(elsewhere())
    assert caught.value.__context__ is None
    assert signal.getsignal(signal.SIGTERM) is before
