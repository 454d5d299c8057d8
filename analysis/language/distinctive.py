"""Which entities set a speaker apart from all the others."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["DISTINCTIVE", "find_distinctive"]

DISTINCTIVE = pl.Schema(
    {
        "speaker": pl.String,
        "rank": pl.Int64,
        "entity": pl.String,
        "label": pl.String,
        "count": pl.Int64,
        "others": pl.Int64,
        "per_thousand": pl.Float64,
        "per_thousand_others": pl.Float64,
        "log_odds": pl.Float64,
        "z": pl.Float64,
    }
)
"""An entity that a speaker uses more than the others do. ``count`` and ``others`` are mentions, by the speaker and by
all the others; ``per_thousand`` of each one's mentions; ``log_odds`` is the natural logarithm of a ratio of odds."""

_DIGITS = 9


def find_distinctive(entities: pl.DataFrame, *, most: int = 30) -> pl.DataFrame:
    r"""Rank each speaker's entities by how much more the speaker uses them than all the others together.

    With :math:`y_{is}` mentions of entity i among the :math:`n_s` of speaker s, :math:`y_{i\bar s}` and
    :math:`n_{\bar s}` those of all the others,

    .. math::
        \delta_i = \log \frac{y_{is} + a_i}{n_s + a - y_{is} - a_i}
                 - \log \frac{y_{i\bar s} + a_i}{n_{\bar s} + a - y_{i\bar s} - a_i}, \qquad
        z_i = \delta_i \Big/ \sqrt{\frac{1}{y_{is} + a_i} + \frac{1}{y_{i\bar s} + a_i}}

    The prior :math:`a_i` is in proportion to the mentions of i by everybody, one for each distinct entity on average,
    so that what is rare is drawn towards no difference. Plain ratios would rank what was said once, and differences
    what everybody says. Mentions in one text are not independent of one another: z ranks, and is no test.

    Parameters
    ----------
    entities
        ``speaker``, ``entity``, ``label``, a row a mention, as `extract_entities` gives.
    most
        How many entities of each speaker, those with the largest z; only such with z above 0.

    Returns
    -------
    DataFrame
        The columns of `DISTINCTIVE`, speakers in alphabetical order, ranked from 1; ties by name. ``label`` is the one
        that the entity has most often. Without a second speaker, or a
        second entity, there are no rows: nobody is to be set apart from, or nothing by which.

    References
    ----------
    B. L. Monroe, M. P. Colaresi and K. M. Quinn, "Fightin' Words: Lexical Feature Selection and Evaluation for
    Identifying the Content of Political Conflict", Political Analysis 16(4), 2008. https://doi.org/10.1093/pan/mpn018

    Examples
    --------
    >>> said = ["menu", "menu", "database", "menu", "isolation level", "isolation level", "database"]
    >>> entities = pl.DataFrame({"speaker": [*"aaa", *"bbbb"], "entity": said, "label": ["keyword"] * 7})
    >>> find_distinctive(entities).select("speaker", "entity", "count", "others", pl.col("z").round(2)).rows()
    [('a', 'menu', 2, 1, 1.06), ('a', 'database', 1, 1, 0.21), ('b', 'isolation level', 2, 0, 1.15)]
    """
    counts = entities.group_by("speaker", "entity").agg(count=pl.len().cast(pl.Int64))
    if counts["speaker"].n_unique() < 2 or counts["entity"].n_unique() < 2:
        return pl.DataFrame(schema=DISTINCTIVE)
    whole = counts.group_by("entity").agg(whole=pl.col("count").sum())
    said = counts.group_by("speaker").agg(said=pl.col("count").sum())
    total, distinct = int(whole["whole"].sum()), whole.height
    labels = (
        entities.group_by("entity", "label")
        .len()
        .sort("entity", "len", "label", descending=[False, True, False])
        .unique("entity", keep="first")
        .select("entity", "label")
    )
    rows = counts.join(whole, on="entity").join(said, on="speaker").join(labels, on="entity")
    own, all_of, spoken = (rows[name].to_numpy().astype(np.float64) for name in ("count", "whole", "said"))
    others, rest = all_of - own, total - spoken
    prior = all_of * (distinct / total)
    log_odds = np.log((own + prior) / (spoken + distinct - own - prior)) - np.log(
        (others + prior) / (rest + distinct - others - prior)
    )
    z = log_odds / np.sqrt(1 / (own + prior) + 1 / (others + prior))
    return (
        rows.with_columns(
            others=pl.Series(others).cast(pl.Int64),
            per_thousand=pl.Series(1000 * own / spoken),
            per_thousand_others=pl.Series(1000 * others / rest),
            log_odds=pl.Series(log_odds).round(_DIGITS),
            z=pl.Series(z).round(_DIGITS),
        )
        .filter(pl.col("z") > 0)
        .sort("speaker", "z", "entity", descending=[False, True, False])
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("speaker"))
        .filter(pl.col("rank") <= most)
        .select(DISTINCTIVE.names())
        .cast(DISTINCTIVE)
    )
