"""How far one measurement can stand for whom it was made of: the intraclass correlation."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Reliability", "measure_reliability"]

_GOAL = 0.8


class Reliability(NamedTuple):
    """An intraclass correlation.

    Parameters
    ----------
    icc
        The share of the variance within a block that is between its groups; 0 is none, 1 is all; below 0 where groups
        differ less than measurements of one of them.
    low, high
        Its 95% interval.
    needed
        Of how many measurements the mean has a reliability of .8, by the formula of Spearman and Brown; None where the
        correlation is not above 0.
    groups, measurements
        How many there were, all blocks together.
    """

    icc: float
    low: float
    high: float
    needed: int | None
    groups: int
    measurements: int


def measure_reliability(blocks: Sequence[Sequence[NDArray[np.float64]]]) -> Reliability | None:
    r"""Return the intraclass correlation ICC(1) of groups of measurements within blocks.

    One-way analysis of variance, its sums of squares and degrees of freedom added over blocks, so that blocks may
    differ as they will:

    .. math:: ICC = \frac{MS_b - MS_w}{MS_b + (k_0 - 1) MS_w}

    with :math:`k_0 = (N - \sum_i n_i^2 / N) / (g - 1)` for g groups of unequal sizes :math:`n_i` in a block, and its
    mean over blocks weighted by g - 1. The interval is that of the F distribution, which is exact for normal
    measurements in groups of one size.

    Parameters
    ----------
    blocks
        Of each block its groups, of each group its measurements, shape (measurements,). Blocks with fewer than two
        groups are left out.

    Returns
    -------
    Reliability or None
        None where there are not two groups in any block, no group has two measurements, or all measurements are equal.

    References
    ----------
    P. E. Shrout and J. L. Fleiss, "Intraclass Correlations: Uses in Assessing Rater Reliability", Psychological
    Bulletin 86(2), 1979. https://doi.org/10.1037/0033-2909.86.2.420

    Examples
    --------
    >>> found = measure_reliability([[np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.array([9.0, 8.0])]])
    >>> round(found.icc, 3), found.needed
    (0.96, 1)
    """
    from scipy.stats import f  # noqa: PLC0415 - heavy

    between = within = 0.0
    df_between = df_within = groups_in_all = measurements = 0
    size = 0.0
    for block in blocks:
        groups = [group for group in block if len(group)]
        if len(groups) < 2:
            continue
        sizes = np.array([len(group) for group in groups])
        mean = float(np.concatenate(groups).mean())
        between += float(sum(len(group) * (float(group.mean()) - mean) ** 2 for group in groups))
        within += float(sum(((group - group.mean()) ** 2).sum() for group in groups))
        df_between += len(groups) - 1
        df_within += int(sizes.sum()) - len(groups)
        size += float(sizes.sum() - (sizes**2).sum() / sizes.sum())
        groups_in_all += len(groups)
        measurements += int(sizes.sum())
    if not df_between or not df_within or between + within <= 1e-12 * max(1, measurements):
        return None
    k = size / df_between
    ms_between, ms_within = between / df_between, within / df_within
    icc = (ms_between - ms_within) / (ms_between + (k - 1) * ms_within)
    if ms_within == 0:
        return Reliability(1.0, 1.0, 1.0, 1, groups_in_all, measurements)
    ratio = ms_between / ms_within
    low = ratio / float(f.ppf(0.975, df_between, df_within))
    high = ratio * float(f.ppf(0.975, df_within, df_between))
    low, high = ((bound - 1) / (bound + k - 1) for bound in (low, high))
    needed = ceil(_GOAL * (1 - icc) / (icc * (1 - _GOAL)) - 1e-9) if icc > 0 else None
    return Reliability(icc, low, high, None if needed is None else max(needed, 1), groups_in_all, measurements)
