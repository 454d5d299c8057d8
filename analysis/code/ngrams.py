"""N-grams of tokens: counted once a text, matched as sets, and put together to BLEU.

A repeated n-gram is numbered anew at each repeat, so that a clipped count, the size of an intersection of bags, is that
of an intersection of sets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import count
from math import exp, fsum, log
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

__all__ = [
    "ORDERS",
    "SMOOTHINGS",
    "Bag",
    "Numbers",
    "Smoothing",
    "bleu",
    "brevity_penalty",
    "count_bag",
    "count_ngrams",
]

ORDERS = 4
"""The longest n-gram of BLEU."""

Smoothing = Literal["none", "epsilon", "add_one", "exponential"]
SMOOTHINGS: tuple[Smoothing, ...] = get_args(Smoothing)

_EPSILON = 0.1

Bag = set[int]
"""A bag of things as a set of numbers: the second of a kind has another number than the first."""


def _upwards() -> defaultdict[Hashable, int]:
    return defaultdict(count().__next__)


def _downwards() -> defaultdict[tuple[int, int], int]:
    return defaultdict(count(-1, -1).__next__)


@dataclass(slots=True)
class Numbers:
    """Numbers of things of one kind, from 0 up, and of their repeats, from -1 down: one not yet known gets the next.

    What is compared shares one.
    """

    things: defaultdict[Hashable, int] = field(default_factory=_upwards)
    repeats: defaultdict[tuple[int, int], int] = field(default_factory=_downwards)


def count_bag(numbers: Iterable[int], known: Numbers) -> Bag:
    """Return a bag of numbers that may repeat.

    Examples
    --------
    >>> known = Numbers()
    >>> len(count_bag([7, 7, 8], known) & count_bag([7, 7, 7], known))
    2
    """
    counts = Counter(numbers)
    bag = set(counts)
    if len(bag) < counts.total():
        again = [(number, nth) for number, times in counts.items() if times > 1 for nth in range(2, times + 1)]
        bag.update(map(known.repeats.__getitem__, again))
    return bag


def count_ngrams(tokens: Sequence[Hashable], known: Sequence[Numbers]) -> list[Bag]:
    """Return the bags of all n-grams of the orders 1 to ``len(known)``.

    Parameters
    ----------
    tokens
        Of one text.
    known
        One `Numbers` for each order.
    """
    bags: list[Bag] = []
    numbers: list[int] = []
    first: list[int] = []
    for order, of_order in enumerate(known, start=1):
        longer = tokens if order == 1 else zip(numbers, first[order - 1 :], strict=False)
        numbers = list(map(of_order.things.__getitem__, longer))
        if order == 1:
            first = numbers
        bags.append(count_bag(numbers, of_order))
    return bags


def brevity_penalty(candidate: int, references: Collection[int]) -> float:
    """Return what a candidate loses that is shorter than the reference closest to it in length.

    .. math:: BP = min(1, e^{1 - r/c})

    Parameters
    ----------
    candidate
        c, a number of tokens.
    references
        The lengths of the references; of two equally close the shorter is r.

    Examples
    --------
    >>> brevity_penalty(12, [13, 2]), brevity_penalty(12, [11, 13])
    (0.9200444146293233, 1.0)
    """
    if not candidate:
        return 0.0
    closest = min(references, key=lambda length: (abs(length - candidate), length))
    return 1.0 if candidate > closest else exp(1 - closest / candidate)


def bleu(
    matches: Sequence[float],
    totals: Sequence[float],
    penalty: float,
    *,
    smoothing: Smoothing = "epsilon",
    effective: bool = True,
) -> float:
    r"""Put clipped counts together to BLEU.

    .. math:: BLEU = BP \exp \frac 1 N \sum_{n=1}^N \log p_n, \quad p_n = matches_n / totals_n

    Parameters
    ----------
    matches, totals
        Shape (N,): the n-grams of each order that match, and all.
    penalty
        BP, 0 to 1; see `brevity_penalty`.
    smoothing
        What an order without a match counts, where the first has some. ``none``: nothing, so that BLEU is 0;
        ``epsilon``: .1 matches (method 1 of Chen and Cherry; sacrebleu's ``floor``); ``add_one``: one more match of one
        more, in every order but the first (their method 2; sacrebleu's ``add-k``); ``exponential``: half of what the
        order before without a match counted, beginning with one half of a match (their method 3; sacrebleu's ``exp``).
    effective
        Whether orders that are longer than the text are left out, so that equal texts have 1 however short. Else they
        count as one n-gram that does not match.

    Returns
    -------
    float
        0 to 1; 0 where no token matches.

    References
    ----------
    K. Papineni, S. Roukos, T. Ward and W.-J. Zhu, "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL
    2002. https://doi.org/10.3115/1073083.1073135
    B. Chen and C. Cherry, "A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU", WMT 2014.
    https://doi.org/10.3115/v1/W14-3346

    Examples
    --------
    >>> bleu([3, 2, 1, 0], [3, 2, 1, 0], 1.0)
    1.0
    """
    orders = max((n for n, total in enumerate(totals, start=1) if total), default=0) if effective else len(totals)
    if not orders or not matches[0]:
        return 0.0
    logarithms: list[float] = []
    halved = 1.0
    for order in range(orders):
        matched, total = matches[order], totals[order] or 1
        if smoothing == "add_one" and order:
            matched, total = matched + 1, total + 1
        if not matched:
            if smoothing == "none":
                return 0.0
            halved /= 2
            matched = _EPSILON if smoothing == "epsilon" else halved
        logarithms.append(log(matched / total))
    return penalty * exp(fsum(logarithms) / orders)
