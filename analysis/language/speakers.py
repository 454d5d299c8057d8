"""Who speaks, and how much."""

from __future__ import annotations

import re

import polars as pl

__all__ = ["SPEAKERS", "count_speakers"]

SPEAKERS = pl.Schema(
    {"speaker": pl.String, "texts": pl.Int64, "words": pl.Int64, "mentions": pl.Int64, "entities": pl.Int64}
)
"""A speaker; ``entities`` are distinct."""

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def count_speakers(texts: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Count what each speaker said: texts, words (runs of letters and digits), mentions, distinct entities.

    Parameters
    ----------
    texts
        ``speaker``, ``text``.
    entities
        As `extract_entities` gives.

    Returns
    -------
    DataFrame
        The columns of `SPEAKERS`, in the order in which the speakers first appear in ``texts``.
    """
    words = [len(_WORD.findall(text or "")) for text in texts["text"]]
    said = texts.with_columns(words=pl.Series(words, dtype=pl.Int64))
    said = said.group_by("speaker", maintain_order=True).agg(texts=pl.len(), words=pl.col("words").sum())
    found = entities.group_by("speaker").agg(mentions=pl.len(), entities=pl.col("entity").n_unique())
    joined = said.join(found, on="speaker", how="left", maintain_order="left").fill_null(0)
    return joined.select(SPEAKERS.names()).cast(SPEAKERS)
