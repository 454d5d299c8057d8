import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import polars as pl
import pytest
import tree_sitter_python

import analysis.personas
from analysis.code import tsed, tsed_pairs
from analysis.personas import (
    COUNTS,
    PERSONA_TSED,
    analyze_personas,
    compare_personas,
    count_statuses,
    describe_losses,
    rewrites_as_texts,
)
from simulator.imports import TEXTS
from simulator.tables import SCHEMAS

ONE, TWO, OTHER = "x = 1", "x = 1\ny = 2", "for i in range(3):\n    print(i)"


def frame(table: str, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Fill the columns that a row does not name with null."""
    schema = SCHEMAS[table]
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def variant(name: str, persona: str, task: str = "t", **cells: object) -> dict[str, object]:
    made_by = f"made {name}"
    return {"variant": name, "persona": persona, "task": task, "status": "ok", "made_by": made_by, **cells}


def run_of(*sent: tuple[str, str, str], params: str = "{}", model: str = "m", **codes: str) -> dict[str, pl.DataFrame]:
    """Build the tables of one model's answers: who sent which variant, and which reply it got.

    ``codes`` are the texts of the codes by reply; a text with a colon before it, as in ``no_code:``, has that status,
    and one with two, as in ``ok:cobol:f()``, is in that language.
    """
    rows = []
    for reply, written in codes.items():
        status, _, rest = (
            written.partition(":") if written.split(":")[0] in ("ok", "no_code", "empty") else ("ok", "", "")
        )
        language, _, text = rest.partition(":") if rest else ("python", "", written if status == "ok" else "")
        rows.append({"code": f"c{reply}", "reply": reply, "status": status, "language": language, "text": text})
    first = {reply: name for name, _, reply in reversed(sent)}
    shared = {"stage": "generate", "model": model, "params": params, "status": "ok"}
    return {
        "variants": frame(
            "variants", [variant(*both) for both in dict.fromkeys((name, persona) for name, persona, _ in sent)]
        ),
        "asks": frame("asks", [{"variant": name, "reply": reply} for name, _, reply in sent]),
        "replies": frame("replies", [{"reply": reply, "variant": first[reply], **shared} for reply in codes]),
        "codes": frame("codes", rows),
    }


def score(a: str, b: str) -> float:
    found = tsed(a, b).score
    assert found is not None
    return found


def test_usable_rewrites_are_texts_in_their_order() -> None:
    variants = frame(
        "variants",
        [
            variant("v2", "brad", replicate=1, text="Build it."),
            variant("v1", "john", replicate=0, text="Please build it.", task="u"),
            variant("v3", "john", replicate=2, text="", status="empty"),
        ],
    )
    texts = rewrites_as_texts(variants)
    assert texts.schema == TEXTS
    assert texts.rows() == [("v2", "brad", "t", 1, "Build it."), ("v1", "john", "u", 0, "Please build it.")]
    assert rewrites_as_texts(variants.head(0)).schema == TEXTS


def test_a_mean_is_that_of_every_code_of_the_one_with_every_code_of_the_other() -> None:
    sent = (("v1", "john", "r1"), ("v1", "john", "r2"), ("v2", "brad", "r3"), ("v2", "brad", "r4"))  # two repeats each
    comparisons, means = compare_personas(run_of(*sent, r1=ONE, r2=TWO, r3=ONE, r4=OTHER))
    scores = [1.0, score(ONE, OTHER), score(TWO, ONE), score(TWO, OTHER)]
    assert len(set(scores)) == 4
    assert comparisons.select("reference", "candidate").rows() == [
        ("cr1", "cr3"),
        ("cr1", "cr4"),
        ("cr2", "cr3"),
        ("cr2", "cr4"),
    ]
    assert comparisons["score"].to_list() == scores
    assert set(comparisons.select("kind", "metric", "dialect", "status").rows()) == {("persona", "tsed", "typed", "ok")}
    assert means.schema == PERSONA_TSED
    assert means.rows() == [("john", "brad", "t", "m", "{}", 4, 4, pytest.approx(sum(scores) / 4))]


def test_a_shared_reply_is_the_code_of_both() -> None:
    sent = (("v1", "john", "r1"), ("v2", "brad", "r1"), ("v3", "eve", "r2"))
    comparisons, means = compare_personas(run_of(*sent, r1=ONE, r2=OTHER))
    assert comparisons.select("reference", "candidate", "score").rows() == [
        ("cr1", "cr1", 1.0),
        ("cr1", "cr2", score(ONE, OTHER)),
        ("cr1", "cr2", score(ONE, OTHER)),
    ]
    assert means.select("a", "b", "pairs").rows() == [("john", "brad", 1), ("john", "eve", 1), ("brad", "eve", 1)]


def test_codes_that_are_none_are_counted_and_not_scored() -> None:
    sent = (("v1", "john", "r1"), ("v1", "john", "r2"), ("v2", "brad", "r3"), ("v3", "eve", "r4"))
    comparisons, means = compare_personas(run_of(*sent, r1=ONE, r2="no_code:", r3=ONE, r4="empty:"))
    assert comparisons.select("score", "status").rows() == [
        (1.0, "ok"),
        (None, "no_code"),
        (None, "empty"),
        (None, "no_code"),
        (None, "empty"),
    ]
    assert means.select("a", "b", "pairs", "scored", "mean").rows() == [
        ("john", "brad", 2, 1, 1.0),
        ("john", "eve", 2, 0, None),
        ("brad", "eve", 1, 0, None),
    ]


def test_two_sets_of_parameters_of_one_model_are_told_apart() -> None:
    cold = run_of(("v1", "john", "r1"), ("v2", "brad", "r2"), params='{"temperature": 0}', r1=ONE, r2=ONE)
    warm = run_of(("v1", "john", "r3"), ("v2", "brad", "r4"), params='{"temperature": 1}', r3=ONE, r4=OTHER)
    both = {name: pl.concat([cold[name], warm[name]]) for name in ("asks", "replies", "codes")}
    _, means = compare_personas({"variants": cold["variants"], **both})
    assert means.select("model", "params", "pairs", "mean").rows() == [
        ("m", '{"temperature": 0}', 1, 1.0),
        ("m", '{"temperature": 1}', 1, score(ONE, OTHER)),
    ]


def test_order_is_that_of_the_asks_alone() -> None:
    sent = tuple((f"v{i}", name, f"r{i}") for i, name in enumerate(["eve", "ann", "zoe", "bob"]))
    tables = run_of(*sent, r0=ONE, r1=TWO, r2=OTHER, r3=ONE)
    comparisons, means = compare_personas(tables)
    order = [("eve", "ann"), ("eve", "zoe"), ("eve", "bob"), ("ann", "zoe"), ("ann", "bob"), ("zoe", "bob")]
    assert means.select("a", "b").rows() == order
    turned = {**tables, **{name: tables[name].reverse() for name in ("variants", "replies", "codes")}}
    again = compare_personas(turned)
    assert comparisons.equals(again[0])
    assert means.equals(again[1])


def test_only_codes_in_one_language_are_scored_and_under_its_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    # Another name for Python's grammar: the one that stands in for a second language that is installed.
    monkeypatch.setitem(sys.modules, "tree_sitter_snake", SimpleNamespace(language=tree_sitter_python.language))
    asked: list[tuple[str, int]] = []

    def spy(pairs: list[tuple[str, str]], *, language: str) -> object:
        asked.append((language, len(pairs)))
        return tsed_pairs(pairs, language=language)

    monkeypatch.setattr(analysis.personas, "tsed_pairs", spy)
    sent = [(f"v{i}", "john" if i < 3 else "brad", f"r{i}") for i in range(6)]
    written = [ONE, f"ok:snake:{ONE}", "ok:cobol:f()", OTHER, f"ok:snake:{ONE}", "ok:cobol:f()"]
    comparisons, means = compare_personas(run_of(*sent, **{f"r{i}": text for i, text in enumerate(written)}))
    differ = (None, "languages_differ")
    assert comparisons.select("score", "status").rows() == [
        *((score(ONE, OTHER), "ok"), differ, differ),
        *(differ, (1.0, "ok"), differ),
        *(differ, differ, (None, "no_grammar")),
    ]
    assert sorted(asked) == [("python", 1), ("snake", 1)]
    assert means.select("pairs", "scored").rows() == [(9, 2)]


@pytest.mark.parametrize("language", ["cobol", "no such language", "", "класс", "../x", "a\0b"])
def test_a_language_without_a_grammar_costs_only_its_scores(language: str) -> None:
    sent = (("v1", "john", "r1"), ("v2", "brad", "r2"))
    codes = frame(
        "codes",
        [
            {"code": "c1", "reply": "r1", "status": "ok", "language": language or None, "text": "console.log(1)"},
            {"code": "c2", "reply": "r2", "status": "ok", "language": language, "text": "foo.bar(2)"},
        ],
    )
    comparisons, means = compare_personas({**run_of(*sent, r1=ONE, r2=ONE), "codes": codes})
    assert comparisons.select("score", "status").rows() == [(None, "no_grammar")]
    assert means.select("pairs", "scored", "mean").rows() == [(1, 0, None)]


def test_a_grammar_that_cannot_be_read_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def old(_: str) -> None:
        raise ValueError("Incompatible Language version 1")

    monkeypatch.setattr(analysis.personas, "load_grammar", old)
    comparisons, _ = compare_personas(run_of(("v1", "john", "r1"), ("v2", "brad", "r2"), r1=ONE, r2=ONE))
    assert comparisons["status"].to_list() == ["no_grammar"]


def test_one_persona_and_none_have_nothing_to_compare() -> None:
    for tables in (run_of(), run_of(("v1", "john", "r1"), r1=ONE)):
        comparisons, means = compare_personas(tables)
        assert (comparisons.height, means.height) == (0, 0)
        assert (comparisons.schema, means.schema) == (SCHEMAS["comparisons"], PERSONA_TSED)


def study() -> dict[str, pl.DataFrame]:
    """Three rewrites, one of them refused; the two others sent in one call with one reply, and again in a second."""
    tables = run_of(
        ("v1", "john", "r1"), ("v2", "brad", "r1"), ("v1", "john", "r2"), ("v2", "brad", "r2"), r1=ONE, r2="no_code:"
    )
    rewrites = [
        {"reply": f"made v{i}", "variant": f"v{i}", "stage": "rewrite", "model": "w", "status": status}
        for i, status in ((1, "ok"), (2, "ok"), (3, "filtered"))
    ]
    variants = [
        variant("v1", "john", text="Please build a calculator."),
        variant("v2", "brad", text="Please build a calculator."),
        variant("v3", "brad", text="", status="filtered"),
        variant("v4", "harold", text="Build a calculator.", made_by=""),
    ]
    replies = pl.concat([frame("replies", rewrites), tables["replies"]])
    return {**tables, "variants": frame("variants", variants), "replies": replies}


def test_counts_are_the_denominators() -> None:
    tables = study()
    counts = count_statuses(tables)
    assert counts.schema == COUNTS
    assert counts.select("what", "stage", "model", "persona", "task", "status", "count").rows() == [
        ("code", "generate", "m", "john", "t", "no_code", 1),
        ("code", "generate", "m", "john", "t", "ok", 1),
        ("reply", "generate", "m", "john", "t", "ok", 2),
        ("reply", "rewrite", "w", "brad", "t", "filtered", 1),
        ("reply", "rewrite", "w", "brad", "t", "ok", 1),
        ("reply", "rewrite", "w", "john", "t", "ok", 1),
        ("variant", None, None, "harold", "t", "ok", 1),
        ("variant", "rewrite", "w", "brad", "t", "filtered", 1),
        ("variant", "rewrite", "w", "brad", "t", "ok", 1),
        ("variant", "rewrite", "w", "john", "t", "ok", 1),
    ]
    for what, table in (("code", "codes"), ("reply", "replies"), ("variant", "variants")):
        assert counts.filter(pl.col("what") == what)["count"].sum() == tables[table].height


def test_counts_do_not_depend_on_the_order_of_rows() -> None:
    tables = study()
    turned = {name: table.reverse() for name, table in tables.items()}
    assert count_statuses(turned).equals(count_statuses(tables))
    empty = count_statuses({name: table.head(0) for name, table in tables.items()})
    assert (empty.height, empty.schema) == (0, COUNTS)


def test_losses_are_told_with_their_denominators() -> None:
    rows = [
        ("rewrite", "w", "john", "t", "variant", "ok", 4),
        ("rewrite", "w", "john", "t", "variant", "refused", 1),
        ("rewrite", "w", "brad", "t", "variant", "answered", 2),
        ("rewrite", "w", "brad", "u", "variant", "refused", 2),
        ("generate", "m", "john", "t", "code", "ok", 5),
        ("generate", "m", "john", "t", "reply", "error", 1),
    ]
    counts = pl.DataFrame(rows, schema=COUNTS, orient="row")
    assert describe_losses(counts) == [
        "5 of 9 rewrites are not usable as prompts (2 answered, 3 refused); they are shown and left out"
    ]
    assert describe_losses(count_statuses(study())) == [
        "1 of 4 rewrites are not usable as prompts (1 filtered); they are shown and left out",
        "1 of 2 replies gave no whole program (1 no_code); their pairs have no TSED",
    ]
    assert describe_losses(pl.DataFrame(schema=COUNTS)) == []


def test_the_whole_study_from_the_tables_of_a_run() -> None:
    tables, warnings = analyze_personas(study(), seed=7, shuffles=99, step=lambda _: None)
    assert tables["texts"]["speaker"].to_list() == ["john", "brad", "harold"]
    assert tables["overlap"].select("a", "b", "shared_entities").row(0) == ("john", "brad", 2)
    assert tables["comparisons"].height == 4
    assert tables["persona_tsed"].select("pairs", "scored", "mean").rows() == [(4, 1, 1.0)]
    assert tables["counts"].equals(count_statuses(study()))
    assert len(warnings) == 2


def test_a_missing_grammar_is_a_warning_with_its_mend() -> None:
    sent = (("v1", "john", "r1"), ("v2", "brad", "r2"))
    tables = run_of(*sent, r1="ok:cobol:f()", r2="ok:cobol:g()")
    variants = tables["variants"].with_columns(text=pl.lit("A calculator."))
    _, warnings = analyze_personas({**tables, "variants": variants}, seed=7, shuffles=99, step=lambda _: None)
    assert warnings[-1].startswith("Programs in cobol have no TSED: ")
    assert "pip install tree-sitter-cobol" in warnings[-1]
