"""CodeBLEU and token BLEU in our own way: values, statuses, several references, batches, and no hash seed."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.code.codebleu import (
    CODEBLEU_MODES,
    CODEBLEU_STATUSES,
    CODEBLEU_WEIGHTS,
    CodeBleuMode,
    codebleu,
    codebleu_pairs,
    token_bleu,
)
from analysis.code.profile import MAX_CHARACTERS
from analysis.code.syntax_tree import SyntaxTree, parse_syntax
from command_line import ROOT
from simulator.errors import MissingError, UsageError

PROGRAM = "def total(values):\n    result = 0\n    for value in values:\n        result += value\n    return result\n"
OTHER = """
def largest(items):
    best = items[0]
    for item in items:
        if item > best:
            best = item
    return best
"""
PARTS = ("ngram", "weighted_ngram", "syntax", "dataflow")
MODES: tuple[CodeBleuMode, ...] = ("sociolect", "pypi", "codexglue")

HOSTILE = {
    "empty": ("", "empty"),
    "white space": (" \n\t\f\n", "empty"),
    "comments and a docstring": ('"""Why this is here, f(x) = 2."""\n# x = 1\n', "empty"),
    "prose": ("I'm sorry, but I can't help you with that request.", "prose"),
    "broken": ("def f(:\n    return = 2\nx = [1, 2\n", "unparsable"),
    "python 2": ("import sys\ndef f(x):\n    print x, 'a'\n    exec 'x = 1'\n    return x\n", "ok"),
    "too large": ("x = 1\n" * (MAX_CHARACTERS // 6 + 1), "too_large"),
    "10,000 functions": ("".join(f"def f{n}(a):\n return a\n" for n in range(10_000)), "too_large"),
    "2,000 functions": ("".join(f"def f{n}(a):\n return a\n" for n in range(2_000)), "ok"),
    "deep brackets": ("x = " + "(" * 5_000 + "y" + ")" * 5_000, "ok"),
    "deep loops": ("".join(" " * n + f"for x{n} in x{n + 1}:\n" for n in range(90)) + " " * 90 + "x90 = x0\n", "ok"),
    "deep branches": ("".join(" " * n + f"if x{n}:\n" for n in range(90)) + " " * 90 + "y = x1\n", "ok"),
    "form feeds": ("def f(x):\n\f    return x\n\f\ny = f(2)\n", "ok"),
    "tabs": ("if x:\n\ty = 1\n\tz = y\n", "ok"),
    "NUL": ("x = 1\0\ny = x\n", "unparsable"),
    "half a surrogate pair": ("x = '\ud800'\ny = x\n", "ok"),
    "carriage returns": ("x = 1\ry = x\r\nz = y\r", "ok"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_text_has_a_value_or_a_status(name: str) -> None:
    text, status = HOSTILE[name]
    for references, candidate in ((text, text), (text, PROGRAM), (PROGRAM, text)):
        result = codebleu(references, candidate)
        assert result.status == status
        assert (result.score is None) == (status != "ok")
        assert (result.ngram is None) == (status not in {"ok", "unparsable"})
        for mode in MODES[1:]:
            published = codebleu(references, candidate, mode=mode)
            assert published.status == ("too_large" if status == "too_large" else "ok")
    if status == "ok":
        assert codebleu(text, text).score == pytest.approx(1.0)


def test_the_formula() -> None:
    result = codebleu(PROGRAM, OTHER)
    parts = [getattr(result, part) for part in PARTS]
    assert all(0 < part < 1 for part in parts)
    assert result.score == pytest.approx(sum(parts) / 4)
    structural = codebleu(PROGRAM, OTHER, weights=CODEBLEU_WEIGHTS["structural"])
    expected = sum(weight * part for weight, part in zip((0.1, 0.1, 0.4, 0.4), parts, strict=True))
    assert structural.score == pytest.approx(expected)
    assert codebleu(PROGRAM, OTHER, weights=(1, 1, 4, 4)).score == pytest.approx(expected)


def test_parts_by_hand() -> None:
    # tokens: x = a + b against x = a - b; 4 of 5, 2 of 4, 1 of 3 and none of 2 n-grams
    result = codebleu("x = a + b", "x = a - b")
    assert result.ngram == pytest.approx((4 / 5 * 2 / 4 * 1 / 3 * 0.1 / 2) ** 0.25)
    assert result.weighted_ngram == pytest.approx(result.ngram)  # no keywords
    assert result.syntax == 0.0  # every subtree holds the operator
    assert result.dataflow == 1.0


def test_keywords_weigh_five_times_as_much() -> None:
    only = replace(CODEBLEU_MODES["sociolect"], smoothing="none")
    reference, candidate = "return a, b, c, d", "return a, b, c, e"
    result = codebleu(reference, candidate, mode=only)
    # 8 tokens, one of them a keyword; 7, 6, 5 and 4 n-grams match of 8, 7, 6 and 5
    assert result.weighted_ngram == pytest.approx(((1 + 0.2 * 6) / (1 + 0.2 * 7) * 6 / 7 * 5 / 6 * 4 / 5) ** 0.25)
    assert result.ngram == pytest.approx((7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** 0.25)


def test_a_part_that_cannot_be_computed_is_reported_and_the_rest_weighs_more() -> None:
    result = codebleu("print('a')\n", "print('b')\nprint('c')\n")
    assert result.missing == ("dataflow",)
    assert result.ngram is not None
    assert result.weighted_ngram is not None
    assert result.syntax is not None
    assert result.score == pytest.approx((result.ngram + result.weighted_ngram + result.syntax) / 3)
    weighted = codebleu("print('a')\n", "print('b')\nprint('c')\n", weights=(0.1, 0.1, 0.4, 0.4))
    assert weighted.score == pytest.approx(
        (0.1 * result.ngram + 0.1 * result.weighted_ngram + 0.4 * result.syntax) / 0.6
    )


def test_an_unparsable_text_has_only_tokens() -> None:
    result = codebleu(PROGRAM, PROGRAM + "x = (1 +\n")
    assert (result.score, result.status, result.missing) == (None, "unparsable", ("syntax", "dataflow"))
    assert 0.5 < (result.ngram or 0) < 1


def test_layout_comments_and_docstrings_do_not_count() -> None:
    text = (
        '"""Sum."""\n\ndef total( values ):  # all of them\n    """Add."""\n    result = 0\n    for value in values :\n'
    )
    text += "        result  +=  value\n\n    return result"
    assert codebleu(PROGRAM, text).score == 1.0


def test_names_do_not_count_in_syntax_and_data_flow() -> None:
    renamed = PROGRAM.replace("value", "v").replace("result", "r").replace("total", "t")
    result = codebleu(PROGRAM, renamed)
    assert (result.syntax, result.dataflow) == (1.0, 1.0)
    assert (result.ngram or 1) < 0.5


def test_several_references() -> None:
    broken = "def f(:\n  return = 2\n"
    assert codebleu([OTHER, PROGRAM], PROGRAM).score == 1.0
    assert codebleu([broken, PROGRAM], PROGRAM).score == 1.0
    assert codebleu([broken, "Sorry, I can't do that for you."], PROGRAM).status == "prose"
    assert codebleu((PROGRAM,), OTHER) == codebleu(PROGRAM, OTHER)
    both = codebleu([PROGRAM, OTHER], PROGRAM + OTHER)
    for part in PARTS:
        assert (
            getattr(both, part) >= max(getattr(codebleu(one, PROGRAM + OTHER), part) for one in (PROGRAM, OTHER)) - 1e-9
        )


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_gives_what_single_pairs_give(mode: CodeBleuMode, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [PROGRAM, OTHER, "x = y\n", "print('a')", "", "no program at all, I fear"]
    pairs: list[tuple[Any, str]] = [(one, other) for one in texts for other in texts] + [([PROGRAM, OTHER], "x = 1")]
    seen: list[tuple[int, int]] = []
    batch = codebleu_pairs(pairs, mode=mode, progress=lambda done, count: seen.append((done, count)))
    assert batch == [codebleu(*pair, mode=mode) for pair in pairs]
    assert seen[-1] == (len(pairs), len(pairs))
    monkeypatch.setattr(
        sys.modules["analysis.code.codebleu"], "_MOST_CHARACTERS", 100
    )  # so that texts are read again and again
    assert codebleu_pairs(pairs, mode=mode) == batch


def test_each_text_of_a_batch_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def count(text: str, language: str) -> SyntaxTree:
        parsed.append(text)
        return parse_syntax(text, language)

    monkeypatch.setattr("analysis.code.profile.parse_syntax", count)
    texts = [PROGRAM, OTHER, "x = y\n"]
    codebleu_pairs([(one, other) for one in texts for other in texts])
    assert sorted(parsed) == sorted(texts)


def test_the_hash_seed_does_not_matter() -> None:
    # What codebleu 0.7.0 gives such a pair depends on the seed: .606 or .588 without the default of m.
    program = """
import json
from analysis.code.codebleu import codebleu
text = "def f(n, m=alpha + omega * (sigma - gamma)):\\n  for i in range(n):\\n"
text += "    total = alpha + beta * gamma\\n    alpha = beta\\n    beta = gamma - total\\n  return total\\n"
other = text.replace("alpha + beta * gamma", "gamma * alpha - beta").replace("gamma - total", "total")
other = other.replace("alpha + omega * (sigma - gamma)", "omega * gamma - alpha")
pairs = [(text, other), (other, text)]
found = [codebleu(*pair, mode=mode) for mode in ("sociolect", "pypi", "codexglue") for pair in pairs]
print(json.dumps([[r.score, r.ngram, r.weighted_ngram, r.syntax, r.dataflow] for r in found]))
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        )
        for seed in range(10)
    ]
    printed = {process.communicate(timeout=60)[0] for process in running}
    assert len(printed) == 1
    assert all(0 < number < 1 for row in json.loads(printed.pop()) for number in row)


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet="abx =+-()[]:,\n\t\f'\"#ifor0\0é\ud800", max_size=60), st.text(max_size=40), st.sampled_from(MODES)
)
def test_no_text_raises_and_scores_stay_within_bounds(one: str, other: str, mode: CodeBleuMode) -> None:
    for reference, candidate in ((one, other), (other, one), (one, PROGRAM)):
        result = codebleu(reference, candidate, mode=mode)
        assert result.status in CODEBLEU_STATUSES
        for value in (result.score, *(getattr(result, part) for part in PARTS)):
            assert value is None or 0 <= value <= 1 + 1e-12
        assert token_bleu(reference, candidate).status in {"ok", "empty"}


def test_token_bleu_is_the_first_part() -> None:
    assert token_bleu(PROGRAM, OTHER).score == codebleu(PROGRAM, OTHER).ngram
    assert token_bleu([PROGRAM, OTHER], PROGRAM).score == 1.0
    assert token_bleu(PROGRAM, "").status == "empty"
    assert token_bleu(PROGRAM, "x" * (MAX_CHARACTERS + 1)).status == "too_large"
    assert token_bleu("a b c", "a c b", tokens="space", orders=1).score == 1.0
    assert token_bleu("a b c", "a c d", tokens="space", orders=1).score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "weights", [(1, 1, 1), (0, 0, 0, 0), (-1, 1, 1, 1), (float("nan"), 1, 1, 1), (float("inf"), 0, 0, 0)]
)
def test_impossible_weights(weights: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="four weights"):
        codebleu(PROGRAM, OTHER, weights=weights)


def test_wrong_words() -> None:
    with pytest.raises(UsageError, match="no CodeBLEU mode 'own'"):
        codebleu(PROGRAM, OTHER, mode="own")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no reference"):
        codebleu([], OTHER)
    with pytest.raises(UsageError, match="smoothings"):
        token_bleu(PROGRAM, OTHER, smoothing="more")  # type: ignore[arg-type]
    with pytest.raises(MissingError, match="tree-sitter-klingon"):
        codebleu(PROGRAM, OTHER, language="klingon")
