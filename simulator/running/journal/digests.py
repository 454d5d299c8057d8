"""Digests: what is kept beside a record, so that it can be told at any time whether it is what was recorded.

The steps that lead to the schema (`simulator.running.journal.migrations`) call these by name: what they give for the
same values never changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

__all__ = ["EMPTY_PLAN", "PlanDigest", "digest_row", "hashes_to"]

EMPTY_PLAN = "0" * 64
"""The digest of a plan without rows."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
"""As `simulator.running.calls.canonical_json`, without making an encoder for each of a million rows."""


def digest_row(*values: str | float | None) -> str:
    """Return 32 hexadecimal digits of the SHA-256 of a row's values as canonical JSON, to be checked at any time.

    The values are hashed as SQLite gives them back: a real is a float, and never a negative zero.

    >>> digest_row("a", 1, None)
    '0ae764bffd3a17b6454c8d9ebf712311'
    """
    return hashlib.sha256(_encode(values).encode()).hexdigest()[:32]


def hashes_to(digest: object, *values: object) -> bool:
    """Whether a row hashes to its digest; one with a value of a kind that is never recorded does not.

    >>> hashes_to("0ae764bffd3a17b6454c8d9ebf712311", "a", 1, None), hashes_to("", b"a")
    (True, False)
    """
    try:
        return digest_row(*values) == digest  # type: ignore[arg-type]
    except (TypeError, ValueError):  # bytes, an infinite number: nothing that JSON holds
        return False


class PlanDigest:
    """One digest of all rows of a plan, taken as they come: it is the same in any order, since each says its position.

    It is the sum of the rows' SHA-256, as SQLite's aggregate functions want it: ``step`` and ``finalize``.

    Examples
    --------
    >>> one, other = PlanDigest(), PlanDigest()
    >>> one.step(0, "v", "k"), one.step(1, "w", "k"), other.step(1, "w", "k"), other.step(0, "v", "k")
    (None, None, None, None)
    >>> one.finalize() == other.finalize(), one.finalize() == PlanDigest().finalize()
    (True, False)
    """

    def __init__(self) -> None:
        self._sum = 0

    def step(self, *row: object) -> None:
        """Add a row: its position, variant and call. Values of other kinds are hashed as well, to something else."""
        # Not JSON, which takes thrice as long: this is done a million times while a plan is made.
        self._sum += int.from_bytes(hashlib.sha256(ascii(row).encode("ascii")).digest())

    def add(self, rows: Iterable[Sequence[object]]) -> None:
        """Add many rows: of each, its first three values."""
        sha256, whole = hashlib.sha256, int.from_bytes
        self._sum += sum(whole(sha256(ascii(tuple(row[:3])).encode("ascii")).digest()) for row in rows)

    def finalize(self) -> str:
        """Return 64 hexadecimal digits."""
        return f"{self._sum % 2**256:064x}"
