"""Texts by speakers, from none at all on: every table is there, and what is missing is said."""

import polars as pl
import pytest

from analysis.language import (
    CONFUSION,
    DISTINCTIVE_ENTITIES,
    DISTINCTIVE_WORDS,
    ENTITIES,
    ENTITY_CENTRALITY,
    ENTITY_MAP,
    OVERLAP,
    PAIRS,
    SEPARABILITY,
    SEPARATED_PAIRS,
    SEPARATING_WORDS,
    SPEAKERS,
    TOPIC_MAP,
    TOPIC_MODELS,
    TOPIC_SHARES,
    TOPIC_WORDS,
    TOPICS,
)
from analysis.stability import RELIABILITY, STABILITY
from analysis.texts import analyze_texts
from simulator.imports import TEXTS


def texts_of(*rows: tuple[str, str]) -> pl.DataFrame:
    found = [(str(i), speaker, "t", i, text) for i, (speaker, text) in enumerate(rows)]
    return pl.DataFrame(found, schema=TEXTS, orient="row")


def test_no_texts_give_empty_tables_and_a_warning() -> None:
    steps: list[str] = []
    tables, warnings = analyze_texts(texts_of(), seed=7, shuffles=99, step=steps.append)
    schemas = {
        **{"texts": TEXTS, "speakers": SPEAKERS, "entities": ENTITIES, "pairs": PAIRS, "overlap": OVERLAP},
        **{"entity_centrality": ENTITY_CENTRALITY},
        **{"entity_map": ENTITY_MAP, "topics": TOPICS, "topic_shares": TOPIC_SHARES},
        **{"distinctive_entities": DISTINCTIVE_ENTITIES, "distinctive_words": DISTINCTIVE_WORDS},
        **{"separability": SEPARABILITY, "confusion": CONFUSION},
        **{"separated_pairs": SEPARATED_PAIRS, "separating_words": SEPARATING_WORDS},
        **{"topic_models": TOPIC_MODELS, "topic_words": TOPIC_WORDS, "topic_map": TOPIC_MAP},
        **{"stability": STABILITY, "reliability": RELIABILITY},
    }
    assert {name: table.schema for name, table in tables.items()} == schemas
    told = {"stability", "reliability"}  # a row for each measure, which says that there was not enough
    assert all(table.is_empty() for name, table in tables.items() if name not in told)
    assert all(set(tables[name]["status"]) <= {"not_enough", "not_installed"} for name in told)
    assert [warning.split(":")[0] for warning in warnings] == [
        "Not enough text to tell speakers apart",
        "Not enough text for topics",
    ]
    assert steps == ["entities", "overlap", "who wrote what", "stability", "topics"]


@pytest.mark.parametrize("text", ["Please write a calculator in Python.", "", " \n"])
def test_one_text_by_one_speaker(text: str) -> None:
    tables, warnings = analyze_texts(texts_of(("ann", text)), seed=7, shuffles=99, step=lambda _: None)
    assert tables["entities"]["entity"].to_list() == (["please", "calculator", "python"] if text.strip() else [])
    assert tables["speakers"].select("speaker", "texts").rows() == [("ann", 1)]
    assert tables["entity_map"].height == tables["entities"].height
    assert tables["overlap"].is_empty()
    assert tables["topics"].is_empty()
    assert len(warnings) == 2


def test_one_speaker_with_several_texts_overlaps_with_nobody() -> None:
    tables, _ = analyze_texts(texts_of(*[("ann", "A calculator, please")] * 3), seed=7, step=lambda _: None)
    assert tables["speakers"].select("texts", "mentions", "entities").rows() == [(3, 6, 2)]
    assert tables["overlap"].is_empty()
