"""Size and complexity against radon, on 200 recorded replies; every difference has a cause that is tested here."""

import ast
import gzip
import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from analysis.code.form import measure_form
from analysis.code.program import parse_program
from command_line import ROOT

raw = pytest.importorskip("radon.raw", reason="radon is not installed")
visitors = pytest.importorskip("radon.visitors", reason="radon is not installed")


@pytest.fixture(scope="module")
def recorded() -> list[str]:
    """Return 200 distinct replies, spread evenly over the file, that radon can read."""
    path = ROOT.parent / "shared/data/recorded/prompt_variability/sample.jsonl.gz"
    if not path.is_file():
        pytest.skip("the folder ../shared/data, recorded by others, is not here")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    texts = list(dict.fromkeys(text for row in rows for replies in row["responses"].values() for text in replies))
    spread = texts[:: len(texts) // 210]
    return [text for text in spread if parses(text)][:200]


def parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(ast.parse(text).body)
        except (SyntaxError, ValueError):
            return False


def functions(visitor: Any) -> Iterator[Any]:
    """Yield each function, method and closure that radon has found."""
    stack = [*visitor.functions, *visitor.classes]
    while stack:
        one = stack.pop()
        if hasattr(one, "closures"):
            yield one
            stack += one.closures
        else:
            stack += [*one.methods, *one.inner_classes]


def read(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # radon's parser speaks of the replies' own escapes
        return visitors.ComplexityVisitor.from_code(text)


def comments_in_brackets(text: str) -> int:
    """Return how many lines of nothing but comment radon counts as code: those within a statement of many lines."""
    kinds = parse_program(text).lines
    inside: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno is not None:
            inside.update(range(node.lineno, node.end_lineno + 1))
    return sum(kind == "comment" and row + 1 in inside for row, kind in enumerate(kinds))


def class_in_function(text: str) -> bool:
    return any(
        isinstance(inner, ast.ClassDef)
        for outer in ast.walk(ast.parse(text))
        if isinstance(outer, ast.FunctionDef)
        for inner in ast.walk(outer)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_lines_are_those_of_radon(recorded: list[str]) -> None:
    assert len(recorded) == 200
    differ = 0
    for text in recorded:
        form, theirs = measure_form(text), raw.analyze(text)
        assert form.comment_lines == theirs.comments
        assert form.blank_lines == theirs.blank
        assert form.lines is not None
        # radon does not look within brackets, and counts a line of comment there as code.
        excess = comments_in_brackets(text)
        differ += excess > 0
        assert form.lines + excess == theirs.sloc
        comments = sum(kind == "comment" for kind in parse_program(text).lines) - excess
        # A docstring of one line is a comment to radon, one of several is `multi`.
        assert form.docstring_lines == theirs.multi + theirs.single_comments - comments
    assert differ <= 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_complexity_is_that_of_radon_function_by_function(recorded: list[str]) -> None:
    differ = 0
    for text in recorded:
        form, theirs = measure_form(text), read(text)
        ours = sorted((one.name, one.line, one.complexity) for one in form.by_function)
        if class_in_function(text):  # which radon does not enter
            differ += 1
            continue
        found = list(functions(theirs))
        assert ours == sorted((one.name, one.lineno, one.complexity) for one in found)
        # radon's total leaves out what functions within functions decide, and adds one for each method; ours is every
        # decision and one. So theirs is made here of the module's, the classes' and each function's own.
        decisions = sum(one.complexity - 1 for one in found)
        bodies = sum(
            one.real_complexity - 1 - sum(method.complexity for method in one.methods) for one in theirs.classes
        )
        assert form.complexity == theirs.complexity + bodies + decisions
    assert differ <= 1


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("match x:\n    case 1 if y:\n        pass\n    case _:\n        pass\n", 3, 2),  # a guard decides
        ("try:\n    pass\nexcept* ValueError:\n    pass\n", 2, 1),  # radon does not know groups of errors
        ("def f(a=1 if b else 2): pass\n", 2, 1),  # nor looks at defaults
    ],
)
def test_where_they_differ_it_is_known_why(text: str, ours: int, theirs: int) -> None:
    assert measure_form(text).complexity == ours
    assert read(text).total_complexity == theirs


def test_a_form_feed_is_no_end_of_a_line() -> None:
    text = "x = 1\n\x0cy = 2\n"
    assert measure_form(text).lines == 2
    assert raw.analyze(text).loc == 3
