"""Findings: sentences made from table cells, each with its number and the table that it is from.

What chance alone would give is said to be that. Nothing here is a judgement that a reader could not check in the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import polars as pl

from reports.cells import (
    Name,
    Row,
    count_of,
    decimal,
    join_words,
    plural,
    probability,
    rows,
    signed,
    value,
    whole,
)
from reports.charts import mean_tsed, topic_words
from reports.graph import SIGNIFICANT, beyond_chance
from reports.statuses import status_words
from reports.visible import one_line

__all__ = ["Finding", "find_all", "tell_loss"]

Tone = Literal["plain", "more", "less", "chance", "lost"]


class Finding(NamedTuple):
    """A sentence or two, the table it is made from, and how it is to be taken.

    ``more`` and ``less`` are beyond chance; ``chance`` is what chance alone would give; ``lost`` is what could not be
    had; ``plain`` is a number that was not tested.
    """

    text: str
    table: str
    tone: Tone = "plain"


def find_all(tables: Mapping[str, pl.DataFrame], names: Mapping[str, Name]) -> list[Finding]:
    """Say what the tables show, most important first.

    Parameters
    ----------
    tables
        Those of docs/architecture.md; a missing or empty one is said nothing of.
    names
        How each speaker is shown.
    """
    return [
        *_say_overlap(rows(tables, "overlap"), names),
        *_say_topics(rows(tables, "topics"), rows(tables, "topic_shares"), names),
        *_say_tsed(rows(tables, "persona_tsed"), names),
        *_say_lengths(rows(tables, "speakers"), names),
        *_say_losses(rows(tables, "counts")),
    ]


def _pair(row: Row, names: Mapping[str, Name]) -> str:
    return f"{names[row['a']].short} and {names[row['b']].short}"


def _say_overlap(overlap: Sequence[Row], names: Mapping[str, Name]) -> list[Finding]:
    known = [row for row in overlap if row["a"] in names and row["b"] in names]
    if not known:
        return []
    findings = [_say_extremes(known, names)]
    tested = [row for row in known if value(row["q"]) is not None and value(row["z"]) is not None]
    if not tested:
        findings.append(
            Finding("No pair could be compared with chance: z and q are undefined in every row.", "overlap", "chance")
        )
        return findings
    for direction, tone, words in ((1, "more", "more"), (-1, "less", "less")):
        beyond = sorted(
            (row for row in tested if beyond_chance(row) == direction), key=lambda row: -abs(float(row["z"]))
        )
        if beyond:
            listed = [f"{_pair(row, names)} (z {signed(row['z'])}, q {probability(row['q'])})" for row in beyond[:4]]
            if len(beyond) > 4:
                listed.append(f"{len(beyond) - 4:,} others")
            findings.append(
                Finding(
                    f"{plural(len(beyond), 'pair')} of {len(known):,} {'shares' if len(beyond) == 1 else 'share'} "
                    f"{words} than chance would give, at q < {SIGNIFICANT:.2f}: {join_words(listed)}.",
                    "overlap",
                    tone,  # type: ignore[arg-type]
                )
            )
    even = [row for row in tested if not beyond_chance(row)]
    if even:
        who = "No pair can" if len(even) == len(known) else f"{plural(len(even), 'pair')} of {len(known):,} cannot"
        nearest = min(even, key=lambda row: (float(row["q"]), float(row["p"])))
        findings.append(
            Finding(
                f"{who} be told from chance: texts shuffled between the speakers share as much. The nearest to a "
                f"difference is {_pair(nearest, names)} (z {signed(nearest['z'])}, q {probability(nearest['q'])}).",
                "overlap",
                "chance",
            )
        )
    if len(tested) < len(known):
        findings.append(
            Finding(
                f"{plural(len(known) - len(tested), 'pair')} could not be tested: z is undefined.", "overlap", "lost"
            )
        )
    return findings


def _say_extremes(known: Sequence[Row], names: Mapping[str, Name]) -> Finding:
    def tell(row: Row) -> str:
        shared = whole(row["shared_entities"])
        ties = sum(whole(other["shared_entities"]) == shared for other in known) - 1
        also = f", as {'does' if ties == 1 else 'do'} {plural(ties, 'other pair')}" if ties else ""
        return f"{_pair(row, names)} ({count_of(shared)}{also}; Jaccard {decimal(row['jaccard'])})"

    most = max(known, key=lambda row: whole(row["shared_entities"]))
    least = min(known, key=lambda row: whole(row["shared_entities"]))
    if len(known) == 1:
        return Finding(
            f"{_pair(most, names)} share {plural(whole(most['shared_entities']), 'entity', 'entities')} "
            f"of {count_of(most['union_entities'])} (Jaccard {decimal(most['jaccard'])}).",
            "overlap",
        )
    if whole(most["shared_entities"]) == whole(least["shared_entities"]):
        return Finding(f"Every pair shares {plural(whole(most['shared_entities']), 'entity', 'entities')}.", "overlap")
    text = f"{tell(most)} share most entities, {tell(least)} fewest, in raw numbers."
    scored = [row for row in known if value(row["jaccard"]) is not None]
    if scored:
        close = max(scored, key=lambda row: float(row["jaccard"]))
        far = min(scored, key=lambda row: float(row["jaccard"]))
        if close is not most or far is not least:
            text += (
                f" Of what either says, {_pair(close, names)} share most (Jaccard {decimal(close['jaccard'])}), "
                f"{_pair(far, names)} least ({decimal(far['jaccard'])})."
            )
    return Finding(text, "overlap")


def _say_topics(topics: Sequence[Row], topic_shares: Sequence[Row], names: Mapping[str, Name]) -> list[Finding]:
    words = topic_words(topics, 4)
    by_topic: dict[str, list[tuple[float, str]]] = {}
    for row in topic_shares:
        share = value(row["share"])
        if share is not None and row["speaker"] in names:
            by_topic.setdefault(str(row["topic"]), []).append((share, row["speaker"]))
    spread = {
        topic: (max(shares, key=lambda pair: pair[0]), min(shares, key=lambda pair: pair[0]))
        for topic, shares in by_topic.items()
        if len(shares) > 1
    }
    if not spread:
        return []
    widest = max(spread, key=lambda topic: spread[topic][0][0] - spread[topic][1][0])
    (high, most), (low, least) = spread[widest]
    listed = ", ".join(one_line(word, 30) for word in words.get(widest, []))
    return [
        Finding(
            f"The topic that divides the speakers most is topic {one_line(widest, 12)}"
            + (f" ({listed})" if listed else "")
            + f": {100 * high:.0f}% of the texts of {names[most].short}, {100 * low:.0f}% of those of "
            f"{names[least].short}. This was not tested against chance.",
            "topic_shares",
        )
    ]


def _say_tsed(persona_tsed: Sequence[Row], names: Mapping[str, Name]) -> list[Finding]:
    findings = []
    who = "speakers" if any(name.human for name in names.values()) else "personas"
    for model, between in mean_tsed(persona_tsed).items():
        known = [(cell[0], both) for both, cell in between.items() if cell[0] is not None and set(both) <= set(names)]
        pairs = sum(cell[3] for cell in between.values())
        scored = sum(cell[2] for cell in between.values())
        label = one_line(model, 60)
        if not known:
            findings.append(
                Finding(
                    f"{label}: none of {plural(pairs, 'pair')} of codes could be compared, so nothing is said of how "
                    f"the {who}' programs differ.",
                    "persona_tsed",
                    "lost",
                )
            )
            continue
        high, low = max(known, key=lambda pair: pair[0]), min(known, key=lambda pair: pair[0])
        mean = sum(score for score, _ in known) / len(known)

        def tell(pair: tuple[float, tuple[str, str]]) -> str:
            return f"{names[pair[1][0]].short} and {names[pair[1][1]].short} ({decimal(pair[0])})"

        text = f"{label}: the programs of two {who} are on average {decimal(mean)} alike (TSED, 0 to 1)"
        if len(known) > 1:
            text += f"; most so those for {tell(high)}, least those for {tell(low)}"
        text += f". {count_of(scored)} of {plural(pairs, 'pair')} of codes scored. This was not tested against chance."
        findings.append(Finding(text, "persona_tsed"))
    return findings


def _say_lengths(speakers: Sequence[Row], names: Mapping[str, Name]) -> list[Finding]:
    known = [
        (whole(row["words"]) / whole(row["texts"]), row)
        for row in speakers
        if whole(row["texts"]) and row["speaker"] in names
    ]
    if len(known) < 2:
        return []
    long, short = max(known, key=lambda pair: pair[0]), min(known, key=lambda pair: pair[0])
    return [
        Finding(
            f"{names[long[1]['speaker']].short} writes the longest texts, {decimal(long[0], 1)} words on average; "
            f"{names[short[1]['speaker']].short} the shortest, {decimal(short[0], 1)}. Longer texts share more by "
            "length alone, which z takes out and the raw numbers do not.",
            "speakers",
        )
    ]


_NOUNS = {
    "variant": ("rewrite", "rewrites", "not usable as a prompt"),
    "text": ("text by a person", "texts by people", "not usable as a prompt"),
    "reply": ("reply", "replies", "not whole"),
    "code": ("code", "codes", "not a whole program"),
}


def tell_loss(what: str, statuses: Mapping[str, int]) -> str:
    """Say how many of something did not succeed; the empty text where all did.

    >>> tell_loss("reply", {"ok": 10, "truncated": 2})
    '2 of 12 replies are not whole: 2 truncated.'
    """
    total = sum(statuses.values())
    lost = {status: count for status, count in statuses.items() if status != "ok" and count}
    if not lost:
        return ""
    one, many, how = _NOUNS.get(what, (what, f"{what}s", "not ok"))
    number = sum(lost.values())
    verb = "is" if number == 1 else "are"
    listed = join_words(
        [f"{count:,} {status_words(status)}" for status, count in sorted(lost.items(), key=lambda i: (-i[1], i[0]))]
    )
    return f"{number:,} of {total:,} {one if total == 1 else many} {verb} {how}: {listed}."


def _say_losses(counts: Sequence[Row]) -> list[Finding]:
    found: dict[str, Counter[str]] = {}
    for row in counts:
        found.setdefault(str(row["what"]), Counter())[str(row["status"])] += whole(row["count"])
    order = sorted(found, key=lambda what: (list(_NOUNS).index(what) if what in _NOUNS else len(_NOUNS), what))
    return [Finding(text, "counts", "lost") for what in order if (text := tell_loss(what, found[what]))]
