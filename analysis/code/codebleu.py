"""CodeBLEU and token BLEU: deterministic, in our own way or in that of either published program."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal, get_args

from analysis.code.codebleu_choices import CODEBLEU_MODES, CodeBleuChoices, CodeBleuMode, choices_of
from analysis.code.ngrams import ORDERS, SMOOTHINGS, Numbers, Smoothing, bleu, brevity_penalty, count_ngrams
from analysis.code.profile import MAX_CHARACTERS, TextReader, split_tokens
from simulator.errors import UsageError
from simulator.running.replies import repair_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from analysis.code.ngrams import Bag
    from analysis.code.profile import Structure, TextStatus, Words

__all__ = [
    "CODEBLEU_MODES",
    "CODEBLEU_STATUSES",
    "CODEBLEU_WEIGHTS",
    "CodeBleuChoices",
    "CodeBleuMode",
    "CodeBleuResult",
    "CodeBleuStatus",
    "TokenBleuResult",
    "codebleu",
    "codebleu_pairs",
    "token_bleu",
]

CodeBleuStatus = Literal["ok", "empty", "prose", "unparsable", "too_large", "undefined"]
CODEBLEU_STATUSES: tuple[CodeBleuStatus, ...] = get_args(CodeBleuStatus)
"""Every status but ``ok`` says why there is no score; see `CodeBleuResult`."""

CODEBLEU_WEIGHTS = {"even": (0.25, 0.25, 0.25, 0.25), "structural": (0.1, 0.1, 0.4, 0.4)}
"""Of n-grams, weighted n-grams, syntax and data flow: the usual weights, and those that the paper found best."""

_MOST_CHARACTERS = 4_000_000  # of the texts that are known at a time; 65 bytes a character, so about a quarter of a GB

_Pair = tuple["str | Sequence[str]", str]
_Shares = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class CodeBleuResult:
    """How alike a candidate is to its references.

    Parameters
    ----------
    score
        0 to 1; None where the status is not ``ok``.
    status
        ``ok``; ``empty``: nothing but white space, comments and docstrings; ``prose``: sentences, not a program;
        ``unparsable``: the parser had to repair it; ``too_large``: longer than 150,000 characters. Where several texts
        have one, the first in this order; references that are no program are left out while there are others.
        ``undefined``: no part that has a weight could be computed.
    ngram, weighted_ngram, syntax, dataflow
        The four parts, 0 to 1; None where not computed. An unparsable text has the first two.
    """

    score: float | None
    status: CodeBleuStatus
    ngram: float | None = None
    weighted_ngram: float | None = None
    syntax: float | None = None
    dataflow: float | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts that were not computed, and so have no weight in the score."""
        return tuple(part for part in ("ngram", "weighted_ngram", "syntax", "dataflow") if getattr(self, part) is None)


@dataclass(frozen=True, slots=True)
class TokenBleuResult:
    """BLEU of tokens: a `score` from 0 to 1, or None with the `status` ``empty`` or ``too_large``."""

    score: float | None
    status: Literal["ok", "empty", "too_large"]


def codebleu(
    references: str | Sequence[str],
    candidate: str,
    *,
    language: str = "python",
    mode: CodeBleuMode | CodeBleuChoices = "sociolect",
    weights: Sequence[float] = CODEBLEU_WEIGHTS["even"],
) -> CodeBleuResult:
    r"""Compare a candidate with one or several references.

    .. math:: CodeBLEU = \alpha BLEU + \beta BLEU_{weight} + \gamma Match_{ast} + \delta Match_{df}

    BLEU is of tokens; in the weighted one a keyword counts five times as much as another token; the others are the
    shares of the reference's subtrees and of its data-flow items that the candidate has. It is not symmetric.

    Parameters
    ----------
    references
        One text or several: any texts at all.
    candidate
        Any text at all.
    language
        Whose grammar parses them. Data flow is known of Python; of other languages the other three parts are computed.
    mode
        ``sociolect``: a part that cannot be computed is None and the rest is re-weighted, equal subtrees count as often
        as there are, the brevity penalty applies to both n-gram parts, and equal programs have 1. ``pypi``: equal
        to codebleu 0.7.0, and ``codexglue``: to Microsoft's CodeXGLUE, wherever those depend on nothing but the texts.
        What the three choose, and what can be chosen one by one, is listed in `CodeBleuChoices`.
    weights
        Of the four parts, in the order of the formula; only their proportion counts. See `CODEBLEU_WEIGHTS`.

    Raises
    ------
    UsageError
        An unknown mode, impossible weights, or no reference.
    MissingError
        No grammar for the language is installed.

    Notes
    -----
    No score depends on the hash seed. The published ones do, through the order in which a set gives the names that a
    value comes from: in the modes named after them it is the order of the text.

    References
    ----------
    S. Ren et al., "CodeBLEU: a Method for Automatic Evaluation of Code Synthesis", 2020. https://arxiv.org/abs/2009.10297

    Examples
    --------
    >>> codebleu("def f(x):\n    return x + 1", "def f(x):\n    return x + 1").score
    1.0
    >>> codebleu("print('a')", "print('b')").missing
    ('dataflow',)
    >>> codebleu("x = 1", "I'm sorry, I can't help with that.")
    CodeBleuResult(score=None, status='prose', ngram=None, weighted_ngram=None, syntax=None, dataflow=None)
    """
    return codebleu_pairs([(references, candidate)], language=language, mode=mode, weights=weights)[0]


def codebleu_pairs(
    pairs: Iterable[_Pair],
    *,
    language: str = "python",
    mode: CodeBleuMode | CodeBleuChoices = "sociolect",
    weights: Sequence[float] = CODEBLEU_WEIGHTS["even"],
    progress: Callable[[int, int], object] | None = None,
) -> list[CodeBleuResult]:
    """Compare each (references, candidate) pair, in the order given.

    Equal texts are parsed and counted once, as long as no more than four million characters of others lie between:
    pairs that share texts are best given one after the other. Equal pairs are compared once.

    Parameters
    ----------
    pairs
        One reference or several, and a candidate: any texts at all.
    language, mode, weights
        As for `codebleu`.
    progress
        Called with the number of pairs done and of all, from time to time.

    Raises
    ------
    UsageError, MissingError
        As `codebleu`.

    Examples
    --------
    >>> [result.score for result in codebleu_pairs([("a = 1", "a = 1"), (["a = 1", "b = a"], "b = a")])]
    [1.0, 1.0]
    """
    choices, shares = choices_of(mode), _check_weights(weights)
    asked = [(_as_texts(references, choices), _mend(candidate, choices)) for references, candidate in pairs]
    reader = TextReader(language, choices)
    results: dict[tuple[tuple[str, ...], str], CodeBleuResult] = {}
    for done, pair in enumerate(asked):
        if pair not in results:
            if reader.characters > _MOST_CHARACTERS:
                reader = TextReader(language, choices)
            results[pair] = _compare(reader, *pair, shares)
        if progress is not None and done % 100 == 0:
            progress(done, len(asked))
    if progress is not None:
        progress(len(asked), len(asked))
    return [results[pair] for pair in asked]


def token_bleu(
    references: str | Sequence[str],
    candidate: str,
    *,
    language: str = "python",
    tokens: Literal["grammar", "space"] = "grammar",
    orders: int = ORDERS,
    smoothing: Smoothing = "epsilon",
    effective: bool = True,
) -> TokenBleuResult:
    """Return the BLEU of the tokens of a candidate; with the defaults it is the first part of `codebleu`.

    Parameters
    ----------
    references, candidate, language
        As for `codebleu`; prose and what does not parse have tokens too.
    tokens
        See `CodeBleuChoices`.
    orders
        The longest n-gram, 1 or more.
    smoothing, effective
        See `analysis.code.ngrams.bleu`.

    Raises
    ------
    UsageError
        No reference, or an unknown word or order.
    MissingError
        No grammar for the language is installed.

    Examples
    --------
    >>> token_bleu("x = f(1)", "x = f( 1 )").score, token_bleu("x = f(1)", "x = f( 1 )", tokens="space").score
    (1.0, 0.11362193664674995)
    """
    if smoothing not in SMOOTHINGS or tokens not in {"grammar", "space"} or orders < 1:
        raise UsageError(
            f"Token BLEU knows the smoothings {', '.join(SMOOTHINGS)}, tokens by grammar or space, and orders from 1; "
            f"not {smoothing!r}, {tokens!r} and {orders!r}."
        )
    choices = CodeBleuChoices()
    texts = (_mend(candidate, choices), *_as_texts(references, choices))
    if max(map(len, texts)) > MAX_CHARACTERS:
        return TokenBleuResult(None, "too_large")
    split = [text.split() if tokens == "space" else split_tokens(text, language) for text in texts]
    if not split[0] or not any(split[1:]):
        return TokenBleuResult(None, "empty")
    known = [Numbers() for _ in range(orders)]
    bags, *others = [count_ngrams(words, known) for words in split]
    matches = [len(bag & _union(those)) for bag, *those in zip(bags, *others, strict=True)]
    totals = [max(len(split[0]) - order, 0) for order in range(orders)]
    penalty = brevity_penalty(len(split[0]), [len(words) for words in split[1:]])
    return TokenBleuResult(bleu(matches, totals, penalty, smoothing=smoothing, effective=effective), "ok")


def _mend(text: str, choices: CodeBleuChoices) -> str:
    """Return a text that can be encoded; in our own way with line ends that every parser knows."""
    text = repair_text(text)[0]
    return text.replace("\r\n", "\n").replace("\r", "\n") if choices.judged else text


def _as_texts(references: str | Sequence[str], choices: CodeBleuChoices) -> tuple[str, ...]:
    texts = (references,) if isinstance(references, str) else tuple(references)
    if not texts:
        raise UsageError("There is no reference to compare a candidate with. Give one text or several.")
    return tuple(_mend(text, choices) for text in texts)


def _check_weights(weights: Sequence[float]) -> tuple[float, ...]:
    numbers = tuple(float(weight) for weight in weights)
    if len(numbers) != 4 or not all(isfinite(number) and number >= 0 for number in numbers) or not any(numbers):
        raise UsageError(
            "CodeBLEU has four weights: of n-grams, weighted n-grams, syntax and data flow, none below 0, not all 0; "
            f"these are {list(weights)!r}. The usual ones are 0.25 each."
        )
    return numbers


def _compare(
    reader: TextReader, references: tuple[str, ...], candidate: str, weights: Sequence[float]
) -> CodeBleuResult:
    choices = reader.choices
    if not choices.judged:  # the published programs look at nothing but what is between the white space at both ends
        references, candidate = tuple(text.strip() for text in references), candidate.strip()
    statuses = [reader.status(text) for text in references]
    usable = [text for text, status in zip(references, statuses, strict=True) if status == "ok"]
    status = _worst([reader.status(candidate), *(() if usable else statuses)])
    if status not in {"ok", "unparsable"}:
        return CodeBleuResult(None, status)
    texts = usable or [text for text, found in zip(references, statuses, strict=True) if found == "unparsable"]
    words = reader.words(candidate)
    against = [reader.words(text) for text in texts]
    matches = _match_ngrams(words, against)
    ngram = _plain(words, against, matches, choices)
    weighted = _weighted(words, against, matches, choices)
    if status == "unparsable":
        return CodeBleuResult(None, status, ngram, weighted)
    syntax, dataflow = _structural(reader, texts, candidate)
    return _weigh(ngram, weighted, syntax, dataflow, weights, choices)


def _worst(statuses: Iterable[TextStatus]) -> CodeBleuStatus:
    return min((status for status in statuses if status != "ok"), key=CODEBLEU_STATUSES.index, default="ok")


def _weigh(
    ngram: float,
    weighted: float,
    syntax: float | None,
    dataflow: float | None,
    weights: Sequence[float],
    choices: CodeBleuChoices,
) -> CodeBleuResult:
    counted = dataflow or 1.0 if choices.no_dataflow == "one" and dataflow is not None else dataflow
    parts = list(zip(weights, (ngram, weighted, syntax, counted), strict=True))
    whole = sum(weight for weight, part in parts if part is not None)
    score = sum(weight * part for weight, part in parts if part is not None) / whole if whole else None
    return CodeBleuResult(score, "ok" if whole else "undefined", ngram, weighted, syntax, dataflow)


def _match_ngrams(words: Words, against: Sequence[Words]) -> list[int]:
    """Return how many n-grams of each order match, each as often as in that reference which has it most often."""
    if len(against) == 1:
        return [len(one & other) for one, other in zip(words.bags, against[0].bags, strict=True)]
    return [len(bag & _union([other.bags[order] for other in against])) for order, bag in enumerate(words.bags)]


def _union(bags: Iterable[Bag]) -> Bag:
    return set().union(*bags)


def _totals(words: Words) -> list[float]:
    return [max(words.length - order, 0) for order in range(ORDERS)]


def _plain(words: Words, against: Sequence[Words], matches: Sequence[float], choices: CodeBleuChoices) -> float:
    penalty = brevity_penalty(words.length, [other.length for other in against])
    return bleu(matches, _totals(words), penalty, smoothing=choices.smoothing, effective=choices.effective)


def _weighted(words: Words, against: Sequence[Words], matches: Sequence[int], choices: CodeBleuChoices) -> float:
    lengths = [2 if choices.weighted_penalty == "two" else other.length for other in against]
    shares: list[tuple[list[float], list[float]]] = []
    if choices.weighted_over == "candidate":
        keywords = len(words.keywords & _union(other.bags[0] for other in against))
        shares.append(_share(words, matches, keywords, choices))
    else:
        for other in against:
            own = matches if len(against) == 1 else _match_ngrams(words, [other])
            shares.append(_share(other, own, len(other.keywords & words.bags[0]), choices))
    summed = [[sum(column) for column in zip(*side, strict=True)] for side in zip(*shares, strict=True)]
    penalty = brevity_penalty(words.length, lengths)
    return bleu(summed[0], summed[1], penalty, smoothing=choices.smoothing, effective=choices.effective)


def _share(
    whole: Words, matches: Sequence[int], keywords: int, choices: CodeBleuChoices
) -> tuple[list[float], list[float]]:
    """Return the matches of each order and the counts that they are a share of, single tokens weighted."""
    other = choices.other_weight
    matched = [keywords + other * (matches[0] - keywords), *matches[1:]]
    own = len(whole.keywords)
    totals = [own + other * (whole.length - own), *_totals(whole)[1:]]
    return matched, totals if choices.effective else [max(total, 1) for total in totals]


def _structural(reader: TextReader, references: Sequence[str], candidate: str) -> tuple[float | None, float | None]:
    choices = reader.choices
    shapes: _Shares = []
    flows: _Shares = []
    for reference in references:
        candidate = reader.stripped(candidate)  # once more for each reference, as the published programs do
        ours, theirs = reader.structure(candidate), reader.structure(reader.stripped(reference))
        shapes.append((_match_shapes(ours, theirs, choices), theirs.total))
        if ours.flows is not None and theirs.flows is not None:
            flows.append((len(ours.flows & theirs.flows), len(theirs.flows)))
    known = flows if choices.references == "best" or len(flows) == len(shapes) else []
    dataflow = _put_together(known, choices)
    if dataflow is None and known and choices.no_dataflow != "left_out":
        dataflow = 0.0
    return _put_together(shapes, choices), dataflow


def _match_shapes(ours: Structure, theirs: Structure, choices: CodeBleuChoices) -> int:
    if choices.subtrees == "clipped":
        return len(ours.shapes & theirs.shapes)
    counts = theirs.counts
    return sum(counts[shape] for shape in counts.keys() & ours.counts.keys())


def _put_together(shares: _Shares, choices: CodeBleuChoices) -> float | None:
    """Return the share over all references: that of the best one, or of all together; None where there is nothing."""
    if choices.references == "pooled":
        shares = [(sum(matched for matched, _ in shares), sum(total for _, total in shares))]
    return max((matched / total for matched, total in shares if total), default=None)
