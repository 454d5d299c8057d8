"""How they talk: entities, which of them stand together, which speakers share them, what sets speakers apart, topics.

Everything here is a pure function from tables to tables. spaCy, gensim and networkx are loaded by the functions that
need them, and each name below by its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.language.centrality import ENTITY_CENTRALITY, entity_graph, measure_centrality
    from analysis.language.cooccurrence import ENTITY_MAP, PAIRS, count_pairs, map_entities
    from analysis.language.distinctive import (
        DISTINCTIVE_ENTITIES,
        DISTINCTIVE_WORDS,
        LOG_ODDS,
        compare_counts,
        distinctive_entities,
        distinctive_words,
        list_words,
    )
    from analysis.language.entities import ENTITIES, LABELS, extract_entities
    from analysis.language.entity_rules import EntityRules, read_entity_rules
    from analysis.language.overlap import OVERLAP, adjust_p, overlap_speakers, speaker_graph
    from analysis.language.pipeline import english_model
    from analysis.language.separability import (
        CONFUSION,
        SEPARABILITY,
        SEPARATED_PAIRS,
        SEPARATING_WORDS,
        Separability,
        separate_speakers,
        tell_separability,
    )
    from analysis.language.speakers import SPEAKERS, count_speakers
    from analysis.language.topic_models import TOPIC_MODELS, match_topics
    from analysis.language.topics import (
        TOPIC_MAP,
        TOPIC_SHARES,
        TOPIC_WORDS,
        TOPICS,
        NotEnoughText,
        Topics,
        fit_topics,
        list_nouns,
    )

__all__ = [
    "CONFUSION",
    "DISTINCTIVE_ENTITIES",
    "DISTINCTIVE_WORDS",
    "ENTITIES",
    "ENTITY_CENTRALITY",
    "ENTITY_MAP",
    "LABELS",
    "LOG_ODDS",
    "OVERLAP",
    "PAIRS",
    "SEPARABILITY",
    "SEPARATED_PAIRS",
    "SEPARATING_WORDS",
    "SPEAKERS",
    "TOPICS",
    "TOPIC_MAP",
    "TOPIC_MODELS",
    "TOPIC_SHARES",
    "TOPIC_WORDS",
    "EntityRules",
    "NotEnoughText",
    "Separability",
    "Topics",
    "adjust_p",
    "compare_counts",
    "count_pairs",
    "count_speakers",
    "distinctive_entities",
    "distinctive_words",
    "english_model",
    "entity_graph",
    "extract_entities",
    "fit_topics",
    "list_nouns",
    "list_words",
    "map_entities",
    "match_topics",
    "measure_centrality",
    "overlap_speakers",
    "read_entity_rules",
    "separate_speakers",
    "speaker_graph",
    "tell_separability",
]

_HOME = {
    "CONFUSION": "separability",
    "DISTINCTIVE_ENTITIES": "distinctive",
    "DISTINCTIVE_WORDS": "distinctive",
    "ENTITIES": "entities",
    "ENTITY_CENTRALITY": "centrality",
    "ENTITY_MAP": "cooccurrence",
    "LABELS": "entities",
    "LOG_ODDS": "distinctive",
    "OVERLAP": "overlap",
    "PAIRS": "cooccurrence",
    "SEPARABILITY": "separability",
    "SEPARATED_PAIRS": "separability",
    "SEPARATING_WORDS": "separability",
    "SPEAKERS": "speakers",
    "TOPICS": "topics",
    "TOPIC_MAP": "topics",
    "TOPIC_MODELS": "topic_models",
    "TOPIC_SHARES": "topics",
    "TOPIC_WORDS": "topics",
    "EntityRules": "entity_rules",
    "NotEnoughText": "topics",
    "Separability": "separability",
    "Topics": "topics",
    "adjust_p": "overlap",
    "compare_counts": "distinctive",
    "count_pairs": "cooccurrence",
    "count_speakers": "speakers",
    "distinctive_entities": "distinctive",
    "distinctive_words": "distinctive",
    "english_model": "pipeline",
    "entity_graph": "centrality",
    "extract_entities": "entities",
    "fit_topics": "topics",
    "list_nouns": "topics",
    "list_words": "distinctive",
    "map_entities": "cooccurrence",
    "match_topics": "topic_models",
    "measure_centrality": "centrality",
    "overlap_speakers": "overlap",
    "read_entity_rules": "entity_rules",
    "separate_speakers": "separability",
    "speaker_graph": "overlap",
    "tell_separability": "separability",
}


def __getattr__(name: str) -> object:
    """Import the module that holds ``name`` when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
