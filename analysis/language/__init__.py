"""How they talk: entities, which of them stand together, which speakers share them, and topics.

Everything here is a pure function from tables to tables. spaCy, gensim and networkx are loaded by the functions that
need them, and each name below by its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.language.centrality import ENTITY_CENTRALITY, entity_graph, measure_centrality
    from analysis.language.cooccurrence import ENTITY_MAP, PAIRS, count_pairs, map_entities
    from analysis.language.distinctive import DISTINCTIVE, find_distinctive
    from analysis.language.entities import ENTITIES, LABELS, SPEAKERS, count_speakers, extract_entities
    from analysis.language.overlap import OVERLAP, adjust_p, overlap_speakers, speaker_graph
    from analysis.language.pipeline import english_model
    from analysis.language.separability import (
        CONFUSION,
        SEPARABILITY,
        TELLING_WORDS,
        Separability,
        separate_speakers,
    )
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
    "DISTINCTIVE",
    "ENTITIES",
    "ENTITY_CENTRALITY",
    "ENTITY_MAP",
    "LABELS",
    "OVERLAP",
    "PAIRS",
    "SEPARABILITY",
    "SPEAKERS",
    "TELLING_WORDS",
    "TOPICS",
    "TOPIC_MAP",
    "TOPIC_MODELS",
    "TOPIC_SHARES",
    "TOPIC_WORDS",
    "NotEnoughText",
    "Separability",
    "Topics",
    "adjust_p",
    "count_pairs",
    "count_speakers",
    "english_model",
    "entity_graph",
    "extract_entities",
    "find_distinctive",
    "fit_topics",
    "list_nouns",
    "map_entities",
    "match_topics",
    "measure_centrality",
    "overlap_speakers",
    "separate_speakers",
    "speaker_graph",
]

_HOME = {
    "CONFUSION": "separability",
    "DISTINCTIVE": "distinctive",
    "ENTITIES": "entities",
    "ENTITY_CENTRALITY": "centrality",
    "ENTITY_MAP": "cooccurrence",
    "LABELS": "entities",
    "OVERLAP": "overlap",
    "PAIRS": "cooccurrence",
    "SEPARABILITY": "separability",
    "SPEAKERS": "entities",
    "TELLING_WORDS": "separability",
    "TOPICS": "topics",
    "TOPIC_MAP": "topics",
    "TOPIC_MODELS": "topic_models",
    "TOPIC_SHARES": "topics",
    "TOPIC_WORDS": "topics",
    "NotEnoughText": "topics",
    "Separability": "separability",
    "Topics": "topics",
    "adjust_p": "overlap",
    "count_pairs": "cooccurrence",
    "count_speakers": "entities",
    "english_model": "pipeline",
    "entity_graph": "centrality",
    "extract_entities": "entities",
    "find_distinctive": "distinctive",
    "fit_topics": "topics",
    "list_nouns": "topics",
    "map_entities": "cooccurrence",
    "match_topics": "topic_models",
    "measure_centrality": "centrality",
    "overlap_speakers": "overlap",
    "separate_speakers": "separability",
    "speaker_graph": "overlap",
}


def __getattr__(name: str) -> object:
    """Import the module that holds ``name`` when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
