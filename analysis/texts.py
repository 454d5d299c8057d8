"""Texts by speakers: which tables are made from them, whether the speakers are personas or anybody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from analysis.language import (
    EntityRules,
    count_pairs,
    count_speakers,
    distinctive_entities,
    distinctive_words,
    entity_graph,
    extract_entities,
    fit_topics,
    list_nouns,
    map_entities,
    measure_centrality,
    overlap_speakers,
    separate_speakers,
)
from analysis.stability import measure_stability

__all__ = ["analyze_texts"]


def analyze_texts(
    texts: pl.DataFrame,
    *,
    seed: int,
    codes: pl.DataFrame | None = None,
    shuffles: int = 1000,
    max_distance: int = 5,
    rules: EntityRules | None = None,
    requests: Mapping[str, str] | None = None,
    step: Callable[[str], None] = print,
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Find out who talks alike: entities, pairs, overlap, what sets speakers apart, and topics.

    Parameters
    ----------
    texts
        The columns of `simulator.imports.TEXTS`, one row a text.
    seed
        Of the shuffles, the layout and the topics.
    codes
        The programs that speakers got, where there are any; see `analysis.stability.measure_stability`.
    shuffles
        How often texts are shuffled between speakers within tasks for ``expected``, ``z`` and ``p``.
    max_distance
        Words between two entities of a pair, at most.
    rules, requests
        Of the entities; see `analysis.language.extract_entities`.
    step
        Told what is being done, in a few words.

    Returns
    -------
    dict of str to DataFrame, list of str
        ``texts``, ``speakers``, ``entities``, ``pairs``, ``overlap``, ``entity_map``, ``entity_centrality``,
        ``distinctive_entities``, ``distinctive_words``, ``separability``, ``confusion``, ``separated_pairs``,
        ``separating_words``, ``stability``, ``reliability``, ``topics``, ``topic_shares``, ``topic_models``,
        ``topic_words`` and ``topic_map``; and what a reader must be warned of.
    """
    step("entities")
    nouns: list[list[str]] = [[] for _ in range(texts.height)]
    entities = extract_entities(
        texts, rules=rules, requests=requests, each=lambda number, doc: nouns[number].extend(list_nouns(doc))
    )
    pairs = count_pairs(entities, max_distance=max_distance)
    step("overlap")
    overlap = overlap_speakers(texts, entities, pairs, seed=seed, shuffles=shuffles)
    entity_map = map_entities(pairs, entities, seed=seed)
    centrality = measure_centrality(entity_graph(pairs, entities), seed=seed)
    step("who wrote what")
    own_entities, _ = distinctive_entities(entities)  # where there are too few, the next step says so of all
    own_words, _ = distinctive_words(texts)
    apart = separate_speakers(texts, seed=seed)
    step("stability")
    stability, reliability = measure_stability(texts, entities, codes, seed=seed)
    step("topics")
    found = fit_topics(texts, seed=seed, nouns=nouns)
    tables = {
        "texts": texts,
        "speakers": count_speakers(texts, entities),
        "entities": entities,
        "pairs": pairs,
        "overlap": overlap,
        "entity_map": entity_map,
        "entity_centrality": centrality,
        "distinctive_entities": own_entities,
        "distinctive_words": own_words,
        "separability": apart.summary,
        "confusion": apart.confusion,
        "separated_pairs": apart.pairs,
        "separating_words": apart.words,
        "stability": stability,
        "reliability": reliability,
        "topics": found.topics,
        "topic_shares": found.shares,
        "topic_models": found.models,
        "topic_words": found.words,
        "topic_map": found.places,
    }
    return tables, [*apart.warnings, *found.warnings]
