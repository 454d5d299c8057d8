"""What runs in a process of the local engine: it takes a batch, works on it, sends what came of it, and so on."""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection

from simulator.engine.attempts import attempt

__all__ = ["serve"]


def serve(descriptor: int) -> None:
    """Serve the process at the other end of a socket until it is there no more.

    What is received is first the pickled function, then batches; what is sent is first an empty message, which says
    that all is imported, then what came of each batch.

    Ctrl-C is for the process that started this one, which ends this one when it ends itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what a function prints must not get among the results of the command line
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):
        function = connection.recv_bytes()
        connection.send_bytes(b"")
        while True:
            connection.send_bytes(attempt(function, connection.recv_bytes()))


def _end_with(descriptor: int) -> None:
    """End this process, and those that it started, when the other end of the socket is closed, even in mid-work."""
    closed = select.poll()
    closed.register(descriptor, 0)  # whatever is asked for, a closed other end is told
    closed.poll()
    os.killpg(0, signal.SIGKILL)
