"""People's texts as variants, and which of them are drawn."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from simulator.definitions.humans import HumanTexts
from simulator.prompts import draw_texts, human_variants
from simulator.running.variants import variant_id

TEXTS = st.lists(st.text("ab 🙂é\n\u200f", max_size=12), max_size=8).map(tuple)


def by_ann(*texts: str) -> HumanTexts:
    return HumanTexts(speaker="Ann", task="calculator", texts=texts)


def test_a_text_is_a_variant_that_no_call_made() -> None:
    one, blank = human_variants(by_ann(" a calculator\n", " \n"))
    assert (one.method, one.persona, one.task, one.replicate) == ("human", "Ann", "calculator", 0)
    assert (one.text, one.made_by, one.seed, one.status, one.note) == (" a calculator\n", "", None, "ok", "")
    assert (blank.status, blank.replicate, blank.text) == ("empty", 1, " \n")
    assert blank.note


def test_an_id_depends_on_who_wrote_what() -> None:
    texts = [by_ann("a", "a"), by_ann("b"), HumanTexts(speaker="Bob", task="calculator", texts=("a",))]
    ids = [variant.variant for one in texts for variant in human_variants(one)]
    assert len(set(ids)) == 4
    assert human_variants(by_ann("a"))[0].variant == ids[0]
    # A rewrite's id, which is in journals already, is what it was before people's texts had one.
    known = variant_id(task="calculator", method="rewrite", persona="john", replicate=0, made_by="00ff")
    assert known == "9c4f8009309db26e"


@given(TEXTS, st.integers(1, 9), st.integers(0, 3), st.randoms())
def test_a_draw_depends_on_the_texts_and_not_on_their_order(
    texts: tuple[str, ...], sample: int, seed: int, random: Random
) -> None:
    drawn = draw_texts(by_ann(*texts), sample=sample, seed=seed)
    assert len(drawn) == min(sample, sum(bool(text.strip()) for text in texts))
    assert [one.replicate for one in drawn] == sorted({one.replicate for one in drawn})
    assert all(texts[one.replicate] == one.text and one.status == "ok" for one in drawn)
    shuffled = random.sample(texts, len(texts))
    again = draw_texts(by_ann(*shuffled), sample=sample, seed=seed)
    assert sorted(one.text for one in again) == sorted(one.text for one in drawn)


@given(TEXTS, st.integers(1, 8))
def test_a_larger_sample_keeps_the_smaller_one(texts: tuple[str, ...], sample: int) -> None:
    few, more = (draw_texts(by_ann(*texts), sample=size, seed=7) for size in (sample, sample + 1))
    assert {one.variant for one in few} <= {one.variant for one in more}


def test_another_seed_draws_others() -> None:
    texts = by_ann(*map(str, range(20)))
    draws = {tuple(one.text for one in draw_texts(texts, sample=3, seed=seed)) for seed in range(10)}
    assert len(draws) > 5
