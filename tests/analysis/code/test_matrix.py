from __future__ import annotations

import numpy as np
import pytest

from analysis.code import TSED_STATUSES, Dialect, matrix, tsed, tsed_matrix

TEXTS = ["x = 1", "def f(a):\n    return a + 1\n", "", "x = 1", "I'm sorry, I can't help.", "for i in x:\n    f(i)"]


@pytest.mark.parametrize("dialect", ["typed", "published"])
@pytest.mark.parametrize("workers", [None, 1])
def test_each_cell_is_what_the_pair_gives(
    dialect: Dialect, workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "_TILE", 2)
    found = tsed_matrix(TEXTS, dialect=dialect, workers=workers)
    for row, reference in enumerate(TEXTS):
        for column, candidate in enumerate(TEXTS):
            alone = tsed(reference, candidate, dialect=dialect)
            assert found.status(row, column) == alone.status == TSED_STATUSES[found.statuses[row, column]]
            for number, expected in ((found.scores, alone.score), (found.distances, alone.distance)):
                assert np.isnan(number[row, column]) if expected is None else number[row, column] == expected
    assert found.nodes[0] == found.nodes[3] == tsed(TEXTS[0], TEXTS[1], dialect=dialect).reference_nodes


def test_equal_texts_and_mirrored_pairs_are_compared_once() -> None:
    seen: list[tuple[int, int]] = []
    tsed_matrix([*TEXTS[:2], TEXTS[0]] * 3, progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(3, 3)]  # two texts: with themselves, and with each other


def test_no_texts() -> None:
    assert tsed_matrix([]).scores.shape == (0, 0)
    assert tsed_matrix([""]).scores.shape == (1, 1)
