"""CodeBLEU in the modes of the published programs, against the values that they gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.code.codebleu import CodeBleuResult, codebleu, codebleu_pairs, token_bleu

PARTS = {
    "score": "codebleu",
    "ngram": "ngram_match_score",
    "weighted_ngram": "weighted_ngram_match_score",
    "syntax": "syntax_match_score",
    "dataflow": "dataflow_match_score",
}

HASH_SEED = {
    # What codebleu 0.7.0 gives these pairs depends on PYTHONHASHSEED: a value that comes from several names has them in
    # the order of a set, and the order numbers the names. Found by running it under the seeds 0 to 9. Here the order is
    # that of the text, which for eight of them is not that of the recorded run.
    "HumanEval/0#codegen16B[97]~[17]": True,
    "HumanEval/103#codegen16B[38]~ref": True,
    "HumanEval/14#codegen16B[75]~[90]": False,
    "HumanEval/18#codegen16B[92]~ref": False,
    "HumanEval/43#codegen16B[23]~[6]": False,
    "HumanEval/67#codegen16B[46]~ref": True,
    "HumanEval/85#codegen16B[37]~ref": False,
    "HumanEval/96#codegen16B[25]~ref": False,
    "HumanEval/96#codegen16B[25]~[59]": False,
    "HumanEval/0#gpt4~starcoder": True,
    "HumanEval/40#gpt4~starcoder": True,
    "HumanEval/80#gpt4~starcoder": True,
    "HumanEval/96#gpt4~starcoder": False,
    "HumanEval/156#starcoder~canonical": True,
    "HumanEval/156#gpt4~starcoder": False,
}
"""Whether the recorded value is the one in the order of the text."""


@pytest.fixture
def recorded(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "reference_values" / "tsed_codebleu_pairs.json").read_text(encoding="utf-8")
    pairs: list[dict[str, Any]] = json.loads(text)["pairs"]
    return pairs


@pytest.fixture
def vectors(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "reference_values" / "codebleu_vectors.json").read_text(encoding="utf-8")
    cases: list[dict[str, Any]] = json.loads(text)["cases"]
    return cases


def differing(result: CodeBleuResult, expected: dict[str, float]) -> set[str]:
    return {part for part, name in PARTS.items() if getattr(result, part) != pytest.approx(expected[name], abs=1e-9)}


def test_recorded_pairs_equal_codebleu_070_but_where_a_hash_seed_decides(recorded: list[dict[str, Any]]) -> None:
    results = codebleu_pairs([(pair["ref"], pair["hyp"]) for pair in recorded], mode="pypi")
    assert len(results) == 120
    found = {pair["id"]: differing(result, pair["codebleu"]) for pair, result in zip(recorded, results, strict=True)}
    assert {name for name, parts in found.items() if parts} == {name for name, same in HASH_SEED.items() if not same}
    assert all(parts <= {"score", "dataflow"} for parts in found.values())


def test_plain_parts_do_not_depend_on_the_published_program(recorded: list[dict[str, Any]]) -> None:
    results = codebleu_pairs([(pair["ref"], pair["hyp"]) for pair in recorded], mode="codexglue")
    for pair, result in zip(recorded, results, strict=True):
        assert result.ngram == pytest.approx(pair["codebleu"]["ngram_match_score"], abs=1e-9)


def test_vectors_of_python(vectors: list[dict[str, Any]]) -> None:
    cases = [case for case in vectors if case["lang"] == "python" and len(case["predictions"]) == 1]
    assert len(cases) >= 10
    for case in cases:
        result = codebleu(case["references"][0], case["predictions"][0], mode="pypi", weights=case["weights"])
        assert result.score == pytest.approx(case["codebleu"], rel=case["rel_tol"]), case


def test_vectors_of_java_tokens(vectors: list[dict[str, Any]]) -> None:
    cases = [case for case in vectors if "bleu" in case]
    assert len(cases) == 3
    for case in cases:
        found = token_bleu(case["references"][0], case["predictions"][0], tokens="space", effective=False)
        assert found.score == pytest.approx(case["bleu"], abs=1e-4)


def test_vectors_of_other_languages_but_for_their_data_flow(vectors: list[dict[str, Any]]) -> None:
    # Data flow is known of Python alone; in these cases the published one is given, or is full.
    pytest.importorskip("tree_sitter_java")
    for case in vectors:
        if case["lang"] == "java":
            result = codebleu(case["references"][0], case["predictions"][0], language="java", mode="pypi")
            assert result.missing == ("dataflow",)
            assert result.score is not None
            if "syntax_match" in case:
                assert result.syntax == pytest.approx(case["syntax_match"])
            whole = (3 * result.score + case.get("dataflow_match", 1.0)) / 4
            assert whole == pytest.approx(case["codebleu"], rel=case["rel_tol"])


# What the published programs get wrong, each seen in the mode named after them and mended in ours.


@pytest.mark.parametrize(("mode", "worth"), [("pypi", 1.0), ("codexglue", 0.0)])
def test_no_data_flow_counts_as_full_or_as_none(mode: Any, worth: float) -> None:
    published = codebleu("print('a')", "print('b')", mode=mode, weights=(0, 0, 0, 1))
    assert (published.score, published.dataflow) == (worth, 0.0)
    assert codebleu("print('a')", "print('b')", weights=(0, 0, 0, 1)).status == "undefined"


def test_a_data_flow_without_a_match_counts_as_full_in_one_of_them() -> None:
    one, other = "x = y\nz = x\nx = z\n", "print(1)\n"
    assert codebleu(one, other, mode="pypi", weights=(0, 0, 0, 1)).score == 1.0
    assert codebleu(one, other, mode="codexglue", weights=(0, 0, 0, 1)).score == 0.0
    assert codebleu(one, other, weights=(0, 0, 0, 1)).score == 0.0


def test_the_brevity_penalty_of_the_weighted_part() -> None:
    reference = "a = b\n" * 9
    published = codebleu(reference, "a = b\n" * 3, mode="pypi")
    ours = codebleu(reference, "a = b\n" * 3)
    assert published.weighted_ngram is not None
    assert ours.weighted_ngram is not None
    assert published.ngram == pytest.approx(ours.ngram) == pytest.approx(ours.weighted_ngram)
    assert published.weighted_ngram > 2 * ours.weighted_ngram
    assert published.weighted_ngram < 0.34  # a share of the reference, so it is short of it in its own way


def test_equal_subtrees_count_as_often_as_they_are() -> None:
    reference = "f(a)\nf(b)\nf(c)\nf(d)\n"
    published, ours = codebleu(reference, "f(a)\n", mode="pypi"), codebleu(reference, "f(a)\n")
    assert published.syntax == 12 / 13
    assert ours.syntax == 2 / 9


def test_operators_are_part_of_the_syntax() -> None:
    assert codebleu("x = a + b", "x = a - b", mode="pypi").syntax == 1.0
    assert (codebleu("x = a + b", "x = a - b").syntax or 0) < 1.0


def test_equal_short_texts() -> None:
    published, ours = codebleu("x = 1", "x = 1", mode="pypi"), codebleu("x = 1", "x = 1")
    assert ours.score == 1.0
    assert published.ngram == pytest.approx(0.1**0.25)
    assert published.score is not None
    assert published.score < 0.8


def test_several_references_are_pooled_or_the_best_counts() -> None:
    references = ["def bar(x): pass", "def foo(x): return x"]
    assert codebleu(references, references[1]).score == 1.0
    assert (codebleu(references, references[1], mode="pypi").score or 1) < 0.95


def test_java_comments_in_python() -> None:
    one, other = "x = 7 // 2\ny = x\n", "x = 7 // (f(3) + 2)\ny = x\n"
    assert codebleu(one, other, mode="codexglue").syntax == 1.0
    assert (codebleu(one, other, mode="pypi").syntax or 1) < 1.0


def test_soft_keywords() -> None:
    one, other = "match x :\n case y : pass\n", "match z : case w : pass"
    with_them, without = codebleu(one, other, mode="pypi"), codebleu(one, other, mode="codexglue")
    assert (with_them.weighted_ngram or 0) > (without.weighted_ngram or 1)


def test_a_string_for_an_attribute_ends_the_published_data_flow() -> None:
    text = "x = y\nz = x\nself.a = 'b'\n"
    assert codebleu(text, text, mode="pypi").dataflow == 0.0
    assert codebleu(text, text).dataflow == 1.0
