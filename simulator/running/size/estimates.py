"""What a few calls say of many: intervals of a mean and of a share, and how many rewrites will be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from simulator.running.size.ranges import UNKNOWN, Range

__all__ = ["CONFIDENCE", "expect_drawn", "mean_interval", "share_interval"]

CONFIDENCE = 0.95
"""How often an interval holds what it is of."""


def mean_interval(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Range:
    r"""Return Student's t interval of a mean, unknown of fewer than two values; never below 0.

    .. math:: \bar x \pm t_{n-1,\,1-\alpha/2}\; s / \sqrt n

    Parameters
    ----------
    values
        Independent, each at least 0: tokens, dollars or seconds of single calls.
    confidence
        How often the interval is to hold the mean. It does where values are not too skewed, or many: where their
        logarithms have a standard deviation of 0.5, 95% are 92% of 10 calls and 94% of 40; of 1, they are 84% and 89%
        (20,000 simulations each).

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6(1), doi:10.1093/biomet/6.1.1.

    Examples
    --------
    >>> found = mean_interval([10.0, 12.0, 14.0])
    >>> round(found.low, 2), round(found.high, 2)
    (7.03, 16.97)
    """
    if len(values) < 2:
        return UNKNOWN
    from scipy import special  # noqa: PLC0415 - slow to import

    mean, quantile = fmean(values), float(special.stdtrit(len(values) - 1, 0.5 + confidence / 2))
    reach = quantile * stdev(values) / math.sqrt(len(values))
    return Range(max(0.0, mean - reach), mean + reach)


def share_interval(found: int, of: int, *, confidence: float = CONFIDENCE) -> Range:
    """Return Jeffreys' interval of a share, from 0 where nothing was found, to 1 where all was.

    The quantiles of a Beta(found + 1/2, of - found + 1/2) distribution. Unknown of nothing.

    References
    ----------
    Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16(2),
    doi:10.1214/ss/1009213286.

    Examples
    --------
    >>> found = share_interval(9, 10)
    >>> round(found.low, 3), round(found.high, 3)
    (0.619, 0.989)
    """
    if not of:
        return UNKNOWN
    from scipy import special  # noqa: PLC0415 - slow to import

    tail = (1 - confidence) / 2
    a, b = found + 0.5, of - found + 0.5
    low = 0.0 if found == 0 else float(special.betaincinv(a, b, tail))
    high = 1.0 if found == of else float(special.betaincinv(a, b, 1 - tail))
    return Range(low, high)


def expect_drawn(sample: int, iterations: int, share: float) -> float:
    r"""Return how many usable rewrites are drawn of a group on average, when each is usable with the same chance.

    .. math:: E[\min(s, X)] = \sum_{k=1}^{s} P(X \ge k), \qquad X \sim \mathrm{Binomial}(n, p)

    Parameters
    ----------
    sample
        The most that are drawn, s.
    iterations
        Rewrites of the group, n.
    share
        The chance p that one is usable.

    Examples
    --------
    >>> expect_drawn(1, 2, 0.5)
    0.75
    """
    from scipy import special  # noqa: PLC0415 - slow to import

    return float(sum(special.bdtrc(k, iterations, share) for k in range(min(sample, iterations))))
