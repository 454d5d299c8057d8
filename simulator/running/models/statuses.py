"""The status of a reply: from the provider's word for why it ended, and from the text itself."""

from __future__ import annotations

import re
from typing import Final

from simulator.running.replies import ReplyStatus

__all__ = ["classify_reply", "is_broken_off", "is_refusal"]

# The words of OpenAI, Anthropic, Google (generateContent), Ollama, and of the servers that speak OpenAI's protocol.
# What ends an answer well is none of these: stop, end_turn, stop_sequence, eos, complete. Nor is tool_calls, tool_use,
# function_call, UNEXPECTED_TOOL_CALL, MALFORMED_FUNCTION_CALL: no tool is offered, so that what text there is is the
# answer.
_FILTERED: Final = frozenset(
    {
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "recitation",
        "language",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
        "model_armor",
        "jailbreak",
        "escalation",
        "pup_limited_disabled",
        "blocked",
        "error_toxic",
    }
)
_REFUSED: Final = frozenset({"refusal", "refused"})
_TRUNCATED: Final = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "error_limit",
        "incomplete",
        "continuation",
    }
)
_CUT: Final = frozenset({"pause_turn", "compaction", "other", "too_many_tool_calls"})
"""The answer had not ended, though not for its length: a text is truncated, no text is none."""

_BROKEN_OFF: Final = frozenset(
    {
        "error",
        "failed",
        "cancelled",
        "abort",
        "malformed_response",
        "insufficient_system_resource",
        "load",
        "unload",
    }
)
"""What ended is the machine, not the answer: asked again, the same call can be answered."""

_REFUSAL_LONGEST: Final = 600
"""Characters. Longer texts that begin like a refusal go on to something else."""

# What a model declines is helping, or the request as such. "I can't write code myself" and "sorry, I cannot get my
# sheet to add up" are what a persona says, so neither the verb nor the excuse alone is enough.
_DECLINES: Final = (
    r"(?:i(?:['’]m|\sam)\s(?:very\s|so\s|truly\s)?(?:sorry|afraid)\b[^.!?]{0,60}?[,.;:—-]*\s*(?:but\s)?)?"
    r"(?:(?:i\s)?apologi[sz]e\b[^.!?]{0,60}?[,.;:—-]*\s*(?:but\s)?)?"
    r"(?:sorry,?\s(?:but\s)?)?"
    r"(?:as\san\s(?:ai|artificial\sintelligence)\b[^.!?]{0,60}?,\s*)?"
    r"(?:unfortunately,?\s)?"
    r"i(?:\scan(?:not|\snot|['’]?t)|\swon['’]t|\swill\snot|\scould\snot|(?:['’]m|\sam)\s(?:not\sable|unable)\sto)\s"
    r"(?:be\sable\sto\s)?"
    r"(?:help|assist|comply|fulfil|fulfill|accommodate|engage|participate|support|do|discuss|respond\sto"
    r"|(?:provide|give|offer)\s(?:\w+\s){0,3}(?:help|assistance|information|support))\b"
    r"(?:\s(?:you\s)?(?:with|in|on|to)\b)?\s*(?:you\b|that\b|this\b|such\b|your\b|the\srequest\b|those\b|these\b|requests?\b"
    r"|any\b|it\b|[.!,]|$)"
)
_REFUSAL: Final = re.compile(rf"[\s\"'“‘*_>]*{_DECLINES}", re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer, in English; made to miss a refusal rather than to take an answer for one.

    True only where the text is short (600 characters), holds no code fence, and *begins* by declining to help, assist,
    comply or do "that", with or without an apology before it.

    >>> is_refusal("I'm sorry, but I can't help with that.")
    True
    >>> is_refusal("I'm sorry, but I can't get my spreadsheet to add up. Could you write me a calculator?")
    False
    """
    stripped = text.strip()
    if not stripped or len(stripped) > _REFUSAL_LONGEST or "```" in stripped:
        return False
    return _REFUSAL.match(stripped) is not None


def is_broken_off(finish: str) -> bool:
    """Whether a provider's word for why a text ended says that the provider failed.

    >>> is_broken_off("error"), is_broken_off("stop")
    (True, False)
    """
    return finish.strip().lower() in _BROKEN_OFF


def classify_reply(text: str, *, finish: str = "", refusal: str = "", blocked: bool = False) -> ReplyStatus:
    """Return the status of what came back.

    Parameters
    ----------
    text
        The answer, without any reasoning.
    finish
        The provider's word for why it ended, in any case: ``stop``, ``length``, ``MAX_TOKENS``, ``SAFETY``, ...
    refusal
        What the provider marked as a refusal, where it does.
    blocked
        Whether the provider withheld the prompt itself.

    Returns
    -------
    str
        ``filtered`` before ``refused`` before ``truncated`` before ``empty`` before a refusal in words, else ``ok``. A
        blank text that ended at the token limit is ``truncated``: a larger ``max_tokens`` may mend it (a reasoning
        model can spend all of it on thought), which asking again does not.

    Examples
    --------
    >>> classify_reply("def add(a, b):", finish="length")
    'truncated'
    >>> classify_reply("  ", finish="stop")
    'empty'
    """
    word = finish.strip().lower()
    if blocked or word in _FILTERED:
        return "filtered"
    if refusal.strip() or word in _REFUSED:
        return "refused"
    if word in _TRUNCATED:
        return "truncated"
    if not text.strip():
        return "empty"
    if word in _CUT:
        return "truncated"
    return "refused" if is_refusal(text) else "ok"
