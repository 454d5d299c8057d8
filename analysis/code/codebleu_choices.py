"""What has to be chosen to compute CodeBLEU, and what the two published programs and this one choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from simulator.errors import UsageError

if TYPE_CHECKING:
    from analysis.code.comments import CommentRule
    from analysis.code.ngrams import Smoothing

__all__ = ["CODEBLEU_MODES", "CodeBleuChoices", "CodeBleuMode", "choices_of"]

CodeBleuMode = Literal["sociolect", "pypi", "codexglue"]


@dataclass(frozen=True, slots=True)
class CodeBleuChoices:
    """One way to compute CodeBLEU; the defaults are those of the mode ``sociolect``.

    Where nothing else is said the two published programs agree: codebleu 0.7.0 from PyPI (``pypi``), and Microsoft's
    evaluator in CodeXGLUE (``codexglue``), from which it was made.

    Parameters
    ----------
    tokens
        What n-grams are made of. ``grammar``: the leaves of the syntax tree, a string being one, without comments and
        docstrings, so that ``f(x)`` and ``f( x )`` are alike. ``space`` (published): what stands between white space,
        comments and docstrings too.
    comments
        What the tree and the data flow are read without. ``none``: the text is parsed as it is, and the nodes of
        comments and docstrings are left out. ``python`` (pypi) and ``java`` (codexglue, for every language: in Python
        all behind a ``//`` is lost): see `analysis.code.comments.strip_comments`; what is left is parsed.
    soft_keywords
        Whether ``match``, ``case`` and ``type`` are keywords beside the 35 that Python reserves: in pypi they are. Of
        other languages, keywords are the words of the grammar.
    other_weight
        What a token weighs that is no keyword, which weighs 1; only single tokens are weighted. The paper says a fifth.
    weighted_over
        What the weighted counts are a share of: of the ``candidate``, as the paper says and as BLEU does, or of the
        ``reference`` (published).
    weighted_penalty
        How long a reference is when the weighted part's brevity penalty is taken: its number of tokens (``tokens``), or
        2 (``two``, published: what is measured there is a pair of tokens and weights, so that the penalty never
        applies).
    effective
        Whether orders of n-grams that are longer than the candidate are left out, so that equal texts score 1. If not
        (published), each counts as one n-gram that does not match, and a weighted count below 1 is raised to 1.
    smoothing
        Of both n-gram parts; see `analysis.code.ngrams.bleu`. All three take ``epsilon``.
    subtrees
        ``clipped``: a subtree of the reference matches as often as the candidate has it, as the paper says. ``any``
        (published): the candidate's first one matches all of them.
    shapes
        Which subtrees are equal. ``operators``: those of one type, operator and shapes below. ``printed`` (published):
        those that the parser prints alike; it does not print operators, so that ``a + b`` equals ``a - b``.
    flows
        ``scoped``, or ``published`` with that program's faults; see `analysis.code.dataflow.list_flows`.
    references
        Of several references, the ``best`` counts for syntax and data flow, and for n-grams the highest count, as in
        BLEU; so a candidate that equals one of them scores 1. ``pooled`` (published, but for plain BLEU): the counts
        are summed over all.
    no_dataflow
        What a data flow is worth that is 0 or cannot be computed, the reference having none. ``left_out``: 0 is 0, and
        one that cannot be computed has no part in the score, the other weights being raised. ``one`` (pypi): both count
        as a full match. ``zero`` (codexglue): both count as 0 (before 2021 it broke off).
    judged
        Whether what is no program has a status instead of a score; the published programs score anything.
    """

    tokens: Literal["grammar", "space"] = "grammar"
    comments: CommentRule = "none"
    soft_keywords: bool = False
    other_weight: float = 0.2
    weighted_over: Literal["candidate", "reference"] = "candidate"
    weighted_penalty: Literal["tokens", "two"] = "tokens"
    effective: bool = True
    smoothing: Smoothing = "epsilon"
    subtrees: Literal["clipped", "any"] = "clipped"
    shapes: Literal["operators", "printed"] = "operators"
    flows: Literal["scoped", "published"] = "scoped"
    references: Literal["best", "pooled"] = "best"
    no_dataflow: Literal["left_out", "one", "zero"] = "left_out"
    judged: bool = True


def _published(comments: CommentRule, no_dataflow: Literal["one", "zero"], *, soft_keywords: bool) -> CodeBleuChoices:
    return CodeBleuChoices(
        tokens="space",
        comments=comments,
        soft_keywords=soft_keywords,
        weighted_over="reference",
        weighted_penalty="two",
        effective=False,
        subtrees="any",
        shapes="printed",
        flows="published",
        references="pooled",
        no_dataflow=no_dataflow,
        judged=False,
    )


CODEBLEU_MODES: dict[CodeBleuMode, CodeBleuChoices] = {
    "sociolect": CodeBleuChoices(),
    "pypi": _published("python", "one", soft_keywords=True),
    "codexglue": _published("java", "zero", soft_keywords=False),
}
"""The choices by name. ``dataclasses.replace(CODEBLEU_MODES["pypi"], subtrees="clipped")`` is a way between."""


def choices_of(mode: CodeBleuMode | CodeBleuChoices) -> CodeBleuChoices:
    """Return the choices that a mode names.

    Raises
    ------
    UsageError
        There is no such mode.
    """
    if isinstance(mode, CodeBleuChoices):
        return mode
    if mode not in get_args(CodeBleuMode):
        raise UsageError(f"There is no CodeBLEU mode {mode!r}; the modes are {', '.join(get_args(CodeBleuMode))}.")
    return CODEBLEU_MODES[mode]
