"""Every error that a user can meet, in one tree.

::

    SociolectError              anything below; ``exit_status`` says how the command line ends
    ├── UsageError              a wrong option, name or combination                              2
    │   └── DefinitionError     one or more problems in a YAML file, each with its place         2
    ├── MissingError            a package, key, model or program that is not there               2
    ├── RecordError             a file of records that cannot be read as what it should be       2
    ├── JournalError            the journal cannot be read or written                            1
    │   ├── JournalLockedError  another process is writing to this run                           2
    │   ├── JournalDamagedError what was recorded does not hash to what it was                   1
    │   └── StorageError        no space, no permission, a failing disk                          4
    ├── BudgetError             the next call might cost more than is left of the budget         4
    └── ModelError              one call to a model failed; becomes a reply with status error    3
        ├── RetryableError      the same call can succeed later
        │   └── RateLimitError  the provider says when
        ├── RejectedError       the same call will never succeed: context too long
        ├── AccessError         no call of this model will succeed: its key is not accepted      2
        ├── QuotaError          nothing more today, resumable                                    4
        └── OutageError         too many calls of a model in a row failed, resumable             4

The text of each is one paragraph that says what, where, why and the mend. None ever holds a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

__all__ = [
    "AccessError",
    "BudgetError",
    "DefinitionError",
    "JournalDamagedError",
    "JournalError",
    "JournalLockedError",
    "MissingError",
    "ModelError",
    "OutageError",
    "Problem",
    "QuotaError",
    "RateLimitError",
    "RecordError",
    "RejectedError",
    "RetryableError",
    "SociolectError",
    "StorageError",
    "UsageError",
]


class SociolectError(Exception):
    """An error that the person at the keyboard can understand and, mostly, mend."""

    exit_status: ClassVar[int] = 1
    stops: ClassVar[str | None] = None
    """In a word, why a run stops that can go on later; None for an error before its first call, of one call, or for
    good."""


class UsageError(SociolectError):
    """A wrong option, an unknown name, or options that exclude one another."""

    exit_status = 2


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong in one place of a file.

    ``line`` and ``column`` count from 1; 0 means that the problem concerns the whole file.
    """

    path: Path
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else f"{self.path}"
        return f"{place}: {self.text}"


class DefinitionError(UsageError):
    """A YAML definition that cannot be used; ``problems`` holds all that is wrong in it, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MissingError(SociolectError):
    """A prerequisite that is not there: an optional package, a key, a model file, a program."""

    exit_status = 2


class RecordError(SociolectError):
    """A file of records (replies, texts, tables) that cannot be read as what it should be."""

    exit_status = 2


class JournalError(SociolectError):
    """The journal of a run cannot be read or written."""

    stops: ClassVar[str | None] = "storage"


class JournalLockedError(JournalError):
    """Another process writes to this run; ``pid`` and ``host`` say which."""

    exit_status = 2
    stops = None

    def __init__(self, message: str, *, pid: int, host: str) -> None:
        self.pid = pid
        self.host = host
        super().__init__(message)


class JournalDamagedError(JournalError):
    """A record does not hash to the key under which it was stored."""

    stops = None


class StorageError(JournalError):
    """The disk is full, read-only or failing. What was recorded before stays recorded."""

    exit_status = 4


class BudgetError(SociolectError):
    """The next call might cost more than is left of the budget. Everything that was paid for is recorded."""

    exit_status = 4
    stops = "budget"


class ModelError(SociolectError):
    """A call to a model failed. Recorded as a reply with status ``error``; the campaign goes on.

    ``charged`` says whether the provider may have charged for the attempt though no answer arrived: a time-out after
    the connection stood, a cut or unreadable answer. An HTTP error status and a refused connection cost nothing.
    ``sent`` is what was sent besides the messages, as far as it came to that.
    """

    exit_status = 3

    def __init__(self, message: str = "", *, charged: bool = False) -> None:
        self.charged = charged
        self.sent: dict[str, object] = {}
        super().__init__(message)


class RetryableError(ModelError):
    """The same call can succeed later: a time-out, a dropped connection, an overloaded server.

    ``overloaded`` says whether the provider has too much to do, so that fewer calls at once are in order.
    """

    def __init__(self, message: str = "", *, charged: bool = False, overloaded: bool = False) -> None:
        self.overloaded = overloaded
        super().__init__(message, charged=charged)


class RateLimitError(RetryableError):
    """The provider asks to wait; ``seconds`` is how long, or None where it did not say. Always ``overloaded``."""

    def __init__(self, message: str = "", *, seconds: float | None = None, charged: bool = False) -> None:
        self.seconds = seconds
        super().__init__(message, charged=charged, overloaded=True)


class RejectedError(ModelError):
    """The same call will never succeed: the context is too long, the parameter unknown."""


class AccessError(ModelError):
    """The model's key is not accepted, so that none of its calls can succeed. Not recorded as a reply."""

    exit_status = 2
    stops = "access"


class QuotaError(ModelError):
    """The day's quota or the account's credit is spent: nothing more can succeed now. Resumable."""

    exit_status = 4
    stops = "quota"


class OutageError(ModelError):
    """Too many calls of a model in a row ended in errors. Those are recorded; asking them again is for ``--retry``."""

    exit_status = 4
    stops = "outage"
