"""The command line as a process of its own, and how it ended."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """How a process of the command line ended."""

    status: int
    out: str
    err: str

    def document(self) -> Any:
        return json.loads(self.out)


Sociolect = Callable[..., Ended]
