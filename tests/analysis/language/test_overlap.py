import json
import math
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.language import adjust_p, count_speakers, overlap_speakers, speaker_graph
from analysis.language.overlap import OVERLAP

Said = list[tuple[str, str, str]]
PAIRS = {"speaker": pl.String, "a": pl.String, "b": pl.String}


def frames(said: Said) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Speaker, task and the entities of a text, separated by spaces."""
    texts = [(f"t{i}", speaker, task, entities) for i, (speaker, task, entities) in enumerate(said)]
    mentions = [(i, speaker, task, entity) for i, speaker, task, entities in texts for entity in entities.split()]
    names = ("text_id", "speaker", "task")
    return (
        pl.DataFrame(texts, schema=dict.fromkeys((*names, "text"), pl.String), orient="row"),
        pl.DataFrame(mentions, schema=dict.fromkeys((*names, "entity"), pl.String), orient="row"),
    )


def overlap(said: Said, *, seed: int = 7, shuffles: int = 200) -> pl.DataFrame:
    return overlap_speakers(*frames(said), pl.DataFrame(schema=PAIRS), seed=seed, shuffles=shuffles)


THREE: Said = [
    (speaker, task, words)
    for task in ("one", "two")
    for speaker, words in (
        ("ann", "table row column"),
        ("ann", "table key index"),
        ("bob", "table row key"),
        ("bob", "index column row"),
        ("eve", "poem rhyme verse"),
        ("eve", "poem verse table"),
    )
]


def test_raw_counts() -> None:
    texts, entities = frames([("ann", "", "x x y z"), ("bob", "", "y x w w"), ("eve", "", "v")])
    pairs = pl.DataFrame([("ann", "x", "y"), ("bob", "x", "y"), ("bob", "w", "x")], schema=PAIRS, orient="row")
    found = overlap_speakers(texts, entities, pairs, seed=7, shuffles=10)
    assert found.schema == OVERLAP
    assert found.select("a", "b", "shared_entities", "shared_pairs", "union_entities", "jaccard").rows() == [
        ("ann", "bob", 2, 1, 4, 0.5),
        ("ann", "eve", 0, 0, 4, 0.0),
        ("bob", "eve", 0, 0, 4, 0.0),
    ]
    assert found["names"].to_list() == [["x", "y"], [], []]


def test_who_shares_more_and_who_less_than_chance() -> None:
    rng = np.random.default_rng(5)
    said = [
        (speaker, task, " ".join(f"{subject}{word}" for word in rng.integers(0, 60, 8)))
        for task in ("one", "two")
        for speaker, subject in (("ann", "code"), ("bob", "code"), ("eve", "poem"), ("zoe", "song"))
        for _ in range(5)
    ]
    found = {row["a"] + row["b"]: row for row in overlap(said).to_dicts()}
    assert found["annbob"]["z"] > 3
    assert found["anneve"]["z"] < -3
    assert found["annbob"]["p"] == pytest.approx(1 / 201)
    assert found["annbob"]["p"] <= found["annbob"]["q"] <= 0.05
    assert found["annbob"]["rarefied"] > found["annbob"]["expected"] > found["anneve"]["rarefied"]


def test_rarefied_is_the_mean_over_all_draws() -> None:
    # Depth 2: ann's three mentions against bob's two.
    said = [("ann", "", "x y y"), ("bob", "", "x y")]
    draws = [len({"x", "y"} & set(draw)) for draw in combinations("xyy", 2)]
    assert overlap(said)["rarefied"].to_list() == [pytest.approx(sum(draws) / len(draws))]


def test_expected_and_p_are_those_of_all_shuffles() -> None:
    # One text each, all of one length: 3! shuffles, no thinning.
    said = [("ann", "", "x y z"), ("bob", "", "x y w"), ("eve", "", "u v w")]
    words = [set(entities.split()) for *_, entities in said]
    every = [len(words[i] & words[j]) for i, j, _ in permutations(range(3))]
    found = overlap(said, shuffles=6000).row(0, named=True)
    assert found["rarefied"] == 2
    assert found["expected"] == pytest.approx(np.mean(every), abs=0.04)
    assert found["z"] == pytest.approx((2 - np.mean(every)) / np.std(every), abs=0.1)
    upper = np.mean([value > 2 for value in every]) + np.mean([value == 2 for value in every]) / 2
    assert found["p"] == pytest.approx(2 * min(upper, 1 - upper), abs=0.04)


def test_where_shuffling_changes_nothing_p_is_one() -> None:
    found = overlap([(speaker, "", "x y") for speaker in ("ann", "ann", "bob", "bob")])
    assert found.select("z", "p", "q").row(0) == (0.0, 1.0, 1.0)


def test_what_cannot_be_shuffled_is_null() -> None:
    said = [*THREE, ("zoe", "three", "table row"), ("max", "", ""), ("max", "one", "")]
    found = overlap(said)
    alone = pl.col("a").is_in(["zoe", "max"]) | pl.col("b").is_in(["zoe", "max"])
    measured = found.select("rarefied", "expected", "z", "p", "q", alone=alone)
    assert measured.filter(pl.col("alone")).drop("alone").null_count().row(0) == (7,) * 5
    assert measured.filter(~pl.col("alone")).drop("alone").null_count().row(0) == (0,) * 5
    # Nor do they move what can.
    assert found.filter(~alone).equals(overlap(THREE))


@pytest.mark.parametrize("said", [[], [("ann", "", "x")], [("ann", "", ""), ("bob", "", "")]])
def test_few_speakers_and_no_entities(said: Said) -> None:
    found = overlap(said)
    assert found.schema == OVERLAP
    assert found.height == max(0, len(said) - 1)
    assert found["jaccard"].null_count() == found.height


def test_seeds_and_order() -> None:
    found = overlap(THREE)
    assert found.equals(overlap(THREE))
    assert not found.equals(overlap(THREE, seed=8))
    texts, entities = frames(THREE)
    mixed = overlap_speakers(
        texts, entities.sample(fraction=1, shuffle=True, seed=1), pl.DataFrame(schema=PAIRS), seed=7, shuffles=200
    )
    assert mixed.equals(found)


def test_the_order_of_texts_decides_the_order_of_speakers_and_nothing_else() -> None:
    texts, entities = frames(THREE)
    mixed = overlap_speakers(texts.reverse(), entities, pl.DataFrame(schema=PAIRS), seed=7, shuffles=200)
    assert mixed.select("a", "b").rows() == [("eve", "bob"), ("eve", "ann"), ("bob", "ann")]
    numbers = [name for name in OVERLAP.names() if name not in ("a", "b")]
    assert mixed.select(numbers).equals(overlap(THREE).select(numbers).reverse())


def test_markup_in_names_and_null_tasks() -> None:
    names = {"ann": "<b>ann</b>", "bob": "🤖 \u202ebob", "eve": "a\nb;"}
    said = [(names[speaker], task, words) for speaker, task, words in THREE]
    found = overlap(said)
    assert set(found["a"]) | set(found["b"]) == set(names.values())
    assert found["p"].null_count() == 0
    texts, entities = frames([(speaker, "", words) for speaker, _, words in said])
    without = overlap_speakers(
        texts.with_columns(task=pl.lit(None, pl.String)), entities, pl.DataFrame(schema=PAIRS), seed=7, shuffles=50
    )
    assert without["p"].null_count() == 0


def test_few_shuffles_kept_or_made_twice_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = overlap(THREE, shuffles=50)
    monkeypatch.setattr("analysis.language.overlap._KEPT", 0)
    assert overlap(THREE, shuffles=50).equals(kept)


def test_another_task_without_shuffles_moves_nothing() -> None:
    more = overlap([*THREE, ("ann", "a first task", "table")])
    measured = ["rarefied", "expected", "z", "p"]
    assert more.select(measured).equals(overlap(THREE).select(measured))


def test_many_speakers_take_the_sparse_way_to_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = overlap(THREE, shuffles=50)
    monkeypatch.setattr("analysis.language.rarefaction._CELLS", 1)
    assert overlap(THREE, shuffles=50).equals(dense)


@pytest.mark.slow
def test_a_thousand_speakers() -> None:
    rng = np.random.default_rng(1)
    said = [(f"s{i:04}", "", " ".join(f"e{e}" for e in rng.integers(0, 2000, 5))) for i in range(1000)]
    found = overlap(said, shuffles=5)
    assert found.height == 499_500
    assert found["p"].null_count() == 0


def test_no_shuffles_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        overlap(THREE, shuffles=0)


def test_published_tables_of_adjusted_p(shared_data: Path) -> None:
    cases = json.loads((shared_data / "reference_values" / "bh_fdr_worked_examples.json").read_text("utf-8"))["cases"]
    for case in cases:
        assert adjust_p(np.array(case["p"])) == pytest.approx(case["bh"], abs=0.6 * 10 ** -case["decimals"])


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12))
def test_a_nan_stays_one_and_leaves_the_others_alone(values: list[float]) -> None:
    p = np.array(values)
    q = adjust_p(p)
    known = ~np.isnan(p)
    assert (np.isnan(q) == ~known).all()
    assert (q[known] == adjust_p(p[known])).all()
    assert (q[known] >= p[known]).all()


def test_the_graph_of_speakers() -> None:
    texts, entities = frames(THREE)
    said = [*THREE, ("zoe", "three", "nothing")]
    texts, entities = frames(said)
    graph = speaker_graph(count_speakers(texts, entities), overlap(said))
    assert list(graph) == ["ann", "bob", "eve", "zoe"]
    assert graph.nodes["zoe"] == {"texts": 1, "words": 1, "mentions": 1, "entities": 1}
    assert sorted(map(sorted, graph.edges)) == [["ann", "bob"], ["ann", "eve"], ["bob", "eve"]]
    edge = graph.edges["ann", "bob"]
    assert edge["weight"] == edge["shared_entities"] == 5
    assert edge["names"] == "row; table; column; index; key"


def test_no_p_is_smaller_than_the_ways_to_deal_the_texts_out() -> None:
    # One text each, of very unequal lengths: whatever they say, six pairs of texts are all that shuffling can give.
    said = {"a": ["x"] * 12, "b": ["x"] * 3, "c": ["y", "z"], "d": [f"w{n}" for n in range(20)]}
    texts = pl.DataFrame({"text_id": list(said), "speaker": list(said), "task": [""] * 4})
    entities = pl.DataFrame(
        [(name, name, "", word) for name, words in said.items() for word in words],
        schema=["text_id", "speaker", "task", "entity"],
        orient="row",
    )
    pairs = pl.DataFrame(schema={"speaker": pl.String, "a": pl.String, "b": pl.String})
    found = overlap_speakers(texts, entities, pairs, seed=7, shuffles=499)
    assert found["p"].null_count() == 0
    assert found["p"].min() >= 1 / 6 - 1e-12  # type: ignore[operator]
