"""The whole syntax tree of a text in flat lists, with the leaves that are its tokens.

Where `analysis.code.trees` keeps what an edit distance needs, this keeps what CodeBLEU needs: every node, also those
without a name (operators, brackets, keywords), its field, and the text under it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["DOUBLES", "TEXTS", "SyntaxTree", "parse_syntax"]

TEXTS = frozenset({"string", "string_literal", "character_literal"})
"""Types whose nodes are one leaf, whatever is within them."""

DOUBLES = frozenset({"not in", "is not"})
"""Operators of two words: newer grammars of Python put the words under a node of this type, older ones do not."""

_ALL_TEXTS = TEXTS | {
    "char_literal",
    "interpreted_string_literal",
    "raw_string_literal",
    "rune_literal",
    "template_string",
}
_FILLED = frozenset({"interpolation", "template_substitution", "string_interpolation"})
_ERROR = 65_535  # the kind that every grammar gives to what it could not parse
_WRAPPER = "expression_statement"
_TEXT_STATEMENTS = frozenset({"string", "concatenated_string"})


@dataclass(frozen=True)
class SyntaxTree:
    """The nodes of a parsed text in preorder.

    Parameters
    ----------
    data
        The text in UTF-8; `starts` and `ends` count its bytes.
    kinds
        The type of each node; of one without a name its text (``+``, ``if``).
    named
        Whether it has a name in the grammar.
    fields
        Its field in its parent (``left``), or None.
    starts, ends
        Where its text begins and ends.
    after
        The first node that is not under it: its children are node + 1, ``after[node + 1]`` and so on.
    repairs
        How the parser prints what it had to repair: leaves that it left out or put in.
    broken
        Whether it had to repair anything.
    """

    data: bytes
    kinds: list[str]
    named: list[bool]
    fields: list[str | None]
    starts: list[int]
    ends: list[int]
    after: list[int]
    repairs: dict[int, str]
    broken: bool

    def children(self, node: int) -> Iterator[int]:
        """Return the children of a node, in order."""
        child, end = node + 1, self.after[node]
        while child < end:
            yield child
            child = self.after[child]

    def child(self, node: int, field: str) -> int | None:
        """Return the first child in a field, or None."""
        fields = self.fields
        return next((child for child in self.children(node) if fields[child] == field), None)

    def text(self, node: int) -> str:
        """Return the text of a node."""
        return self.texts([node])[0]

    def texts(self, nodes: Iterable[int]) -> list[str]:
        """Return the texts of nodes."""
        starts, ends, data = self.starts, self.ends, self.data
        if data.isascii():  # then a character is a byte
            whole = data.decode("ascii")
            return [whole[starts[node] : ends[node]] for node in nodes]
        return [data[starts[node] : ends[node]].decode("utf-8", "replace") for node in nodes]

    @cached_property
    def skipped(self) -> frozenset[int]:
        """The tops of what says nothing to the machine: comments, and strings that are statements of their own."""
        return frozenset(_list_skipped(self))

    def list_top(self) -> list[str]:
        """Return the kinds of the nodes at the top that have names."""
        found, node = [], 1
        while node < len(self.kinds):
            if self.named[node]:
                found.append(self.kinds[node])
            node = self.after[node]
        return found

    @cached_property
    def leaves(self) -> list[int]:
        """The nodes whose texts are the tokens of the code, in order.

        A string is one token unless values are filled in. Comments and docstrings are none, nor is what the parser put
        in.
        """
        return _list_leaves(self)


def parse_syntax(text: str, language: str) -> SyntaxTree:
    """Parse a text without recursion, so that depth is no limit.

    Parameters
    ----------
    text
        Any text that can be encoded in UTF-8.
    language
        Whose grammar to use; see `simulator.syntax.load_grammar`.

    Raises
    ------
    MissingError
        No grammar for the language is installed.

    Examples
    --------
    >>> parse_syntax("a + b", "python").kinds
    ['module', 'expression_statement', 'binary_operator', 'identifier', '+', 'identifier']
    """
    from tree_sitter import Parser  # noqa: PLC0415 - heavy, and needed only where there is something to parse

    data = text.encode("utf-8")
    root = Parser(load_grammar(language)).parse(data).root_node
    broken = root.has_error
    types, words = _names_of(language)
    kinds: list[int] = []
    fields: list[int | None] = []
    starts: list[int] = []
    ends: list[int] = []
    after: list[int] = []
    repairs: dict[int, str] = {}
    open_nodes: list[int] = []
    cursor = root.walk()
    forward, aside = cursor.goto_first_child, cursor.goto_next_sibling
    descending = True
    while descending and (node := cursor.node) is not None:
        kind = node.kind_id
        if broken and (node.is_missing or (kind == _ERROR and not node.child_count)):
            repairs[len(kinds)] = str(node)
        kinds.append(kind)
        fields.append(cursor.field_id)
        starts.append(node.start_byte)
        ends.append(node.end_byte)
        after.append(len(kinds))
        if forward():
            open_nodes.append(len(kinds) - 1)
            continue
        while not aside():
            if not open_nodes:
                descending = False
                break
            after[open_nodes.pop()] = len(kinds)
            cursor.goto_parent()
    found = [types.get(kind, ("ERROR", True)) for kind in kinds]
    return SyntaxTree(
        data=data,
        kinds=[kind for kind, _ in found],
        named=[named for _, named in found],
        fields=[words.get(field) for field in fields],
        starts=starts,
        ends=ends,
        after=after,
        repairs=repairs,
        broken=broken,
    )


@lru_cache(maxsize=16)
def _names_of(language: str) -> tuple[dict[int, tuple[str, bool]], dict[int | None, str | None]]:
    """Return a grammar's kinds of nodes, with whether they have a name, and its fields."""
    grammar = load_grammar(language)
    types = {
        kind: (grammar.node_kind_for_id(kind) or "", bool(grammar.node_kind_is_named(kind)))
        for kind in range(grammar.node_kind_count)
    }
    return types, {field: grammar.field_name_for_id(field) for field in range(1, grammar.field_count + 1)}


def _is_comment(kind: str) -> bool:
    """Whether nodes of a type are comments, or join two lines, in any grammar."""
    return kind.endswith("comment") or kind == "line_continuation"


def _list_skipped(tree: SyntaxTree) -> Iterator[int]:
    kinds, after = tree.kinds, tree.after
    wanted = {kind for kind in set(kinds) if _is_comment(kind)} | {_WRAPPER}
    for node, kind in enumerate(kinds):
        if kind in wanted:
            inner = node + 1
            if kind != _WRAPPER or (
                inner < after[node] and kinds[inner] in _TEXT_STATEMENTS and after[inner] == after[node]
            ):
                yield node


def _list_leaves(tree: SyntaxTree) -> list[int]:
    kinds, after, starts, ends, skipped = tree.kinds, tree.after, tree.starts, tree.ends, tree.skipped
    leaves: list[int] = []
    node, count = 0, len(kinds)
    while node < count:
        end = after[node]
        if node in skipped:
            node = end
        elif end == node + 1 or (kinds[node] in _ALL_TEXTS and _FILLED.isdisjoint(kinds[node + 1 : end])):
            if ends[node] > starts[node]:
                leaves.append(node)
            node = end
        else:
            node += 1
    return leaves
