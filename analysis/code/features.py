"""What a program is, in words: each feature with the line that shows it, and how often each persona's codes have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from analysis.code.artefact import KINDS, tell_kind
from analysis.code.program import ProgramStatus, parse_program
from analysis.code.rules import Rules, builtin_rules
from analysis.code.signs import find_signs
from simulator.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.code.program import Program
    from analysis.code.rules.rule import Place
    from analysis.code.signs import Rows

__all__ = [
    "FEATURES_SCHEMA",
    "FEATURE_TABLE_SCHEMA",
    "Evidence",
    "feature_table",
    "find_features",
    "find_in_codes",
]

MOST_CHARACTERS = 200
"""A longer line of evidence is cut."""

FEATURES_SCHEMA = pl.Schema(
    {
        "code": pl.String,
        "feature": pl.String,
        "group": pl.String,
        "lines": pl.Int64,
        "line": pl.Int64,
        "text": pl.String,
        "place": pl.String,
        "status": pl.String,
    }
)
"""What `find_in_codes` returns: a row for each feature that a code has, and one for its kind."""

FEATURE_TABLE_SCHEMA = pl.Schema(
    {
        "feature": pl.String,
        "group": pl.String,
        "means": pl.String,
        "by": pl.String,
        "codes": pl.Int64,
        "having": pl.Int64,
        "share": pl.Float64,
        "lines": pl.Int64,
        "code": pl.String,
        "line": pl.Int64,
        "text": pl.String,
        "place": pl.String,
    }
)
"""What `feature_table` returns."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """That a program has a feature, and the line that shows it.

    Parameters
    ----------
    feature
        Its name among the rules; for the kind of artefact ``kind:`` and one of `analysis.code.artefact.KINDS`.
    group
        Under which it is listed; ``kind`` for the kind.
    lines
        How many lines show it.
    line
        The first of them, from 1; None for ``kind:none``.
    text
        What is on it, without white space around it, at most 200 characters.
    place
        Whether it is a line of the ``code`` or of the ``reply``.
    status
        What the parser said of the code; see `analysis.code.program.Program`.
    """

    feature: str
    group: str
    lines: int
    line: int | None
    text: str | None
    place: Place
    status: ProgramStatus


def find_features(
    text: str, *, reply: str | None = None, language: str = "python", rules: Rules | None = None
) -> list[Evidence]:
    r"""Say what a program is, each time with the line that shows it.

    Parameters
    ----------
    text
        The code, or whatever came in its place.
    reply
        The whole reply that it is from. Questions, instructions and what is beside the code (a Dockerfile, a shell
        command) are looked for there; without it, in the text.
    language
        Of the code. Signs by syntax and imports are looked for in the language of their rules alone.
    rules
        See `analysis.code.rules.read_rules`; the built-in ones where there are none.

    Returns
    -------
    found
        First the kind of artefact, then the features in the order of the rules. Of an ``unparsable`` text they are
        those of the parts that the parser understood.

    Examples
    --------
    >>> for one in find_features("import sqlite3\n\ndb = sqlite3.connect(':memory:')\nprint(db)\n"):
    ...     print(one.feature, one.line, one.text)
    kind:snippet 1 import sqlite3
    console_output 4 print(db)
    storage_sqlite 1 import sqlite3
    """
    return _find([(parse_program(text, language=language), reply)], rules or builtin_rules())[0]


def find_in_codes(codes: pl.DataFrame, *, rules: Rules | None = None, language: str = "python") -> pl.DataFrame:
    """Find the features of each code: a pure function of a batch, for the engine.

    Parameters
    ----------
    codes
        ``code`` (its id) and ``text``, null where there is none. Also, where they are there: ``language``, and
        ``reply_text``, the whole reply that a code is from.
    rules
        As in `find_features`.
    language
        Of the codes that name none.

    Returns
    -------
    frame
        With the columns of `FEATURES_SCHEMA`: for each code, in their order, its kind and then its features.

    Raises
    ------
    UsageError
        A column is missing.
    """
    _need(codes, "code", "text", what="Codes whose features are to be found")
    has = [name for name in ("code", "text", "language", "reply_text") if name in codes.columns]
    rows = codes.select(has).to_dicts()
    keys = [(row["text"] or "", row.get("language") or language, row.get("reply_text")) for row in rows]
    distinct = list(dict.fromkeys(keys))  # a text that many replies share is looked at once
    found = _find([(parse_program(key[0], language=key[1]), key[2]) for key in distinct], rules or builtin_rules())
    evidence = dict(zip(distinct, found, strict=True))
    records = [
        {"code": row["code"], **{name: getattr(one, name) for name in FEATURES_SCHEMA if name != "code"}}
        for row, key in zip(rows, keys, strict=True)
        for one in evidence[key]
    ]
    return pl.DataFrame(records, schema=FEATURES_SCHEMA)


def feature_table(
    features: pl.DataFrame, codes: pl.DataFrame, *, by: str = "persona", rules: Rules | None = None
) -> pl.DataFrame:
    """Count, for each persona, the codes that have each feature, with a line that shows it.

    Parameters
    ----------
    features
        As `find_in_codes` returns it.
    codes
        All codes that were looked at, also those without any feature: ``code`` and the column `by`. Where `by` is
        null, a code is left out.
    by
        What is compared: ``persona``, ``model`` or any other column. A code in several rows belongs to each of them.
    rules
        The rules that the features were found by, for what they mean.

    Returns
    -------
    frame
        With the columns of `FEATURE_TABLE_SCHEMA`: a row for each feature that any code has and each persona (column
        ``by``), also those of whose codes none has it. ``codes`` is how many codes the persona has, ``having`` how many
        of them have the feature, ``share`` their quotient, ``lines`` how many lines show it; ``code``, ``line``,
        ``text`` and ``place`` are the evidence, from the first of the codes that have it, in the order of `codes`.

    Raises
    ------
    UsageError
        A column is missing.
    """
    _need(features, *FEATURES_SCHEMA, what="Features that were found")
    _need(codes, "code", by, what="Codes whose features are to be counted")
    of = codes.select("code", pl.col(by).cast(pl.String).alias("by")).drop_nulls().unique(maintain_order=True)
    known = [*(f"kind:{kind}" for kind in KINDS), *(rules or builtin_rules()).names()]
    meanings = {f"kind:{kind}": means for kind, means in KINDS.items()}
    meanings |= {feature.name: feature.means for feature in (rules or builtin_rules()).features}
    order = {name: number for number, name in enumerate(known)}
    # The left join keeps the order of `codes`, so that the first of a group is the first of those.
    joined = of.join(features, on="code", how="inner", maintain_order="left_right")
    counted = joined.group_by("feature", "by", maintain_order=True).agg(
        having=pl.len().cast(pl.Int64),
        lines=pl.col("lines").sum(),
        code=pl.col("code").first(),
        line=pl.col("line").first(),
        text=pl.col("text").first(),
        place=pl.col("place").first(),
    )
    kinds = joined.select("feature", "group").unique("feature", maintain_order=True)
    sizes = of.group_by("by").agg(codes=pl.len().cast(pl.Int64))
    return (
        kinds.join(sizes, how="cross")
        .join(counted, on=["feature", "by"], how="left")
        .with_columns(
            pl.col("having", "lines").fill_null(0),
            means=pl.col("feature").replace_strict(meanings, default="", return_dtype=pl.String),
            order=pl.col("feature").replace_strict(order, default=len(order), return_dtype=pl.Int64),
        )
        .with_columns(share=pl.col("having") / pl.col("codes"))
        .sort("order", "feature", "by")
        .select(FEATURE_TABLE_SCHEMA.names())
        .cast(FEATURE_TABLE_SCHEMA)
    )


def _need(frame: pl.DataFrame, *names: str, what: str) -> None:
    if missing := [name for name in names if name not in frame.columns]:
        raise UsageError(f"{what} need the columns {', '.join(names)}; {' and '.join(missing)} is not there.")


def _find(items: Sequence[tuple[Program, str | None]], rules: Rules) -> list[list[Evidence]]:
    """Find the kind and the features of each program."""
    return [
        _describe(program, reply or "", rows, rules)
        for (program, reply), rows in zip(items, find_signs(items, rules), strict=True)
    ]


def _describe(program: Program, reply: str, rows: dict[str, Rows], rules: Rules) -> list[Evidence]:
    lines: dict[Place, list[str]] = {"code": program.text.split("\n"), "reply": reply.split("\n")}
    if not reply:
        lines["reply"] = lines["code"]

    def evidence(feature: str, group: str, place: Place, shown: Sequence[int]) -> Evidence:
        text = lines[place][shown[0]].strip() if shown and shown[0] < len(lines[place]) else None
        if text is not None and len(text) > MOST_CHARACTERS:
            text = text[: MOST_CHARACTERS - 1] + "…"
        line = shown[0] + 1 if text is not None else None
        # Where there is no reply beside it, what was looked at is the code.
        where: Place = place if reply else "code"
        return Evidence(feature, group, len(shown), line, text, where, program.status)

    kind = tell_kind(program, reply, {name: found.rows[0] for name, found in rows.items()})
    of_reply = kind.kind in ("questions", "instructions") and program.status == "empty"
    found = [
        evidence(f"kind:{kind.kind}", "kind", "reply" if of_reply else "code", [] if kind.row is None else [kind.row])
    ]
    for feature in rules.features:
        if feature.name in rows:
            place, shown = rows[feature.name]
            found.append(evidence(feature.name, feature.group, place, shown))
    return found
