"""The floor of a comparison: how alike programs are that do not belong together."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from analysis.code import tsed_pairs
from reports.compare.pairs import Pair
from simulator.running.calls import derive_seed

__all__ = ["Floor", "find_floor"]

_LEAST = 5  # pairs; of fewer, strangers are too few to say anything
_MOST = 200  # strangers, as for every floor
_NODES = 1_000  # a larger tree is left out: its share of the time would be nearly all of it


class Floor(NamedTuple):
    """Mean scores of strangers: the first program of one pair against the second of another.

    Parameters
    ----------
    tsed, tsed_published
        The means.
    strangers
        How many were compared.
    """

    tsed: float
    tsed_published: float
    strangers: int

    def __str__(self) -> str:
        return (
            f"Here the floor is {self.tsed:.3f} (published: {self.tsed_published:.3f}), if different pairs are for "
            f"different tasks: the mean of {self.strangers:,} times the a of one pair against the b of another."
        )


def find_floor(pairs: Sequence[Pair], frame: pl.DataFrame, *, seed: int = 7) -> Floor | None:
    """Compare programs of different pairs, drawn at random.

    Parameters
    ----------
    pairs, frame
        As `compare_pairs` was given and returned them. Used are pairs with both scores whose trees have at most 1,000
        nodes; two of them with the same ``a`` or the same ``b`` are taken to belong together.
    seed
        Of the draw. The same arguments give the same result.

    Returns
    -------
    Floor or None
        None where there are fewer than 5 such pairs in any language.
    """
    scored = frame["tsed"].is_not_null() & frame["tsed_published"].is_not_null()
    small = (frame["a_nodes"] <= _NODES) & (frame["b_nodes"] <= _NODES)
    by_language: defaultdict[str, list[Pair]] = defaultdict(list)
    for index in (scored & small).arg_true().to_list():
        by_language[pairs[index].language].append(pairs[index])
    usable = {language: chosen for language, chosen in by_language.items() if len(chosen) >= _LEAST}
    total = sum(map(len, usable.values()))
    typed, published = list[float](), list[float]()
    for language, chosen in sorted(usable.items()):
        draw = random.Random(derive_seed(seed, "floor", language))
        texts = _draw_strangers(chosen, max(_MOST * len(chosen) // total, 1), draw)
        both = [tsed_pairs(texts, language=language, dialect=one) for one in ("typed", "published")]
        for one, other in zip(*both, strict=True):
            if one.score is not None and other.score is not None:
                typed.append(one.score)
                published.append(other.score)
    if not typed:
        return None
    return Floor(sum(typed) / len(typed), sum(published) / len(published), len(typed))


def _draw_strangers(chosen: Sequence[Pair], count: int, draw: random.Random) -> list[tuple[str, str]]:
    """Return at most so many texts of two pairs that share neither text, each two pairs at most once."""
    found: dict[tuple[int, int], None] = {}
    for _ in range(10 * count):  # a bound, for all pairs may share a text
        if len(found) == count:
            break
        i, j = draw.randrange(len(chosen)), draw.randrange(len(chosen))
        if chosen[i].a_text != chosen[j].a_text and chosen[i].b_text != chosen[j].b_text:
            found[i, j] = None
    return [(chosen[i].a_text or "", chosen[j].b_text or "") for i, j in found]
