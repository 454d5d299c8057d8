"""Source text to a flat tree: two integers a node, no recursion, so that depth is no limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from simulator.running.replies import repair_text
from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from tree_sitter import Tree as SyntaxTree
    from tree_sitter import TreeCursor

__all__ = [
    "MAX_CHARACTERS",
    "MAX_NODES",
    "MAX_PRINTED_DEPTH",
    "WRAPPERS",
    "Dialect",
    "Tree",
    "TreeTooLargeError",
    "make_tree",
    "parse_tree",
]

Dialect = Literal["typed", "published"]

MAX_NODES = 5_000
"""A tree of more nodes is not compared: about 900 lines of Python, 0.2 GB and a second or two a pair."""

MAX_CHARACTERS = 150_000
"""A longer text is not parsed: a parser that repairs errors needs up to 15 s for 1 MB of hostile text."""

MAX_PRINTED_DEPTH = 1_000
"""In ``published`` a deeper tree is not compared: printing it recurses, and so does the published program."""

WRAPPERS = frozenset({"expression_statement"})
"""Nodes that say nothing: in ``typed`` their children stand in their place.

Grammars of Python up to 0.25 wrap every expression that is a statement, newer ones do not. Without the wrapper a score
is the same under both.
"""

_OPERATOR_FIELDS = frozenset({"operator", "operators"})
_COUNTED_PER_NODE = 8  # punctuation and keywords that a node of the flat tree can bring along, generously


class TreeTooLargeError(Exception):
    """The text or its tree is over `MAX_CHARACTERS` or `MAX_NODES`; becomes the status ``too_large``."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An ordered labelled tree in preorder.

    Parameters
    ----------
    codes
        Shape (n,), uint32: each node's label, as an index into `vocabulary`.
    sizes
        Shape (n,), uint32: how many nodes its subtree has, itself included; the root's is n.
    depths
        Shape (n,), uint32: how many ancestors it has.
    vocabulary
        The distinct labels, in the order in which they first occur.
    length
        What a score is divided by: n in ``typed``; in ``published`` the closing parentheses of the printed tree.
    broken
        Whether the parser had to repair the text.
    """

    codes: NDArray[np.uint32]
    sizes: NDArray[np.uint32]
    depths: NDArray[np.uint32]
    vocabulary: tuple[str, ...]
    length: int
    broken: bool = False

    def __len__(self) -> int:
        return len(self.codes)


def make_tree(labels: list[str], parents: list[int], *, length: int | None = None, broken: bool = False) -> Tree:
    """Return the tree whose nodes are given in preorder.

    Parameters
    ----------
    labels
        Each node's label.
    parents
        Each node's parent's position, -1 for the root, which comes first.
    length
        See `Tree`; the number of nodes unless given.

    Examples
    --------
    >>> make_tree(["f", "a", "b"], [-1, 0, 0]).sizes.tolist()
    [3, 1, 1]
    """
    count = len(labels)
    sizes = [1] * count
    for node in range(count - 1, 0, -1):
        sizes[parents[node]] += sizes[node]
    depths = [0] * count
    for node in range(1, count):
        depths[node] = depths[parents[node]] + 1
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in labels]
    return Tree(
        codes=np.array(codes, dtype=np.uint32),
        sizes=np.array(sizes, dtype=np.uint32),
        depths=np.array(depths, dtype=np.uint32),
        vocabulary=tuple(numbers),
        length=count if length is None else length,
        broken=broken,
    )


@lru_cache(maxsize=1024)
def parse_tree(
    text: str,
    *,
    language: str = "python",
    dialect: Dialect = "typed",
    operators: bool = True,
    leaf_text: bool = False,
    hidden: frozenset[str] = WRAPPERS,
) -> Tree:
    """Parse a text to a flat tree; the same text is parsed once.

    Parameters
    ----------
    text
        Any text at all. Halves of surrogate pairs are replaced by U+FFFD.
    language
        Whose grammar to use; see `simulator.syntax.load_grammar`.
    dialect
        ``typed``: a node of the tree is a named node of the grammar, labelled by its type. ``published``: labelled as
        the published TSED does, by the last of its children's field names where it has any.
    operators
        In ``typed``: whether ``a + b`` and ``a - b`` differ; the label is then ``binary_operator +``.
    leaf_text
        In ``typed``: whether names and literals count; the label of a leaf is then its type and its text.
    hidden
        Types whose nodes are left out, their children standing in their place.

    Returns
    -------
    Tree
        Comments are nodes like any other.

    Raises
    ------
    TreeTooLargeError
        Over `MAX_CHARACTERS` or `MAX_NODES`, or in ``published`` over `MAX_PRINTED_DEPTH`.
    MissingError
        No grammar for the language is installed.
    """
    if len(text) > MAX_CHARACTERS:
        raise TreeTooLargeError(f"{len(text)} characters are more than {MAX_CHARACTERS}")
    from tree_sitter import Parser  # noqa: PLC0415 - not needed where every tree is made by hand

    parsed = Parser(load_grammar(language)).parse(repair_text(text)[0].encode("utf-8"))
    if parsed.root_node.descendant_count > MAX_NODES * _COUNTED_PER_NODE:
        raise TreeTooLargeError(f"{parsed.root_node.descendant_count} nodes are more than {MAX_NODES}")
    if dialect == "published":
        tree = _read_published(parsed, hidden)
    else:
        tree = _read_typed(parsed, hidden, operators=operators, leaf_text=leaf_text)
    if len(tree) > MAX_NODES:
        raise TreeTooLargeError(f"{len(tree)} nodes are more than {MAX_NODES}")
    return tree


def _visit(parsed: SyntaxTree) -> Iterator[TreeCursor]:
    """Stand on every node once, in preorder."""
    cursor = parsed.walk()
    while True:
        yield cursor
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _read_typed(parsed: SyntaxTree, hidden: frozenset[str], *, operators: bool, leaf_text: bool) -> Tree:
    labels: list[str] = []
    parents: list[int] = []
    path: list[tuple[int, int]] = []  # the depth in the parsed tree, and the position, of each node that is open
    for cursor in _visit(parsed):
        node, depth = cursor.node, cursor.depth
        while path and path[-1][0] >= depth:
            path.pop()
        if node is None or (path and (not node.is_named or node.type in hidden)):
            if node is not None and operators and not node.is_named and cursor.field_name in _OPERATOR_FIELDS:
                labels[path[-1][1]] += f" {node.type}"
            continue
        label = node.type
        if leaf_text and not node.child_count and node.text is not None:
            label += " " + node.text.decode("utf-8", "replace")
        labels.append(label)
        parents.append(path[-1][1] if path else -1)
        path.append((depth, len(labels) - 1))
    return make_tree(labels, parents, broken=parsed.root_node.has_error)


def _read_published(parsed: SyntaxTree, hidden: frozenset[str]) -> Tree:
    """Read the tree from the parser's printed form, as the published program does.

    That program splits the print on parentheses and white space. An opening parenthesis begins a node, any word renames
    the node that is open, and a closing one ends it; so a node ends up with the last of: its type, the field names
    (``body:``) of its printed children. What the parser found missing is printed in quotes; where that is a
    parenthesis, it begins or ends a node like any other.
    """
    if max(cursor.depth for cursor in _visit(parsed)) > MAX_PRINTED_DEPTH:
        raise TreeTooLargeError(f"a tree of more than {MAX_PRINTED_DEPTH} levels is not printed")
    words = str(parsed.root_node).replace("(", " ( ").replace(")", " ) ").split()
    names: list[str] = []
    children: list[list[int]] = []
    open_nodes: list[int] = []
    current = -1
    for word in _unwrap(words, hidden) if hidden else words:
        if word == "(":
            if current >= 0:
                open_nodes.append(current)
            names.append("")
            children.append([])
            current = len(names) - 1
        elif word != ")":
            names[current] = word
        elif open_nodes:
            parent = open_nodes.pop()
            children[parent].append(current)
            current = parent
    length = words.count(")") - sum(word in hidden for word in words[2:])
    return _flatten(names, children, current, length=length, broken=parsed.root_node.has_error)


def _unwrap(words: list[str], hidden: frozenset[str]) -> Iterator[str]:
    """Leave out the parentheses and names of hidden nodes, but never the root's."""
    is_wrapper: list[bool] = []
    skip = False
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        if skip:
            skip = False
        elif word not in {"(", ")"} or before == after in {
            "'",
            '"',
        }:  # a parenthesis in quotes is a missing or unexpected one
            yield word
        elif word == "(":
            skip = bool(is_wrapper) and after in hidden
            is_wrapper.append(skip)
            if not skip:
                yield word
        elif not is_wrapper.pop():
            yield word


def _flatten(names: list[str], children: list[list[int]], root: int, *, length: int, broken: bool) -> Tree:
    labels: list[str] = []
    parents: list[int] = []
    waiting = [(root, -1)]
    while waiting:
        node, parent = waiting.pop()
        labels.append(names[node])
        parents.append(parent)
        place = len(labels) - 1
        waiting.extend((child, place) for child in reversed(children[node]))
    return make_tree(labels, parents, length=length, broken=broken)
