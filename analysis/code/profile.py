"""What CodeBLEU knows of one text, read once: its tokens' n-grams, its subtrees, its data flow."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from analysis.code.comments import strip_comments
from analysis.code.dataflow import DataFlowError, list_flows
from analysis.code.judging import judge_text
from analysis.code.ngrams import ORDERS, Bag, Numbers, count_bag, count_ngrams
from analysis.code.shapes import list_printed_shapes, list_shapes
from analysis.code.syntax_tree import parse_syntax
from simulator.running.replies import repair_text
from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.code.codebleu_choices import CodeBleuChoices
    from analysis.code.syntax_tree import SyntaxTree

__all__ = [
    "MAX_CHARACTERS",
    "TEXT_STATUSES",
    "Structure",
    "TextReader",
    "TextStatus",
    "Words",
    "list_keywords",
    "split_tokens",
]

TextStatus = Literal["ok", "empty", "prose", "unparsable", "too_large"]
TEXT_STATUSES: tuple[TextStatus, ...] = get_args(TextStatus)

MAX_CHARACTERS = 150_000
"""A longer text is not parsed: a parser that repairs errors needs up to 15 s for 1 MB of hostile text."""

_RESERVED = frozenset(
    # written out, as `keyword.kwlist` may grow with Python
    {"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del"}
    | {"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal"}
    | {"not", "or", "pass", "raise", "return", "try", "while", "with", "yield"}
)
_SOFT = frozenset({"match", "case", "type"})
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of a text.

    Parameters
    ----------
    length
        How many.
    bags
        The n-grams of each order from 1.
    keywords
        Those of the first bag that are keywords.
    """

    length: int
    bags: list[Bag]
    keywords: Bag


@dataclass(frozen=True, slots=True)
class Structure:
    """The subtrees and the data flow of a text.

    Parameters
    ----------
    shapes
        Its subtrees as a bag.
    counts
        How often each shape occurs.
    total
        How many subtrees there are.
    flows
        Its data flow as a bag; None where it cannot be computed: for other languages than Python, or in too many steps.
    """

    shapes: Bag
    counts: dict[int, int]
    total: int
    flows: Bag | None


@dataclass(slots=True)
class TextReader:
    """Reads texts that are to be compared with one another; each text once.

    Parameters
    ----------
    language
        Of all texts.
    choices
        What to read.
    characters
        How many have been read; about 65 bytes are kept of each.
    """

    language: str
    choices: CodeBleuChoices
    characters: int = 0
    grams: list[Numbers] = field(default_factory=lambda: [Numbers() for _ in range(ORDERS)])
    shapes: Numbers = field(default_factory=Numbers)
    flows: Numbers = field(default_factory=Numbers)
    words_of: dict[str, Words] = field(default_factory=dict)
    structures: dict[str, Structure] = field(default_factory=dict)
    bare: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, TextStatus] = field(default_factory=dict)

    def status(self, text: str) -> TextStatus:
        """Return whether a text can be compared, and if not why."""
        status = self.statuses.get(text)
        if status is None:
            self.characters += len(text)
            status = self.statuses[text] = self._judge(text)
        return status

    def words(self, text: str) -> Words:
        """Return the tokens of a text that is not too large."""
        words = self.words_of.get(text)
        if words is None:
            self._read(text)
            words = self.words_of[text]
        return words

    def structure(self, text: str) -> Structure:
        """Return the subtrees and the data flow of a text that is not too large."""
        structure = self.structures.get(text)
        if structure is None:
            if self.choices.tokens == "grammar" and self.choices.comments == "none":
                self._read(text)
            else:
                self.structures[text] = self._structure(parse_syntax(text, self.language))
            structure = self.structures[text]
        return structure

    def stripped(self, text: str) -> str:
        """Return a text without what is taken out before it is parsed."""
        if self.choices.comments == "none":
            return text
        bare = self.bare.get(text)
        if bare is None:
            bare = self.bare[text] = strip_comments(text, self.choices.comments)
        return bare

    def _judge(self, text: str) -> TextStatus:
        if len(text) > MAX_CHARACTERS:
            return "too_large"
        if not self.choices.judged:
            return "ok"
        if not text or text.isspace():
            return "empty"
        tree = self._read(text)
        if tree is None:
            return "ok"
        status = judge_text(text, tree.list_top(), broken=tree.broken)
        return status if status != "ok" or self.words_of[text].length else "empty"

    def _read(self, text: str) -> SyntaxTree | None:
        """Read the tokens and, where they come from the tree, all else; return the tree, None where none is needed."""
        if self.choices.tokens == "space" and not self.choices.judged:
            self.words_of[text] = self._words(text.split())
            return None
        tree = parse_syntax(text, self.language)
        if self.choices.tokens == "space":
            self.words_of[text] = self._words(text.split())
        else:
            self.words_of[text] = self._words(tree.texts(tree.leaves))
        if self.choices.comments == "none" and (not tree.broken or not self.choices.judged):
            self.structures[text] = self._structure(tree)
        return tree

    def _words(self, tokens: Sequence[str]) -> Words:
        bags = count_ngrams(tokens, self.grams)
        keywords = list_keywords(self.language, soft=self.choices.soft_keywords)
        known = self.grams[0]
        found = [known.things[token] for token in tokens if token in keywords]
        return Words(len(tokens), bags, count_bag(found, known))

    def _structure(self, tree: SyntaxTree) -> Structure:
        listed = list_shapes if self.choices.shapes == "operators" else list_printed_shapes
        shapes = listed(tree, self.shapes)
        return Structure(count_bag(shapes, self.shapes), Counter(shapes), len(shapes), self._flows(tree))

    def _flows(self, tree: SyntaxTree) -> Bag | None:
        if self.language != "python":
            return None
        published = self.choices.flows == "published"
        try:
            flows = list_flows(tree, published=published)
        except DataFlowError:
            if not published:
                return None
            flows = []
        return count_bag(map(self.flows.things.__getitem__, flows), self.flows)


@lru_cache(maxsize=32)
def list_keywords(language: str, *, soft: bool) -> frozenset[str]:
    """Return the keywords of a language: Python's reserved words, or else the words of the grammar."""
    if language == "python":
        return _RESERVED | _SOFT if soft else _RESERVED
    grammar = load_grammar(language)
    names = [
        grammar.node_kind_for_id(kind) or ""
        for kind in range(grammar.node_kind_count)
        if not grammar.node_kind_is_named(kind)
    ]
    return frozenset(name for name in names if _WORD.fullmatch(name))


def split_tokens(text: str, language: str) -> list[str]:
    """Return the tokens of a text by its grammar: leaves of the tree, strings whole, comments and docstrings left out.

    Examples
    --------
    >>> split_tokens("x = f('a b')  # why", "python")
    ['x', '=', 'f', '(', "'a b'", ')']
    """
    tree = parse_syntax(repair_text(text)[0], language)
    return tree.texts(tree.leaves)
