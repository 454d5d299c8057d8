"""The intraclass correlation: by hand, on simulated measurements, and where there is none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.stats import measure_reliability

Block = list[NDArray[np.float64]]


def test_shrout_and_fleiss_own_example() -> None:
    """Table 2 of the paper: 6 targets, 4 judges; ICC(1, 1) is .17."""
    rated = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
    found = measure_reliability([list(rated)])
    assert found is not None
    assert round(found.icc, 2) == 0.17
    assert (found.groups, found.measurements) == (6, 24)
    assert found.needed == 21  # .8 (1 - icc) / (.2 icc) is 20.1
    assert (round(found.low, 2), round(found.high, 2)) == (-0.13, 0.72)


def simulate(
    draw: np.random.Generator, *, share: float, blocks: int = 6, groups: int = 5, each: int = 4
) -> list[Block]:
    """Measurements of which a share of the variance lies between groups, each block with a level of its own."""
    made: list[Block] = []
    for _ in range(blocks):
        level = draw.normal(0, 10)
        own = level + draw.normal(0, np.sqrt(share), groups)
        made.append([one + draw.normal(0, np.sqrt(1 - share), each) for one in own])
    return made


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_simulated_shares_are_found_and_covered(share: float) -> None:
    draw = np.random.default_rng(5)
    found = [measure_reliability(simulate(draw, share=share)) for _ in range(300)]
    known = [one for one in found if one is not None]
    assert np.mean([one.icc for one in known]) == pytest.approx(share, abs=0.03)
    covered = np.mean([one.low <= share <= one.high for one in known])
    assert 0.92 <= covered <= 0.98  # 95%, +- 2.4 standard errors of 300


def test_groups_of_unequal_sizes() -> None:
    draw = np.random.default_rng(6)
    made = [
        [one[: 2 + place % 3] for place, one in enumerate(block)] for block in simulate(draw, share=0.5, blocks=200)
    ]
    found = measure_reliability(made)
    assert found is not None
    assert found.icc == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [[]],
        [[np.array([1.0, 2.0])]],
        [[np.array([1.0]), np.array([2.0])]],
        [[np.array([3.0, 3.0]), np.array([3.0, 3.0])]],
        [[np.array([]), np.array([1.0, 2.0])]],
    ],
)
def test_nothing_to_tell_by(blocks: list[Block]) -> None:
    assert measure_reliability(blocks) is None


def test_measurements_that_never_vary_within_a_group_need_one() -> None:
    found = measure_reliability([[np.array([1.0, 1.0]), np.array([2.0, 2.0])]])
    assert found is not None
    assert (found.icc, found.needed) == (1.0, 1)


def test_groups_that_differ_less_than_chance_need_no_number_of_measurements() -> None:
    found = measure_reliability([[np.array([1.0, 9.0]), np.array([2.0, 8.0]), np.array([5.0, 5.2])]])
    assert found is not None
    assert found.icc < 0
    assert found.needed is None
