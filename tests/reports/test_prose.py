"""Each sentence has its number from its cell, and chance is called chance."""

import math

import polars as pl
import pytest
from report_frames import SCHEMAS, build_tables, empty_tables

from reports.cells import Name, decimal, name_speakers, probability, signed
from reports.prose import Finding, find_all, tell_loss

PEOPLE = ("john", "brad", "harold", "ethan")
NAMES = name_speakers(PEOPLE, {"john": ("John", "a junior engineer")})


def _by_tone(findings: list[Finding], tone: str) -> list[str]:
    return [finding.text for finding in findings if finding.tone == tone]


def _overlap(*rows: tuple[float | None, float | None]) -> dict[str, pl.DataFrame]:
    pairs = [("john", "brad"), ("john", "harold"), ("john", "ethan")]
    cells = [
        (*pair, 10 + i, 4, 20, 0.5, 9.0, 8.0, z, q, q, ["x"])
        for i, (pair, (z, q)) in enumerate(zip(pairs, rows, strict=False))
    ]
    return {"overlap": pl.DataFrame(cells, schema=SCHEMAS["overlap"], orient="row")}


def test_beyond_chance_and_chance_are_told_apart() -> None:
    findings = find_all(_overlap((3.2, 0.004), (-2.9, 0.01), (0.4, 0.7)), NAMES)
    assert _by_tone(findings, "more") == [
        "1 pair of 3 shares more than chance would give, at q < 0.05: John and brad (z +3.2, q .004)."
    ]
    assert _by_tone(findings, "less") == [
        "1 pair of 3 shares less than chance would give, at q < 0.05: John and harold (z −2.9, q .010)."
    ]
    (chance,) = _by_tone(findings, "chance")
    assert chance.startswith("1 pair of 3 cannot be told from chance")
    assert "John and ethan (z +0.4, q .700)" in chance


def test_nothing_beyond_chance_is_said_of_all() -> None:
    findings = find_all(_overlap((0.4, 0.7), (1.0, 0.7), (-0.1, 0.9)), NAMES)
    assert not _by_tone(findings, "more") + _by_tone(findings, "less")
    assert _by_tone(findings, "chance")[0].startswith("No pair can be told from chance")


def test_of_pairs_with_one_q_the_one_with_the_smallest_p_is_nearest() -> None:
    tables = _overlap((0.4, 0.7), (-1.6, 0.7), (0.9, 0.7))
    tables = {"overlap": tables["overlap"].with_columns(p=pl.Series([0.6, 0.1, 0.3]))}
    (chance,) = _by_tone(find_all(tables, NAMES), "chance")
    assert "nearest to a difference is John and harold" in " ".join(chance.split())


@pytest.mark.parametrize("nothing", [None, math.nan])
def test_an_untested_pair_is_counted_and_not_called_chance(nothing: float | None) -> None:
    findings = find_all(_overlap((3.2, 0.004), (nothing, nothing)), NAMES)
    assert _by_tone(findings, "lost") == ["1 pair could not be tested: z is undefined."]
    assert not _by_tone(findings, "chance")
    untested = find_all(_overlap((nothing, nothing)), NAMES)
    assert any("undefined in every row" in text for text in _by_tone(untested, "chance"))


def test_most_and_least_are_the_tables() -> None:
    text = find_all(_overlap((0.4, 0.7), (1.0, 0.7), (-0.1, 0.9)), NAMES)[0].text
    assert text.startswith(
        "John and ethan (12; Jaccard 0.50) share most entities, John and brad (10; Jaccard 0.50) fewest"
    )


def test_a_tie_is_said() -> None:
    tables = _overlap((0.4, 0.7), (1.0, 0.7), (-0.1, 0.9))
    shared = pl.Series("shared_entities", [5, 5, 9])
    text = find_all({"overlap": tables["overlap"].with_columns(shared)}, NAMES)[0].text
    assert "John and brad (5, as does 1 other pair; Jaccard 0.50) fewest" in text


def test_every_finding_names_a_table_that_there_is() -> None:
    tables = build_tables()
    findings = find_all(tables, NAMES)
    assert {finding.table for finding in findings} == {"overlap", "topic_shares", "persona_tsed", "speakers", "counts"}
    assert all(any(character.isdigit() for character in finding.text) for finding in findings)


def test_tsed_weighs_tasks_equally_and_counts_what_was_scored() -> None:
    rows = [
        ("john", "brad", "t1", "m", 9, 9, 0.2),
        ("john", "brad", "t2", "m", 1, 1, 0.8),
        ("john", "brad", "t3", "m", 4, 0, None),
    ]
    (finding,) = find_all({"persona_tsed": pl.DataFrame(rows, schema=SCHEMAS["persona_tsed"], orient="row")}, NAMES)
    assert "on average 0.50 alike" in finding.text
    assert "10 of 14 pairs of codes scored" in finding.text


def test_no_code_at_all_is_said() -> None:
    findings = find_all(build_tables(code_status="no_code"), NAMES)
    assert any("none of 18 pairs of codes could be compared" in text for text in _by_tone(findings, "lost"))
    assert "12 of 12 codes are not a whole program: 12 no code." in _by_tone(findings, "lost")


def test_empty_tables_give_no_finding() -> None:
    assert find_all(empty_tables(), {}) == []
    assert find_all({}, {}) == []


def test_losses() -> None:
    assert tell_loss("reply", {"ok": 3}) == ""
    assert tell_loss("variant", {"ok": 3, "empty": 1}) == "1 of 4 rewrites is not usable as a prompt: 1 empty."
    assert tell_loss("code", {"no_code": 1, "unparsable": 2}) == (
        "3 of 3 codes are not a whole program: 2 unparsable and 1 no code."
    )


def test_numbers_as_written() -> None:
    assert [signed(z) for z in (2.34, -0.5, 0.0, 0.04, None, math.nan)] == ["+2.3", "−0.5", "0.0", "0.0", "–", "–"]
    assert [probability(p) for p in (1.0, 0.05, 0.0004, 0.9996, None)] == ["1.000", ".050", "<.001", "1.000", "–"]
    assert [decimal(x) for x in (-0.001, -1.5, math.inf)] == ["0.00", "−1.50", "–"]


def test_names_differ_where_speakers_do() -> None:
    names = name_speakers(["a", "b", "c" * 200, "c" * 201, ""], {"a": ("Ann", "a nurse"), "b": ("Ann", "a pilot")})
    assert len({name.short for name in names.values()}) == 5
    assert all(len(name.short) <= 32 for name in names.values())
    assert names["a"].role == "a nurse"
    assert names[""].short == "(no name)"


def test_a_comma_in_a_name_or_an_id_is_no_role() -> None:
    names = name_speakers(["Doe, Jane", "b", "c"], {"b": ("Roe, Richard", "a judge, retired"), "c": (" ", "a poet")})
    assert names["Doe, Jane"] == Name("Doe, Jane", "", "Doe, Jane")
    assert names["b"] == Name("Roe, Richard", "a judge, retired", "Roe, Richard, a judge, retired")
    assert names["c"] == Name("c", "a poet", "c, a poet")


def test_a_right_to_left_name_moves_no_number_beside_it() -> None:
    names = name_speakers(["שלום", "ann"], {})
    assert names["שלום"].short == "\u200eשלום\u200e"
    assert names["ann"].short == "ann"
