"""All measures judge a text alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.code.codebleu import codebleu
from analysis.code.form import measure_form
from analysis.code.tsed import tsed

PROGRAM = "def f(a):\n    return a + 1\n"
PIECES = [
    "print 'a'\n",
    "x = 1\n",
    "Hello, world.\n",
    "Run this and see.\n",
    "main()\n",
    "return\n",
    "(\n",
    "'''A text.'''\n",
]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("print 'a'\nexec 'b'\n", "ok"),
        ("'''A tool.\n\nIt does this and that.\nIt works like that.\n'''\nmain()\n", "ok"),
        ("import this\n", "ok"),
        ("Hello, world\n", "prose"),
        ("I am sorry, but I cannot help with that.", "prose"),
        ("def f(:\n    return = 2\n", "unparsable"),
        (" \n\t\n", "empty"),
    ],
)
def test_a_text_has_one_status(text: str, status: str) -> None:
    assert tsed(PROGRAM, text).status == codebleu(PROGRAM, text).status == measure_form(text).status == status


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join))
def test_whatever_the_text(text: str) -> None:
    assert tsed(PROGRAM, text).status == measure_form(text).status
    if codebleu(PROGRAM, text).status != "empty":  # nothing but docstrings leaves no token
        assert codebleu(PROGRAM, text).status == measure_form(text).status
