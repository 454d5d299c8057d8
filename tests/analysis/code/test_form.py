"""The size and form of programs, and of everything that is none."""

import difflib
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.code.characters import MAX_COMPARED, common_subsequence, similarity
from analysis.code.form import FORM_SCHEMA, Form, measure_codes, measure_form
from analysis.code.program import MAX_CHARACTERS, parse_program
from command_line import ROOT
from simulator.engine import Engine, map_batches, read_parts
from simulator.errors import UsageError

PROGRAM = '''\
"""What it is.

In more words.
"""
import os, os.path
from math import sqrt as root
from . import other

# first
def f(a, b=1):  # second
    """Do it."""
    text = """one

    # not a comment
    """
    if a and b or not a:
        return [x for x in a if x]
    elif b:
        assert a
    return text


class A:
    x = 1 if root(4) else 2

    async def g(self):
        for i in ():
            pass
        else:
            pass
        while True:
            break
        try:
            return lambda: 1 or 2
        except (KeyError, ValueError):
            raise
'''


def test_each_line_is_of_one_kind_and_each_decision_is_counted() -> None:
    form = measure_form(PROGRAM)
    assert form == Form(
        "ok",
        lines=25,
        comment_lines=2,
        blank_lines=6,
        docstring_lines=4,
        # if, and, or, for, if, elif, assert; if; for, else, while, or, except
        complexity=14,
        functions=2,
        classes=1,
        imports=4,
        by_function=form.by_function,
    )
    assert [(one.name, one.line, one.complexity) for one in form.by_function] == [("f", 10, 8), ("g", 26, 6)]
    only_comment = 1
    assert PROGRAM.count("\n") == 25 + 6 + 4 + only_comment


@pytest.mark.parametrize(
    ("text", "complexity"),
    [
        ("x = 1", 1),
        ("match x:\n    case 1:\n        pass\n    case a:\n        pass\n", 2),
        ("match x:\n    case None:\n        pass\n    case _ if y:\n        pass\n", 3),
        ("match x:\n    case 1 | 2 if y:\n        pass\n    case _:\n        pass\n", 3),
        ("try:\n    f()\nexcept A:\n    pass\nelse:\n    pass\nfinally:\n    pass\n", 3),
        ("x = a if b else c if d else e", 3),
        ("x = {a: b for a in c for b in d if a if b}", 5),
        ("with a as b, c as d:\n    pass\n", 1),
        ("print 'a' and 'b'\nexec 'c'\nraise E, 'x'\n", 2),  # Python 2
    ],
)
def test_decisions(text: str, complexity: int) -> None:
    assert measure_form(text).complexity == complexity


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        (" \n\t\x0c\n", "empty"),
        ("I'm sorry, but I cannot help with that.", "prose"),
        ("def f(:\n    return 1 +\n", "unparsable"),
        ("\0\0\0", "prose"),
        ("x = 1\n" * MAX_CHARACTERS, "too_large"),
    ],
)
def test_what_is_no_program_has_a_status_and_no_count(text: str, status: str) -> None:
    form = measure_form(text)
    assert form.status == status
    assert form.complexity is form.functions is form.imports is None
    assert (form.lines is None) == (status != "unparsable")


def test_python_2_tabs_form_feeds_and_any_newline_are_counted() -> None:
    assert measure_form("try:\n\tprint 'a'\nexcept A, e:\n\tprint e\n").status == "ok"
    form = measure_form("\x0cdef f():\r\n\tif a:\r\n\t\treturn 1\r\x0c\r\n")
    assert (form.status, form.lines, form.blank_lines, form.functions, form.complexity) == ("ok", 3, 1, 1, 2)
    assert measure_form("x = 'a\ud800'\n").lines == 1


def test_ten_thousand_functions_and_any_depth_take_no_recursion() -> None:
    form = measure_form("def f():0\n" * 10_000)
    assert (form.functions, form.lines, len(form.by_function), form.complexity) == (10_000, 10_000, 10_000, 1)
    deep = measure_form("x = " + "(" * 5_000 + "a or b" + ")" * 5_000)
    assert (deep.status, deep.complexity) == ("ok", 2)
    nested = "".join("  " * depth + "def f():\n" for depth in range(90)) + "  " * 90 + "a or b"
    assert [one.complexity for one in measure_form(nested).by_function] == [1] * 89 + [2]


def test_without_a_grammar_there_is_a_status_and_the_language_is_not_guessed() -> None:
    assert measure_form("fn main() {}", language="klingon") == Form("no_grammar")


def test_a_text_that_ends_in_a_comment_or_string_without_newline() -> None:
    assert parse_program("x = 1 # a").lines == ("code",)
    assert parse_program("x = 1\n'''a\n\nb'''").lines == ("code", "docstring", "blank", "docstring")
    assert parse_program("'''a\nb'''; x = 1").lines == ("docstring", "code")
    assert parse_program("x = 1; '''a\nb'''  # c").lines == ("code", "docstring")


@given(st.text(alphabet=" \n\t#'\"\\():,ab=\x0c", max_size=80))
@settings(max_examples=300, deadline=None)
def test_every_line_of_any_text_is_counted_once(text: str) -> None:
    form = measure_form(text)
    if form.status in ("ok", "unparsable"):
        kinds = parse_program(text).lines
        assert len(kinds) == text.removesuffix("\n").count("\n") + 1
        assert form.lines == kinds.count("code")
        assert form.blank_lines == kinds.count("blank")
        assert form.comment_lines is not None
        assert kinds.count("comment") <= form.comment_lines <= len(kinds)


def longest(a: str, b: str) -> int:
    """Return the length of a longest common subsequence, by the table that everybody knows."""
    row = [0] * (len(b) + 1)
    for one in a:
        before = 0
        for place, other in enumerate(b, 1):
            before, row[place] = row[place], before + 1 if one == other else max(row[place], row[place - 1])
    return row[-1]


@given(st.text("ab \nč", max_size=24), st.text("ab \nč", max_size=24))
@settings(deadline=None)
def test_similarity_is_by_the_longest_common_subsequence(a: str, b: str) -> None:
    assert common_subsequence(a, b) == longest(a, b)
    score = similarity(a, b)
    assert score == similarity(b, a)
    assert score is not None
    assert 0 <= score <= 1
    assert (score == 1) == (a == b)
    assert score >= difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() - 1e-12


def test_texts_too_long_to_compare_have_no_similarity() -> None:
    assert similarity("a" * (MAX_COMPARED + 1), "a") is None


def test_codes_become_columns_of_the_outcomes_table() -> None:
    codes = pl.DataFrame(
        {
            "code": ["a", "b", "c", "d"],
            "text": ["import os\nx = 1\n", None, "I cannot do that.", "x = f("],
            "language": ["python", "python", None, None],
            "reference": [["y = 1", "x = 1"], ["x = 1"], ["x = 1"], None],
        }
    )
    frame = measure_codes(codes)
    assert frame.schema == FORM_SCHEMA
    assert frame["form_status"].to_list() == ["ok", "empty", "prose", "unparsable"]
    assert frame["lines"].to_list() == [2.0, None, None, 1.0]
    assert frame["imports"].to_list() == [1.0, None, None, None]
    assert frame["reference_similarity"].to_list()[:2] == [2 * 5 / (16 + 5), None]
    assert measure_codes(codes.clear()).schema == FORM_SCHEMA
    with pytest.raises(UsageError, match="text is not there"):
        measure_codes(codes.select("code"))


def test_it_runs_in_the_engine(tmp_path: Path) -> None:
    batches = [pl.DataFrame({"code": [f"{n}"], "text": [f"x = {n}\n" * n]}) for n in range(1, 4)]
    parts = map_batches(measure_codes, batches, tmp_path / "form", engine=Engine(workers=2))
    assert pl.concat(list(read_parts(parts)))["lines"].to_list() == [1.0, 2.0, 3.0]


@pytest.mark.slow
def test_the_seed_of_hashes_changes_nothing() -> None:
    program = "import sys; from analysis.code.form import *; print(measure_form(sys.stdin.read()))"
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=PROGRAM,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1
