"""Scores with their statuses, in both dialects, and what they are to be read against."""

import polars as pl
import pytest

from analysis.code import TSED_STATUSES, tsed
from reports.compare import compare_pairs
from reports.compare.floor import find_floor
from reports.compare.pairs import Pair
from reports.compare.scores import COMPARED, STATUS_MEANINGS, has_scores, order_pairs, tell_score

PROGRAM = "def f(a):\n    return a + 1\n"
OTHER = "def f(b):\n    return b - 1\n"


def pair(a: str | None, b: str | None, *, language: str = "python", **more: object) -> Pair:
    return Pair("id", "a.py", None if b is None else "b.py", a, b, language, **more)  # type: ignore[arg-type]


def test_scores_are_those_of_tsed_in_both_dialects() -> None:
    frame, warnings = compare_pairs([pair(PROGRAM, OTHER), pair(PROGRAM, PROGRAM)])
    assert frame.schema == COMPARED
    assert warnings == []
    expected = tsed(PROGRAM, OTHER)
    row = frame.row(0, named=True)
    assert row["tsed"] == expected.score
    assert (row["edits"], row["a_nodes"], row["b_nodes"]) == (1.0, expected.reference_nodes, expected.candidate_nodes)
    assert row["tsed_published"] == tsed(PROGRAM, OTHER, dialect="published").score == 1.0
    assert (row["a_lines"], row["same_text"]) == (2, False)
    assert frame.row(1, named=True)["same_text"] is True
    assert has_scores(frame)


def test_a_pair_without_a_score_keeps_its_row_and_says_why() -> None:
    pairs = [
        pair(None, PROGRAM, status="binary", note="a.py is binary"),
        pair(PROGRAM, None, status="no_partner"),
        pair("", PROGRAM),
        pair("def f(:\n", PROGRAM),
        pair("I am sorry, I cannot help with that request today.\n", PROGRAM),
        pair("class A {}", "class B {}", language="nolang"),
        pair("x = 1\n" * 60_000, PROGRAM),
        pair(PROGRAM, PROGRAM),
    ]
    frame, warnings = compare_pairs(pairs)
    assert frame["status"].to_list() == [
        "binary",
        "no_partner",
        "empty",
        "unparsable",
        "prose",
        "no_grammar",
        "too_large",
        "ok",
    ]
    assert frame["tsed"].is_not_null().to_list() == [False] * 7 + [True]
    assert frame["tsed_published"].is_not_null().to_list() == [False, False, True, True, True, False, False, True]
    assert len(warnings) == 1
    assert "tree-sitter-nolang is not installed" in warnings[0]
    assert not has_scores(frame)


def test_every_status_has_a_meaning() -> None:
    assert set(TSED_STATUSES) <= set(STATUS_MEANINGS)


def test_the_most_different_come_first_and_those_without_a_score_last() -> None:
    scores = [0.9, None, 0.1, 0.1, None]
    frame = pl.DataFrame({"tsed": scores, "tsed_published": [0.9, 0.5, 0.3, 0.2, None]})
    assert order_pairs(frame) == [3, 2, 0, 1, 4]


@pytest.mark.parametrize(
    ("a", "b", "typed", "published"),
    [
        (PROGRAM, PROGRAM, "the same text, of ", "the same text, of "),
        (PROGRAM, PROGRAM.replace("a", "b"), "the same tree, of ", "the same to this dialect, "),
        (PROGRAM, OTHER, "1 edit between trees of ", "the same to this dialect, "),
        (PROGRAM, OTHER + "x = 1\n", "4 edits between trees of ", "edits that cost "),
        ("", PROGRAM, "there is nothing but white space", "edits that cost "),
    ],
)
def test_a_score_is_told_in_words(a: str, b: str, typed: str, published: str) -> None:
    row = compare_pairs([pair(a, b)])[0].row(0, named=True)
    assert tell_score(row).startswith(typed)
    assert tell_score(row, "_published").startswith(published)


def test_the_floor_is_made_of_strangers_and_does_not_change() -> None:
    programs = [f"def f(a):\n    return a{''.join(f' + {n}' for n in range(count))}\n" for count in range(1, 8)]
    pairs = [pair(program, program) for program in programs]
    frame, _ = compare_pairs(pairs)
    floor = find_floor(pairs, frame)
    assert floor == find_floor(pairs, frame)
    assert floor is not None
    assert 0 < floor.tsed < 1
    assert 30 <= floor.strangers <= 42
    assert f"the floor is {floor.tsed:.3f}" in str(floor)
    assert find_floor(pairs[:4], frame[:4]) is None
    same = [pair(PROGRAM, program) for program in programs]
    assert find_floor(same, compare_pairs(same)[0]) is None
