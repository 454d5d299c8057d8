"""The status of a reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.running.models.statuses import classify_reply, is_broken_off, is_refusal
from simulator.running.replies import REPLY_STATUSES


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("print(1)", "stop", "ok"),
        ("print(1)", "", "ok"),
        ("print(1)", "STOP", "ok"),
        ("print(1)", "end_turn", "ok"),
        ("print(1)", "stop_sequence", "ok"),
        ("print(1)", "length", "truncated"),
        ("print(1)", "max_tokens", "truncated"),
        ("print(1)", "MAX_TOKENS", "truncated"),
        ("print(1)", "model_context_window_exceeded", "truncated"),
        ("", "length", "truncated"),
        ("", "stop", "empty"),
        (" \n\t\u3000", "stop", "empty"),
        ("", "content_filter", "filtered"),
        ("half an ans", "content_filter", "filtered"),
        ("", "SAFETY", "filtered"),
        ("", "RECITATION", "filtered"),
        ("", "PROHIBITED_CONTENT", "filtered"),
        ("", "refusal", "refused"),
        ("I will not.", "refusal", "refused"),
    ],
)
def test_the_providers_word_decides(text: str, finish: str, status: str) -> None:
    assert classify_reply(text, finish=finish) == status


WORDS = {
    # OpenAI
    "stop": ("ok", "empty"),
    "length": ("truncated", "truncated"),
    "content_filter": ("filtered", "filtered"),
    "tool_calls": ("ok", "empty"),
    "function_call": ("ok", "empty"),
    "": ("ok", "empty"),
    # Anthropic
    "end_turn": ("ok", "empty"),
    "stop_sequence": ("ok", "empty"),
    "max_tokens": ("truncated", "truncated"),
    "refusal": ("refused", "refused"),
    "pause_turn": ("truncated", "empty"),
    "compaction": ("truncated", "empty"),
    "tool_use": ("ok", "empty"),
    "model_context_window_exceeded": ("truncated", "truncated"),
    # Google
    "FINISH_REASON_UNSPECIFIED": ("ok", "empty"),
    "STOP": ("ok", "empty"),
    "MAX_TOKENS": ("truncated", "truncated"),
    "SAFETY": ("filtered", "filtered"),
    "RECITATION": ("filtered", "filtered"),
    "LANGUAGE": ("filtered", "filtered"),
    "OTHER": ("truncated", "empty"),
    "BLOCKLIST": ("filtered", "filtered"),
    "PROHIBITED_CONTENT": ("filtered", "filtered"),
    "SPII": ("filtered", "filtered"),
    "MALFORMED_FUNCTION_CALL": ("ok", "empty"),
    "IMAGE_SAFETY": ("filtered", "filtered"),
    "IMAGE_PROHIBITED_CONTENT": ("filtered", "filtered"),
    "IMAGE_RECITATION": ("filtered", "filtered"),
    "IMAGE_OTHER": ("ok", "empty"),
    "NO_IMAGE": ("ok", "empty"),
    "UNEXPECTED_TOOL_CALL": ("ok", "empty"),
    "TOO_MANY_TOOL_CALLS": ("truncated", "empty"),
    "MISSING_THOUGHT_SIGNATURE": ("ok", "empty"),
    "MALFORMED_RESPONSE": None,
    "ESCALATION": ("filtered", "filtered"),
    "PUP_LIMITED_DISABLED": ("filtered", "filtered"),
    "CONTINUATION": ("truncated", "truncated"),
    "MODEL_ARMOR": ("filtered", "filtered"),
    # Ollama, and servers that speak OpenAI's protocol
    "load": None,
    "unload": None,
    "error": None,
    "insufficient_system_resource": None,
    "abort": None,
}
"""Each provider's words, with the statuses of a text and of none; None where the provider failed."""


@pytest.mark.parametrize(("word", "statuses"), WORDS.items())
def test_every_word_of_every_provider(word: str, statuses: tuple[str, str] | None) -> None:
    assert is_broken_off(word) == (statuses is None)
    if statuses is not None:
        assert (classify_reply("x = 1", finish=word), classify_reply(" ", finish=word)) == statuses


def test_no_word_of_an_installed_package_is_forgotten() -> None:
    from typing import get_args

    from anthropic.types.beta import BetaStopReason
    from google.genai.types import FinishReason
    from openai.types.chat.chat_completion import Choice

    theirs = {
        *get_args(BetaStopReason),
        *(reason.value for reason in FinishReason),
        *get_args(Choice.model_fields["finish_reason"].annotation),
    }
    assert theirs <= set(WORDS)


def test_what_a_provider_marks_wins_over_the_text() -> None:
    assert classify_reply("", refusal="I won't") == "refused"
    assert classify_reply("", refusal="  ") == "empty"
    assert classify_reply("fine", blocked=True) == "filtered"
    assert classify_reply("", refusal="no", finish="content_filter") == "filtered"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, but I can’t assist with that request.",
        "Sorry, I cannot help you with that.",
        "I cannot comply with this request.",
        "I can't do that.",
        "I am unable to assist with this.",
        "I'm not able to help with that.",
        "I won't help with this.",
        "I apologize, but I cannot fulfill your request.",
        "As an AI language model, I cannot assist with that.",
        "Unfortunately, I cannot help with that.",
        "\"I'm sorry, but I can't help with that.\"",
        "I'm sorry, but I can't provide assistance with that.",
        "I can't help you.",
    ],
)
def test_a_refusal_in_words(text: str) -> None:
    assert is_refusal(text)
    assert classify_reply(text, finish="stop") == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't get my spreadsheet to add up. Could you write me a calculator?",
        "I can't write code myself, so please make me a calculator.",
        "Sorry, I am not a programmer. Could you help me with that?",
        "I cannot do sums in my head. Write a calculator.",
        "Sorry to bother you, but can you help with that database?",
        "I'm sorry, I can't support my shop with paper lists any more; write me a database.",
        "I am unable to do the accounts by hand, so I need a program.",
        "Write a program that prints \"I'm sorry, but I can't help with that.\"",
        "I'm sorry, but I can't help with that in one line. Here it is in two:\n```python\nprint(1)\n```",
        "I can't help with that. " + "But here is a long explanation of something else. " * 20,
        "def refuse():\n    return 'I cannot help with that'",
        "As an AI engineer, I need a calculator.",
        "I will not be able to attend, so make the calculator keep a log.",
        "",
    ],
)
def test_not_a_refusal(text: str) -> None:
    assert not is_refusal(text)


@given(st.text(), st.text(max_size=12), st.text(max_size=5), st.booleans())
def test_any_reply_has_one_of_six_statuses(text: str, finish: str, refusal: str, blocked: bool) -> None:
    assert classify_reply(text, finish=finish, refusal=refusal, blocked=blocked) in REPLY_STATUSES


@given(st.text(), st.sampled_from(["stop", "length", "SAFETY", "refusal", ""]))
def test_white_space_around_a_text_and_case_of_the_word_change_nothing(text: str, finish: str) -> None:
    assert classify_reply(f"\n {text} \t", finish=finish.swapcase()) == classify_reply(text, finish=finish)


@pytest.mark.parametrize("start", ["", "I'm sorry ", "I cannot ", "As an AI ", "sorry " * 100])
def test_ten_megabytes_are_classified_at_once(start: str) -> None:
    # Anything worse than linear would not come back within the lifetime of a test run.
    assert classify_reply(start + "a, " * 3_400_000, finish="stop") == "ok"
