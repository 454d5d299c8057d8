from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.code import TSED_STATUSES, Dialect, parse_tree, tsed, tsed_pairs
from analysis.code.trees import MAX_CHARACTERS, MAX_NODES, WRAPPERS
from simulator.errors import MissingError, UsageError

DATA = Path(__file__).parents[3].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded data is not beside the project")

PROGRAM = "def f(a, b):\n    c = a + b\n    return c\n"


@lru_cache(maxsize=1)
def reference_pairs() -> list[dict[str, Any]]:
    text = (DATA / "reference_values" / "tsed_codebleu_pairs.json").read_text(encoding="utf-8")
    pairs: list[dict[str, Any]] = json.loads(text)["pairs"]
    return pairs


@needs_data
@pytest.mark.parametrize(("weights", "key"), [((1, 0.8, 1), "1_08_1"), ((1, 1, 1), "1_1_1")])
def test_published_equals_the_published_program(weights: tuple[float, float, float], key: str) -> None:
    # the values were made with a grammar that does not wrap expression statements
    pairs = reference_pairs()
    results = tsed_pairs([(p["ref"], p["hyp"]) for p in pairs], dialect="published", weights=weights, hidden=WRAPPERS)
    assert len(results) == 120
    for pair, result in zip(pairs, results, strict=True):
        assert result.score == pytest.approx(pair[f"upstream_tsed_{key}"], abs=1e-9), pair["id"]


@needs_data
@pytest.mark.parametrize(("weights", "key"), [((1, 0.8, 1), "1_08_1"), ((1, 1, 1), "1_1_1")])
def test_typed_without_operators_equals_the_clean_values(weights: tuple[float, float, float], key: str) -> None:
    unparsable = 0
    for pair in reference_pairs():
        result = tsed(pair["ref"], pair["hyp"], weights=weights, operators=False)
        if result.status == "unparsable":  # two statements on one line: what the parser finds missing is a node there
            unparsable += 1
            continue
        assert [result.reference_nodes, result.candidate_nodes] == pair["nodes"]
        assert result.distance == pytest.approx(pair[f"clean_distance_{key}"], abs=1e-9)
        assert result.score == pytest.approx(pair[f"clean_tsed_{key}"], abs=1e-9)
    assert unparsable == 7


def score(a: str, b: str, dialect: Dialect = "typed", **options: Any) -> float:
    result = tsed(a, b, dialect=dialect, **options)
    assert result.status == "ok"
    assert result.score is not None
    return result.score


def test_typed_sees_operators_and_published_does_not() -> None:
    assert score("x = a + b", "x = a - b") == pytest.approx(5 / 6)
    assert score("x = a + b", "x = a - b", operators=False) == 1
    assert score("x = a + b", "x = a - b", dialect="published") == 1
    assert score("x = a < b <= c", "x = a < b < c") < 1
    assert score("x = 1", "y = 2") == 1
    assert score("x = 1", "y = 2", leaf_text=True) == 0.5


def test_published_is_asymmetric_and_labels_by_the_last_field() -> None:
    short, long = "x = 1", "x = 1\ny = 2\nz = 3"
    assert score(short, long, "published") > score(long, short, dialect="published")
    assert "right:" in parse_tree("x = 1", dialect="published", hidden=frozenset()).vocabulary


def test_a_score_is_never_negative() -> None:
    assert tsed("x", "def f():\n    return [a, b, c]", weights=(10, 10, 10)).score is None  # a lone word is no program
    assert score("x = 1", PROGRAM, weights=(10, 10, 10)) == 0


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        (" \n\t\n", "empty"),
        ("I'm sorry, I can't help with that.", "prose"),
        ("Hello, world", "prose"),
        ("def f(:\n    return (", "unparsable"),
        ("x = 1\0", "unparsable"),
        ("x = '\ud83d'", "ok"),
        ("x = 'é𝔘'", "ok"),
        ("x = 1\n" * (MAX_NODES // 2), "too_large"),
        ("# a comment\n" * (MAX_CHARACTERS // 10), "too_large"),
        ("x = " + "(" * 100_000 + "1" + ")" * 100_000, "too_large"),
        ("x = " + "+".join(["1"] * 100_000), "too_large"),
        ("x = " + "(" * 1000 + "1" + ")" * 1000, "ok"),
        ("x = 1\n" * 170_000, "too_large"),
        ("".join(map(chr, range(256))) * 8, "unparsable"),
    ],
    ids=range(15),
)
def test_every_text_has_a_status(text: str, status: str) -> None:
    for result in (tsed(PROGRAM, text), tsed(text, PROGRAM)):
        assert result.status == status
        assert (result.score is None) == (status != "ok")


def test_of_two_statuses_the_first_is_told() -> None:
    assert tsed("", "I'm sorry, I can't help.").status == "empty"
    assert tsed("def f(:", "I'm sorry, I can't help.").status == "prose"


def test_published_scores_prose_and_broken_code() -> None:
    assert 0 < score("I'm sorry, I can't help with that.", "I am sorry, but I cannot.", "published") <= 1
    assert score("", "", dialect="published") == 1
    assert tsed("x = ((1", "f(1, 2", dialect="published").status == "ok"
    assert tsed("x = " + "(" * 5000 + "1" + ")" * 5000, "x = 1", dialect="published").status == "too_large"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0" * 9,
        "\ud83d = 1",
        "x" * 1_000_000,
        "x = 1\n" * 170_000,
        "(" * 100_000,
        "x = " + "+".join("1" * 100_000),
        "\n".join(" " * depth + "if x:" for depth in range(500)),
        "'" * 999,
        ")" * 9_999,
        "".join(map(chr, range(256))) * 8,
    ],
    ids=range(11),
)
def test_published_gives_any_text_a_value_or_a_status(text: str) -> None:
    for result in tsed_pairs([(text, PROGRAM), (PROGRAM, text), (text, text)], dialect="published"):
        assert result.status in {"ok", "too_large"}
        assert (result.score is None) == (result.status != "ok")


def test_backends_agree() -> None:
    other = "def g(a):\n    for x in a:\n        print(x + 1)\n    return None"
    for dialect in ("typed", "published"):
        fast, slow = (tsed(PROGRAM, other, dialect=dialect, backend=backend) for backend in ("numba", "apted"))
        assert fast.score == pytest.approx(slow.score, abs=1e-12)
        assert fast.distance == pytest.approx(slow.distance, abs=1e-9)


def test_unknown_words_are_refused() -> None:
    with pytest.raises(UsageError, match="typed and published"):
        tsed("a", "b", dialect="other")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="numba and apted"):
        tsed("a", "b", backend="other")  # type: ignore[arg-type]
    with pytest.raises(MissingError, match="klingon"):
        tsed("a = 1", "b = 1", language="klingon")


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), 0.1234567, 1e9])
def test_impossible_weights_are_refused(weight: float) -> None:
    with pytest.raises(UsageError, match=r"cost to delete|cost to rename"):
        tsed("a = 1", "b = 1 + 1", weights=(weight, 1, 1))


def test_pairs_keep_their_order() -> None:
    pairs = [(PROGRAM, PROGRAM), ("", PROGRAM), ("x = 1", PROGRAM), (PROGRAM, PROGRAM)]
    results = tsed_pairs(iter(pairs))
    assert [result.status for result in results] == ["ok", "empty", "ok", "ok"]
    assert results[0] == results[3]
    assert tsed_pairs([]) == []


code = st.lists(
    st.sampled_from(
        ["x = a + b", "def f(a):\n    return a", "for i in x:\n    print(i)", "if a and b:\n    pass", "(((", "'", "é"]
    ),
    min_size=1,
    max_size=6,
).map("\n".join)


@given(code, code)
@settings(max_examples=60, deadline=None)
def test_typed_is_symmetric_and_bounded(one: str, two: str) -> None:
    there, back = tsed(one, two), tsed(two, one)
    assert (there.score, there.status, there.distance) == (back.score, back.status, back.distance)
    assert there.score is None or 0 <= there.score <= 1
    assert tsed(one, one).score in {1.0, None}


@given(st.text(st.characters(codec=None), max_size=60), st.sampled_from(["typed", "published"]))
@settings(max_examples=150, deadline=None)
def test_any_text_has_a_value_or_a_status(text: str, dialect: Dialect) -> None:
    result = tsed(text, PROGRAM, dialect=dialect)
    assert result.status in TSED_STATUSES
    assert (result.score is None) == (result.status != "ok")


def test_a_tree_is_what_it_says() -> None:
    tree = parse_tree("x = a + b")
    assert tree.vocabulary == (
        "module",
        "assignment",
        "identifier",
        "binary_operator +",
    )  # in order of first occurrence
    assert tree.codes.tolist() == [0, 1, 2, 3, 2, 2]
    assert tree.sizes.tolist() == [6, 5, 1, 3, 1, 1]
    assert tree.depths.tolist() == [0, 1, 2, 2, 3, 3]
