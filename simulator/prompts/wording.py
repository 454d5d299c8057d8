"""Words of a request: cleaning, splitting, which of them carry content, and which are relatives of each other."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["content_words", "is_english", "is_related", "opening", "split_words", "strip_enclosing"]

_OPENING = 400
"""Characters in which a text shows whether it asks or answers."""

_PAIRS = {'"': '"', "“": "”", "„": "“", "'": "'", "‘": "’", "«": "»", "「": "」", "`": "`"}
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u200e\u200f"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

_FUNCTION = """
a an the and or but of to in on at for with without by from as into than that this these those it its is are
was be been being can could should would will must may might do does did have has had i me my we us our you
your he she they them their his her not no so if when where which who what how all any each every some such
only also just like up out over under between please want wants need needs let there here one two more most
very
"""

_FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""Words without content, and the measure of whether a text is English."""

_REQUEST = """
write writes writing code codes coding make makes making create creates creating generate generates produce
produces build builds develop implement design give show help program programs programming programme software
script function application app tool python java javascript simple basic small good new using use uses used
way kind work works thing things something according underlying number numbers
"""

_REQUEST_WORDS = frozenset(_REQUEST.split())
"""Words that any request for software can have, so that they do not tell one task from another."""

_FAMILIES = tuple(
    frozenset(family.split())
    for family in (
        "calculator calculate arithmetic add adding addition subtract multiply multiplication divide division sum math "
        "maths mathematics compute operation formula digit figure",
        "database data table schema record store storage sql inventory catalogue catalog register entity relational",
        "bicycle bike cycle cycling cyclist tandem",
        "shop store retail sale sell buy purchase order customer stock product commerce ecommerce cart merchant",
        "online web website internet browser commerce ecommerce",
        "accounting account bookkeeping ledger finance financial balance expense income revenue profit invoice "
        "transaction budget tax payment cost debit credit audit fiscal money total sum",
        "report statement summary summarise summarize overview document spreadsheet page",
        "todo task list checklist reminder errand chore",
        "lift elevator",
        "skyscraper building tower floor storey",
        "video film movie clip stream media",
        "track tracker log record monitor follow",
        "paper article publication manuscript",
        "workout exercise training fitness gym",
        "dashboard chart graph plot panel overview",
        "atm cash bank withdraw withdrawal",
        "game play player",
        "chess board king queen pawn",
        "piece shape tile block brick",
        "snake serpent worm",
        "phone mobile handset nokia cellphone",
        "gradient derivative slope ascent climb maximise maximize optimise optimize",
        "neural neuron network layer backpropagation",
        "hull convex enclose polytope",
        "coin toss flip heads",
        "image picture photo photograph photographs",
        "classifier classify model predict recognise recognize label",
        "ensemble combine committee vote average",
        "patient hospital clinic medical",
        "reshape pivot wide long transform rearrange",
        "sort order arrange rank sequence alphabetise alphabetize alphabetical",
        "string text word name",
        "simulate simulation model simulator emulate imitate",
    )
)
"""Words that stand for each other in requests. Being generous here only lets more rewrites pass."""


def strip_enclosing(text: str) -> str:
    r"""Remove white space at the ends, and quotation marks that enclose the whole text, with a comma after them.

    >>> strip_enclosing(' "Add two numbers.",\n'), strip_enclosing('"Add" and "Sub"')
    ('Add two numbers.', '"Add" and "Sub"')
    """
    text = _strip(text)
    for _ in range(3):  # quoted, within quotes, and perhaps fenced by back-ticks; nobody nests deeper
        bare = text.removesuffix(",") if text[:1] in _PAIRS else text
        if len(bare) < 2 or _PAIRS.get(bare[0]) != bare[-1] or not _encloses(bare):
            break
        text = _strip(bare[1:-1])
    return text


def _strip(text: str) -> str:
    previous = None
    while text != previous:
        previous, text = text, text.strip().strip(_INVISIBLE)
    return text


def _encloses(text: str) -> bool:
    """Tell whether the first mark belongs to the last: the next such mark inside does not close a word."""
    mark, inside = text[0], text[1:-1]
    if mark == "`":
        return mark not in inside
    if mark == "'":  # an apostrophe within a word closes nothing
        inside = re.sub(r"(?<=\w)'(?=\w)", "", inside)
    place = inside.find(_PAIRS[mark])
    if place < 0:
        return True
    return _PAIRS[mark] == mark and (place == 0 or inside[place - 1].isspace())


def opening(text: str) -> str:
    """Return the beginning of a text in lower case, with straight apostrophes, in one line, without marks in front."""
    start = " ".join(text[:_OPENING].split()).casefold().replace("’", "'")
    return start.lstrip("*_#>\"'“‘-– ")


def split_words(text: str) -> list[str]:
    """Return the words in lower case, without punctuation; of hyphenated words the parts.

    >>> split_words("A to-do list, please!")
    ['a', 'to', 'do', 'list', 'please']
    """
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def content_words(text: str) -> list[str]:
    """Return the words that tell a task from other tasks, once each, in their order.

    >>> content_words("Write code to make a calculator")
    ['calculator']
    """
    words = dict.fromkeys(split_words(text))
    return [word for word in words if word not in _FUNCTION_WORDS and word not in _REQUEST_WORDS and len(word) > 1]


def is_english(words: list[str]) -> bool:
    """Tell whether at least one word in ten is an English function word; one or two words need only be in ASCII."""
    if len(words) < 3:
        return all(word.isascii() for word in words)
    return 10 * sum(word in _FUNCTION_WORDS for word in words) >= len(words)


def is_related(word: str, other: str) -> bool:
    """Tell whether two words are forms of one, or stand for each other in requests.

    Forms are told by their beginning, for which English needs no dictionary: of a word of up to six letters all but
    the last must agree (at least four), of a longer one all but two.

    >>> is_related("calculations", "calculator"), is_related("multiplies", "calculator"), is_related("orbit", "report")
    (True, True, False)
    """
    return any(_same_stem(word, relative) for relative in _relatives(other))


@lru_cache(maxsize=1024)
def _relatives(word: str) -> frozenset[str]:
    """Return the word with all members of every family that has a form of it."""
    families = (family for family in _FAMILIES if any(_same_stem(word, member) for member in family))
    return frozenset({word}).union(*families)


def _same_stem(word: str, other: str) -> bool:
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    if len(short) < 4:
        return long in {f"{short}s", f"{short}es"}
    needed = max(4, len(short) - (1 if len(short) <= 6 else 2))
    return short[:needed] == long[:needed] and len(long) <= len(short) + 6
