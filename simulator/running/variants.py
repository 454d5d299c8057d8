"""A variant: the text that is sent in place of a task's prompt, with its lineage."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, get_args

from simulator.running.calls import canonical_json

__all__ = ["METHODS", "VARIANT_STATUSES", "Method", "Variant", "VariantStatus", "variant_id"]

Method = Literal["original", "rewrite", "typos", "synonyms", "paraphrase", "identity", "human"]
METHODS: tuple[Method, ...] = get_args(Method)

VariantStatus = Literal[
    "ok", "empty", "refused", "truncated", "filtered", "error", "too_long", "answered", "code", "echo", "off_task"
]
VARIANT_STATUSES: tuple[VariantStatus, ...] = get_args(VariantStatus)


@dataclass(frozen=True, slots=True)
class Variant:
    """One text to send, and where it comes from.

    Parameters
    ----------
    variant
        Its id, a hash of its lineage (`variant_id`).
    task, method, persona, replicate, seed
        The lineage; ``replicate`` counts the variants made the same way, from 0.
    text
        What is sent; empty where the status is not ``ok`` and there is nothing to send.
    made_by
        Key of the call whose reply it was made from; empty where no model was asked.
    status
        ``ok`` is usable. Every other word says why this variant is not sent.
    note
        The status in words; empty for ``ok`` with nothing to remark.
    """

    variant: str
    task: str
    method: Method
    persona: str
    replicate: int
    seed: int | None
    text: str
    made_by: str
    status: VariantStatus
    note: str = ""


def variant_id(
    *, task: str, method: Method, persona: str, replicate: int, made_by: str, text: str | None = None
) -> str:
    """Return a variant's id: 16 hexadecimal digits that depend on its lineage alone.

    ``text`` is part of the lineage of what no call made: there is no key that would tell one text from another.
    """
    told = [] if text is None else [text]
    lineage = canonical_json([task, method, persona, replicate, made_by, *told])
    return hashlib.sha256(lineage.encode()).hexdigest()[:16]
