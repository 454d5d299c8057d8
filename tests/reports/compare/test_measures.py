"""What is measured of pairs beside TSED, whatever they are, and the same for many as for one."""

from pathlib import Path

import pytest

from analysis.code.characters import similarity
from analysis.code.codebleu import codebleu
from analysis.code.rules import read_rules
from reports.compare.measures import MEASURED, list_features, measure_pairs, tell_codebleu, tell_sizes
from reports.compare.pairs import Pair

SHOP = "import sqlite3\n\n\ndef open_shop(name):\n    # for good\n    return sqlite3.connect(name)\n"
BIKE = "class Bike:\n    def __init__(self, price: float) -> None:\n        self.price = price\n"


def pair(a: str | None, b: str | None, *, language: str = "python", **more: object) -> Pair:
    return Pair("id", "a.py", None if b is None else "b.py", a, b, language, **more)  # type: ignore[arg-type]


def test_a_pair_has_what_each_measure_gives() -> None:
    frame = measure_pairs([pair(SHOP, BIKE)])
    assert frame.schema == MEASURED
    row = frame.row(0, named=True)
    expected = codebleu(SHOP, BIKE)
    assert row["codebleu"] == expected.score
    assert row["codebleu_dataflow"] == expected.dataflow
    assert row["token_bleu"] == expected.ngram
    assert row["character_similarity"] == similarity(SHOP, BIKE)
    assert list(tell_sizes(row)) == [
        ("lines of code", 3, 3),
        ("comment lines", 1, 0),
        ("blank lines", 2, 0),
        ("functions", 1, 1),
        ("classes", 0, 1),
        ("imports", 1, 0),
        ("complexity", 1, 1),
    ]
    assert "storage_sqlite" in row["features_a"]
    assert "classes" in row["features_b"]
    assert set(row["features_a"]) & set(row["features_b"]) == set()


def test_codebleu_in_another_mode_leaves_the_tokens_alone() -> None:
    ours, published = (
        measure_pairs([pair(SHOP, SHOP)], mode=mode).row(0, named=True) for mode in ("sociolect", "pypi")
    )
    assert ours["token_bleu"] == published["token_bleu"] == 1.0
    assert published["codebleu"] == codebleu(SHOP, SHOP, mode="pypi").score
    weighted = measure_pairs([pair(SHOP, BIKE)], weights="structural")["codebleu"][0]
    assert weighted == codebleu(SHOP, BIKE, weights=(0.1, 0.1, 0.4, 0.4)).score


@pytest.mark.parametrize(
    ("one", "status"),
    [
        (pair("", SHOP), "empty"),
        (pair(SHOP, "I am sorry, but I cannot help with that."), "prose"),
        (pair(SHOP, "def f(:\n"), "unparsable"),
        (pair(SHOP, "x = '\ud800'\n"), "ok"),
        (pair(SHOP, "x = 1\n" * 60_000), "too_large"),
        (pair("DISPLAY 'A'.", "DISPLAY 'B'.", language="cobol"), "no_grammar"),
        (pair(SHOP, None, status="no_partner"), "no_partner"),
        (pair(None, SHOP, status="binary"), "binary"),
    ],
)
def test_what_cannot_be_measured_is_null_and_says_why(one: Pair, status: str) -> None:
    row = measure_pairs([one]).row(0, named=True)
    assert row["status_codebleu"] == status
    assert (row["codebleu"] is None) == (status != "ok")
    assert (tell_codebleu(row) == "") == (status != "ok")


def test_no_pairs() -> None:
    assert measure_pairs([]).schema == MEASURED


@pytest.mark.slow
def test_many_pairs_are_measured_as_each_by_itself() -> None:
    some = [pair(SHOP, BIKE), pair(BIKE, SHOP), pair(SHOP, ""), pair("let a = 1;", "let b = 2;", language="javascript")]
    assert measure_pairs(some * 150)[:4].equals(measure_pairs(some))


RULES = """
language: python
features:
  sells_bikes:
    means: It knows of bikes.
    signs:
      - text: Bike
"""


def test_features_come_with_the_lines_that_show_them_those_of_one_alone_first(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    rows = list_features(pair(SHOP, BIKE + "import sqlite3\n"), rules=read_rules(tmp_path / "rules.yaml"))
    by_name = {row.feature: row for row in rows}
    bikes, sqlite = by_name["sells_bikes"], by_name["storage_sqlite"]
    assert bikes.a is None
    assert bikes.b is not None
    assert (bikes.means, bikes.b.line, bikes.b.text) == ("It knows of bikes.", 1, "class Bike:")
    assert sqlite.a is not None
    assert sqlite.b is not None
    assert (sqlite.a.line, sqlite.b.line) == (1, 4)
    assert rows.index(bikes) < rows.index(sqlite)
