from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.language import LABELS, count_speakers, extract_entities, pipeline
from analysis.language.entities import ENTITIES
from analysis.language.lexicons import CLASSIFYING, GENERIC, NEGATIVE, PLAIN_TOO, POLITENESS, POSITIVE, TECHNICAL, UNITS
from simulator.imports import read_texts


def texts_of(*found: str) -> pl.DataFrame:
    rows = [(str(i), "ann", "", text) for i, text in enumerate(found)]
    return pl.DataFrame(
        rows,
        schema={"text_id": pl.String, "speaker": pl.String, "task": pl.String, "text": pl.String},
        orient="row",
    )


def entities_of(text: str) -> dict[str, str]:
    return dict(extract_entities(texts_of(text)).select("entity", "label").rows())


@pytest.mark.parametrize(
    ("text", "entity", "label"),
    [
        ("Could you make me a program?", "could you", "politeness"),
        ("I'd like a table of my pupils.", "i would like", "politeness"),
        ("Hillary Clinton spoke first.", "hillary clinton", "person"),
        ("We met Senator Kaine there.", "senator kaine", "person"),
        ("She moved to the United States in May.", "united states", "place"),
        ("It was founded on Monday.", "monday", "time"),
        ("It costs 20 dollars.", "20 dollars", "quantity"),
        ("Give the height in centimetres.", "centimetre", "unit"),
        ("I am worried about my data.", "worried", "negative"),
        ("I am worried about my data.", "data", "keyword"),
        ("That would be a delight.", "delight", "positive"),
        ("Open the file in Microsoft Excel.", "microsoft excel", "keyword"),
        ("Use PostgreSQL for the storage.", "postgresql", "keyword"),
        ("Call `parse_date(text)` twice.", "parse_date(text)", "keyword"),
        ("The value of my_variable is wrong.", "my_variable", "keyword"),
        ("Write the orders to data.csv, please.", "data.csv", "keyword"),
        ("Compute the convex hulls of points.", "convex hull", "keyword"),
        ("I want a simple command-line calculator.", "command line calculator", "keyword"),
        ("I want a simple command line calculator.", "command line calculator", "keyword"),
        ("Design a real-time system.", "real time system", "keyword"),
        ("Describe the APIs of the program.", "api", "keyword"),
    ],
)
def test_what_is_an_entity(text: str, entity: str, label: str) -> None:
    assert entities_of(text).get(entity) == label


@pytest.mark.parametrize("word", ["first", "one", "simple", "thing", "the", "we", "lets"])
def test_what_is_none(word: str) -> None:
    assert word not in entities_of("We first want the simple thing that lets one access every word.")


def test_places_of_a_mention() -> None:
    text = "Hello. We want, quickly, a list of customer orders!"
    found = extract_entities(texts_of(text))
    assert found.schema == ENTITIES
    order = found.filter(pl.col("entity") == "customer order").to_dicts()[0]
    assert order["surface"] == text[order["start"] : order["end"]] == "customer orders"
    assert (order["sentence"], order["word"], order["words"]) == (1, 6, 2)


def test_mentions_do_not_overlap_and_labels_are_a_closed_set(shared_data: Path) -> None:
    texts, _ = read_texts(shared_data / "recorded" / "persona_rewrites" / "rewrites.jsonl")
    texts = texts.head(30)
    found = extract_entities(texts)
    assert set(found["label"]) <= set(LABELS)
    by_id = dict(texts.select("text_id", "text").rows())
    for (text_id,), rows in found.group_by(["text_id"], maintain_order=True):
        places = rows.select("start", "end", "surface").rows()
        assert all(by_id[str(text_id)][start:end] == surface for start, end, surface in places)
        assert all(end <= following for (_, end, _), (following, _, _) in pairwise(places))
    assert found["entity"].str.contains(r"^\S+( \S+)*$").all()


def test_odd_texts() -> None:
    odd = [
        "",
        " \n\t ",
        "😀😀 👩‍💻!",
        "مرحبا بالعالم",
        "שלום עולם",
        "<script>alert('x')</script>",
        "\x00\x01",
        "a" * 10_000,
        "`" * 99,
    ]
    found = extract_entities(texts_of(*odd, "A calculator."))
    assert found.filter(pl.col("text_id") == str(len(odd)))["entity"].to_list() == ["calculator"]
    assert found.filter(pl.col("text_id").is_in(["0", "1"])).is_empty()


@pytest.mark.parametrize(
    ("text", "surface", "entity"),
    [
        ("Write me a calculator please", "please", "please"),
        ("Write me a calculator, thank you", "thank you", "thank you"),
        ("thanks", "thanks", "thank you"),
        ("A calculator, if you could", "if you could", "if you could"),
        ("Make it work please\n\nThen add colours, kindly", "please", "please"),
    ],
)
def test_a_text_may_end_on_a_polite_word(text: str, surface: str, entity: str) -> None:
    found = extract_entities(texts_of(text)).filter(pl.col("label") == "politeness").row(0, named=True)
    assert (found["surface"], found["entity"]) == (surface, entity)
    assert (found["start"], found["end"]) == (text.index(surface), text.index(surface) + len(surface))
    assert found["words"] == len(surface.split())


WORDS = sorted({*CLASSIFYING, *GENERIC, *NEGATIVE, *PLAIN_TOO, *POSITIVE, *TECHNICAL, *UNITS})
PIECES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(str.capitalize),
    st.sampled_from(sorted(" ".join(words) for words in POLITENESS)),
    st.sampled_from(sorted({words[0] for words in POLITENESS})),
    st.sampled_from(["https://example.org/a?b=c", "www.example.org", "ann@example.org", "data.csv", "`parse(x)`", "`"]),
    st.sampled_from(["my_variable", "parseDate", "f()", "C++", "C#", ".NET", "node.js", "x-y", "-", "--", "’d", "'s"]),
    st.sampled_from(["😀", "👩‍💻", "🇩🇪", "é", "e\u0301", "مرحبا", "中文", "\u200b", "\x00", "\ufeff", "Ann", "Berlin"]),
    st.sampled_from(["a", "the", "calculator", "I", "you", "could", "20", "first", "Senator", "orders", ".", "?"]),
)
ANY_TEXT = st.lists(st.tuples(PIECES, st.sampled_from([" ", " ", " ", "", "\n", "\n\n", ", "])), max_size=8).map(
    lambda parts: "".join(piece + space for piece, space in parts[:-1]) + "".join(piece for piece, _ in parts[-1:])
)


@settings(max_examples=25, deadline=None)
@given(st.lists(ANY_TEXT, min_size=1, max_size=8))
def test_any_text_gives_mentions_inside_it(written: list[str]) -> None:
    ends: dict[str, int] = {}
    for row in extract_entities(texts_of(*written)).iter_rows(named=True):
        text = written[int(row["text_id"])]
        assert 0 <= row["start"] < row["end"] <= len(text)
        assert row["surface"] == text[row["start"] : row["end"]]
        assert ends.get(row["text_id"], 0) <= row["start"]
        assert row["word"] >= 0
        assert row["words"] >= 1
        assert row["entity"]
        ends[row["text_id"]] = row["end"]


def test_no_texts() -> None:
    found = extract_entities(texts_of())
    assert found.is_empty()
    assert found.schema == ENTITIES


def test_offsets_and_sentences_go_on_over_the_pieces_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"The printer of room {i} is broken." for i in range(40))
    whole = extract_entities(texts_of(text))
    monkeypatch.setattr(pipeline, "PIECE", 200)
    pieces = extract_entities(texts_of(text))
    printers = pl.col("entity") == "printer"
    assert pieces.filter(printers).height == 40
    assert pieces.filter(printers).equals(whole.filter(printers))


@pytest.mark.slow
def test_a_text_of_two_megabytes() -> None:
    text = "x" * 1_899_000 + " The calculator adds numbers.\n" * 60 + "word " * 20_000
    assert len(text) > 2_000_000
    assert extract_entities(texts_of(text)).filter(pl.col("entity") == "calculator").height == 60


def test_counts_of_a_speaker() -> None:
    texts = texts_of("Don't print the table, print the user-friendly table.", "")
    texts = texts.with_columns(speaker=pl.Series(["bob", "ann"]))
    counts = count_speakers(texts, extract_entities(texts))
    assert counts.row(0, named=True) == {"speaker": "bob", "texts": 1, "words": 8, "mentions": 2, "entities": 1}
    assert counts.row(1) == ("ann", 1, 0, 0, 0)
