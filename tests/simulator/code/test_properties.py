"""What holds of any program in any fence, of any notebook, and how much is given to the parser at most."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simulator import syntax
from simulator.code import CODE_STATUSES, extract
from simulator.code.fences import split_lines
from simulator.code.languages import canonical, read_info
from simulator.code.reasoning import set_aside_reasoning
from simulator.syntax import MAX_CHECKED

texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12)
names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
statements = st.one_of(
    st.builds("{0}_ = {1!r}".format, names, texts),
    st.builds("print({0!r}, {1!r})".format, texts, texts),
    st.builds("def {0}_(a):\n    # {1!a}\n    return [a,\n        {2!r}]\n".format, names, texts, texts),
    st.builds("class {0}_:\n\tpass".format, names),
    st.builds('{0}_ = """\n{1}\n  ```\n~~~\n"""'.format, names, texts.map(lambda text: text.strip('\\"'))),
    st.just(""),
)
prose = st.text(st.characters(codec="utf-8", exclude_characters="`~<\\"), max_size=80)
infos = st.sampled_from(
    ["python", " Python ", "py", "python3.12", "{.python #a}", "python title='x y'", "python:a/b.py", "main.py"]
)


def longest_run(text: str, character: str) -> int:
    count = 0
    while character * (count + 1) in text:
        count += 1
    return count


@given(st.lists(statements, min_size=1, max_size=6), st.sampled_from("`~"), st.integers(0, 5), st.data())
@settings(max_examples=200)
def test_any_program_in_any_fence_comes_back_exactly(
    parts: list[str], character: str, longer: int, data: st.DataObject
) -> None:
    program = "\n".join(parts).strip()
    assume(program and syntax.parses(program, "python"))
    length = max(3, longest_run(program, character) + 1) + longer
    indent, more = " " * data.draw(st.integers(0, 3), "indent"), data.draw(st.integers(0, 3), "longer closing")
    before, after = data.draw(prose, "before"), data.draw(prose, "after")
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]), "line end")
    opening, closing = character * length + data.draw(infos, "info"), character * (length + more)
    block = end.join(indent + line for line in [opening, *program.split("\n"), closing])

    found = extract(f"{before}{end}{block}{end}{after}")

    assert (found.status, found.language, found.text) == ("ok", "python", program)
    assert (found.blocks, found.left_out) == (1, "")


@given(
    st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), st.lists(statements, max_size=3)), max_size=5),
    st.booleans(),
    st.sampled_from(["{}", "```json\n{}\n```", "Here it is:\n\n{}\n", "~~~ipynb\n{}\n~~~\nThat is all."]),
    st.booleans(),
)
def test_lines_of_a_notebook_are_lines_of_its_code_cells(
    cells: list[tuple[str, list[str]]], as_lists: bool, around: str, in_ascii: bool
) -> None:
    written = ["\n".join(parts) for _, parts in cells]
    sources = [text.splitlines(keepends=True) if as_lists else text for text in written]
    document = {
        "cells": [{"cell_type": kind, "source": source} for (kind, _), source in zip(cells, sources, strict=True)]
    }
    reply = around.replace("{}", json.dumps(document, ensure_ascii=in_ascii))

    found = extract(reply)

    code = [text for (kind, _), text in zip(cells, written, strict=True) if kind == "code" and text.strip()]
    if found.status == "ok":
        assert found.text == "\n".join(line for text in code for line in split_lines(text)).strip("\n")
    ast.parse("\n".join(code) or "0")  # so that the notebook is a program, and what was found not an accident


WORST: dict[str, Callable[[int], str]] = {
    "many blocks": lambda n: "```python\nx = f(1, 2)\n```\n" * (n // 26),
    "long blocks": lambda n: ("```python\n" + "x = f(1, 2)\n" * (n // 60) + "```\n") * 5,
    "long blocks without a language": lambda n: ("```\n" + "x = f(1, 2)\n" * (n // 60) + "```\n") * 5,
    "long blocks, broken at their ends": lambda n: ("```python\n" + "y = 1\n" * (n // 30) + "x = (1 2\n```\n") * 5,
    "long blocks under another name": lambda n: ("```text\n" + "y = 1\n" * (n // 30) + "```\n") * 5,
    "sessions": lambda n: ("```python\n" + ">>> x = 1\n" * (n // 100) + ">>> 1 2\n```\n") * 10,
    "commands": lambda n: ("```python\n!ls\n" + "x = 1\n" * (n // 60) + "x = (1 2\n```\n") * 10,
    "one long program, broken at its end": lambda n: "x = f(1, 2)\n\n" * (n // 13) + "x = (1 2\n",
    "bare stretches": lambda n: ("Now words:\n\n" + "x = f(1, 2)\n" * (n // 240) + "\n") * 20,
    "bare beginnings": lambda n: "import a b\n\n" * (n // 12),
    "strings that hold fences": lambda n: "```python\nx = '''\n```\n" * (n // 23),
    "lines like fences": lambda n: "```python\nx = (\n" + "``` a\nx\n" * (n // 8),
    "closing tags of reasoning": lambda n: "```\nx\n```\n</think>\n" * (n // 19),
    "a notebook of many cells": lambda n: json.dumps({"cells": [{"cell_type": "code", "source": "x=1"}] * (n // 42)}),
    "pages": lambda n: "<pre>x = (</pre>\n" * (n // 17),
    "indented": lambda n: ("    x = f(1)\n" * 20 + "    x = (\n\nWords\n\n") * (n // 290),
}


@pytest.mark.parametrize("make", WORST.values(), ids=WORST.keys())
def test_what_is_parsed_is_bounded_whatever_the_length(
    make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    parse = ast.parse

    def count(code: str, *, filename: str) -> ast.Module:
        parsed.append(len(code))
        return parse(code, filename=filename)

    monkeypatch.setattr(ast, "parse", count)
    for length in (MAX_CHECKED, 2 * MAX_CHECKED, 5 * MAX_CHECKED):
        syntax._read.cache_clear()
        parsed.clear()
        assert extract(make(length - 100)).status in CODE_STATUSES
        assert len(parsed) < 400, length
        assert sum(parsed) <= 8 * MAX_CHECKED, length


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("", ""),
        ("c++", "cpp"),
        ("C#", "csharp"),
        ("language-js", "javascript"),
        ("lang=py", "python"),
        ("12:40:src/main.py", "python"),
        ("node.js", "javascript"),
        ("README.md", "md"),
        ("code", ""),
        ("{code-cell} ipython3", "python"),
        ('title="two words" x', ""),
        ("asp.net", "asp.net"),
        ("x" * 1000, "x" * 200),
    ],
)
def test_what_stands_after_a_fence_is_read(info: str, language: str) -> None:
    assert canonical(read_info(info)) == language


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a</think>b", "b"),
        ("Sure.\n<THINK x='1'>a</think>\nb", "Sure.\n\nb"),
        ("<think>a</think> <reasoning>b</reasoning>c", "c"),
        ("<think>a", ""),
        ("Sure.\n<think>a", "Sure.\n"),
        ("a\n</thought>\nb", "\nb"),
        ("a </think> b", None),
        ("'''\n</think>\n'''", None),
        ("```\n<think>\n```\n", None),
        ("<thinker>a</thinker>", None),
    ],
)
def test_reasoning_is_set_aside(text: str, rest: str | None) -> None:
    assert set_aside_reasoning(text, "python") == ((text, False) if rest is None else (rest, True))
