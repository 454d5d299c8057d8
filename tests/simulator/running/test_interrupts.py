"""Ctrl-C and SIGTERM while calls are made, and the handling of signals before and after."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from simulator.running.interrupts import InterruptedVerbError, run_draining, stoppable


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


def ignore(_times: int) -> None:
    """Be told of a signal, and do nothing."""


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_drains_and_the_third_is_the_program_arounds(signum: signal.Signals) -> None:
    theirs: list[int] = []
    ours: list[int] = []
    told = asyncio.Event()

    def interrupted(times: int) -> None:
        ours.append(times)
        told.set()

    async def go(stop: asyncio.Event) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signum)
            async with asyncio.timeout(30):
                await told.wait()
            told.clear()
        assert stop.is_set()
        assert theirs == []
        os.kill(os.getpid(), signum)

    with handled_by(signum, theirs):
        run_draining(go, interrupted)
    assert ours == [1, 2]
    assert theirs == [signum]


@pytest.mark.parametrize("fault", [None, RuntimeError("theirs")])
def test_afterwards_signals_are_handled_as_before(fault: Exception | None) -> None:
    async def go(_stop: asyncio.Event) -> None:
        assert signal.getsignal(signal.SIGTERM) is not handler
        if fault is not None:
            raise fault

    with handled_by(signal.SIGTERM, []) as handler:
        if fault is None:
            run_draining(go, ignore)
        else:
            with pytest.raises(RuntimeError, match="theirs"):
                run_draining(go, ignore)
        assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.parametrize("moment", ["before the loop begins", "when it ends", "when it has ended"])
def test_a_signal_at_any_moment_leaves_the_loop_whole(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours: list[int] = []
    run = asyncio.run

    def run_and_signal(work: Coroutine[object, object, bool]) -> bool:
        if moment == "before the loop begins":
            os.kill(os.getpid(), signal.SIGINT)
        done = run(work)
        if moment == "when it has ended":
            os.kill(os.getpid(), signal.SIGINT)
        return done

    async def go(stop: asyncio.Event) -> bool:
        if moment == "when it ends":  # right before the loop learns that this has ended
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
        return stop.is_set()

    monkeypatch.setattr(asyncio, "run", run_and_signal)
    theirs: list[int] = []
    with handled_by(signal.SIGINT, theirs):
        assert run_draining(go, ours.append) is (moment == "before the loop begins")
    assert theirs == []


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:

        async def go(stop: asyncio.Event) -> bool:
            os.kill(os.getpid(), signal.SIGHUP)
            return stop.is_set()

        assert run_draining(go, ignore) is False
        with stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_verb_is_interrupted_by_an_exception_of_its_own() -> None:
    with handled_by(signal.SIGTERM, []) as handler:
        with pytest.raises(InterruptedVerbError), stoppable():
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is handler


def test_outside_of_the_main_thread_signals_are_left_alone_and_errors_are_as_they_were() -> None:
    async def go(_stop: asyncio.Event) -> None:
        raise KeyError("ours")

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyError) as caught:
        asyncio.run(asyncio.to_thread(run_draining, go, ignore))
    assert caught.value.__context__ is None
    assert signal.getsignal(signal.SIGTERM) is before
