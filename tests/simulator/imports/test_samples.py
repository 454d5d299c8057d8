import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from simulator.errors import RecordError
from simulator.imports import read_eval_results, read_samples, stream_samples
from simulator.tables import SCHEMAS

ADD = "def add(a, b):\n    return a + b\n"
PROMPT = 'def add(a, b):\n    """Add."""\n'


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def column(frame: pl.DataFrame, name: str) -> list[Any]:
    return frame[name].to_list()


def test_solutions_and_completions(tmp_path: Path) -> None:
    rows = [
        {"task_id": "HumanEval/0", "solution": ADD, "completion": "ignored"},
        {"task_id": "HumanEval/1", "completion": "    return a + b\n"},
        {"task_id": "HumanEval/0", "solution": "def add(:"},
        {"task_id": "HumanEval/1", "completion": ""},
    ]
    tables, warnings = read_samples(write(tmp_path / "gpt-4o_temp_0.2.jsonl", rows), prompts={"HumanEval/1": PROMPT})
    assert warnings == []
    assert {name: frame.height for name, frame in tables.items()} == {
        "variants": 2,
        "asks": 4,
        "replies": 4,
        "codes": 4,
    }
    assert all(frame.schema == SCHEMAS[name] for name, frame in tables.items())
    assert column(tables["codes"], "text") == [ADD, PROMPT + "    return a + b\n", "def add(:", PROMPT]
    assert column(tables["codes"], "status") == ["ok", "ok", "unparsable", "ok"]
    assert column(tables["codes"], "chosen")[1] == "the prompt and the completion"
    replies = tables["replies"]
    assert column(replies, "status") == ["ok", "ok", "ok", "empty"]
    assert column(replies, "text")[1] == "    return a + b\n"
    assert column(replies, "repeat") == [0, 0, 1, 1]
    assert set(replies["model"]) == {"gpt-4o_temp_0.2"}
    assert column(tables["variants"], "text") == [None, PROMPT]
    assert column(tables["variants"], "dataset") == ["HumanEval", "HumanEval"]
    assert column(tables["asks"], "reply") == column(replies, "reply") == column(tables["codes"], "code")


def test_a_completion_without_its_prompt_is_recorded_as_it_is(tmp_path: Path) -> None:
    bodies = ["    return 1\n", "\n\n    x = 1\n    return x", "def f():\n    return 1\n", "    return (\n"]
    rows = [{"task_id": "HumanEval/0", "completion": body} for body in bodies]
    codes = read_samples(write(tmp_path / "a.jsonl", rows))[0]["codes"]
    assert column(codes, "text") == bodies
    assert column(codes, "status") == ["ok", "ok", "ok", "unparsable"]
    assert "body of a function" in column(codes, "chosen")[0]
    assert column(codes, "chosen")[2] == "the completion"


def test_raw_samples_are_extracted(tmp_path: Path) -> None:
    reply = f"Sure!\n```python\n{ADD}```\nIt adds."
    tables, _ = read_samples(write(tmp_path / "a.jsonl", [{"task_id": "t", "solution": reply}]), raw=True, model="m")
    assert column(tables["codes"], "text") == [ADD.rstrip()]
    assert column(tables["replies"], "text") == [reply]


BAD = [
    ("nonsense", "not JSON"),
    ({"task_id": "t"}, "neither 'solution' nor 'completion'"),
    ({"solution": ADD}, "no task"),
    ({"task_id": "t", "solution": None}, "'solution' is null"),
    ({"task_id": "t", "solution": [ADD]}, "'solution' is a list"),
    ({"task_id": 1.5, "solution": ADD}, "a number, not the name"),
    ('{"task_id": "t", "solution": "a", "solution": "b"}', "names 'solution' twice"),
]


@pytest.mark.parametrize(("row", "reason"), BAD)
def test_a_bad_row_loses_only_itself(tmp_path: Path, row: Any, reason: str) -> None:
    good = {"task_id": "t", "solution": ADD}
    tables, warnings = read_samples(write(tmp_path / "a.jsonl", [good, row, good]))
    assert column(tables["codes"], "text") == [ADD, ADD]
    assert warnings[0] == "a.jsonl: 1 of 3 rows were left out; the others are used"
    assert warnings[1].startswith("a.jsonl, row 2: ")
    assert reason in warnings[1]


def test_bytes_that_are_no_text_and_half_a_character(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ['{"task_id": "t", "solution": "# cut \\ud83d"}'])
    path.write_bytes(path.read_bytes() + b'{"task_id": "t", "solution": "# caf\xe9"}\n')
    tables, warnings = read_samples(path)
    assert column(tables["codes"], "text") == ["# cut \ufffd"]
    assert "not valid UTF-8" in warnings[1]


def test_ids_do_not_depend_on_the_order_or_on_what_else_is_there(tmp_path: Path) -> None:
    rows = [{"task_id": f"t/{number % 3}", "solution": ADD + "#" * (number % 4)} for number in range(20)]
    first, _ = read_samples(write(tmp_path / "a.jsonl", rows), model="m")
    turned, _ = read_samples(write(tmp_path / "b.jsonl", [*rows[::-1], {"task_id": "z", "solution": ""}]), model="m")
    ids = set(first["codes"]["code"])
    assert len(ids) == 20
    assert ids < set(turned["codes"]["code"])
    assert set(first["variants"]["variant"]) < set(turned["variants"]["variant"])
    other, _ = read_samples(tmp_path / "a.jsonl", model="other")
    assert not ids & set(other["codes"]["code"])


def test_batches_make_one_table(tmp_path: Path) -> None:
    rows = [{"task_id": f"t/{number % 3}", "solution": f"x = {number}"} for number in range(10)]
    path = write(tmp_path / "a.jsonl", [*rows, "nonsense"])
    whole, _ = read_samples(path)
    warnings: list[str] = []
    batches = list(stream_samples(path, warnings, batch=4))
    assert [batch["codes"].height for batch in batches] == [4, 4, 2]
    for name, frame in whole.items():
        assert pl.concat([batch[name] for batch in batches]).equals(frame)
    assert len(warnings) == 2


def test_a_folder_of_samples(tmp_path: Path) -> None:
    for task in ("HumanEval_2", "HumanEval_10"):
        (tmp_path / "m" / task).mkdir(parents=True)
    for number in (10, 9):
        (tmp_path / "m" / "HumanEval_2" / f"{number}.py").write_text(f"x = {number}\n", encoding="utf-8")
    (tmp_path / "m" / "HumanEval_10" / "0.py").write_bytes(b"# caf\xe9")
    (tmp_path / "m" / "HumanEval_10" / "notes.txt").write_text("no sample", encoding="utf-8")
    tables, warnings = read_samples(tmp_path / "m")
    assert column(tables["codes"], "text") == ["x = 9\n", "x = 10\n"]
    assert column(tables["variants"], "task") == ["HumanEval/2"]
    assert column(tables["replies"], "model") == ["m", "m"]
    assert warnings[1] == "m, HumanEval_10/0.py: is not UTF-8; left out"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"task": "t", "solution": ADD}], r"no column 'task_id' for the task.*Nearest is 'task'"),
        ([{"task_id": "t", "solutions": ADD}], r"no column 'solution' for the program.*Nearest is 'solutions'"),
        ([{"task_id": "t", "solution": None}], "none of its 1 rows can be used as a sample"),
        (["nonsense"], "none of its 1 rows"),
        ([""], "is empty"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, rows: list[Any], said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_samples(write(tmp_path / "a.jsonl", rows))


def test_a_folder_without_samples(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(RecordError, match=r"holds 'notes.txt'.*HumanEval_0/0.py"):
        read_samples(tmp_path)
    with pytest.raises(RecordError, match="no such file"):
        read_samples(tmp_path / "none")


SAMPLES: list[dict[str, Any]] = [
    {
        "solution": ADD,
        "base_status": "pass",
        "plus_status": "fail",
        "base_fail_tests": [],
        "plus_fail_tests": [[1, "x"]],
    },
    {"solution": "x = 1", "base_status": "timeout", "plus_status": None},
]


def write_results(path: Path, found: Any) -> Path:
    text = json.dumps({"date": "2024", "hash": "h", "eval": found})
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["m_eval_results.json", "m_eval_results.json.gz", "m.eval_results.json"])
def test_results_join_with_the_samples_they_are_of(tmp_path: Path, name: str) -> None:
    results, warnings = read_eval_results(write_results(tmp_path / name, {"HumanEval/0": SAMPLES}))
    samples, _ = read_samples(
        write(tmp_path / "m.jsonl", [{"task_id": "HumanEval/0", "solution": one["solution"]} for one in SAMPLES])
    )
    assert warnings == []
    for table in ("variants", "asks", "replies", "codes"):
        assert results[table].equals(samples[table])
    code, other = samples["codes"]["code"]
    assert results["checks"].schema == SCHEMAS["checks"]
    assert results["checks"].select("code", "task", "suite", "status", "failed_input").rows() == [
        (code, "HumanEval/0", "base", "pass", None),
        (code, "HumanEval/0", "plus", "fail", '[1, "x"]'),
        (other, "HumanEval/0", "base", "timeout", None),
    ]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({**SAMPLES[0], "base_status": "odd"}, "'base_status' is 'odd', not one of pass, fail, timeout"),
        ({**SAMPLES[0], "base_status": None}, "'base_status' is null"),
        ({"base_status": "pass"}, "'solution' is null"),
        ({"nfiles": 1, "base": [["pass", []]]}, "before 0.2"),
        (7, "is a number, not an object"),
    ],
)
def test_a_bad_result_loses_only_itself(tmp_path: Path, entry: Any, reason: str) -> None:
    path = write_results(tmp_path / "m_eval_results.json", {"t": [SAMPLES[0], entry], "u": SAMPLES})
    tables, warnings = read_eval_results(path)
    assert column(tables["codes"], "text") == [ADD, ADD, "x = 1"]
    assert warnings[0].startswith("m_eval_results.json: 1 of 4 samples were left out")
    assert warnings[1].startswith("m_eval_results.json, 't' sample 2: ")
    assert reason in warnings[1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"task_id": "t", "solution": ""}\n{}', "is not JSON .*one JSON document"),
        (b'{"task_id": "t"}', "no object 'eval'.*it holds 'task_id'"),
        (b'{"eval": {}}', "none of its 0 samples"),
        (b'{"eval": {"t": [], "t": []}}', "names 't' twice"),
        (b"[1]", "it holds a list"),
        (gzip.compress(b'{"eval": {}}', mtime=0)[:-3], "damaged or cut off"),
        (b"", "is empty"),
    ],
)
def test_results_that_cannot_be_used(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(RecordError, match=said):
        read_eval_results(tmp_path / "r.json")


def test_recorded_results(shared_data: Path) -> None:
    found = {}
    for path in sorted((shared_data / "recorded" / "evalplus").glob("*.json.gz")):
        tables, warnings = read_eval_results(path)
        assert warnings == []
        assert tables["codes"]["code"].n_unique() == tables["codes"].height
        both = tables["checks"].group_by("code").agg((pl.col("status") == "pass").all().alias("passes"))
        found[path.name] = (both.height, int(both["passes"].sum()))
    # Counted from the files themselves, without this program.
    counted = {}
    for path in sorted((shared_data / "recorded" / "evalplus").glob("*.json.gz")):
        results = json.loads(gzip.decompress(path.read_bytes()))["eval"]
        samples = [one for entries in results.values() for one in entries]
        passed = [one for one in samples if one["base_status"] == one["plus_status"] == "pass"]
        counted[path.name] = (len(samples), len(passed))
    assert found == counted
    assert len(found) == 4
