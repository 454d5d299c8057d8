"""What others recorded, as rows of ``variants``, ``asks``, ``replies`` and ``codes``, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from simulator.code import CodeStatus, Extraction
from simulator.syntax import parses
from simulator.tables import ASKS, CODES, REPLIES, VARIANTS

__all__ = ["Answer", "Tables", "answer_tables", "concat_tables", "fill", "take_as_code", "variants_table"]

Tables = dict[str, pl.DataFrame]
"""Tables of `simulator.tables.SCHEMAS` by name."""


class Answer(NamedTuple):
    """A recorded reply to a variant, and the code in it.

    Parameters
    ----------
    reply
        Its id, which is the code's as well.
    variant, model, repeat, status, text, error
        As in ``replies``.
    code
        What was extracted.
    """

    reply: str
    variant: str
    model: str
    repeat: int
    status: str
    text: str
    error: str | None
    code: Extraction


def take_as_code(text: str, *, language: str, chosen: str, body: bool = False) -> Extraction:
    r"""Take a whole text as code: nothing is searched for, nothing left out.

    Parameters
    ----------
    text
        The code.
    language
        Its language.
    chosen
        What the text is, in words.
    body
        Whether an indented text may be the body of a Python function, whose head is not known. It is then ``ok`` when
        it parses under one.

    Examples
    --------
    >>> take_as_code("    return 1\n", language="python", chosen="the completion", body=True).status
    'ok'
    """
    if not text.strip():
        return Extraction("empty", language, "", 0, "nothing: there is no text", "")
    parsed = parses(text, language)
    if parsed is False and body and language == "python" and text.lstrip("\n")[:1] in (" ", "\t"):
        parsed = parses(f"def _():\n{text}", language)
        chosen += ", read as the body of a function"
    status: CodeStatus = "unparsable" if parsed is False else "ok"
    how = {True: "", False: "; it does not parse", None: "; not checked, for want of its grammar"}[parsed]
    return Extraction(status, language, text, 0, chosen + how, "")


def variants_table(rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """Return ``variants``: what a row does not say is null, but a variant is ``ok`` and was made by no call."""
    known: dict[str, object] = {"status": "ok", "made_by": "", "note": ""}
    return pl.DataFrame([{**dict.fromkeys(VARIANTS), **known, **row} for row in rows], schema=VARIANTS)


def answer_tables(answers: Sequence[Answer]) -> Tables:
    """Return ``asks``, ``replies`` and ``codes`` of some answers, in their order.

    No call is known by which an answer was asked for, so ``call`` is the reply's id. What was sent besides the text is
    not known either: ``params`` and ``sent`` are empty objects. Tokens, cost and seconds are null.
    """
    ids = pl.Series([one.reply for one in answers], dtype=pl.String)
    texts = [one.text for one in answers]
    text = pl.Series(texts, dtype=pl.String)
    codes = [one.code.text for one in answers]
    variant = pl.Series([one.variant for one in answers], dtype=pl.String)
    # Equal columns share their memory: a file of solutions is held once, not twice.
    return {
        "asks": pl.DataFrame({"variant": variant, "reply": ids}, schema=ASKS),
        "replies": fill(
            REPLIES,
            {
                "reply": ids,
                "call": ids,
                "variant": variant,
                "stage": "generate",
                "model": [one.model for one in answers],
                "params": "{}",
                "repeat": [one.repeat for one in answers],
                "status": [one.status for one in answers],
                "text": text,
                "error": [one.error for one in answers],
                "finish": "",
                "model_reported": "",
                "sent": "{}",
            },
        ),
        "codes": fill(
            CODES,
            {
                "code": ids,
                "reply": ids,
                "status": [one.code.status for one in answers],
                "language": [one.code.language for one in answers],
                "text": text if codes == texts else codes,
                "blocks": [one.code.blocks for one in answers],
                "chosen": [one.code.chosen for one in answers],
                "left_out": [one.code.left_out for one in answers],
            },
        ),
    }


def fill(schema: pl.Schema, columns: Mapping[str, pl.Series | Sequence[object] | str | float]) -> pl.DataFrame:
    """Return a frame of a schema from some of its columns; a scalar stands in every row, and the others are null.

    At least one column must be no scalar: it says how many rows there are.
    """
    known = {name: value for name, value in columns.items() if not isinstance(value, str | int | float)}
    frame = pl.DataFrame(known, schema_overrides={name: schema[name] for name in known})
    return frame.select(
        pl.col(name) if name in known else pl.lit(columns.get(name), dtype=kind).alias(name)
        for name, kind in schema.items()
    )


def concat_tables(batches: Iterator[Tables]) -> Tables:
    """Join the batches of one import, table by table."""
    found: dict[str, list[pl.DataFrame]] = {}
    for batch in batches:
        for name, frame in batch.items():
            found.setdefault(name, []).append(frame)
    return {name: pl.concat(frames) for name, frames in found.items()}
