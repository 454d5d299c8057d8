"""What people talk about: the entities of a text, each mention with its place.

The categories follow named-entity relationship exploration: besides the names that a named-entity model knows, the
terms of the domain, which carry a request for a program, and words of emotion and politeness, which carry its tone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import polars as pl

from analysis.language.lexicons import (
    CLASSIFYING,
    GENERIC,
    NEGATIVE,
    NOT_CLASSIFYING,
    PLAIN_TOO,
    POLITENESS,
    POSITIVE,
    TECHNICAL,
    UNITS,
)
from analysis.language.pipeline import lemma_of, read_docs

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

    from analysis.language.entity_rules import EntityRules

__all__ = ["ENTITIES", "LABELS", "Label", "extract_entities"]

Label = Literal[
    "person",
    "place",
    "organisation",
    "time",
    "quantity",
    "unit",
    "keyword",
    "positive",
    "negative",
    "politeness",
]
LABELS: tuple[Label, ...] = get_args(Label)
"""The ten categories. ``keyword`` is a term of the domain, a product or a piece of code; ``organisation`` includes
peoples, religions and parties; ``positive`` and ``negative`` are emotions."""

ENTITIES = pl.Schema(
    {
        "text_id": pl.String,
        "speaker": pl.String,
        "task": pl.String,
        "sentence": pl.Int64,
        "entity": pl.String,
        "label": pl.String,
        "surface": pl.String,
        "start": pl.Int64,
        "end": pl.Int64,
        "word": pl.Int64,
        "words": pl.Int64,
        "of_task": pl.Boolean,
    }
)
"""A mention. ``sentence`` counts within the text and ``word`` within the sentence, both from 0, ``word`` without
punctuation; ``words`` is the mention's length in words; ``start`` and ``end`` are characters of the text. ``of_task``
says whether all words of the entity stand in the request that the text is about, and so say nothing of the speaker; it
is null where that request is not known."""

_NAMES: dict[str, Label] = {
    "PERSON": "person",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "ORG": "organisation",
    "NORP": "organisation",
    "DATE": "time",
    "TIME": "time",
    "MONEY": "quantity",
    "PERCENT": "quantity",
    "QUANTITY": "quantity",
    "CARDINAL": "quantity",
    "PRODUCT": "keyword",
    "EVENT": "keyword",
    "WORK_OF_ART": "keyword",
    "LAW": "keyword",
    "LANGUAGE": "keyword",
}  # an ORDINAL ("first") orders the talk and is no entity
_PROPER = ("person", "place", "organisation")
_NOUNS = ("NOUN", "PROPN")
_EMOTIONAL = ("NOUN", "VERB", "ADJ", "ADV", "INTJ")
_LEADING = ("DET", "ADP", "ADV", "PRON", "SCONJ", "PART", "CCONJ", "PUNCT")
_LONGEST = 60  # characters of a word that can be a term; what is longer is data
_RELATIONAL = re.compile(r"[a-z-]{3,}(al|ic|ar|ary)")
_CODE = re.compile(
    r"[A-Za-z]\w*_\w+|_\w+|[a-z]+[a-z0-9]*[A-Z]\w*|\w+\(\)|C\+\+|[CF]#|\.NET|[A-Za-z]\w*(\.[A-Za-z_]\w*)*\.[A-Za-z]{2,5}"
)
_BACKTICKS = re.compile(r"`([^`\n]{1,60})`")


class _Found(NamedTuple):
    """A candidate: its tokens, from ``first`` to before ``last``, and what it would be."""

    first: int
    last: int
    priority: int
    entity: str
    label: str  # one of `LABELS`, or a category of the user's


def extract_entities(
    texts: pl.DataFrame,
    *,
    rules: EntityRules | None = None,
    requests: Mapping[str, str] | None = None,
    each: Callable[[int, Doc], None] | None = None,
) -> pl.DataFrame:
    """Find the mentions of entities in texts.

    Candidates are, in order of precedence among those that are equally long: phrases of politeness, names of
    technologies and code terms, the English model's named entities, measuring units, words of emotion, and noun
    compounds with the classifying adjectives before them (``convex hull``, ``command-line calculator``; not ``simple
    calculator``, of which the noun alone is taken). Where candidates overlap, the one with most words is kept.
    ``entity`` is the mention in lower case, lemmas of its words, hyphens as spaces; a word that is only a stop word
    is never one.

    Parameters
    ----------
    texts
        ``text_id``, ``speaker``, ``task``, ``text``. Text may be empty, of any length, in any script; what is not
        English gives fewer and less certain entities, never an error.
    rules
        A user's own categories, phrases, merges and stops; see `analysis.language.entity_rules.read_entity_rules`.
    requests
        The request that each task makes, by the task's id, for ``of_task``.
    each
        Called with the number of the text and each piece of it as the English model read it, in order: reading is
        most of the work, and what else needs it (`analysis.language.topics.list_nouns`) need not read again.

    Returns
    -------
    DataFrame
        The columns of `ENTITIES`, in the order of the texts and of the mentions in them.

    Raises
    ------
    MissingError
        The English model is not installed.

    Examples
    --------
    >>> texts = pl.DataFrame(
    ...     {"text_id": ["1"], "speaker": ["ann"], "task": [""], "text": ["Please write a calculator in Python."]}
    ... )
    >>> extract_entities(texts).select("entity", "label", "word").rows()
    [('please', 'politeness', 0), ('calculator', 'keyword', 3), ('python', 'keyword', 5)]
    """
    columns = texts.select("text_id", "speaker", "task", "text").fill_null("").rows()
    rows: list[tuple[object, ...]] = []
    asked = {task: _known_words(text) for task, text in (requests or {}).items()}
    sentences = 0
    previous = -1
    for number, offset, doc in read_docs([row[3] for row in columns]):
        if number != previous:
            previous, sentences = number, 0
        if each is not None:
            each(number, doc)
        text_id, speaker, task, _ = columns[number]
        for sentence in doc.sents:
            for entity, *mention in _mentions(doc, sentence, offset, rules):
                of_task = asked[task].issuperset(entity.split()) if task in asked else None
                rows.append((text_id, speaker, task, sentences, entity, *mention, of_task))
            sentences += 1
    return pl.DataFrame(rows, schema=ENTITIES, orient="row")


def _known_words(text: str) -> set[str]:
    """Return the words of a request, as they stand there and as lemmas."""
    found: set[str] = set()
    for _, _, doc in read_docs([text]):
        for token in doc:
            found.update(_clean(token.text).split() + _clean(lemma_of(token)).split())
    return found


def _mentions(
    doc: Doc, sentence: Span, offset: int, rules: EntityRules | None
) -> Iterator[tuple[str, str, str, int, int, int, int]]:
    """Yield entity, label, surface, start, end, word and words of the mentions of a sentence, from left to right."""
    own = [] if rules is None else _own(sentence, rules)
    found = [
        *own,
        *_polite(sentence),
        *_code(doc, sentence),
        *_named(sentence),
        *_listed(sentence),
        *_compounds(sentence),
    ]
    taken: set[int] = set()
    kept = []
    for candidate in sorted(found, key=lambda it: (it.first - it.last, it.priority, it.first)):
        tokens = range(candidate.first, candidate.last)
        if candidate.entity and taken.isdisjoint(tokens):
            taken.update(tokens)
            kept.append(candidate)
    place, before = 0, {}
    for token in sentence:
        before[token.i] = place
        place += _is_word(token)
    before[sentence.end] = place
    for candidate in sorted(kept):
        entity = candidate.entity if rules is None else rules.merge(candidate.entity)
        if entity is None:
            continue
        span = doc[candidate.first : candidate.last]
        word = before[candidate.first]
        yield (
            entity,
            candidate.label,
            span.text,
            offset + span.start_char,
            offset + span.end_char,
            word,
            max(1, before[candidate.last] - word),
        )


def _is_word(token: Token) -> bool:
    return not (token.is_punct or token.is_space)


def _own(sentence: Span, rules: EntityRules) -> Iterator[_Found]:
    """Yield what a user's phrases name."""
    words = [token.lower_ for token in sentence]
    for i in range(len(words)):
        for length in range(min(rules.longest, len(words) - i), 0, -1):
            label = rules.phrases.get(tuple(words[i : i + length]))
            if label is not None:
                span = sentence[i : i + length]
                yield _Found(span.start, span.end, -1, _clean(span.text), label)
                break


def _polite(sentence: Span) -> Iterator[_Found]:
    words = [token.lower_ for token in sentence]
    for i in range(len(words)):
        for phrase in (tuple(words[i : i + length]) for length in (3, 2, 1)):
            entity = POLITENESS.get(phrase)
            if entity:
                # The phrase's own length: at the end of a sentence a slice is shorter than it was asked to be.
                yield _Found(sentence.start + i, sentence.start + i + len(phrase), 0, entity, "politeness")
                break


def _code(doc: Doc, sentence: Span) -> Iterator[_Found]:
    for token in sentence:
        text = token.text
        if len(text) > _LONGEST or _is_address(token):
            continue
        capital = text[:1].isupper() or token.pos_ in _NOUNS
        if (token.lower_ in TECHNICAL and capital and not _is_plain_word(token)) or _CODE.fullmatch(text):
            yield _Found(token.i, token.i + 1, 1, _clean(text), "keyword")
    for match in _BACKTICKS.finditer(sentence.text):
        first, last = sentence.start_char + match.start(1), sentence.start_char + match.end(1)
        span = doc.char_span(first, last, alignment_mode="expand")
        if span is not None and span.start >= sentence.start and span.end <= sentence.end:
            yield _Found(span.start, span.end, 1, _clean(match[1]), "keyword")


def _is_plain_word(token: Token) -> bool:
    """Tell "word", "access" and "go" from the products that are written like them: those have a capital."""
    return token.lower_ in PLAIN_TOO and not (token.text[:1].isupper() and not token.is_sent_start)


def _named(sentence: Span) -> Iterator[_Found]:
    for span in sentence.ents:
        label = _NAMES.get(span.label_)
        if label is None:
            continue
        tokens = list(span)
        while tokens and (tokens[0].pos_ in _LEADING or tokens[0].is_space):
            tokens.pop(0)
        while tokens and (tokens[-1].pos_ in ("PART", "PUNCT", "SPACE") or tokens[-1].is_space):
            tokens.pop()
        if not tokens or any(len(token) > _LONGEST for token in tokens):
            continue
        # The model of news text takes an imperative that opens a sentence ("Aim", "Delete") for a name.
        if label in _PROPER and not any(token.text[:1].isupper() and token.pos_ == "PROPN" for token in tokens):
            continue
        if any(token.lower_ in TECHNICAL for token in tokens):
            label = "keyword"
        entity = _normalize(tokens) if label == "keyword" else _clean("".join(token.text_with_ws for token in tokens))
        # "one" is a pronoun more often than a number.
        if entity != "one":
            yield _Found(tokens[0].i, tokens[-1].i + 1, 2, entity, label)


def _listed(sentence: Span) -> Iterator[_Found]:
    for token in sentence:
        lemma = lemma_of(token)
        if token.pos_ in _NOUNS and lemma in UNITS:
            yield _Found(token.i, token.i + 1, 3, lemma, "unit")
        elif token.pos_ in _EMOTIONAL and (lemma in POSITIVE or token.lower_ in POSITIVE):
            yield _Found(token.i, token.i + 1, 3, lemma, "positive")
        elif token.pos_ in _EMOTIONAL and (lemma in NEGATIVE or token.lower_ in NEGATIVE):
            yield _Found(token.i, token.i + 1, 3, lemma, "negative")


def _compounds(sentence: Span) -> Iterator[_Found]:
    """Yield the longest runs of nouns that depend on the last of them, with classifying adjectives before."""
    run: list[list[Token]] = []
    for unit in _units(sentence):
        if _is_part(unit):
            run.append(unit)
            if not _closes(unit):
                continue
        yield from _compound(run)
        run = []
    yield from _compound(run)


def _units(sentence: Span) -> Iterator[list[Token]]:
    """Yield the words of a sentence; those that hyphens join (real-time) are one."""
    unit: list[Token] = []
    for token in sentence:
        joined = bool(unit) and not unit[-1].whitespace_ and (token.text == "-") != (unit[-1].text == "-")
        if unit and not joined:
            yield unit
            unit = []
        unit.append(token)
    if unit:
        yield unit


def _is_part(unit: list[Token]) -> bool:
    """Tell whether a word can stand in a compound; of hyphened ones the last part decides (not: user-friendly)."""
    last = unit[-1]
    if any(len(token) > _LONGEST or _is_address(token) for token in unit) or not any(map(str.isalpha, last.text)):
        return False
    return last.pos_ in _NOUNS or (last.pos_ == "ADJ" and _classifies(last))


def _closes(unit: list[Token]) -> bool:
    """Tell whether a word ends a compound: it does when it does not depend on a later one."""
    last = unit[-1]
    return not (last.head.i > last.i and last.dep_ in ("compound", "amod", "nmod", "npadvmod"))


def _classifies(token: Token) -> bool:
    lemma = token.lower_
    if lemma in POSITIVE or lemma in NEGATIVE or lemma in NOT_CLASSIFYING:
        return False
    return lemma in CLASSIFYING or bool(_RELATIONAL.fullmatch(lemma))


def _is_address(token: Token) -> bool:
    # spaCy takes a file name (data.csv) for an address.
    return token.like_email or "://" in token.text or token.lower_.startswith("www.")


def _compound(run: list[list[Token]]) -> Iterator[_Found]:
    while run and run[-1][-1].pos_ not in _NOUNS:
        run = run[:-1]
    while run and len(run[0]) == 1 and run[0][0].is_stop:
        run = run[1:]
    tokens = [token for unit in run for token in unit]
    if not tokens:
        return
    entity, last = _normalize(tokens), tokens[-1]
    if len(entity) < 2 or (len(run) == 1 and entity in GENERIC):
        return
    # "Senator Kaine" is a person, of whom the model names the last word alone.
    label: Label = "person" if last.ent_type_ == "PERSON" and last.pos_ == "PROPN" else "keyword"
    yield _Found(tokens[0].i, last.i + 1, 4, entity, label)


def _normalize(tokens: Iterable[Token]) -> str:
    parts = ((lemma_of(token) if token.pos_ in _NOUNS else token.text) + token.whitespace_ for token in tokens)
    return _clean("".join(parts))


def _clean(text: str) -> str:
    """Lower case, composed characters, single spaces, hyphens as spaces, nothing that cannot be printed."""
    text = unicodedata.normalize("NFC", text).replace("`", "").removesuffix("()").lower()
    text = "".join(" " if character in "-‐‑" or not character.isprintable() else character for character in text)
    return " ".join(text.split()).strip(".,;:!?\"'’“”")
