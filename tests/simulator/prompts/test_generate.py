"""What is sent for code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.prompts import render_generate
from simulator.running.calls import Message


@pytest.mark.parametrize(
    ("prefix", "suffix", "sent"),
    [
        ("", "", "A clock."),
        ("Answer in C.", "", "Answer in C.\n\nA clock."),
        ("", "\n\nNo prose.\n", "A clock.\n\nNo prose."),
        ("Be brief.\n", "  No\n prose. ", "Be brief.\n\nA clock.\n\nNo\n prose."),
    ],
)
def test_parts_are_joined_by_one_blank_line(prefix: str, suffix: str, sent: str) -> None:
    assert render_generate(" A clock.\n", prefix=prefix, suffix=suffix) == (Message("user", sent),)


@given(st.text(), st.text(), st.text())
def test_every_part_is_sent_whole_and_in_order(prefix: str, text: str, suffix: str) -> None:
    (message,) = render_generate(text, prefix=prefix, suffix=suffix)
    parts = [part.strip() for part in (prefix, text, suffix) if part.strip()]
    assert message.role == "user"
    assert message.text == "\n\n".join(parts)
