"""The figures that are charts: topics by persona and TSED between personas, drawn by Altair, set in SVG by vl-convert.

Both are heat tables with the number written in each cell, so that nothing has to be read off a colour. Vega needs no
browser and its script does not go into the page: what is kept is the finished SVG.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from reports.cells import Name, Row, decimal, join_words, plural, value, whole
from reports.drawing import INK, Figure, element
from reports.visible import one_line

__all__ = ["CHARTED", "draw_topics", "draw_tsed", "mean_tsed", "topic_words"]

CHARTED = 40
"""Speakers, and topics, in a chart at most; the note says what was left out."""

_FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
_SVG = "http://www.w3.org/2000/svg"


def topic_words(topics: Sequence[Row], limit: int = 10) -> dict[str, list[str]]:
    """Return the words of each topic, by rank; topics in the order of the table.

    Parameters
    ----------
    topics
        Rows of the table ``topics``.
    limit
        Words a topic, at most.
    """
    ranked: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in topics:
        ranked[str(row["topic"])].append((whole(row["rank"]), row["word"]))
    return {topic: [word for _, word in sorted(words)[:limit]] for topic, words in ranked.items()}


def draw_topics(
    topics: Sequence[Row], topic_shares: Sequence[Row], names: Mapping[str, Name], *, key: str = "topics"
) -> Figure | None:
    """Draw how much of each speaker's text each topic takes.

    Parameters
    ----------
    topics, topic_shares
        Rows of the two tables; a share is between 0 and 1.
    names
        How each speaker is shown, in the order of the rows.
    key
        Prefix of the ids in the drawing.

    Returns
    -------
    Figure or None
        None where there is no topic.
    """
    import altair as alt  # noqa: PLC0415

    shares = {
        (row["speaker"], str(row["topic"])): value(row["share"]) for row in topic_shares if row["speaker"] in names
    }
    words = topic_words(topics, 3)
    seen = dict.fromkeys([*words, *(topic for _, topic in shares)])
    with_text = [speaker for speaker in names if any((speaker, topic) in shares for topic in seen)]
    if not with_text or not seen:
        return None
    drawn, columns = with_text[:CHARTED], list(seen)[:CHARTED]
    heads = {
        topic: "\n".join([f"topic {one_line(topic, 12)}", *(one_line(word, 14) for word in words.get(topic, []))])
        for topic in columns
    }
    cells = [
        {
            "speaker": names[speaker].short,
            "topic": heads[topic],
            "share": share,
            "text": f"{100 * share:.0f}%",
            "says": f"{names[speaker].short}: {100 * share:.1f}% in topic {one_line(topic, 12)}",
        }
        for speaker in drawn
        for topic in columns
        if (share := shares.get((speaker, topic))) is not None
    ]
    title = "Topics by speaker"
    spread = _widest_topic(shares, columns, drawn)
    description = f"Share of {plural(len(columns), 'topic')} in the texts of {plural(len(drawn), 'speaker')}."
    if spread is not None:
        topic, low, high = spread
        description += (
            f" Widest spread: topic {one_line(topic, 12)}, from {100 * shares.get((low, topic), 0):.0f}% "  # type: ignore[operator]
            f"({names[low].short}) to {100 * shares.get((high, topic), 0):.0f}% ({names[high].short})."  # type: ignore[operator]
        )
    chart = _heat(
        alt,
        cells,
        x=("topic", [heads[topic] for topic in columns], 84),
        y=("speaker", [names[speaker].short for speaker in drawn], 34),
        colour="share",
        lines=max(2, *(head.count("\n") + 1 for head in heads.values())),
    )
    note = _left_out(len(with_text), len(drawn), "speaker") + _left_out(len(seen), len(columns), "topic")
    return _finish(key, chart, title, description, note)


def _widest_topic(
    shares: Mapping[tuple[str, str], float | None], topics: Sequence[str], speakers: Sequence[str]
) -> tuple[str, str, str] | None:
    """Return the topic whose share differs most between speakers, with who has least and most of it."""
    best: tuple[float, str, str, str] | None = None
    for topic in topics:
        known = [(share, speaker) for speaker in speakers if (share := shares.get((speaker, topic))) is not None]
        if len(known) < 2:
            continue
        low, high = min(known, key=lambda pair: pair[0]), max(known, key=lambda pair: pair[0])
        if best is None or high[0] - low[0] > best[0]:
            best = (high[0] - low[0], topic, low[1], high[1])
    return best[1:] if best else None


def mean_tsed(persona_tsed: Sequence[Row]) -> dict[str, dict[tuple[str, str], tuple[float | None, int, int, int]]]:
    """Return, per model and two personas, the mean TSED over tasks and what it rests on.

    Tasks weigh the same however many codes they have. Where a task has several rows (a model with several
    settings), its mean is that of all its scored pairs.

    Returns
    -------
    dict
        ``model`` to ``(a, b)`` to (mean or None, tasks with a score, scored pairs, pairs).
    """
    found: dict[str, dict[tuple[str, str], dict[str, list[float]]]] = {}
    for row in persona_tsed:
        tasks = found.setdefault(str(row["model"]), {}).setdefault((row["a"], row["b"]), {})
        sums = tasks.setdefault(str(row["task"]), [0.0, 0, 0])
        mean, scored = value(row["mean"]), whole(row["scored"])
        if mean is not None:
            sums[0] += mean * scored
            sums[1] += scored
        sums[2] += whole(row["pairs"])
    result: dict[str, dict[tuple[str, str], tuple[float | None, int, int, int]]] = {}
    for model, between in found.items():
        for both, tasks in between.items():
            means = [total / scored for total, scored, _ in tasks.values() if scored]
            result.setdefault(model, {})[both] = (
                sum(means) / len(means) if means else None,
                len(means),
                round(sum(scored for _, scored, _ in tasks.values())),
                round(sum(pairs for *_, pairs in tasks.values())),
            )
    return result


def draw_tsed(persona_tsed: Sequence[Row], names: Mapping[str, Name], *, key: str = "tsed") -> Figure | None:
    """Draw how alike the personas' codes are, one square a pair, one table a model.

    Parameters
    ----------
    persona_tsed
        Rows of the table ``persona_tsed``.
    names
        How each persona is shown, in order.
    key
        Prefix of the ids in the drawing.

    Returns
    -------
    Figure or None
        None where no pair of codes has a score.
    """
    import altair as alt  # noqa: PLC0415

    means = {
        model: known
        for model, between in mean_tsed(persona_tsed).items()
        if (known := {both: cell for both, cell in between.items() if cell[0] is not None and set(both) <= set(names)})
    }
    if not means:
        return None
    seen = [name for name in names if any(name in both for between in means.values() for both in between)]
    drawn = seen[:CHARTED]
    order = [names[speaker].short for speaker in drawn]
    charts = []
    models = list(means)[:8]
    for model in models:
        cells = []
        for (a, b), (mean, tasks, scored, pairs) in means[model].items():
            if a not in drawn or b not in drawn or mean is None:
                continue
            says = (
                f"{names[a].short} and {names[b].short}: TSED {decimal(mean, 3)}, mean of {plural(tasks, 'task')}, "
                f"{scored} of {plural(pairs, 'pair')} scored"
            )
            for row, column in dict.fromkeys(((a, b), (b, a))):
                cells.append(
                    {
                        "speaker": names[row].short,
                        "other": names[column].short,
                        "mean": mean,
                        "text": f"{mean:.2f}".removeprefix("0"),
                        "says": says,
                    }
                )
        cells.sort(key=lambda cell: (str(cell["speaker"]), str(cell["other"])))
        charts.append(
            _heat(
                alt, cells, x=("other", order, 46), y=("speaker", order, 34), colour="mean", title=one_line(model, 60)
            )
        )
    side = 1 if len(drawn) > 6 else 2
    chart = alt.concat(*charts, columns=side, spacing=36) if len(charts) > 1 else charts[0]
    noun = "speaker" if any(name.human for name in names.values()) else "persona"
    title = f"TSED between {noun}s"
    description = "Mean similarity of code trees, 0 to 1, by model: " + "; ".join(
        f"{one_line(model, 60)}: {_extremes(means[model], names)}" for model in models
    )
    note = _left_out(len(seen), len(drawn), noun) + _left_out(len(means), len(models), "model")
    return _finish(key, chart, title, description, note)


def _extremes(between: Mapping[tuple[str, str], tuple[float | None, int, int, int]], names: Mapping[str, Name]) -> str:
    known = sorted(((cell[0] or 0.0, both) for both, cell in between.items()), key=lambda pair: pair[0])
    ends = [known[-1], known[0]] if len(known) > 1 else known
    return join_words([f"{names[a].short} with {names[b].short} {decimal(mean)}" for mean, (a, b) in ends])


def _left_out(seen: int, drawn: int, noun: str) -> str:
    return f"The first {drawn} of {plural(seen, noun)} are drawn; the tables have all. " if seen > drawn else ""


def _heat(
    alt: Any,
    cells: Sequence[Row],
    *,
    x: tuple[str, list[str], int],
    y: tuple[str, list[str], int],
    colour: str,
    title: str = "",
    lines: int = 1,
) -> Any:
    """Return a heat table: coloured cells on a scale from 0 to 1, each with its number."""
    across = alt.X(
        f"{x[0]}:N",
        sort=x[1],
        scale=alt.Scale(domain=x[1]),
        axis=alt.Axis(
            title=None,
            orient="top",
            labelAngle=0 if lines > 1 else -40,
            labelLimit=220,
            domain=False,
            ticks=False,
            # Lines of a label grow downward, so a head of several lines is lifted by all but one of them.
            labelPadding=6 + 15 * (lines - 1),
            labelLineHeight=15,
            labelOverlap=False,
            **({"labelExpr": "split(datum.label, '\\n')"} if lines > 1 else {}),
        ),
    )
    down = alt.Y(
        f"{y[0]}:N",
        sort=y[1],
        scale=alt.Scale(domain=y[1]),
        axis=alt.Axis(title=None, domain=False, ticks=False, labelLimit=260, labelPadding=8, labelOverlap=False),
    )
    base = alt.Chart(alt.InlineData(values=list(cells)))
    squares = base.mark_rect(stroke="#ffffff", strokeWidth=2, cornerRadius=3).encode(
        x=across,
        y=down,
        color=alt.Color(
            f"{colour}:Q", scale=alt.Scale(domain=[0, 1], range=["#f1f6fb", "#0a4d8c"], clamp=True), legend=None
        ),
        description="says:N",
    )
    numbers = base.mark_text(fontSize=12, aria=False).encode(
        x=across,
        y=down,
        text="text:N",
        color=alt.condition(f"datum.{colour} > 0.52", alt.value("#ffffff"), alt.value(INK)),
    )
    both = (squares + numbers).properties(width={"step": x[2]}, height={"step": y[2]})
    return both.properties(title=title) if title else both


def _finish(key: str, chart: Any, title: str, description: str, note: str) -> Figure:
    """Set a chart in SVG."""
    import vl_convert  # noqa: PLC0415

    styled = chart.configure(font=_FONT, background="#ffffff", padding=14).configure_view(stroke=None)
    styled = styled.configure_axis(labelFontSize=12.5, labelColor=INK).configure_title(
        fontSize=14, anchor="start", color=INK
    )
    drawn = vl_convert.vegalite_to_svg(styled.to_dict())
    svg, width = _dress(key, drawn, title, description)
    return Figure(key, svg, title, description, note.strip(), width)


_ROOT = re.compile(r'<svg [^>]*?width="([0-9.]+)" height="([0-9.]+)" viewBox="([^"]*)">')
_CELL = re.compile(r'<path (aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="rect mark"[^>]*)/>')


def _dress(key: str, drawn: str, title: str, description: str) -> tuple[str, float]:
    """Give Vega's SVG what our own drawings have: a description, hover texts without a script, ids of its own.

    Vega escapes ``<``, ``>``, ``&`` and ``"`` in attributes, so a label is a hover text as it stands.
    """
    found = _ROOT.match(drawn)
    if found is None:
        raise ValueError("vl-convert wrote an SVG whose first element is not <svg width height viewBox>")
    width, height, view = found.groups()
    head = (
        f'<svg xmlns="{_SVG}" viewBox="{view}" width="{width}" height="{height}" role="group" '
        f'aria-labelledby="{key}-title {key}-desc" class="drawing {key}">'
        + element("desc", {"id": f"{key}-title"}, text=title)
        + element("desc", {"id": f"{key}-desc"}, text=description)
    )
    body = _CELL.sub(r'<path class="cell" \1><title>\2</title></path>', drawn[found.end() :])
    return head + body, float(width)
