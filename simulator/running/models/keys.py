"""Which key a server may be sent whose address a campaign names: only one that the person at the keyboard allows."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from simulator.errors import UsageError

__all__ = ["KEYS_FOR", "allowed_variable", "allowed_variables", "suggest_entry"]

KEYS_FOR: Final = "SOCIOLECT_KEYS_FOR"
"""The environment variable that allows it: entries ``host[:port]=VARIABLE``, separated by commas.

An entry with a port holds for that port, over http or https. One without holds for https at any port, and on this
machine for http as well: an address written by somebody else shall not send a key over a line that others can hear.
"""

_ENTRY: Final = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:=,/@\[\]]+)(?::(?P<port>[0-9]{1,5}))?\s*=\s*(?P<variable>[A-Za-z_][A-Za-z0-9_]*)"
)


def allowed_variable(base_url: str) -> str | None:
    """Return the environment variable whose key may be sent to an address; None where there is no entry for it.

    An entry that names the port goes before one that does not; of two alike the first holds.

    Raises
    ------
    UsageError
        What `KEYS_FOR` holds cannot be read.

    Examples
    --------
    >>> os.environ["SOCIOLECT_KEYS_FOR"] = "llm.example.org=ORG_KEY, gpu1:8000=GPU_KEY"
    >>> allowed_variable("https://llm.example.org/v1"), allowed_variable("http://gpu1:8000/v1")
    ('ORG_KEY', 'GPU_KEY')
    >>> allowed_variable("http://llm.example.org/v1")
    >>> del os.environ["SOCIOLECT_KEYS_FOR"]
    """
    parts = urlsplit(base_url)
    host = _fold(parts.hostname or "")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    anywhere = None
    for entry_host, entry_port, variable in _read_entries():
        if entry_host != host:
            continue
        if entry_port == port:
            return variable
        if entry_port is None and anywhere is None and (parts.scheme == "https" or _is_loopback(host)):
            anywhere = variable
    return anywhere


def allowed_variables() -> list[str]:
    """Return the variables that `KEYS_FOR` names, each once, in its order.

    Raises
    ------
    UsageError
        What `KEYS_FOR` holds cannot be read.
    """
    return list(dict.fromkeys(variable for _, _, variable in _read_entries()))


def suggest_entry(base_url: str) -> str:
    """Return the entry that would allow an address a key, with a name to be replaced by that of the variable.

    >>> suggest_entry("http://[::1]:8000/v1")
    '[::1]:8000=NAME_OF_THE_VARIABLE'
    """
    parts = urlsplit(base_url)
    host = parts.hostname or "host"
    host = f"[{host}]" if ":" in host else host
    port = parts.port or (80 if parts.scheme == "http" else None)
    return f"{host}{f':{port}' if port else ''}=NAME_OF_THE_VARIABLE"


def _read_entries() -> Iterator[tuple[str, int | None, str]]:
    for position, entry in enumerate(os.environ.get(KEYS_FOR, "").split(","), 1):
        if not entry.strip():
            continue
        found = _ENTRY.fullmatch(entry.strip())
        if found is None:
            # What stands there may be a key that was written in place of its variable's name: it is not shown.
            raise UsageError(
                f"Entry {position} of the environment variable {KEYS_FOR} is not host[:port]=VARIABLE. Write the name "
                f"of the server and of the variable that holds its key, such as {KEYS_FOR}=gpu1:8000=MY_SERVER_KEY; "
                "separate entries by commas."
            )
        port = found["port"]
        yield _fold(found["host"].strip("[]")), int(port) if port else None, found["variable"]


def _fold(host: str) -> str:
    """Return a host as it is compared: in small letters, an IP address in its shortest form."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host.lower()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
