"""Entities that set speakers apart: the log-odds of everybody's mentions, drawn towards no difference."""

from math import log, sqrt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.language.distinctive import DISTINCTIVE, find_distinctive

Said = list[tuple[str, str]]


def mentions(said: Said, label: str = "keyword") -> pl.DataFrame:
    rows = [(speaker, entity, label) for speaker, entity in said]
    return pl.DataFrame(rows, schema=["speaker", "entity", "label"], orient="row")


def test_the_formula_by_hand() -> None:
    said = [*[("ann", "menu")] * 8, *[("ann", "table")] * 2, *[("bob", "menu")] * 3, *[("bob", "table")] * 7]
    row = find_distinctive(mentions(said)).filter(pl.col("entity") == "menu").row(0, named=True)
    prior = 11 * 2 / 20
    delta = log((8 + prior) / (10 + 2 - 8 - prior)) - log((3 + prior) / (10 + 2 - 3 - prior))
    assert (row["speaker"], row["count"], row["others"]) == ("ann", 8, 3)
    assert row["log_odds"] == pytest.approx(delta, abs=1e-8)
    assert row["z"] == pytest.approx(delta / sqrt(1 / (8 + prior) + 1 / (3 + prior)), abs=1e-8)
    assert (row["per_thousand"], row["per_thousand_others"]) == (800.0, 300.0)


def test_what_was_said_once_ranks_below_what_is_said_all_the_time() -> None:
    said = [*[("ann", "menu")] * 30, ("ann", "kerning"), *[("bob", "menu")] * 5, *[("bob", "table")] * 30]
    found = find_distinctive(mentions(said)).filter(pl.col("speaker") == "ann")
    assert found["entity"].to_list() == ["menu", "kerning"]


@pytest.mark.parametrize("said", [[], [("ann", "menu")], [("ann", "menu"), ("bob", "menu")]])
def test_too_little_to_tell_apart(said: Said) -> None:
    found = find_distinctive(mentions(said))
    assert found.schema == DISTINCTIVE
    assert found.is_empty()


def test_the_label_is_the_one_that_an_entity_has_most_often() -> None:
    said = mentions([("ann", "apple"), ("bob", "pear")])
    more = mentions([("ann", "apple"), ("ann", "apple"), ("ann", "<b>=1</b>")], "organisation")
    found = find_distinctive(pl.concat([said, more]))
    assert found.filter(pl.col("entity") == "apple")["label"].to_list() == ["organisation"]


talk = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("uvwxyz")), max_size=60)


@given(talk, st.randoms())
def test_two_speakers_are_each_others_mirror_image_in_any_order(said: Said, draw: object) -> None:
    found = find_distinctive(mentions(said), most=100)
    swapped = find_distinctive(
        mentions([("b" if speaker == "a" else "a", entity) for speaker, entity in said]), most=100
    )
    key = ["speaker", "entity", "z"]
    turned = swapped.with_columns(pl.col("speaker").replace({"a": "b", "b": "a"}))
    assert found.select(key).sort(key).equals(turned.select(key).sort(key))
    draw.shuffle(said)  # type: ignore[attr-defined]
    assert find_distinctive(mentions(said), most=100).equals(found)
    assert found["z"].is_finite().all()
