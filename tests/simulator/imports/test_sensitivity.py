import ast
import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from simulator.errors import RecordError
from simulator.imports import SCORES, read_sensitivity, stream_sensitivity
from simulator.tables import SCHEMAS

ROW: dict[str, Any] = {
    "model": "claude",
    "method": "keyboard",
    "task": "Q0",
    "title": "Adder",
    "question": "Add two numbers.",
    "prompts": {"0.0": "Add two numbers.", "0.5": "Afd tqo nukbers."},
    "responses": {"0.0": ["x = 1", "```python\ny = 2\n```"], "0.5": ["ERROR: Timeout after 3 attempts", "Which?"]},
    "tsed": {"0.0": [0.5, 0.25], "0.5": [None, 1]},
}


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def test_a_row_enters_the_tables(tmp_path: Path) -> None:
    tables, said = read_sensitivity(write(tmp_path / "a.jsonl", [ROW, {**ROW, "model": "llama"}]), dataset="d")
    assert said == []
    assert all(frame.schema == {**SCHEMAS, "scores": SCORES}[name] for name, frame in tables.items())
    assert tables["variants"].select("task", "dataset", "method", "rate", "replicate", "text", "status").rows() == [
        ("Q0", "d", "original", None, 0, "Add two numbers.", "ok"),
        ("Q0", "d", "typos", 0.0, 0, "Add two numbers.", "ok"),
        ("Q0", "d", "typos", 0.5, 0, "Afd tqo nukbers.", "ok"),
    ]
    replies = tables["replies"].join(tables["variants"].select("variant", "rate"), on="variant", maintain_order="left")
    one = replies.filter(pl.col("model") == "claude")
    assert one.select("rate", "repeat", "status", "text", "error").rows() == [
        (0.0, 0, "ok", "x = 1", None),
        (0.0, 1, "ok", "```python\ny = 2\n```", None),
        (0.5, 0, "error", "", "ERROR: Timeout after 3 attempts"),
        (0.5, 1, "ok", "Which?", None),
    ]
    assert tables["codes"]["status"].to_list()[:4] == ["ok", "ok", "empty", "no_code"]
    assert tables["codes"]["text"].to_list()[:2] == ["x = 1", "y = 2"]
    assert tables["scores"]["score"].to_list()[:4] == [0.5, 0.25, None, 1.0]
    assert tables["scores"]["reply"].to_list() == tables["replies"]["reply"].to_list()
    assert tables["asks"].select("reply", "variant").equals(tables["replies"].select("reply", "variant"))


def test_code_that_begins_with_a_constant_called_error_is_code(tmp_path: Path) -> None:
    replies = ["ERROR = 1\nprint(ERROR)", "ERROR: str = 'x'\nprint(ERROR)"]
    row = {**ROW, "prompts": {"0": "p"}, "responses": {"0": replies}, "tsed": None}
    assert read_sensitivity(write(tmp_path / "a.jsonl", [row]))[0]["codes"]["status"].to_list() == ["ok", "ok"]


BAD_ROWS: list[tuple[dict[str, Any] | str, str]] = [
    ("nonsense", "not JSON"),
    (ROW, "says the same as row 1"),
    ({**ROW, "method": "magic"}, "the method 'magic' is none of original, rewrite, typos"),
    ({**ROW, "model": ""}, "has no model"),
    ({**ROW, "model": None}, "has no model"),
    ({**ROW, "prompts": []}, "'prompts' is a list, not an object of rates"),
    ({**ROW, "prompts": {**ROW["prompts"], "0.5": 3}}, "at rate 0.5: 'prompts' is a number"),
    ({**ROW, "prompts": {"0.0": "x"}}, "has responses at rate 0.5, but no prompt"),
    ({**ROW, "responses": {"0.0": "x"}}, "'responses' at rate 0.0 is text, not a list"),
    ({**ROW, "responses": {"NaN": []}}, "'NaN' in 'responses' is not a rate from 0 to 1"),
    ({**ROW, "responses": {"1e400": []}}, "not a rate"),
    ({**ROW, "prompts": {"0.5": "x", "0.50": "y"}}, "names the rate 0.5 twice"),
    ({**ROW, "tsed": {"0.0": [0.5]}}, "has 1 scores for 2 replies at rate 0.0"),
]


@pytest.mark.parametrize(("row", "reason"), BAD_ROWS)
def test_a_bad_row_loses_only_itself(tmp_path: Path, row: Any, reason: str) -> None:
    tables, said = read_sensitivity(write(tmp_path / "a.jsonl", [ROW, row, {**ROW, "model": "llama"}]))
    assert tables["replies"]["model"].to_list() == ["claude"] * 4 + ["llama"] * 4
    assert said[0] == "a.jsonl: 1 of 3 rows were left out; the others are used"
    assert said[1].startswith("a.jsonl, row 2: ")
    assert reason in said[1]


def test_a_bad_reply_or_score_loses_only_itself(tmp_path: Path) -> None:
    row = {**ROW, "responses": {"0.0": ["x = 1", None], "0.5": ["x = 1", 7]}, "tsed": {"0.0": [1.5, 0], "0.5": [0, 0]}}
    tables, said = read_sensitivity(write(tmp_path / "a.jsonl", [row]))
    assert tables["replies"].height == 2
    assert tables["scores"]["score"].to_list() == [0.0]
    assert said == [
        "a.jsonl: 2 of 4 replies were left out; the others are used",
        "a.jsonl, row 1, rate 0.0, reply 2: it is null, not a text; left out",
        "a.jsonl, row 1, rate 0.5, reply 2: it is a number, not a text; left out",
        "a.jsonl: 1 of 2 scores were left out; the others are used",
        "a.jsonl, row 1, rate 0.0, reply 1: its score is 1.5, not a number from 0 to 1; left out",
    ]


def test_ids_do_not_depend_on_the_order_and_batches_make_one_table(tmp_path: Path) -> None:
    rows = [{**ROW, "model": model, "task": task} for model in ("a", "b") for task in ("Q1", "Q2")]
    path = write(tmp_path / "a.jsonl", rows)
    whole, _ = read_sensitivity(path)
    turned, _ = read_sensitivity(write(tmp_path / "b.jsonl", rows[::-1]))
    for name in ("replies", "variants"):
        columns = ["reply", "variant", "model", "text"] if name == "replies" else ["variant", "task", "rate", "text"]
        assert set(whole[name].select(columns).rows()) == set(turned[name].select(columns).rows())
    assert whole["replies"]["reply"].n_unique() == 16
    said: list[str] = []
    batches = list(stream_sensitivity(path, said, batch=5))
    assert len(batches) == 3
    for name, frame in whole.items():
        assert pl.concat([batch[name] for batch in batches]).equals(frame)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"model": "a", "method": "typos", "task": "t", "prompt": {}, "responses": {}}, "Nearest is 'prompt'"),
        ({**ROW, "responses": {}, "tsed": None}, "none of its 1 rows holds a reply"),
        ({**ROW, "responses": {"0.0": [None]}, "tsed": None}, "reply 1: it is null"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_sensitivity(write(tmp_path / "a.jsonl", [row]))


@pytest.mark.slow
def test_all_recorded_replies(shared_data: Path) -> None:
    path = shared_data / "recorded" / "prompt_variability" / "sample.jsonl.gz"
    tables, said = read_sensitivity(path)
    assert said == []
    assert dict(tables["replies"]["status"].value_counts().iter_rows()) == {"ok": 4538, "error": 12}
    statuses = {"ok": 4536, "unparsable": 1, "no_code": 1, "empty": 12}
    assert dict(tables["codes"]["status"].value_counts().iter_rows()) == statuses
    assert tables["replies"]["reply"].n_unique() == 4550
    with gzip.open(path, "rt", encoding="utf-8") as file:
        recorded = [json.loads(line) for line in file]
    scores = [score for row in recorded for rate in row["responses"] for score in row["tsed"][rate]]
    assert tables["scores"]["score"].to_list() == scores
    answered = tables["codes"].filter(tables["replies"]["status"] != "error")
    parsed = sum(bool(text.strip()) and parses(text) for text in answered["text"])
    assert (parsed, answered.height) == (4536, 4538)  # 99.96%; published: less than 1% do not parse


def parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is worth a warning, no more
        try:
            return ast.parse(text) is not None
        except SyntaxError:
            return False
