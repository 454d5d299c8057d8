"""The parts of CodeBLEU one by one: n-grams, comments, data flow, subtrees."""

import json
from pathlib import Path

import pytest

from analysis.code.comments import CommentRule, strip_comments
from analysis.code.dataflow import DataFlowError, _Walk, list_flows
from analysis.code.ngrams import Numbers, Smoothing, bleu, brevity_penalty, count_ngrams
from analysis.code.shapes import list_printed_shapes, list_shapes
from analysis.code.syntax_tree import parse_syntax


def score(references: list[str], candidate: str, smoothing: Smoothing = "epsilon", *, effective: bool = True) -> float:
    known = [Numbers() for _ in range(4)]
    ours, *others = [count_ngrams(text.split(), known) for text in (candidate, *references)]
    matches = [len(bag & set().union(*those)) for bag, *those in zip(ours, *others, strict=True)]
    length = len(candidate.split())
    penalty = brevity_penalty(length, [len(text.split()) for text in references])
    return bleu(matches, [max(length - n, 0) for n in range(4)], penalty, smoothing=smoothing, effective=effective)


# sacrebleu 2.6 (tokenize="none", effective_order=True, sentence_score / 100) on the same tokens, with its smoothings
# none, floor (.1), add-k (1) and exp. Its add-k counts an order that the candidate is too short for; ours does not.
SACREBLEU: list[tuple[str, list[str], tuple[float, float, float, float]]] = [
    (
        "def f ( x ) : return x + 1",
        ["def g ( x ) : return x + 2"],
        (0.660632863603, 0.660632863603, 0.695015029722, 0.660632863603),
    ),
    (
        "return a , b , c",
        ["return a , b", "return b , c , a"],
        (0.707106781187, 0.707106781187, 0.795270728767, 0.707106781187),
    ),
    ("a b c d e", ["a b c d e f g h"], (0.548811636094, 0.548811636094, 0.548811636094, 0.548811636094)),
    ("the the the the", ["the cat is the"], (0.0, 0.09554427922, 0.379917842826, 0.189958921413)),
    ("a a b b a a", ["a b a b a b", "b b a a"], (0.57735026919, 0.57735026919, 0.675600077404, 0.57735026919)),
    ("f ( x ) ; f ( y ) ; f ( z )", ["f ( x )"], (0.177783511783, 0.177783511783, 0.236713289589, 0.177783511783)),
    ("q r s t", ["a b c d"], (0.0, 0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize(("candidate", "references", "expected"), SACREBLEU)
def test_bleu_equals_sacrebleu(candidate: str, references: list[str], expected: tuple[float, ...]) -> None:
    smoothings: tuple[Smoothing, ...] = ("none", "epsilon", "add_one", "exponential")
    found = [score(references, candidate, smoothing) for smoothing in smoothings]
    assert found == pytest.approx(list(expected), abs=1e-9)


# nltk 3.10, sentence_bleu with SmoothingFunction().method1
NLTK: list[tuple[str, list[str], float]] = [
    ("def f ( x ) : return x + 1", ["def g ( x ) : return x + 2"], 0.660632863603),
    ("return a , b , c", ["return a , b", "return b , c , a"], 0.707106781187),
    ("a b c d e", ["a b c d e f g h"], 0.548811636094),
    ("the the the the", ["the cat is the"], 0.09554427922),
    ("x = y", ["x = y ; z = w"], 0.148231563964),
    ("a a b b a a", ["a b a b a b", "b b a a"], 0.57735026919),
    ("f ( x ) ; f ( y ) ; f ( z )", ["f ( x )"], 0.177783511783),
    ("q r s t", ["a b c d"], 0.0),
]


@pytest.mark.parametrize(("candidate", "references", "expected"), NLTK)
def test_bleu_equals_nltk(candidate: str, references: list[str], expected: float) -> None:
    assert score(references, candidate, effective=False) == pytest.approx(expected, abs=1e-9)


def test_bleu_equals_recorded_vectors(shared_data: Path) -> None:
    text = (shared_data / "reference_values" / "sacrebleu_vectors.json").read_text(encoding="utf-8")
    vectors = json.loads(text)
    for case in vectors["effective_order_floor_0_01"]:
        for candidate, references in zip(case["hypotheses"], case["references"], strict=True):
            if case["score01"] in {1.0} or len(candidate.split()) < 2:  # the others smooth by .01
                assert score(references, candidate) == pytest.approx(case["score01"])
    sentence = vectors["sentence_bleu"]
    names: dict[str, Smoothing] = {"exp": "exponential", "none": "none"}
    cases = [case for case in sentence["cases"] if case["tokenize"] == "none" and case["smooth_method"] in names]
    assert cases
    for case in cases:
        if not case["lowercase"]:
            found = score([sentence["REF"]], sentence["SYS"], names[case["smooth_method"]])
            assert found * 100 == pytest.approx(case["score"], abs=sentence["abs_tol"])


@pytest.mark.parametrize(
    ("rule", "text", "left"),
    [
        ("python", "x = 1  # one\n\n\ny = '#'\n", "x = 1  \ny = '#'"),
        ("python", "def f():\n    '''Why.'''\n    return 'a'\n", "def f():\n    return 'a'"),
        ("python", "'a' 'b'\nx = 'c'\n", " 'b'\nx = 'c'"),
        ("python", "x = (1\n# one", "x = (1\n# one"),
        ("java", "x = 1 // 2\ny = '// no'\n/* z */ w\n", "x = 1  \ny = '// no'\n  w"),
        ("java", "# can't\nx = 7 // 2\n", "# can't\nx = 7  "),
        ("java", "a /* b", "a /* b"),
        ("none", " # x\n", " # x\n"),
    ],
)
def test_comments(rule: CommentRule, text: str, left: str) -> None:
    assert strip_comments(text, rule) == left


@pytest.mark.parametrize("text", ["/* " * 50_000, "'\\'" + "\\'" * 70_000, "'''\n" + "a\n" * 70_000])
@pytest.mark.parametrize("rule", ["python", "java"])
def test_comments_of_hostile_texts_end(rule: CommentRule, text: str) -> None:
    assert strip_comments(text, rule)


def flows(text: str, *, published: bool = False) -> list[tuple[int, bool, tuple[int, ...]]]:
    return list_flows(parse_syntax(text, "python"), published=published)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # x from 1, and 1 itself; x from x and 2, the x on the right from the first one, and 2
        ("x = 1\nx = x + 2\n", [(1, True, (0,)), (0, False, ()), (1, True, (1, 2)), (1, False, (1,)), (2, False, ())]),
        # parts of two lists go together
        ("a, b = c, d\n", [(1, True, (0,)), (3, True, (2,)), (0, False, ()), (2, False, ())]),
        # a value goes round the loop: in the second pass the b on the right is the one from the end of the first
        ("while True:\n    a = b\n    b = a\n", [(1, True, (0,)), (0, False, (0,)), (0, True, (1,)), (1, False, (1,))]),
    ],
)
def test_data_flow_by_hand(text: str, expected: list[object], published: bool) -> None:
    assert flows(text, published=published) == expected


def test_a_value_comes_from_every_branch() -> None:
    def sources(text: str) -> int:
        walk = _Walk(parse_syntax(text, "python"), published=False)
        walk.run()
        return len(walk.items[max(walk.items)].places)

    assert sources("a = 1\nif c:\n    a = 2\nelse:\n    a = 3\nb = a") == 2
    assert sources("a = 1\nif c:\n    a = 2\nelif d:\n    a = 3\nb = a") == 3
    assert sources("a = 1\nif c:\n    a = 2\nelse:\n    pass\nb = a") == 2
    assert sources("a = 1\nif c:\n    b = 2\nb = a") == 1


def test_data_flow_keeps_functions_apart() -> None:
    one, two = "def f(x):\n    return x\n", "def g(x):\n    return x\n"
    assert len(flows(one + two)) == 2 * len(flows(one))
    assert len(flows(one + two, published=True)) == 2 * len(flows(one, published=True))
    assert flows(two) == flows(one)
    together = flows(one + two, published=True)
    assert together[2] != flows(two, published=True)[0]  # the second x comes from the first


def test_data_flow_of_a_loop_with_else() -> None:
    text = "for a in b:\n    c = a\nelse:\n    d = a\n"
    assert len(flows(text)) > len(flows(text, published=True))


def test_data_flow_of_what_is_unpacked() -> None:
    whole = [(2, True, (0, 1)), (3, True, (0, 1)), (0, False, ()), (1, False, ())]
    assert flows("a, b = c(d)\n") == whole  # both come from all of it
    assert flows("a, b = c(d)\n", published=True) == flows("a, b = c, d\n")


def test_data_flow_sees_names_in_f_strings() -> None:
    assert len(flows("a = 1\nprint(f'{a}')\n")) == 3
    assert len(flows("a = 1\nprint(f'{a}')\n", published=True)) == 2


def test_data_flow_of_deep_and_wide_programs_ends() -> None:
    loops = "".join(" " * n + f"while x{n}:\n" for n in range(60)) + " " * 60 + "x0 = x1 + x59\n"
    assert len(flows(loops)) == len(flows(loops, published=True)) == 63
    wide = "".join(f"if c: x = {n}\n" for n in range(8_000)) + "y = x\n"
    with pytest.raises(DataFlowError):
        flows(wide)


def test_published_data_flow_breaks_off_at_a_string_for_an_attribute() -> None:
    assert flows("self.a = 'b'\n")
    with pytest.raises(DataFlowError):
        flows("self.a = 'b'\n", published=True)


def test_shapes() -> None:
    known, printed = Numbers(), Numbers()
    texts = ["x = a + b", "y = c + d", "y = c - d", "x = f(a)"]
    found = [list_shapes(parse_syntax(text, "python"), known) for text in texts]
    assert found[0] == found[1]
    assert set(found[0]).isdisjoint(found[2])
    assert set(found[0]).isdisjoint(found[3])
    shown = [list_printed_shapes(parse_syntax(text, "python"), printed) for text in texts]
    assert shown[0] == shown[1] == shown[2] != shown[3]


def test_printed_shapes_are_equal_where_prints_are() -> None:
    from tree_sitter import Parser

    from simulator.syntax import load_grammar

    text = "def f(a, *b, c=1):\n    for x in a:\n        if x:\n            y = [x + 1 for x in b if x]\n"
    text += "    return y[0], f(x=y)\n"
    root = Parser(load_grammar("python")).parse((text * 2).encode()).root_node
    prints, waiting = list[str](), [root]
    while waiting:
        node = waiting.pop()
        prints.append(str(node))
        waiting += [child for child in node.children if child.children]
    shapes = list_printed_shapes(parse_syntax(text * 2, "python"), Numbers())
    assert len(shapes) == len(prints)
    assert len(set(shapes)) == len(set(prints))
