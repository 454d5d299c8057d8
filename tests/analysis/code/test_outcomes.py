"""The measures of a run's codes: complete, in order, the same on any number of processes."""

from pathlib import Path

import polars as pl
import pytest

from analysis.code.codebleu import codebleu, token_bleu
from analysis.code.features import feature_table
from analysis.code.form import measure_form
from analysis.code.outcomes import GATHERED, collect_features, gather_codes, measure_outcomes
from analysis.code.rules import read_rules
from simulator.engine import Engine, map_in
from simulator.tables import CODES, OUTCOMES, REPLIES, VARIANTS

SOLUTION = "def add(a, b):\n    return a + b\n"
ANSWERS = [
    # task, status of the reply, status of the code, language, code
    ("add", "ok", "ok", "python", SOLUTION),
    (
        "add",
        "ok",
        "ok",
        "python",
        "import os\n\nclass A:\n    '''One.'''\n\n    def f(self, a, b):\n        return a or b  # or\n",
    ),
    ("add", "ok", "unparsable", "python", "def f(:\n    return = 1\n"),
    ("add", "refused", "no_code", "python", ""),
    ("add", "empty", "empty", "python", ""),
    ("shop", "ok", "ok", "python", "print('open')\n"),
    ("shop", "ok", "ok", "javascript", "let a = 1;\nlet b = 2;\n"),
    ("add", "ok", "ok", "cobol", "DISPLAY 'HELLO'.\n"),
]


def fill(schema: pl.Schema, rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def run(times: int = 1) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    answers = ANSWERS * times
    variants = fill(VARIANTS, [{"variant": f"v{i}", "task": answer[0]} for i, answer in enumerate(answers)])
    codes: list[dict[str, object]] = [
        {"code": f"c{i}", "reply": f"r{i}", "status": status, "language": language, "text": text}
        for i, (_, _, status, language, text) in enumerate(answers)
    ]
    replies: list[dict[str, object]] = [
        {"reply": f"r{i}", "variant": f"v{i}", "stage": "generate", "status": answer[1], "text": f"Here:\n{answer[4]}"}
        for i, answer in enumerate(answers)
    ]
    rewriting: dict[str, object] = {
        "reply": "w",
        "variant": "v0",
        "stage": "rewrite",
        "status": "ok",
        "text": "Please add.",
    }
    return {"variants": variants, "codes": fill(CODES, codes)}, fill(REPLIES, [rewriting, *replies])


def batches(times: int = 1) -> list[pl.DataFrame]:
    tables, replies = run(times)
    return list(gather_codes(tables, replies.iter_slices(3), {"add": SOLUTION}))


def test_each_code_is_beside_its_reply_and_the_solution_of_its_task() -> None:
    found = pl.concat(batches())
    assert found.schema == GATHERED
    assert found["code"].to_list() == [f"c{i}" for i in range(len(ANSWERS))]
    assert found["reference"].to_list() == [SOLUTION if answer[0] == "add" else None for answer in ANSWERS]
    assert found["reply_text"][1] == "Here:\n" + ANSWERS[1][4]


def test_outcomes_are_what_each_measure_gives() -> None:
    outcomes = measure_outcomes(batches())
    assert outcomes.schema == OUTCOMES
    rows = outcomes.rows(named=True)
    assert (rows[0]["codebleu"], rows[0]["token_bleu"], rows[0]["reference_similarity"]) == (1.0, 1.0, 1.0)
    other, text = rows[1], ANSWERS[1][4]
    scored, form = codebleu(SOLUTION, text), measure_form(text)
    assert (other["codebleu"], other["codebleu_ngram"], other["codebleu_weighted_ngram"]) == (
        *(scored.score, scored.ngram, scored.weighted_ngram),
    )
    assert (other["codebleu_syntax"], other["codebleu_dataflow"]) == (scored.syntax, scored.dataflow)
    assert other["token_bleu"] == token_bleu(SOLUTION, text).score
    names = (
        "lines",
        "comment_lines",
        "blank_lines",
        "docstring_lines",
        "complexity",
        "functions",
        "classes",
        "imports",
    )
    assert [other[name] for name in names] == [getattr(form, name) for name in names] == [4, 1, 2, 1, 2, 1, 1, 1]


def test_what_is_not_there_is_null_and_says_why() -> None:
    outcomes = measure_outcomes(batches())
    assert outcomes["unparsable"].to_list() == [0, 0, 1, None, None, 0, 0, 0]
    assert outcomes["refused"].to_list() == [0, 0, 0, 1, 0, 0, 0, 0]
    assert outcomes["codebleu_status"].to_list() == [
        *("ok", "ok", "unparsable", "no_code", "no_code", "no_reference", "no_reference", "no_grammar"),
    ]
    assert outcomes["form_status"].to_list() == [
        *("ok", "ok", "unparsable", "empty", "empty", "ok", "ok", "no_grammar"),
    ]
    assert outcomes["codebleu"].is_null().to_list() == [False, False, *[True] * 6]
    assert outcomes["lines"].to_list() == [2, 4, 2, None, None, 1, 2, None]
    assert outcomes["complexity"].to_list() == [1, 2, None, None, None, 1, None, None]
    assert outcomes["pass"].is_null().all()


def test_no_codes() -> None:
    assert measure_outcomes([]).schema == OUTCOMES
    assert collect_features([]).is_empty()


RULES = """
language: python
features:
  welcomes:
    means: It says that it is open.
    signs:
      - text: \\bopen\\b
"""


@pytest.mark.slow
def test_processes_change_nothing_and_a_users_rules_reach_them(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    rules = read_rules(tmp_path / "rules.yaml")
    some = batches(times=40)
    assert len(some) > 2
    engine = Engine("local", workers=2)
    assert measure_outcomes(some, mapped=map_in(tmp_path / "outcomes", engine)).equals(measure_outcomes(some))
    found = collect_features(some, rules=rules, mapped=map_in(tmp_path / "features", engine))
    assert found.equals(collect_features(some, rules=rules))
    assert found.filter(pl.col("feature") == "welcomes")["text"].unique().to_list() == ["print('open')"]


def test_a_code_that_two_personas_share_counts_for_both() -> None:
    features = collect_features(batches())
    asked = pl.DataFrame({"code": ["c5", "c5", "c0"], "persona": ["john", "brad", "john"]})
    counted = feature_table(features, asked).filter(pl.col("feature") == "console_output")
    assert counted.select("by", "codes", "having", "text").rows() == [
        ("brad", 1, 1, "print('open')"),
        ("john", 2, 1, "print('open')"),
    ]
