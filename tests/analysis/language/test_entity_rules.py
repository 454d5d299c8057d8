"""A user's own entities: found, merged, never counted; and files that are wrong, told with their place."""

from pathlib import Path

import polars as pl
import pytest

from analysis.language import EntityRules, extract_entities, read_entity_rules
from command_line import Sociolect
from simulator.errors import DefinitionError

FILE = """
categories:
  framework: A library that programs are built on.
phrases:
  framework: [Django, Ruby on Rails, C++ Builder]
  keyword: [isolation level]
merges:
  javascript: [js, java script]
stop: [gizmo]
"""


def read(folder: Path, text: str) -> EntityRules:
    (folder / "entities.yaml").write_text(text, encoding="utf-8")
    return read_entity_rules(folder / "entities.yaml")


def entities_of(
    text: str, rules: EntityRules | None = None, task: str = "", request: str | None = None
) -> pl.DataFrame:
    texts = pl.DataFrame({"text_id": ["1"], "speaker": ["ann"], "task": [task], "text": [text]})
    return extract_entities(texts, rules=rules, requests=None if request is None else {task: request})


def test_phrases_are_found_whatever_their_case_and_go_before_all_else(tmp_path: Path) -> None:
    rules = read(tmp_path, FILE)
    found = entities_of("Please use ruby ON rails or DJANGO, or C++ Builder, for the isolation level.", rules)
    named = dict(found.select("entity", "label").iter_rows())
    assert named["ruby on rails"] == named["django"] == named["c++ builder"] == "framework"
    assert named["isolation level"] == "keyword"
    row = found.filter(pl.col("entity") == "ruby on rails").row(0, named=True)
    assert (row["surface"], row["words"]) == ("ruby ON rails", 3)
    assert rules.categories == {"framework": "A library that programs are built on."}


def test_names_that_are_one_are_counted_as_one_and_stops_not_at_all(tmp_path: Path) -> None:
    text = "Write the gizmo in JavaScript. The JS must run."
    assert {"gizmo", "javascript", "js"} <= set(entities_of(text)["entity"])
    found = entities_of(text, read(tmp_path, FILE))["entity"].to_list()
    assert found.count("javascript") == 2
    assert not {"gizmo", "js"} & set(found)


def test_without_phrases_nothing_is_read_but_merges(tmp_path: Path) -> None:
    rules = read(tmp_path, "stop: [calculator]\n")
    assert rules.longest == 0
    assert "calculator" not in entities_of("A calculator in Python.", rules)["entity"].to_list()


def test_the_requests_own_words_are_marked() -> None:
    text = "Make calculators for the bakery, with a history."
    found = entities_of(text, task="calculator", request="Write code to make a calculator with a history")
    marked = dict(found.select("entity", "of_task").iter_rows())
    assert marked["calculator"] is True
    assert marked["history"] is True
    assert marked["bakery"] is False
    assert entities_of(text)["of_task"].is_null().all()
    assert entities_of(text, task="other", request="")["of_task"].to_list() == [False] * found.height


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("phrases: {framwork: [Django]}\n", "`framwork` is no category; describe it under `categories`"),
        ("categories: {person: Somebody.}\n", "`person` is built in"),
        ("phrases: {keyword: []}\n", "`keyword` has no phrase"),
        ("merges: {a: [b], c: [b]}\n", "`b` is merged with `a` and with `c`; choose one"),
        ("merges: {a: [b], b: [c]}\n", "`b` is itself another name of `a`"),
        ("stops: [a]\n", "stops"),
        ("", "is empty"),
        ("stop: [a\n", "entities.yaml:"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_how_to_mend_it(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as error:
        read(tmp_path, text)
    assert problem in str(error.value).replace("'", "`")
    assert "entities.yaml" in str(error.value)


@pytest.mark.slow
def test_overlap_takes_a_file_of_entities(tmp_path: Path, sociolect: Sociolect) -> None:
    (tmp_path / "entities.yaml").write_text(FILE, encoding="utf-8")
    rows = [
        f"{speaker},Use Ruby on Rails for the {word} shop." for speaker in ("ann", "bob") for word in ("old", "new")
    ]
    (tmp_path / "people.csv").write_text("speaker,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    ended = sociolect("overlap", "people.csv", "--entities", "entities.yaml", "--out", "out", "--shuffles", "99")
    assert ended.status == 0, ended.err
    table = pl.read_parquet(tmp_path / "out" / "tables" / "entities.parquet")
    assert "framework" in table["label"].to_list()
    ended = sociolect("overlap", "people.csv", "--entities", "none.yaml")
    assert ended.status == 2
    assert "none.yaml" in ended.err
