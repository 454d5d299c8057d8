"""The state of a run in words and lines, for a terminal of any width."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.running.amounts import dollars, duration, duration_between, plural
from simulator.running.progress.tally import ModelTally, Tally
from simulator.running.replies import REPLY_STATUSES
from simulator.terminal import printable

__all__ = [
    "count_words",
    "draw_stage",
    "money_words",
    "one_line",
    "reason_of",
    "stage_word",
    "time_words",
    "waiting_words",
]

_STYLES = {"ok": "green", "error": "red"}
_OTHER_STYLE = "yellow"
_WORDS = {"rewrite": "rewriting", "generate": "generating", "pilot": "pilot"}
_LONGEST_BAR = 40
_MOST_LINES = 3
"""Lines that a reason for waiting is given: a provider may say much."""


def one_line(text: str) -> str:
    """Return text from anywhere as one line that cannot move a terminal's cursor."""
    return " ".join(printable(text).split())


def stage_word(tally: Tally) -> str:
    """Return what is done in a stage."""
    return _WORDS.get(tally.stage.stage, tally.stage.stage)


def count_words(tally: Tally) -> list[tuple[str, str]]:
    """Return how many replies there are of each status, each with its style; those of earlier starts come last."""
    words = [
        (f"{tally.statuses[status]:,} {status}", _STYLES.get(status, _OTHER_STYLE))
        for status in REPLY_STATUSES
        if tally.statuses[status]
    ]
    before = min(tally.before, tally.total)
    return [*words, *([(f"{before:,} from before", "dim")] if before else [])]


def money_words(tally: Tally) -> list[str]:
    """Return what is spent, what the rest of the stage will cost, and the budget; never a 0 for what is not known."""
    spent, at_most, unpriced = tally.spent, tally.at_most, tally.unpriced
    words = []
    if at_most > spent and dollars(at_most) != dollars(spent):
        words.append(f"{dollars(spent)} spent, at most {dollars(at_most)}")
    elif spent or not unpriced:
        words.append(f"{dollars(spent)} spent")
    if unpriced:
        words.append(f"price of {plural(unpriced, 'reply', 'replies')} not known" if words else "price not known")
    rest = tally.dollars_to_go()
    if rest:
        words.append(f"about {dollars(rest)} to go")
    if tally.stage.budget is not None:
        words.append(f"budget {dollars(tally.stage.budget)}")
    return words


def time_words(tally: Tally, now: float) -> list[str]:
    """Return how long the stage will take, or took; nothing before there is a rate to tell it from."""
    if tally.done >= tally.total:
        return [f"done in {duration(now - tally.began)}"] if tally.recorded else []
    seconds = tally.seconds_to_go(now)
    return [] if seconds is None else [f"{duration_between(*seconds)} to go"]


def waiting_words(name: str, seconds: float, reason: str, *, paused: bool) -> str:
    """Return why something of a model waits, and how long as far as that is known.

    Parameters
    ----------
    name
        The model's. Left out of the reason's beginning: it stands before it already.
    seconds
        Infinity where they are not known.
    paused
        Whether no call of the model begins; otherwise one of them is asked again after a failed attempt.
    """
    known = duration(seconds) if math.isfinite(seconds) else ""
    words = f"waits {known}".rstrip() if paused else f"asks a call again in {known}"
    return f"{words}: {reason_of(name, reason)}"


def reason_of(name: str, reason: str) -> str:
    """Return a reason as one line, without the model's name before it."""
    return one_line(reason).removeprefix(one_line(name)).lstrip(" :")


def draw_stage(
    tally: Tally, console: Console, width: int, now: float, *, plain: bool, left: bool = False, ended: bool = False
) -> list[Text]:
    """Return the lines of a stage: bar, counts, time and money, and one or more for each model.

    Parameters
    ----------
    console
        Whose rules of wrapping hold.
    width
        Columns; every line fits into them.
    plain
        Whether only ASCII can be shown.
    left, ended
        Whether the run is in a later stage, or has ended: then neither money nor models are, or models are not, of
        interest.
    """
    counts, time = count_words(tally), [(word, "") for word in time_words(tally, now)]
    if left:
        return [_bar(tally, width, plain=plain), *_flow([*counts, *time], width, plain=plain)]
    lines = [_bar(tally, width, plain=plain), *_flow(counts, width, plain=plain)]
    lines += _flow([*time, *((word, "") for word in money_words(tally))], width, plain=plain)
    if not ended:
        names = [one_line(name) for name in tally.models]
        column = max((cell_len(name) for name in names), default=0)
        for name, model in zip(names, tally.models.values(), strict=True):
            lines += _model(name, model, console, width, column, now)
    return lines


def _bar(tally: Tally, width: int, *, plain: bool) -> Text:
    """Return the bar, coloured by status as far as it is done; what earlier starts have done comes first."""
    word, count = stage_word(tally), f"{tally.done:,}/{tally.total:,}"
    cells = max(4, min(_LONGEST_BAR, width - 10 - len(count) - 4))
    total = max(tally.total, tally.done, 1)
    full, rest = ("#", "-") if plain else ("━", "─")
    parts = [(tally.before, "cyan")]
    parts += [(tally.statuses[status], _STYLES.get(status, _OTHER_STYLE)) for status in REPLY_STATUSES]
    bar, reached, so_far = Text(), 0, 0
    for replies, style in parts:
        so_far = min(so_far + replies, total)
        upto = cells * so_far // total
        bar.append(full * (upto - reached), style)
        reached = upto
    if tally.total == 0:
        bar.append(full * cells, "green")
    bar.append(rest * (cells - len(bar)), "dim")
    line = Text.assemble((f"{word:10}  ", "bold"), bar, f"  {count}")
    line.truncate(width)
    return line


def _flow(words: Sequence[tuple[str, str]], width: int, *, plain: bool) -> Iterator[Text]:
    """Yield words in lines that fit, broken between words and not within them, as long as one fits into a line."""
    between = ", " if plain else " · "
    indent = "  "
    line = Text(indent)
    for word, style in words:
        if len(line) > len(indent) and line.cell_len + len(between) + cell_len(word) > width:
            yield line
            line = Text(indent)
        line.append(between if len(line) > len(indent) else "", "dim")
        line.append(word, style)
    if len(line) > len(indent):
        line.truncate(width, overflow="ellipsis")
        yield line


def _model(name: str, model: ModelTally, console: Console, width: int, column: int, now: float) -> Iterator[Text]:
    """Yield the lines of one model: what is in flight, and why something waits."""
    shown = Text(f"  {name}", "bold")
    shown.truncate(width, overflow="ellipsis")
    limit = f"{model.in_flight:,} in flight"
    if model.limit:
        limit += f", limit {model.limit:,}"
    if model.ceiling:
        limit += f" (ceiling {model.ceiling:,})"
    reason = Text(style="yellow")
    if model.waits_until > now:
        reason.append(waiting_words(name, model.waits_until - now, model.reason, paused=model.paused))
    indent = "    "
    if 2 + column + 2 + len(limit) <= width:
        shown.pad_right(column - cell_len(name) + 2)
        shown.append(limit, "not bold")
        if reason and shown.cell_len + 2 + reason.cell_len <= width:
            shown.append("  ")
            shown.append_text(reason)
            reason = Text()
        yield shown
    else:
        yield shown
        yield Text(f"{indent}{limit}")
    if reason:
        wrapped = list(reason.wrap(console, max(width - len(indent), 1)))
        for number, part in enumerate(wrapped[:_MOST_LINES], 1):
            part.rstrip()
            if number == _MOST_LINES < len(wrapped):
                part.append(" …")
                part.truncate(width - len(indent), overflow="ellipsis")
            yield Text(indent).append_text(part)
