"""Recorded outcomes as variants, replies, codes and outcomes: the tables that a run of ours would have given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from simulator.imports.answers import Tables, concat_tables, fill
from simulator.imports.ids import ContentIds, content_id
from simulator.imports.outcomes import OutcomeTable
from simulator.running.calls import canonical_json
from simulator.tables import ASKS, CODES, OUTCOMES, REPLIES, VARIANTS

__all__ = ["MODELS", "enter_outcomes", "stream_outcomes"]

MODELS = pl.Schema({"model": pl.String, "model_size": pl.Float64})
"""A model and its size in billions of parameters."""

_BATCH = 50_000


def enter_outcomes(table: OutcomeTable) -> Tables:
    """Return the tables of record that recorded outcomes stand for.

    A table of more than a few million rows is better audited as it is (`OutcomeTable.frame`), or entered batch by batch
    (`stream_outcomes`): ids alone are a hundred bytes a row.

    Parameters
    ----------
    table
        What `simulator.imports.scan_outcomes` gave.

    Returns
    -------
    dict of str to DataFrame
        ``variants`` (method ``identity``; ``dataset`` is the benchmark), ``asks``, ``replies`` and ``codes`` (their
        texts null, because they were not recorded), ``outcomes`` (the columns of `simulator.tables.OUTCOMES`, then
        any others of the file by name), and, where the file has sizes, `MODELS` as ``models``. Rows stand in the
        file's order. A reply is ``refused`` and a code ``unparsable`` where the outcome of that name is 1, and ``ok``
        otherwise. With a ``repeat`` column, rows that agree in benchmark, task, axis, identity and wording answer one
        variant; without, every row has a variant of its own.

        Ids are hashes of a row's keys and outcomes and of how many equal rows come before it; they do not change when
        rows are added or sorted, nor with the order of columns or the format of the file.

    Examples
    --------
    >>> tables = enter_outcomes(scan_outcomes("outcomes.csv"))  # doctest: +SKIP
    """
    return concat_tables(stream_outcomes(table))


def stream_outcomes(table: OutcomeTable, *, batch: int = _BATCH) -> Iterator[Tables]:
    """Yield the tables of `enter_outcomes` in batches of about so many rows; ``models`` comes with the first."""
    ids, known = ContentIds(), set[str]()
    sizes = "model_size" in table.frame.collect_schema()
    models = None
    if sizes:
        pairs = table.frame.select(MODELS.names()).unique().sort(MODELS.names(), nulls_last=True)
        models = pairs.collect(engine="streaming")
    for frame in table.frame.collect_batches(chunk_size=batch, maintain_order=True):
        for piece in frame.iter_slices(batch):
            tables = _enter(piece, sorted(table.outcomes), ids, known)
            if models is not None:
                tables["models"] = models
                models = None
            yield tables


def _enter(frame: pl.DataFrame, outcomes: list[str], ids: ContentIds, known: set[str]) -> Tables:
    has_repeat = "repeat" in frame.columns
    keys = ["benchmark", "task", "axis", "identity", *(["wording"] if "wording" in frame.columns else [])]
    replies = _reply_ids(frame, keys, outcomes, ids)
    if has_repeat:
        variants = [content_id("identity", *row) for row in frame.select(keys).iter_rows()]
        fresh = []
        for variant in variants:
            fresh.append(variant not in known)
            known.add(variant)
    else:
        variants = [content_id("identity", reply) for reply in replies]
        fresh = [True] * len(variants)
    reply, asked = pl.Series(replies, dtype=pl.String), pl.Series(variants, dtype=pl.String)
    one = {name: (frame[name] == 1.0).fill_null(value=False) for name in ("refused", "unparsable") if name in outcomes}
    status = {
        name: pl.select(pl.when(flag).then(pl.lit(name)).otherwise(pl.lit("ok"))).to_series()
        for name, flag in one.items()
    }
    made = fill(
        VARIANTS,
        {
            "variant": asked,
            "task": frame["task"],
            "dataset": frame["benchmark"],
            "method": "identity",
            "axis": frame["axis"],
            "identity": frame["identity"],
            **({"wording": frame["wording"]} if "wording" in frame.columns else {}),
            "made_by": "",
            "status": "ok",
            "note": "the text was not recorded",
        },
    )
    measured = fill(OUTCOMES, {"code": reply, **{name: frame[name] for name in outcomes if name in OUTCOMES}})
    return {
        "variants": made if all(fresh) else made.filter(pl.Series(fresh)),
        "asks": pl.DataFrame({"variant": asked, "reply": reply}, schema=ASKS),
        "replies": fill(
            REPLIES,
            {
                "reply": reply,
                "call": reply,
                "variant": asked,
                "stage": "generate",
                "model": frame["model"],
                "params": "{}",
                "repeat": frame["repeat"] if has_repeat else [0] * frame.height,
                "status": status.get("refused", "ok"),
                "finish": "",
                "model_reported": "",
                "sent": "{}",
            },
        ),
        "codes": fill(CODES, {"code": reply, "reply": reply, "status": status.get("unparsable", "ok")}),
        "outcomes": measured.with_columns(frame[name] for name in outcomes if name not in OUTCOMES),
    }


def _reply_ids(frame: pl.DataFrame, keys: list[str], outcomes: list[str], ids: ContentIds) -> list[str]:
    """Hash keys as JSON and outcomes as eight bytes each, so that no rounding or spelling of numbers comes in."""
    columns = ["model", *keys, *(["repeat"] if "repeat" in frame.columns else [])]
    numbers = frame.select(pl.col(outcomes).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    numbers = np.where(np.isnan(numbers), np.nan, numbers).astype("<f8")
    width, data = 8 * len(outcomes), numbers.tobytes()
    named = canonical_json([*columns, *outcomes]).encode()
    return [
        ids.make_from(b"%s%s%s" % (named, canonical_json(row).encode(), data[place * width : (place + 1) * width]))
        for place, row in enumerate(frame.select(columns).iter_rows())
    ]
