"""How amounts are written for people: US dollars, how long something takes, ranges of both."""

from __future__ import annotations

__all__ = ["dollars", "duration", "duration_between", "plural"]

_CLOSE = 1.25
"""Up to this ratio a range is as good as its upper end, and written as one number."""


def dollars(amount: float) -> str:
    """Return US dollars with cents, and below one dollar with up to four decimals.

    >>> dollars(1234.5), dollars(0.25), dollars(0.0321), dollars(0.00001), dollars(0)
    ('$1,234.50', '$0.25', '$0.0321', 'under $0.0001', '$0.00')
    """
    if 0 < amount < 0.00005:
        return "under $0.0001"
    shown = f"{amount:,.2f}" if amount >= 0.995 else f"{amount:.4f}"
    return f"${shown[:-2] + shown[-2:].rstrip('0') if amount < 0.995 else shown}"


def duration(seconds: float) -> str:
    """Return how long something takes, in the largest unit that still says enough.

    >>> duration(42), duration(150), duration(900), duration(3 * 3600), duration(5 * 86400)
    ('42 s', '2.5 min', '15 min', '3.0 h', '5.0 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 600:
        return f"{seconds / 60:.1f} min"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86_400 else f"{seconds / 86_400:.1f} days"


def duration_between(low: float, high: float) -> str:
    """Return a range of durations, or one with `about` where the two are close.

    >>> duration_between(600, 620), duration_between(600, 1800), duration_between(60, 1800)
    ('about 10 min', '10 to 30 min', '60 s to 30 min')
    """
    if high <= low * _CLOSE or duration(low) == duration(high):
        return f"about {duration(high)}"
    (first, unit), last = duration(low).split(" "), duration(high)
    return f"{first} to {last}" if last.endswith(f" {unit}") else f"{first} {unit} to {last}"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> plural(1, "call"), plural(1200, "call"), plural(2, "reply", "replies")
    ('1 call', '1,200 calls', '2 replies')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
