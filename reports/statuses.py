"""What a status is called on the page, and what it means there: one entry for every status of a record."""

from __future__ import annotations

__all__ = ["MEANINGS", "status_words"]

MEANINGS: dict[str, dict[str, str]] = {
    "rewrite": {
        "ok": "usable as a prompt",
        "empty": "the model answered with nothing, or with no letter and no digit",
        "refused": "the model declined to rewrite",
        "truncated": "cut at the token limit before the request ended",
        "filtered": "withheld by the provider’s filter",
        "error": "the call failed",
        "too_long": "far longer than any request",
        "answered": "an answer instead of a request",
        "code": "code instead of a request",
        "echo": "the task’s own words and nothing else, or a run of words of the template’s examples",
        "off_task": "not one of the task’s words is in it",
    },
    "text by a person": {
        "ok": "usable as a prompt",
        "empty": "there is nothing in it",
    },
    "reply": {
        "ok": "an answer that ended by itself",
        "empty": "nothing but white space",
        "refused": "the model declined",
        "truncated": "cut at the token limit",
        "filtered": "withheld by the provider’s filter",
        "error": "the call failed; the error stands beside it",
    },
    "code": {
        "ok": "a whole program",
        "no_code": "the reply holds no program",
        "unparsable": "there is code, but its language does not accept it",
        "empty": "there is nothing in the reply, or in its block of code",
        "not extracted": "no code was looked for in this reply",
    },
}
"""Of what (as the badges say it), then status, then its meaning. Sentences without their full stop."""


def status_words(status: str) -> str:
    """Return a status as people write it.

    >>> status_words("off_task"), status_words("ok")
    ('off task', 'ok')
    """
    return status.replace("_", " ")
