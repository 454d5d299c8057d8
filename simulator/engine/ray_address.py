"""Whether there is a Ray cluster at an address, known within a limited time.

Asked by itself, Ray waits for minutes for a cluster that is not there, and may then end the process that asked. So the
asking is done by a process that can be ended.
"""

from __future__ import annotations

import socket
import subprocess
import sys

from simulator.errors import UsageError

__all__ = ["check_address"]

_SECONDS = 30.0
_CONNECT = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
except BaseException as error:
    print(" ".join(str(error).split()))
    sys.exit(1)
"""


def check_address(address: str) -> None:
    """Connect to the cluster at an address, and leave it again.

    Raises
    ------
    UsageError
        It is no address, nothing answers there, what answers is no Ray cluster, or it does not take this program.
    """
    if address != "auto":
        host, colon, port = address.rpartition(":")
        if not colon or not port.isdecimal() or "/" in host:
            raise UsageError(
                f"{address!r} is no address of a Ray cluster. Give host:port as `ray start --head` prints it, from a "
                f"machine of the cluster, or auto for the cluster that this machine is part of."
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise _unusable(address, f"nothing answers there ({getattr(error, 'strerror', None) or error})") from error
    try:
        asked = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-c", _CONNECT, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unusable(address, f"what answers there did not let this program in within {_SECONDS:.0f} s") from error
    if asked.returncode != 0:
        raise _unusable(address, asked.stdout.strip() or "connecting to it ended the process that tried")


def _unusable(address: str, reason: str) -> UsageError:
    return UsageError(
        f"The Ray cluster at {address} cannot be used: {reason.rstrip('.')}. Start one with `ray start --head`, join "
        f"each machine, this one too, with `ray start --address=host:port`, and give that address; or leave the "
        f"address out to use this machine alone."
    )
