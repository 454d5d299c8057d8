"""A reply: what a model answered to one call, with a status that is always one of six words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

__all__ = ["REPLY_STATUSES", "Reply", "ReplyStatus", "Tokens", "find_fault", "repair_reply", "repair_text"]

ReplyStatus = Literal["ok", "empty", "refused", "truncated", "filtered", "error"]
REPLY_STATUSES: tuple[ReplyStatus, ...] = get_args(ReplyStatus)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens by class; no token is in two classes. None where the provider did not say."""

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from a model for one call.

    Parameters
    ----------
    status
        ``ok``: an answer that ended by itself. ``empty``: nothing but white space. ``refused``: the model declined.
        ``truncated``: cut at the token limit; the text is kept. ``filtered``: withheld by the provider.
        ``error``: no answer; ``error`` says why.
    text
        Valid Unicode, as received (see `repair_text`).
    tokens
        Tokens by class.
    model_reported
        The model's name or file as the provider reports it.
    finish
        The provider's own word for why the text ended.
    sent
        What was really sent besides the messages.
    error
        Why there is no answer, or what had to be repaired in it; never a key.
    """

    status: ReplyStatus
    text: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    model_reported: str = ""
    finish: str = ""
    sent: dict[str, object] = field(default_factory=dict)
    error: str | None = None


def find_fault(reply: Reply) -> str | None:
    """Say what is wrong with a reply that somebody's function made; None if it can be recorded."""
    if reply.status not in REPLY_STATUSES:
        return f"its status is {reply.status!r}, not one of {', '.join(REPLY_STATUSES)}"
    if not all(isinstance(text, str) for text in (reply.text, reply.finish, reply.model_reported, reply.error or "")):
        return "its text, finish, model_reported and error must be texts"
    tokens = (reply.tokens.input, reply.tokens.cached, reply.tokens.output, reply.tokens.reasoning)
    if not all(count is None or (isinstance(count, int) and 0 <= count < 2**63) for count in tokens):
        return "its tokens must be whole numbers from 0, or None"
    try:
        json.dumps(reply.sent, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return "its `sent` must be a mapping from names to values that JSON can hold"
    return None


def repair_reply(reply: Reply) -> Reply:
    """Return a reply whose every text can be stored, with a remark where something had to be replaced."""
    text, replaced = repair_text(reply.text)
    note = f"{replaced} lone surrogates were replaced" if replaced else ""
    error = "; ".join(part for part in (repair_text(reply.error or "")[0], note) if part) or None
    finish, reported = repair_text(reply.finish)[0], repair_text(reply.model_reported)[0]
    if (text, error, finish, reported) == (reply.text, reply.error, reply.finish, reply.model_reported):
        return reply
    return replace(reply, text=text, error=error, finish=finish, model_reported=reported)


def repair_text(text: str) -> tuple[str, int]:
    r"""Replace lone surrogates, which no file or database can hold, by U+FFFD; return the text and how many there were.

    Two halves that stand side by side are joined, not replaced.

    >>> repair_text("a\ud83d")
    ('a�', 1)
    """
    if text.isascii():
        return text, 0
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined, sum("\ud800" <= character <= "\udfff" for character in text) - 2 * (len(text) - len(joined))
