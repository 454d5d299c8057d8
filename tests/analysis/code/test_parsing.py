from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.code import describe_grammar, parse_tree, tsed
from analysis.code.parsing import _read_print, _read_words
from analysis.code.trees import NEWER_FIELDS, WRAPPERS
from simulator.errors import MissingError


def labels(text: str, **options: Any) -> list[str]:
    tree = parse_tree(text, **options)
    return [tree.vocabulary[code] for code in tree.codes.tolist()]


def test_a_grammar_says_its_version() -> None:
    assert re.fullmatch(r"tree-sitter-python \d+(\.\d+)+, ABI \d+", describe_grammar("python"))
    with pytest.raises(MissingError, match="klingon"):
        describe_grammar("klingon")


@pytest.mark.parametrize("language", ["javascript", "java"])
def test_other_languages(language: str) -> None:
    pytest.importorskip(f"tree_sitter_{language}", reason="the extra `languages` is not installed")
    one, other = (
        ("class A { int f(int a) { return a + 1; } }", "class A { int f(int a) { return a - 1; } }")
        if language == "java"
        else ("function f(a) { return a + 1 }", "function f(a) { return a - 1 }")
    )
    assert describe_grammar(language).startswith(f"tree-sitter-{language} ")
    assert tsed(one, one, language=language).score == 1
    found = tsed(one, other, language=language)
    assert (found.status, found.distance) == ("ok", 1)
    assert tsed(one, other, language=language, operators=False).score == 1


TRY = "try:\n    f()\nexcept E:\n    pass\n"


def test_published_does_not_read_fields_that_are_newer() -> None:
    newer, older = (labels(TRY, dialect="published", hidden=hidden) for hidden in (frozenset[str](), NEWER_FIELDS))
    assert newer.count("value:") == 1
    assert [("except_clause" if label == "value:" else label) for label in newer] == older


def test_hidden_nodes_leave_their_children() -> None:
    bare, wrapped = (labels("f(x)", dialect="published", hidden=hidden) for hidden in (WRAPPERS, frozenset[str]()))
    assert wrapped == ["module", "expression_statement", "arguments:", "identifier", "argument_list", "identifier"]
    assert bare == [label for label in wrapped if label != "expression_statement"]
    assert parse_tree("f(x)", dialect="published", hidden=WRAPPERS).length == 5
    assert parse_tree("f(x)", dialect="published", hidden=frozenset()).length == 6


@pytest.mark.parametrize("hidden", [frozenset[str](), WRAPPERS, NEWER_FIELDS, frozenset({"identifier"})])
@pytest.mark.parametrize("text", [TRY, "x = 1", "f(x); g(y)", "", "def f(a, *, b: int = 1) -> None: ...", "a b c d"])
def test_both_ways_of_reading_a_print_agree(text: str, hidden: frozenset[str]) -> None:
    from tree_sitter import Parser

    from simulator.syntax import load_grammar

    printed = str(Parser(load_grammar("python")).parse(text.encode()).root_node)
    assert "'" not in printed
    one, other = (read(printed, hidden, broken=False) for read in (_read_print, _read_words))
    assert (one.vocabulary, one.length) == (other.vocabulary, other.length)
    assert (one.codes.tolist(), one.depths.tolist()) == (other.codes.tolist(), other.depths.tolist())


def test_a_parenthesis_that_is_missing_ends_a_node() -> None:
    tree = _read_words('(module (call (MISSING ")") (identifier)))', frozenset(), broken=True)
    assert [tree.vocabulary[code] for code in tree.codes.tolist()] == ["module", '"', '"', "identifier"]
    assert tree.depths.tolist() == [0, 1, 2, 1]
    assert tree.length == 5
