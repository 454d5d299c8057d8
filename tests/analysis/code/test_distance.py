from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.code.distance import Costs, PairTooLargeError, edit_distance
from analysis.code.trees import Tree, make_tree

DATA = Path(__file__).parents[3].parent / "shared" / "data"
Nested = tuple[str, tuple["Nested", ...]]

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded data is not beside the project")


def read_brackets(text: str) -> Tree:
    labels: list[str] = []
    parents: list[int] = []
    path: list[int] = []
    for character in text:
        if character == "{":
            parents.append(path[-1] if path else -1)
            labels.append("")
            path.append(len(labels) - 1)
        elif character == "}":
            path.pop()
        else:
            labels[path[-1]] += character
    return make_tree(labels, parents)


def by_definition(a: Nested, b: Nested, costs: Costs) -> float:
    """The distance between forests of (label, children) tuples, from the recursive definition."""

    def size(forest: tuple[Nested, ...]) -> int:
        return sum(1 + size(tree[1]) for tree in forest)

    @cache
    def distance(one: tuple[Nested, ...], two: tuple[Nested, ...]) -> float:
        if not one or not two:
            return costs.delete * size(one) + costs.insert * size(two)
        (label_one, children_one), (label_two, children_two) = one[-1], two[-1]
        return min(
            distance(one[:-1] + children_one, two) + costs.delete,
            distance(one, two[:-1] + children_two) + costs.insert,
            distance(children_one, children_two)
            + distance(one[:-1], two[:-1])
            + (0 if label_one == label_two else costs.rename),
        )

    return distance((a,), (b,))


def nested(tree: Tree) -> Nested:
    nodes: list[tuple[str, list[Any]]] = [(tree.vocabulary[code], []) for code in tree.codes.tolist()]
    path: list[tuple[str, list[Any]]] = []
    for node, depth in zip(nodes, tree.depths.tolist(), strict=True):
        del path[depth:]
        if path:
            path[-1][1].append(node)
        path.append(node)

    def freeze(node: tuple[str, list[Any]]) -> Nested:
        return node[0], tuple(freeze(child) for child in node[1])

    return freeze(nodes[0])


@st.composite
def trees(draw: st.DrawFn, most: int = 10) -> Tree:
    count = draw(st.integers(1, most))
    labels = draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count))
    parents, path = [-1], [0]
    for node in range(1, count):
        del path[draw(st.integers(1, len(path))) :]
        parents.append(path[-1])
        path.append(node)
    return make_tree(labels, parents)


costs = st.builds(Costs, *[st.sampled_from([0, 0.3, 0.8, 1, 2, 5])] * 3)


@needs_data
def test_unit_cost_cases() -> None:
    cases = json.loads((DATA / "reference_values" / "apted_unit_cost_cases.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 77
    for case in cases:
        assert edit_distance(read_brackets(case["t1"]), read_brackets(case["t2"])) == case["d"], case["testID"]


@given(trees(), trees(), costs)
@settings(max_examples=200, deadline=None)
def test_equals_apted_and_the_recursive_definition(a: Tree, b: Tree, weights: Costs) -> None:
    distance = edit_distance(a, b, weights)
    assert distance == pytest.approx(by_definition(nested(a), nested(b), weights), abs=1e-9)
    # The library gives less than the definition where renaming costs more than three deletions or insertions: between a
    # node and a larger tree it lets deleting that tree twice compete.
    if 0 not in weights and weights.rename <= 3 * min(weights.delete, weights.insert):
        assert distance == pytest.approx(edit_distance(a, b, weights, backend="apted"), abs=1e-9)


@given(trees(), trees(), trees())
@settings(max_examples=200, deadline=None)
def test_unit_costs_make_a_metric(a: Tree, b: Tree, c: Tree) -> None:
    assert edit_distance(a, a) == 0
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (nested(a) == nested(b))
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)


@given(trees(most=25), trees(most=25))
@settings(max_examples=60, deadline=None)
def test_bounds(a: Tree, b: Tree) -> None:
    distance = edit_distance(a, b)
    assert abs(len(a) - len(b)) <= distance <= len(a) + len(b) - (a.vocabulary[0] == b.vocabulary[0]) * 2 + 1


def chain(count: int) -> Tree:
    return make_tree(["a"] * count, list(range(-1, count - 1)))


def left_comb(count: int) -> Tree:
    return make_tree(["a"] * (2 * count + 1), [-1, *range(count), *reversed(range(count))])


def right_comb(count: int) -> Tree:
    return make_tree(["a"] * (2 * count + 1), [-1, *(2 * (node // 2) for node in range(2 * count))])


def graft(label: str, *branches: Tree) -> Tree:
    labels, parents = [label], [-1]
    for branch in branches:
        path: list[int] = []
        for code, depth in zip(branch.codes.tolist(), branch.depths.tolist(), strict=True):
            del path[depth:]
            parents.append(path[-1] if path else 0)
            path.append(len(labels))
            labels.append(branch.vocabulary[code])
    return make_tree(labels, parents)


def test_depth_is_no_limit() -> None:
    assert edit_distance(chain(4000), chain(3990)) == 10
    for comb in (left_comb, right_comb):  # each is cheap from one side alone
        assert edit_distance(comb(2000), comb(1999)) == 2


def test_degenerate_pairs_are_refused_rather_than_waited_for() -> None:
    with pytest.raises(PairTooLargeError, match="cells"):
        edit_distance(graft("x", left_comb(400), right_comb(400)), graft("y", left_comb(400), right_comb(400)))


def test_apted_is_not_asked_the_impossible() -> None:
    with pytest.raises(PairTooLargeError, match="apted"):
        edit_distance(chain(300), chain(300), backend="apted")


def test_many_digits_stay_exact() -> None:
    weights = Costs(0.123457, 999999.999999, 0.5)
    a, b = chain(3), make_tree(["b"] * 5, [-1, 0, 0, 0, 0])
    assert edit_distance(a, b, weights) == pytest.approx(by_definition(nested(a), nested(b), weights), rel=1e-12)
