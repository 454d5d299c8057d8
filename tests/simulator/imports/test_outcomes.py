import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from simulator.errors import RecordError
from simulator.imports import MODELS, OutcomeTable, enter_outcomes, scan_outcomes, stream_outcomes
from simulator.tables import SCHEMAS


def make(rows: int = 24) -> pl.DataFrame:
    place = np.arange(rows)
    return pl.DataFrame(
        {
            "model": [f"m{number % 2}" for number in place],
            "benchmark": ["HumanEval"] * rows,
            "axis": ["occupation"] * rows,
            "identity": [f"id {number % 3}" for number in place],
            "task": place // 6,
            "wording": [f"w{number % 2}" for number in place],
            "repeat": place % 2,
            "model_size": [7.0 if number % 2 else 0.5 for number in place],
            "pass": place % 5 == 0,
            "codebleu": [None if number == 3 else round(number / 7, 3) for number in place.tolist()],
            "stars": place,
            "note": ["a text"] * rows,
        }
    )


def write(frame: pl.DataFrame, path: Path) -> Path:
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    data = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(data)
    elif kind == "csv":
        frame.write_csv(data)
    else:
        frame.write_ndjson(data)
    path.write_bytes(gzip.compress(data.getvalue()) if path.suffix == ".gz" else data.getvalue())
    return path


def write_rows(path: Path, rows: list[Any]) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def open_table(path: Path, **options: Any) -> tuple[pl.DataFrame, OutcomeTable]:
    table = scan_outcomes(path, **options)
    return table.frame.collect(), table


KEYS = {"model": "m", "benchmark": "b", "axis": "a", "identity": "i", "task": "t"}


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl", "a.csv.gz", "a.jsonl.gz"])
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    frame, table = open_table(write(make(), tmp_path / name))
    wanted = (
        make()
        .drop("note")
        .with_columns(pl.col("task").cast(pl.String), pl.col("pass", "codebleu", "stars").cast(pl.Float64))
    )
    assert frame.equals(wanted)
    assert table.outcomes == ("pass", "codebleu", "stars")
    assert table.warnings == [
        f"{name}: not taken as outcomes, because they hold no numbers or only number the rows: 'note'"
    ]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl"])
def test_ids_depend_on_nothing_but_content(tmp_path: Path, name: str) -> None:
    first = enter_outcomes(scan_outcomes(write(make(), tmp_path / "first.csv")))
    frame = make()
    frame = pl.concat([frame, frame[:1].with_columns(identity=pl.lit("new"))]).sample(fraction=1, shuffle=True, seed=1)
    second = enter_outcomes(scan_outcomes(write(frame.select(sorted(frame.columns)), tmp_path / name)))
    assert set(first["codes"]["code"]) < set(second["codes"]["code"])
    assert first["codes"]["code"].n_unique() == 24
    assert set(first["variants"]["variant"]) < set(second["variants"]["variant"])


def test_a_table_enters_the_tables_of_record(tmp_path: Path) -> None:
    frame = make().with_columns(refused=pl.Series([1] + [0] * 23), unparsable=pl.Series([0, 1] + [None] * 22))
    table = scan_outcomes(write(frame, tmp_path / "a.parquet"))
    tables = enter_outcomes(table)
    for name in ("variants", "asks", "replies", "codes"):
        assert tables[name].schema == SCHEMAS[name]
    assert tables["models"].schema == MODELS
    assert tables["models"].rows() == [("m0", 0.5), ("m1", 7.0)]
    assert tables["outcomes"].columns == [*SCHEMAS["outcomes"], "stars"]
    assert tables["replies"]["status"].to_list() == ["refused"] + ["ok"] * 23
    assert tables["codes"]["status"].to_list() == ["ok", "unparsable"] + ["ok"] * 22
    again = (
        tables["outcomes"]
        .join(tables["replies"].select("reply", "model", "repeat", "variant"), left_on="code", right_on="reply")
        .join(tables["variants"], on="variant", maintain_order="left")
        .rename({"dataset": "benchmark"})
        .join(tables["models"], on="model", maintain_order="left")
    )
    wanted = table.frame.collect()
    assert again.select(wanted.columns).sort(wanted.columns).equals(wanted.sort(wanted.columns))


def test_rows_of_one_prompt_share_a_variant_only_where_repeats_are_recorded(tmp_path: Path) -> None:
    rows = [{**KEYS, "repeat": repeat, "pass": 1} for repeat in (0, 1)]
    with_repeat = enter_outcomes(scan_outcomes(write_rows(tmp_path / "a.jsonl", rows)))
    without = enter_outcomes(scan_outcomes(write_rows(tmp_path / "b.jsonl", [{**KEYS, "pass": 1}] * 2)))
    assert (with_repeat["variants"].height, without["variants"].height) == (1, 2)
    assert with_repeat["replies"]["repeat"].to_list() == [0, 1]
    assert without["codes"]["code"].n_unique() == 2


@pytest.mark.parametrize("repeats", [True, False])
def test_batches_make_one_table(tmp_path: Path, repeats: bool) -> None:
    frame = make() if repeats else make().drop("repeat")
    table = scan_outcomes(write(frame, tmp_path / "a.parquet"))
    whole = enter_outcomes(table)
    batches = list(stream_outcomes(table, batch=7))
    assert len(batches) > 3
    for name, found in whole.items():
        assert pl.concat([batch[name] for batch in batches if name in batch]).equals(found)


MISSING = [None, "", "NA", "nan", " NaN ", "null", "None"]
VALUES = [(True, 1.0), ("False", 0.0), (" 1e-3 ", 0.001), (2**70, float(2**70)), (-0.0, 0.0), ("-0", 0.0)]


@pytest.mark.parametrize(("value", "number"), [*VALUES, *((value, None) for value in MISSING)])
def test_numbers_yes_and_no_and_missing(tmp_path: Path, value: Any, number: float | None) -> None:
    frame, table = open_table(write_rows(tmp_path / "a.jsonl", [{**KEYS, "pass": value}, {**KEYS, "pass": 1}]))
    assert frame["pass"].to_list() == [number, 1.0]
    assert table.warnings == []
    assert str(frame["pass"][0]) == str(number)  # minus zero is zero


BAD: list[tuple[Any, str]] = [
    ("nonsense", "is not JSON"),
    ({**KEYS, "pass": "maybe"}, "'pass' is not a finite number"),
    ({**KEYS, "pass": [1]}, "'pass' is not a finite number"),
    ({**KEYS, "pass": float("inf")}, "'pass' is not a finite number"),
    ({**KEYS, "pass": "-Infinity"}, "'pass' is not a finite number"),
    ({**KEYS, "pass": 10**400}, "'pass' is not a finite number"),
    ({**KEYS, "model": None, "pass": 1}, "has no model"),
    ({**KEYS, "task": " ", "pass": 1}, "has no task"),
    ({**KEYS, "identity": ["x"], "pass": 1}, "'identity' is a list, not a name"),
    ({**KEYS, "identity": "\ud800", "pass": 1}, "half a surrogate pair"),
    ({"pass": 1}, "has no model"),
]


@pytest.mark.parametrize(("row", "reason"), BAD)
def test_a_bad_row_loses_only_itself(tmp_path: Path, row: Any, reason: str) -> None:
    good = {**KEYS, "pass": 1}
    frame, table = open_table(write_rows(tmp_path / "a.jsonl", [good, row, good]))
    assert frame.height == 2
    assert table.warnings[0] == "a.jsonl: 1 of 3 rows were left out; the others are used"
    assert table.warnings[1].startswith("a.jsonl, row 2: ")
    assert reason in table.warnings[1]


def test_bad_rows_of_csv_and_parquet_are_named(tmp_path: Path) -> None:
    head = ",".join(KEYS) + ",repeat,pass\n"
    text = head + "m,b,a,i,t,0,1\nm,b,a,i,t,0\nm,b,a,i,t,0,1,9\nm,b,a,i,t,x,1\nm,b,a,i,t,,1\nm,b,a,,t,0,1\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    frame, table = open_table(tmp_path / "a.csv")
    assert frame.height == 1
    assert [line.partition(", ")[2] for line in table.warnings[1:]] == [
        "row 3: has 6 cells where the header has 7; left out",
        "row 4: has 8 cells where the header has 7; left out",
        "row 5: 'repeat' is not a whole number; left out",
        "row 6: has no repeat; left out",
        "row 7: has no identity; left out",
    ]
    columns = {
        **{key: [key] * 4 for key in KEYS},
        "axis": ["a", None, "a", "a"],
        "x": [1.0, 2.0, float("inf"), float("nan")],
    }
    frame, table = open_table(write(pl.DataFrame(columns), tmp_path / "a.parquet"))
    assert frame["x"].to_list() == [1.0, None]
    assert [line.partition(", ")[2] for line in table.warnings[1:]] == [
        "row 2: has no axis; left out",
        "row 3: 'x' is not a finite number; left out",
    ]


def test_columns_by_option(tmp_path: Path) -> None:
    frame = make().rename({"identity": "persona", "repeat": "draw"})
    found, table = open_table(
        write(frame, tmp_path / "a.csv"), columns={"identity": "persona", "repeat": "draw"}, outcomes=["stars", "pass"]
    )
    assert table.outcomes == ("stars", "pass")
    assert table.warnings == []
    assert found["identity"].to_list() == make()["identity"].to_list()
    assert found["repeat"].dtype == pl.Int64


@pytest.mark.parametrize(("written", "size"), [("7B", 7.0), ("350M", 0.35), ("1.5 b", 1.5), (7, 7.0), (None, None)])
def test_sizes_of_models(tmp_path: Path, written: Any, size: float | None) -> None:
    frame, _ = open_table(write_rows(tmp_path / "a.jsonl", [{**KEYS, "model_size": written, "pass": 1}]))
    assert frame["model_size"].to_list() == [size]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("frame", "options", "said"),
    [
        (
            make().rename({"identity": "Identities"}),
            {},
            r"no column 'identity' for the identity.*'Identities'.*Nearest is 'Id",
        ),
        (make(), {"outcomes": ["passes"]}, r"no column 'passes' for the outcome 'passes'.*Nearest is 'pass'"),
        (make(), {"outcomes": ["axis"]}, "'axis' cannot be an outcome"),
        (make(), {"columns": {"who": "x"}}, "no key 'who' to rename"),
        (make(), {"columns": {"repeat": "draw"}}, "no column 'draw' for the repeat"),
        (make().select(*KEYS, "note"), {}, "has no outcome.*'note'"),
        (make().with_columns(model=pl.lit("")), {}, "none of its 24 rows can be used.*has no model"),
    ],
)
def test_tables_that_cannot_be_used(
    tmp_path: Path, name: str, frame: pl.DataFrame, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(RecordError, match=said):
        scan_outcomes(write(frame, tmp_path / name), **options)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    cut = write(make(), tmp_path / "cut.parquet")
    cut.write_bytes(cut.read_bytes()[:200])
    with pytest.raises(RecordError, match="cannot be read as a Parquet table"):
        scan_outcomes(cut)
    with pytest.raises(RecordError, match="is a folder"):
        scan_outcomes(tmp_path)
    with pytest.raises(RecordError, match="no such file"):
        scan_outcomes(tmp_path / "none.csv")
    with pytest.raises(RecordError, match="none of its 1 rows"):
        scan_outcomes(write_rows(tmp_path / "a.jsonl", ["nonsense"]))
    lists = make().with_columns(model=pl.lit([["x"]]))
    with pytest.raises(RecordError, match="'model' for the model is of type List"):
        scan_outcomes(write(lists, tmp_path / "lists.parquet"))


def test_a_column_that_numbers_the_rows_is_no_outcome(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f",{','.join(KEYS)},pass\n0,m,b,a,i,t,1\n", encoding="utf-8")
    frame, table = open_table(tmp_path / "a.csv")
    assert table.outcomes == ("pass",)
    assert table.warnings == ["a.csv: not taken as outcomes, because they hold no numbers or only number the rows: ''"]
    assert frame.columns == [*KEYS, "pass"]


def test_a_header_that_names_an_outcome_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{','.join(KEYS)},pass,pass\nm,b,a,i,t,1,0\n", encoding="utf-8")
    with pytest.raises(RecordError, match="names the column 'pass' twice"):
        scan_outcomes(tmp_path / "a.csv")


def test_a_header_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{','.join(KEYS)},pass\n", encoding="utf-8")
    with pytest.raises(RecordError, match="none of its 0 rows can be used"):
        scan_outcomes(tmp_path / "a.csv")
    with pytest.raises(RecordError, match="none of its 0 rows can be used"):
        scan_outcomes(write(make(0), tmp_path / "a.parquet"))


def test_a_row_of_endless_columns(tmp_path: Path) -> None:
    rows = [{**KEYS, "pass": 1, **{f"x{number}": 1 for number in range(start, start + 600)}} for start in (0, 600)]
    with pytest.raises(RecordError, match="has 1000 columns or more"):
        scan_outcomes(write_rows(tmp_path / "a.jsonl", rows))


def test_one_row(tmp_path: Path) -> None:
    tables = enter_outcomes(scan_outcomes(write(make(1), tmp_path / "a.parquet")))
    assert {name: frame.height for name, frame in tables.items()} == dict.fromkeys(tables, 1)


def test_unusual_types_of_parquet(tmp_path: Path) -> None:
    frame = make(4).with_columns(
        pl.col("model").cast(pl.Categorical),
        pl.Series("task", [1.0, 2.0, 3.5, 4.0]),
        pl.col("codebleu").cast(pl.Decimal(10, 3)),
        pl.Series("when", [0, 1, 2, 3]).cast(pl.Date),
        pl.Series("codes", [[1], [2], [3], [4]]),
    )
    found, table = open_table(write(frame, tmp_path / "a.parquet"))
    assert found["task"].to_list() == ["1", "2", "3.5", "4"]
    assert found["model"].to_list() == ["m0", "m1", "m0", "m1"]
    assert found["codebleu"].to_list() == [0.0, 0.143, 0.286, None]
    assert "'when', 'codes', 'note'" in table.warnings[0]
