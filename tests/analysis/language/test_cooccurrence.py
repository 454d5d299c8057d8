import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.language import ENTITY_MAP, PAIRS, count_pairs, map_entities

COLUMNS = ("text_id", "speaker", "sentence", "entity", "label", "word", "words")
Mention = tuple[str, int, str, int]


def frame(mentions: list[Mention]) -> pl.DataFrame:
    """Speaker, sentence, entity and word; every mention is one word long."""
    rows = [("1", speaker, sentence, entity, "keyword", word, 1) for speaker, sentence, entity, word in mentions]
    kinds = (pl.String, pl.String, pl.Int64, pl.String, pl.String, pl.Int64, pl.Int64)
    return pl.DataFrame(rows, schema=dict(zip(COLUMNS, kinds, strict=True)), orient="row")


def test_the_limit_counts_words_between_the_nearest_ends() -> None:
    rows = [("1", "ann", 0, "user interface", "keyword", 2, 2), ("1", "ann", 0, "table", "keyword", 8, 1)]
    entities = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    assert count_pairs(entities, max_distance=5).rows() == [("ann", "table", "user interface", 1, 5.0)]
    assert count_pairs(entities, max_distance=4).is_empty()


@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), st.integers(0, 1), st.sampled_from("abc"), st.integers(0, 12)),
        unique_by=lambda m: m[:2] + m[3:],
    ),
    st.integers(1, 6),
)
def test_equal_to_looking_at_all_pairs(mentions: list[Mention], limit: int) -> None:
    expected: dict[tuple[str, str, str], list[int]] = {}
    for one, other in combinations(mentions, 2):
        apart = abs(one[3] - other[3])
        if one[:2] == other[:2] and one[2] != other[2] and apart <= limit:
            a, b = sorted((one[2], other[2]))
            expected.setdefault((one[0], a, b), []).append(apart)
    found = count_pairs(frame(mentions), max_distance=limit)
    assert found.schema == PAIRS
    assert {row[:3]: row[3:] for row in found.rows()} == {
        key: (len(values), pytest.approx(sum(values) / len(values))) for key, values in expected.items()
    }


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 apart"):
        count_pairs(frame([]), max_distance=0)


TWO_GROUPS = [("ann", sentence, name, word) for sentence in range(5) for word, name in enumerate("abc")] + [
    ("bob", 9 + sentence, name, word) for sentence in range(4) for word, name in enumerate("xyz")
]


def test_the_map_has_communities_and_stays_in_its_square() -> None:
    entities = frame(TWO_GROUPS)
    found = map_entities(count_pairs(entities), entities, seed=7)
    assert found.schema == ENTITY_MAP
    assert found["entity"].to_list() == list("abcxyz")
    assert found["community"].to_list() == [0, 0, 0, 1, 1, 1]
    assert found["mentions"].to_list() == [5, 5, 5, 4, 4, 4]
    assert found.select(pl.col("x", "y").abs().max() <= 1).row(0) == (True, True)
    assert found.select("x", "y").unique().height == 6


def test_the_map_holds_the_sixty_mentioned_most() -> None:
    mentions = [("ann", i, f"e{i:03}", word) for i in range(100) for word in range(1 + (i < 60))]
    entities = frame(mentions)
    found = map_entities(count_pairs(entities), entities, seed=7)
    assert found["entity"].to_list() == [f"e{i:03}" for i in range(60)]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_maps_of_few_entities(count: int) -> None:
    entities = frame(TWO_GROUPS[:count])
    assert map_entities(count_pairs(entities), entities, seed=7).height == count


def test_the_usual_label_wins() -> None:
    entities = frame([("ann", 0, "a", 0), ("ann", 1, "a", 0), ("ann", 2, "a", 0)])
    entities = entities.with_columns(label=pl.Series(["place", "keyword", "place"]))
    assert map_entities(count_pairs(entities), entities, seed=7)["label"].to_list() == ["place"]


@pytest.mark.slow
def test_the_map_does_not_depend_on_the_hash_seed() -> None:
    code = (
        f"import runpy; made = runpy.run_path({__file__!r}); from analysis.language import count_pairs, map_entities\n"
        "words = [(s, w, n) for s in range(9) for w, n in enumerate('abcdefgh'[s % 4 : s % 4 + 4])]\n"
        "entities = made['frame']([('ann', s, n, w) for s, w, n in words])\n"
        "print(map_entities(count_pairs(entities), entities, seed=7).write_csv())"
    )
    root = str(Path(__file__).parents[3])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert "community" in outputs.pop()
