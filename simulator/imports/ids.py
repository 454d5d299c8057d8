"""Ids that depend on content alone, not on where a record stands or what stands around it."""

from __future__ import annotations

import hashlib
from collections import defaultdict

from simulator.running.calls import canonical_json

__all__ = ["ContentIds", "content_id"]


def content_id(*parts: object, digits: int = 16) -> str:
    """Return a hash of what JSON can hold, in hexadecimal digits.

    >>> content_id("HumanEval/0", "original")
    'f801f9e04dc0183f'
    """
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:digits]


class ContentIds:
    """Gives each record the hash of its content and of how many equal ones came before it.

    So ids are unique, and as equal records are interchangeable, none changes when records are added or sorted.

    Parameters
    ----------
    digits
        How many hexadecimal digits an id has.
    """

    def __init__(self, digits: int = 32) -> None:
        self._digits = digits
        self._seen: defaultdict[bytes, int] = defaultdict(int)

    def make(self, content: object) -> str:
        """Return the id of what JSON can hold."""
        return self.make_from(canonical_json(content).encode())

    def make_from(self, key: bytes) -> str:
        """Return the id of a content that is bytes already."""
        digest = hashlib.sha256(key).digest()[:16]  # a million keys would not fit, a million digests do
        before = self._seen[digest]
        self._seen[digest] = before + 1
        return hashlib.sha256(b"%d %s" % (before, key)).hexdigest()[: self._digits]
