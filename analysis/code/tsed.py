"""TSED: tree similarity of edit distance, a number from 0 to 1 that carries its status."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Literal, get_args

from analysis.code.distance import Backend, Costs, PairTooLargeError, edit_distance, edit_distances
from analysis.code.parsing import parse_tree
from analysis.code.trees import NEWER_FIELDS, WRAPPERS, Dialect, Tree, TreeTooLargeError, make_tree
from simulator.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["PUBLISHED_WEIGHTS", "TSED_STATUSES", "Dialect", "TsedResult", "TsedStatus", "tsed", "tsed_pairs"]

TsedStatus = Literal["ok", "languages_differ", "no_grammar", "empty", "prose", "unparsable", "too_large"]
TSED_STATUSES: tuple[TsedStatus, ...] = get_args(TsedStatus)
"""Every status but ``ok`` says why there is no score; see `TsedResult`.

``languages_differ`` and ``no_grammar`` are for those who compare codes whose languages are data: two languages have no
common tree, and of a language whose grammar is not installed there is none. `tsed` itself takes the language as an
argument, and one without a grammar is an error that names the mend.
"""

PUBLISHED_WEIGHTS = Costs(1.0, 0.8, 1.0)

_NO_TREE = make_tree([""], [-1])


@dataclass(frozen=True, slots=True)
class TsedResult:
    """How alike two programs are.

    Parameters
    ----------
    score
        From 0 (nothing in common) to 1 (equal trees); None where the status is not ``ok``, never NaN.
    status
        ``ok``; ``empty``: white space alone; ``prose``: sentences, not a program; ``unparsable``: the parser had to
        repair it; ``too_large``: over a declared limit. Where both texts have one, the first in this order.
    distance
        The edit distance, or None.
    reference_nodes, candidate_nodes
        The sizes of the trees, or 0 where there is none.
    """

    score: float | None
    status: TsedStatus
    distance: float | None = None
    reference_nodes: int = 0
    candidate_nodes: int = 0


def tsed(
    a: str,
    b: str,
    *,
    language: str = "python",
    dialect: Dialect = "typed",
    weights: tuple[float, float, float] | None = None,
    operators: bool = True,
    leaf_text: bool = False,
    hidden: Collection[str] | None = None,
    backend: Backend = "numba",
) -> TsedResult:
    """Compare the syntax trees of two programs.

    .. math:: TSED(a, b) = max(1 - d(T_a, T_b) / max(|T_a|, |T_b|), 0)

    where d is the exact edit distance of `edit_distance`. The number means little without its floor (programs for
    *different* tasks) and its ceiling (repeats of the same prompt): unrelated programs share much of their syntax.

    Parameters
    ----------
    a, b
        The reference and the candidate: any text at all.
    language
        Whose grammar parses both: ``python``, or another whose package is installed (``tree-sitter-java`` and so on).
    dialect
        ``typed``: nodes are labelled by their type and, for an operation, its operator; each edit costs 1, so the score
        is symmetric; what is not a program has a status and no score. ``published``: equal to the published
        program, where a node is labelled by the last field name among its children, ``a+b`` equals ``a-b``, an
        insertion costs .8, and prose and broken code are scored like any other text.
    weights
        The costs to delete, insert and rename a node; (1, 1, 1) in ``typed``, (1, .8, 1) in ``published``.
    operators, leaf_text
        In ``typed``: whether operators, and whether names and literals, are part of the labels.
    hidden
        Node types that are left out, their children standing in their place: in ``typed`` `WRAPPERS`. In ``published``
        also fields that are not read, as ``type.field``: there it is `NEWER_FIELDS`, which gives what the grammar of
        the published scores gave. Scores made with a grammar newer than 0.25 need `WRAPPERS` instead.
    backend
        ``numba`` or, for comparison, ``apted``; see `edit_distance`.

    Raises
    ------
    UsageError
        An unknown dialect or backend, or impossible weights.
    MissingError
        No grammar for the language is installed.

    Examples
    --------
    >>> tsed("x = a + b", "x = a + b").score
    1.0
    >>> tsed("x = a + b", "x = a - b").score
    0.8333333333333334
    >>> tsed("x = a + b", "x = a - b", dialect="published").score
    1.0
    >>> tsed("x = 1", "I'm sorry, I can't help with that.")
    TsedResult(score=None, status='prose', distance=None, reference_nodes=0, candidate_nodes=0)

    References
    ----------
    Y. Song, C. Lothritz, X. Tang, T. F. Bissyandé and J. Klein, "Revisiting Code Similarity Evaluation with Abstract
    Syntax Tree Edit Distance", ACL 2024. https://doi.org/10.18653/v1/2024.acl-short.3
    """
    return tsed_pairs(
        [(a, b)],
        language=language,
        dialect=dialect,
        weights=weights,
        operators=operators,
        leaf_text=leaf_text,
        hidden=hidden,
        backend=backend,
    )[0]


def tsed_pairs(
    pairs: Iterable[tuple[str, str]],
    *,
    language: str = "python",
    dialect: Dialect = "typed",
    weights: tuple[float, float, float] | None = None,
    operators: bool = True,
    leaf_text: bool = False,
    hidden: Collection[str] | None = None,
    backend: Backend = "numba",
    workers: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> list[TsedResult]:
    """Compare each (reference, candidate) pair, in the order given.

    Equal texts are parsed once, equal and reversed pairs are compared once, and what is known of subtrees that pairs
    have in common is kept: pairs of one task after the other are several times as fast as one by one.

    Parameters
    ----------
    pairs
        References and candidates: any texts at all.
    language, dialect, weights, operators, leaf_text, hidden, backend
        As for `tsed`.
    workers, progress
        As for `edit_distances`; neither is used by the backend ``apted``.

    Raises
    ------
    UsageError, MissingError
        As `tsed`.

    Examples
    --------
    >>> [result.score for result in tsed_pairs([("a = 1", "a = 1"), ("a = 1", "a = b")])]
    [1.0, 0.75]
    """
    _check_word("dialect", dialect, get_args(Dialect))
    _check_word("backend", backend, get_args(Backend))
    costs = Costs(*weights) if weights is not None else (PUBLISHED_WEIGHTS if dialect == "published" else Costs())
    left_out = frozenset(hidden) if hidden is not None else (WRAPPERS if dialect == "typed" else NEWER_FIELDS)
    asked = list(pairs)
    places: dict[str, int] = {}
    indices = [(places.setdefault(one, len(places)), places.setdefault(other, len(places))) for one, other in asked]
    read = [
        _read(text, language, dialect, operators=operators, leaf_text=leaf_text, hidden=left_out) for text in places
    ]
    distinct = list(dict.fromkeys(indices))
    whole = [pair for pair in distinct if all(read[index][1] == "ok" for index in pair)]
    distances = _measure([tree for tree, _ in read], whole, costs, backend, workers, progress)
    results = {(a, b): _result(read[a][0], read[b][0], distances[a, b]) for a, b in whole}
    for pair in distinct:
        if pair not in results:
            statuses = [read[index][1] for index in pair]
            results[pair] = TsedResult(None, min((s for s in statuses if s != "ok"), key=TSED_STATUSES.index))
    return [results[pair] for pair in indices]


def _check_word(what: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise UsageError(f"There is no TSED {what} {word!r}; the {what}s are {' and '.join(known)}.")


def _read(
    text: str, language: str, dialect: Dialect, *, operators: bool, leaf_text: bool, hidden: frozenset[str]
) -> tuple[Tree, TsedStatus]:
    try:
        tree = parse_tree(
            text, language=language, dialect=dialect, operators=operators, leaf_text=leaf_text, hidden=hidden
        )
    except TreeTooLargeError:
        return _NO_TREE, "too_large"
    return tree, _judge(text, tree) if dialect == "typed" else "ok"


def _measure(
    trees: list[Tree],
    pairs: list[tuple[int, int]],
    costs: Costs,
    backend: Backend,
    workers: int,
    progress: Callable[[int, int], object] | None,
) -> dict[tuple[int, int], float | None]:
    """Return the distance of each pair, None where it is too large to be compared."""
    if backend == "numba":
        found = edit_distances(trees, pairs, costs, workers=workers, progress=progress).tolist()
        return {pair: None if isnan(distance) else distance for pair, distance in zip(pairs, found, strict=True)}
    asked: dict[tuple[int, int], float | None] = {}
    for one, other in pairs:
        try:
            asked[one, other] = edit_distance(trees[one], trees[other], costs, backend=backend)
        except PairTooLargeError:
            asked[one, other] = None
    return asked


def _result(reference: Tree, candidate: Tree, distance: float | None) -> TsedResult:
    if distance is None:
        return TsedResult(None, "too_large", None, len(reference), len(candidate))
    score = _score(distance, max(reference.length, candidate.length))
    return TsedResult(score, "ok", distance, len(reference), len(candidate))


def _judge(text: str, tree: Tree) -> TsedStatus:
    if not text.strip():
        return "empty"
    if tree.prose:
        return "prose"
    return "unparsable" if tree.broken else "ok"


def _score(distance: float, length: int) -> float:
    return max((length - distance) / length, 0.0) if length else 1.0
