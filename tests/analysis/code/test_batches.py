from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.code import distance
from analysis.code.distance import Costs, PairTooLargeError, edit_distance, edit_distances
from analysis.code.subtrees import number_subtrees
from analysis.code.trees import Tree, make_tree


@st.composite
def trees(draw: st.DrawFn, most: int = 40) -> Tree:
    count = draw(st.integers(1, most))
    labels = draw(st.lists(st.sampled_from("aab"), min_size=count, max_size=count))
    parents, path = [-1], [0]
    for node in range(1, count):
        del path[draw(st.integers(1, len(path))) :]
        parents.append(path[-1])
        path.append(node)
    return make_tree(labels, parents)


def tree(text: str) -> Tree:
    """A tree in brackets: ``f(a b(c))``."""
    labels: list[str] = []
    parents: list[int] = []
    path = [-1]
    for character in text.replace(" ", ""):
        if character == "(":
            path.append(len(labels) - 1)
        elif character == ")":
            path.pop()
        else:
            labels.append(character)
            parents.append(path[-1])
    return make_tree(labels, parents)


def mirror(one: Tree) -> Tree:
    """The tree with the children of every node in reverse."""
    parents: list[int] = []
    path: list[int] = []
    for node, depth in enumerate(one.depths.tolist()):
        del path[depth:]
        parents.append(path[-1] if path else -1)
        path.append(node)
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents[1:], 1):
        children[parent].append(node)
    order: list[int] = []
    waiting = [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(children[order[-1]])
    place = {node: at for at, node in enumerate(order)}
    return make_tree(
        [one.vocabulary[one.codes[node]] for node in order], [place.get(parents[node], -1) for node in order]
    )


costs = st.builds(Costs, *[st.sampled_from([0.3, 0.8, 1, 2])] * 3)


@given(st.lists(trees(), min_size=2, max_size=6), costs, st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_a_batch_gives_what_its_pairs_give_one_by_one(some: list[Tree], weights: Costs, workers: int) -> None:
    pairs = [(one, other) for one in range(len(some)) for other in range(len(some))]
    found = edit_distances(some, pairs, weights, workers=workers)
    assert found.tolist() == [edit_distance(some[one], some[other], weights) for one, other in pairs]


@given(trees(most=25), trees(most=25), costs)
@settings(max_examples=100, deadline=None)
def test_equals_apted_and_its_own_mirror_image(one: Tree, other: Tree, weights: Costs) -> None:
    found = edit_distance(one, other, weights)
    assert found == pytest.approx(edit_distance(mirror(one), mirror(other), weights), abs=1e-9)
    if weights.rename <= 3 * min(weights.delete, weights.insert):  # elsewhere the library is wrong
        assert found == pytest.approx(edit_distance(one, other, weights, backend="apted"), abs=1e-9)


@given(trees(most=12), trees(most=12), trees(most=8), trees(most=8))
@settings(max_examples=80, deadline=None)
def test_equal_first_and_last_children_change_nothing(one: Tree, other: Tree, first: Tree, last: Tree) -> None:
    def write(part: Tree) -> str:
        text, before = "", -1
        for code, depth in zip(part.codes.tolist(), part.depths.tolist(), strict=True):
            text += "(" if depth > before and before >= 0 else ")" * (before - depth)
            text += part.vocabulary[code]
            before = depth
        return text + ")" * before

    wrapped = [tree(f"r({write(first)}{write(middle)}{write(last)})") for middle in (one, other)]
    alone = [tree(f"r({write(middle)})") for middle in (one, other)]
    expected = edit_distance(alone[0], alone[1], backend="apted")
    assert edit_distance(wrapped[0], wrapped[1]) == expected
    assert edit_distance(alone[0], alone[1]) == expected


@given(st.lists(trees(most=15), min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_a_class_is_a_shape(some: list[Tree]) -> None:
    letters = {letter: code for code, letter in enumerate("ab")}
    starts = np.cumsum([0, *map(len, some)]).astype(np.uint32)
    codes = np.array([letters[t.vocabulary[code]] for t in some for code in t.codes.tolist()], dtype=np.uint32)
    sizes, depths = (np.concatenate([getattr(t, name) for t in some]) for name in ("sizes", "depths"))
    classes, labels = number_subtrees(codes, sizes, depths, starts, 1 << (2 * len(codes)).bit_length())
    shapes = [
        (tuple(codes[at : at + size].tolist()), tuple((depths[at : at + size] - depths[at]).tolist()))
        for at, size in enumerate(sizes.tolist())
    ]
    assert len(set(shapes)) == len(labels) == len(set(classes.tolist()))
    assert len(set(zip(shapes, classes.tolist(), strict=True))) == len(labels)
    assert labels[classes].tolist() == codes.tolist()


def test_memory_is_bounded_by_halving_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [tree("f(" + "a" * number + f"(b)c({'d' * number}))") for number in range(1, 12)]
    pairs = [(one, other) for one in range(11) for other in range(11)]
    expected = edit_distances(some, pairs)
    monkeypatch.setattr(distance, "_MEMO_CLASSES", 8)
    assert edit_distances(some, pairs).tolist() == expected.tolist()
    monkeypatch.setattr(distance, "_BATCH_PAIRS", 5)
    seen: list[tuple[int, int]] = []
    found = edit_distances(some, pairs, workers=2, progress=lambda done, all_: seen.append((done, all_)))
    assert found.tolist() == expected.tolist()
    assert seen[-1] == (66, 66)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) > 10


def test_one_batch_may_hold_what_is_cheap_from_either_side() -> None:
    def comb(count: int, *, left: bool) -> Tree:
        made = make_tree(["a"] * (2 * count + 1), [-1, *range(count), *reversed(range(count))])
        return made if left else mirror(made)

    some = [comb(count, left=left) for count in (200, 190) for left in (True, False)]
    assert edit_distances(some, [(0, 2), (1, 3)]).tolist() == [20, 20]


def test_what_is_too_large_is_not_a_number() -> None:
    chain = make_tree(["a"] * 20_000, list(range(-1, 19_999)))
    short = make_tree(["a"] * 10, list(range(-1, 9)))
    found = edit_distances([chain, short, chain], [(0, 1), (0, 2), (1, 0)])
    assert np.isnan(found).tolist() == [False, True, False]
    assert found[[0, 2]].tolist() == [19_990, 19_990]
    with pytest.raises(PairTooLargeError, match="20000 and 20000 nodes"):
        edit_distance(chain, make_tree(["b"] * 20_000, list(range(-1, 19_999))))


def test_no_pairs() -> None:
    assert edit_distances([], []).shape == (0,)
    assert edit_distances([tree("a")], []).shape == (0,)
