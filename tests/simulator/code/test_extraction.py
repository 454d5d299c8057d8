from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from simulator.code import CODE_STATUSES, extract
from simulator.code.fences import find_blocks, split_lines
from simulator.errors import MissingError
from simulator.prose import is_prose
from simulator.syntax import MAX_CHECKED, defined_names, load_grammar, parses

if TYPE_CHECKING:
    from _typeshed import TraceFunction

PROGRAM = "import math\n\ndef area(r):\n    return math.pi * r ** 2\n\nprint(area(2))"
USE = "print(area(10))"

FENCED = {
    "prose around": f"Sure!\n\n```python\n{PROGRAM}\n```\n\nHope it helps.",
    "fence on the first line": f"```python\n{PROGRAM}\n```",
    "no language": f"Here:\n```\n{PROGRAM}\n```",
    "alias": f"```py\n{PROGRAM}\n```",
    "version": f"```python3.11\n{PROGRAM}\n```",
    "capitals": f"```Python\n{PROGRAM}\n```",
    "attributes": f"```{{.python .numberLines}}\n{PROGRAM}\n```",
    "file name": f"```python:main.py\n{PROGRAM}\n```",
    "title": f'```python title="main.py"\n{PROGRAM}\n```',
    "tildes": f"~~~python\n{PROGRAM}\n~~~",
    "long fence": f"``````python\n{PROGRAM}\n``````",
    "longer closing": f"```python\n{PROGRAM}\n``````",
    "unclosed": f"```python\n{PROGRAM}",
    "windows newlines": f"Hi\r\n```python\r\n{PROGRAM}\r\n```\r\n".replace("\r\n", "\n").replace("\n", "\r\n"),
    "old mac newlines": f"Hi\n```python\n{PROGRAM}\n```".replace("\n", "\r"),
    "indented": "1. Do this:\n\n" + "\n".join(f"    {line}" for line in f"```python\n{PROGRAM}\n```".split("\n")),
    "indented by a tab": "\n".join(f"\t{line}" for line in f"```python\n{PROGRAM}\n```".split("\n")),
    "on a list item": "1. " + "\n   ".join(f"```python\n{PROGRAM}\n```".split("\n")),
    "quoted": "\n".join(f"> {line}" for line in f"```python\n{PROGRAM}\n```".split("\n")) + "\nafter",
    "after words": f"Here it is: ```python\n{PROGRAM}\n```\nDone.",
    "inside Markdown, longer": f"````markdown\n# Title\n```python\n{PROGRAM}\n```\nmore\n````",
    "inside Markdown, as long": f"```markdown\n# Title\n```python\n{PROGRAM}\n```\nmore\n```\nbye",
    "thought before": f"<think>\nMaybe\n```python\nwrong = 1\n```\n</think>\n```python\n{PROGRAM}\n```",
    "thought without its opening": f"Let me see.\n```python\nwrong = 1\n```\n</think>\n\n```python\n{PROGRAM}\n```",
    "a shell block beside": f"```bash\npip install x\n```\n```python\n{PROGRAM}\n```\n```\n12.56\n```",
    "notebook commands": f"```python\n!pip install numpy\n%matplotlib inline\n{PROGRAM}\n```",
    "a quotation of a line": f"```python\n{PROGRAM}\n```\nThis line:\n```python\n    return math.pi * r ** 2\n```",
    "an earlier version": f"```python\ndef area(r):\n    return 3\n```\nBetter:\n```python\n{PROGRAM}\n```",
    "inline code before": f"Use ```x``` and `y`:\n```python\n{PROGRAM}\n```",
    "empty first block": f"```python\n```\n```python\n{PROGRAM}\n```",
}


@pytest.mark.parametrize("reply", FENCED.values(), ids=FENCED.keys())
def test_the_program_comes_back(reply: str) -> None:
    found = extract(reply)

    assert (found.status, found.language, found.text) == ("ok", "python", PROGRAM)
    assert found.blocks >= 1
    assert found.chosen


def test_a_fence_in_a_string_does_not_close_the_block() -> None:
    program = 'text = """\n    ```\n    not code\n    ```\n"""'
    assert extract(f"```python\n{program}\n```").text == program
    inner = 'text = """\n```\nnot code\n```\n"""'
    assert extract(f"````python\n{inner}\n````").text == inner
    assert extract(f"~~~python\n{inner}\n~~~").text == inner
    assert extract(inner).text == inner


def test_pieces_of_one_program_are_joined_in_order() -> None:
    found = extract(f"First:\n```python\n{PROGRAM}\n```\nUse it:\n```python\n{USE}\n```\nShell:\n```sh\nls\n```")

    assert found.text == f"{PROGRAM}\n{USE}"
    assert found.chosen == "blocks 1, 2, joined: pieces of one program"
    assert found.left_out == "block 3 (sh)"


def test_a_function_split_over_blocks_is_joined() -> None:
    found = extract("```python\ndef f(x):\n```\nand then\n```python\n    return x\n```")
    assert (found.status, found.text) == ("ok", "def f(x):\n    return x")


def test_the_longest_version_wins_and_of_equal_ones_the_last() -> None:
    assert extract("```python\ndef f():\n    return 1\n```\n```python\ndef f():\n    return 2\n```").text.endswith("2")


def test_a_broken_longest_block_is_not_replaced_by_a_short_one() -> None:
    broken = "def f(x):\n    return (x +\n" * 5
    found = extract(f"```python\nimport os\n```\n```python\n{broken}")
    assert found.status == "unparsable"
    assert "never closed" in found.chosen
    assert found.text == broken.strip("\n")


@pytest.mark.parametrize(
    ("reply", "language"),
    [
        ("```javascript\nlet x = 1;\n```", "javascript"),
        ("```html\n<p>hi</p>\n```", "html"),
        ("```SQL\nselect 1\n```", "sql"),
    ],
)
def test_another_language_is_taken_and_named(reply: str, language: str) -> None:
    found = extract(reply)
    assert (found.status, found.language) == ("ok", language)
    assert "no block is in the language asked for" in found.chosen


def test_the_language_asked_for_decides() -> None:
    reply = "```python\nx = 1\n```\n```js\nlet y = 2;\n```"
    assert extract(reply).text == "x = 1"
    assert extract(reply, language="javascript").text == "let y = 2;"


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, I can't help with that.",
        "Hello, world",
        "Answer: 42",
        "Yes (definitely)",
        "To do this, first install Word.\n\n1. Open it.\n2. Type.",
        "```bash\npip install x\n```",
        "```\nWell, this is only text.\n```",
        "<think>I would write x = 1",
        "<think>\n```python\nx = 1\n```\n",
        "<think>x</think>No code today, sorry.",
    ],
)
def test_no_code(reply: str) -> None:
    found = extract(reply)
    assert (found.status, found.text) == ("no_code", "")
    assert found.chosen.startswith("nothing: ")


@pytest.mark.parametrize("reply", ["", "  \n\t\n", "```python\n```", "```python\n\n  \n```", "```", "~~~~\n\n~~~~"])
def test_empty(reply: str) -> None:
    assert extract(reply).status == "empty"


UNFENCED = {
    "alone": PROGRAM,
    "words before": f"Here is the program you asked for:\n\n{PROGRAM}",
    "words after": f"{PROGRAM}\n\nThis program prints the area of a circle. It's short.",
    "words around": f"Sure, here it is.\n\n{PROGRAM}\n\nThe function returns the area, and the rest prints it.",
    "words around, then a shell block": f"Sure, here it is.\n\n{PROGRAM}\n\nRun it with:\n```bash\npython area.py\n```",
}


@pytest.mark.parametrize("reply", UNFENCED.values(), ids=UNFENCED.keys())
def test_a_program_without_a_fence(reply: str) -> None:
    found = extract(reply)
    assert (found.status, found.text) == ("ok", PROGRAM)


def test_a_program_cut_in_the_middle_is_unparsable_and_kept() -> None:
    cut = PROGRAM + "\n\ndef more(x):\n    return foo(x,"
    for reply in (cut, f"Here it is, as you asked for it:\n\n{cut}", f"```python\n{cut}"):
        found = extract(reply)
        assert (found.status, found.text) == ("unparsable", cut)


@pytest.mark.parametrize(
    "code",
    [
        "(" * 5000 + ")" * 5000,
        "+".join(["1"] * 100_000),
        "-" * 100_000 + "1",
        "x = '\0'",
        "x=" + "9" * 5000,
        "if x:\n" * 2000,
    ],
    ids=["nested", "sum", "minus", "nul", "digits", "ifs"],
)
def test_what_the_compiler_cannot_take_is_unparsable(code: str) -> None:
    assert extract(f"```python\n{code}\n```").status == "unparsable"


def test_too_long_to_check_is_said() -> None:
    found = extract("```python\n" + "x = 1\n" * (MAX_CHECKED // 5) + "```")
    assert found.status == "unparsable"
    assert "too long to be checked" in found.chosen


def test_the_compilers_remarks_stay_silent_and_others_do_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert extract('```python\nx = "\\d"\nif x is 1:\n    pass\n```').status == "ok"
        with pytest.raises(UserWarning, match="mine"):
            warnings.warn("mine", UserWarning, stacklevel=1)
        warnings.simplefilter("error")  # a filter put before ours
        assert parses('y = "\\w"', "python")


def test_half_a_surrogate_pair_is_replaced() -> None:
    found = extract("```python\nx = '\ud83d'\n```")
    assert (found.status, found.text) == ("ok", "x = '\ufffd'")


HOSTILE = [
    "`",
    "\n",
    "```\n",
    "```\nx\n",
    "> ",
    "    ",
    "~",
    "a ` b ``` py\n",
    "<think>",
    "x = ",
    "- ",
    "\0",
    "\r",
    "import a b\n\n",
    ">>> x = (\n",
    "1 a\n",
    "<pre>\n",
    "<pre>x</pre>\n",
    "'''\n```\n",
    "```python\n'''\n```\n",
    '{"cells": [',
    "```json\n{}\n```\n",
    "    x (\n\n",
    "```py a b ```\n",
    "!pip x (\n",
    "`a` ",
    "def f(:\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_hostile_reply_gets_a_status(piece: str) -> None:
    assert extract(piece * (200_000 // len(piece))).status in CODE_STATUSES


def test_work_grows_with_the_length_and_not_faster() -> None:
    def lines_run(reply: str) -> int:  # counts executed lines rather than seconds, which a busy machine would stretch
        count = 0

        def trace(frame: FrameType, event: str, argument: object) -> TraceFunction | None:
            nonlocal count
            count += event == "line"
            return trace if frame.f_globals.get("__name__", "").startswith("simulator.") else None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            extract(reply)
        finally:
            sys.settrace(before)
        return count

    for piece in HOSTILE:
        small, large = (lines_run(piece * count) for count in (500, 2000))
        assert large < 5 * small + 500, piece


text_of_a_reply = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "```",
                "````",
                "~~~",
                "```python",
                "```bash",
                "> ",
                "  ",
                "\t",
                "\n",
                "\r\n",
                "<think>",
                "</think>",
                "x = 1",
                "def f():",
            ]
        ),
        st.text(st.characters(codec=None), max_size=5),
        st.sampled_from(["\n", "\n\n"]),
    ),
    max_size=30,
).map("".join)


@given(text_of_a_reply, st.sampled_from(["python", "javascript", "no such language", ""]))
@settings(max_examples=300)
@example("\ud83d", "python")
@example("```\ud83d\n\0", "python")
def test_any_text_gives_a_status_and_only_its_own_lines(reply: str, language: str) -> None:
    found = extract(reply, language=language)

    assert found.status in CODE_STATUSES
    assert (found.status in {"ok", "unparsable"}) == bool(found.text)
    found.text.encode("utf-8")  # raises on half of a surrogate pair
    raw = {line.strip() for line in split_lines(reply.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))}
    for line in found.text.split("\n"):
        assert any(line.strip() in own for own in raw)


@given(
    st.lists(
        st.sampled_from(["x = 1", "def f(a):\n    return a", "print('~~~')", "# ```", "y = [\n    1,\n]", ""]),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from("`~"),
    st.integers(3, 9),
    st.sampled_from(["", "   ", "\t", "> "]),
    st.sampled_from(["", "Here you are.\n\n", "1. First\n"]),
    st.booleans(),
)
def test_any_fenced_program_comes_back_exactly(
    parts: list[str], character: str, length: int, indent: str, before: str, closed: bool
) -> None:
    program = "\n".join(parts).strip("\n")
    assume(program)
    fence = character * length
    lines = [f"{fence}python", *program.split("\n"), *([fence] if closed else [])]
    found = extract(before + "\n".join(indent + line for line in lines))
    assert (found.status, found.text) == ("ok", program)


def test_find_blocks_says_where_and_whether_closed() -> None:
    one, two = find_blocks("a\n```python\nx\n```\n~~~\ny")
    assert (one.first, one.language, one.closed, one.text) == (1, "python", True, "x")
    assert (two.first, two.language, two.closed, two.text) == (4, "", False, "y")


def test_backticks_in_the_info_are_no_fence() -> None:
    assert find_blocks("``` a`b\nx") == []
    assert len(find_blocks("~~~ a`b\nx")) == 1


def test_prose_and_programs_are_told_apart() -> None:
    assert is_prose("The quick brown fox jumps over the lazy dog.\nIt is (mostly) fine.")
    assert not is_prose(PROGRAM)
    assert not is_prose("def broken(:\n    what is this")
    assert not is_prose("")
    assert not is_prose("import numpy", parses=True)
    assert is_prose("Hello", parses=True)


def test_a_missing_grammar_names_the_package() -> None:
    with pytest.raises(MissingError, match="tree-sitter-klingon"):
        load_grammar("klingon")
    with pytest.raises(MissingError):
        load_grammar("../python")
    assert parses("x", "klingon") is None


def test_defined_names() -> None:
    assert defined_names("def a(): pass\nclass B:\n    def c(self): pass\nasync def d(): pass", "python") == {
        "a",
        "B",
        "d",
    }
    assert defined_names("def", "python") == frozenset()
