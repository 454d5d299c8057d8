"""What real people wrote, as variants: nobody is asked to make them, and nothing in them is changed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from simulator.running.calls import derive_seed
from simulator.running.variants import Variant, variant_id

if TYPE_CHECKING:
    from simulator.definitions.humans import HumanTexts

__all__ = ["draw_texts", "human_variants"]


def human_variants(texts: HumanTexts) -> list[Variant]:
    """Return a person's texts for a task as variants of method ``human``, one each, in order.

    Parameters
    ----------
    texts
        The person's, for one task. A text's index is its replicate.

    Returns
    -------
    list of Variant
        ``persona`` is the speaker; no call made them. The status is ``ok``, or ``empty`` of a blank text: how people
        write is what is studied, so that nothing else is judged. The id depends on the text too, since a file can be
        edited.

    Examples
    --------
    >>> from simulator.definitions.humans import HumanTexts
    >>> texts = HumanTexts(speaker="Ann", task="calculator", texts=("a calculator pls", " "))
    >>> [(one.replicate, one.status) for one in human_variants(texts)]
    [(0, 'ok'), (1, 'empty')]
    """
    return [
        Variant(
            variant=variant_id(
                task=texts.task, method="human", persona=texts.speaker, replicate=number, made_by="", text=text
            ),
            task=texts.task,
            method="human",
            persona=texts.speaker,
            replicate=number,
            seed=None,
            text=text,
            made_by="",
            status="ok" if text.strip() else "empty",
            note="" if text.strip() else "there is nothing in the text",
        )
        for number, text in enumerate(texts.texts)
    ]


def draw_texts(texts: HumanTexts, *, sample: int, seed: int) -> list[Variant]:
    """Return those of a person's variants for a task that code is generated from.

    At most ``sample`` of the usable ones, drawn in an order that is seeded by the texts themselves: it depends neither
    on the order of the rows nor on what else is in the file. Equal texts are drawn in the order of their replicates.

    Parameters
    ----------
    texts
        The person's, for one task.
    sample
        The most that are drawn.
    seed
        The campaign's.

    Returns
    -------
    list of Variant
        By replicate.
    """

    def turn(variant: Variant) -> tuple[int, str, int]:
        digest = hashlib.sha256(variant.text.encode()).hexdigest()
        return derive_seed(seed, "sample", variant.persona, variant.task, digest), digest, variant.replicate

    usable = sorted((one for one in human_variants(texts) if one.status == "ok"), key=turn)
    return sorted(usable[:sample], key=lambda variant: variant.replicate)
