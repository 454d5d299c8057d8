"""Source text to a flat tree, in the two dialects of TSED; each distinct text is parsed once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from analysis.code.judging import judge_text
from analysis.code.trees import (
    MAX_CHARACTERS,
    MAX_NODES,
    MAX_PRINTED_DEPTH,
    WRAPPERS,
    Dialect,
    Tree,
    TreeTooLargeError,
    make_tree,
)
from simulator.running.replies import repair_text
from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Parser
    from tree_sitter import Tree as SyntaxTree

__all__ = ["describe_grammar", "parse_tree"]

_OPERATOR_FIELDS = ("operator", "operators")
_COUNTED_PER_NODE = 8  # punctuation and keywords that a node of the flat tree can bring along, generously


def describe_grammar(language: str) -> str:
    """Return the name and version of the grammar that a language is parsed with, for the record of a run.

    Raises
    ------
    MissingError
        No grammar for the language is installed.

    Examples
    --------
    >>> describe_grammar("python")  # doctest: +SKIP
    'tree-sitter-python 0.25.0, ABI 15'
    """
    grammar = load_grammar(language)
    package = f"tree-sitter-{language.lower().replace('_', '-')}"
    try:
        name = f"{package} {version(package)}"
    except PackageNotFoundError:  # the module is there without the package that brought it
        name = package
    return f"{name}, ABI {grammar.abi_version}"


@lru_cache(maxsize=4096)
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
        Types whose nodes are left out, their children standing in their place; and in ``published``, as ``type.field``,
        field names that are not read.

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
    parsed = _open_parser(language).parse(repair_text(text)[0].encode("utf-8"))
    if parsed.root_node.descendant_count > MAX_NODES * _COUNTED_PER_NODE:
        raise TreeTooLargeError(f"{parsed.root_node.descendant_count} nodes are more than {MAX_NODES}")
    if dialect == "published":
        tree = _read_published(parsed, hidden)
    else:
        tree = _read_typed(parsed, language, hidden, operators=operators, leaf_text=leaf_text)
        kinds = (child.type for child in parsed.root_node.named_children)
        tree = replace(tree, prose=judge_text(text, kinds, broken=tree.broken) == "prose")
    if len(tree) > MAX_NODES:
        raise TreeTooLargeError(f"{len(tree)} nodes are more than {MAX_NODES}")
    return tree


def _open_parser(language: str) -> Parser:
    from tree_sitter import Parser  # noqa: PLC0415 - not needed where every tree is made by hand

    return Parser(load_grammar(language))


@cache
def _kinds(language: str) -> dict[int, tuple[bool, str]]:
    """Return what is known of a grammar's kinds of nodes: whether named, and the type; it grows as they are met."""
    load_grammar(language)
    return {}


def _read_typed(parsed: SyntaxTree, language: str, hidden: frozenset[str], *, operators: bool, leaf_text: bool) -> Tree:
    kinds = _kinds(language)
    grammar = load_grammar(language)
    operator_fields = {grammar.field_id_for_name(name) for name in _OPERATOR_FIELDS} - {None} if operators else set()
    labels: list[str] = []
    parents: list[int] = []
    # The flat node of each level of the parsed tree; a level of a node that is left out has that of the level above.
    path = [-1]
    cursor = parsed.walk()
    descending = True
    while descending:
        node = cursor.node
        if node is not None:
            kind = kinds.get(node.kind_id)
            if kind is None:
                kind = kinds[node.kind_id] = (node.is_named, node.type)
            named, label = kind
            above = path[-1]
            if above >= 0 and (not named or label in hidden):
                if not named and cursor.field_id in operator_fields:
                    labels[above] += f" {label}"
                path.append(above)
            else:
                if leaf_text and not node.child_count and node.text is not None:
                    label += " " + node.text.decode("utf-8", "replace")
                path.append(len(labels))
                labels.append(label)
                parents.append(above)
        if cursor.goto_first_child():
            continue
        path.pop()
        while not cursor.goto_next_sibling():
            descending = cursor.goto_parent()
            if not descending:
                break
            path.pop()
    return make_tree(labels, parents, broken=parsed.root_node.has_error)


def _read_published(parsed: SyntaxTree, hidden: frozenset[str]) -> Tree:
    """Read the tree from the parser's printed form, as the published program does.

    That program splits the print on parentheses and white space. An opening parenthesis begins a node, any word renames
    the node that is open, and a closing one ends it; so a node ends up with the last of: its type, the field names
    (``body:``) of its printed children. What the parser found missing is printed in quotes; where that is a
    parenthesis, it begins or ends a node like any other.
    """
    if parsed.root_node.descendant_count > MAX_PRINTED_DEPTH and _is_deeper(parsed, MAX_PRINTED_DEPTH):
        raise TreeTooLargeError(f"a tree of more than {MAX_PRINTED_DEPTH} levels is not printed")
    printed, broken = str(parsed.root_node), parsed.root_node.has_error
    if '"' in printed or "'" in printed:
        return _read_words(printed, hidden, broken=broken)
    return _read_print(printed, hidden, broken=broken)


def _is_deeper(parsed: SyntaxTree, limit: int) -> bool:
    cursor, depth = parsed.walk(), 0
    while True:
        if cursor.goto_first_child():
            depth += 1
            if depth > limit:
                return True
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1


@lru_cache(maxsize=65536)
def _split_part(part: str) -> tuple[str, int, str]:
    """Return, of what follows an opening parenthesis: the type, how many nodes end, the field name of the next one."""
    kind, *rest = part.replace(")", " ) ").split()
    return kind, rest.count(")"), rest[-1] if rest and rest[-1] != ")" else ""


def _read_print(printed: str, hidden: frozenset[str], *, broken: bool) -> Tree:
    """Read a print whose parentheses are all parentheses."""
    unread = {name for name in hidden if "." in name}
    labels: list[str] = []
    kinds: list[str] = []
    parents: list[int] = []
    path = [-1]
    left_out = 0
    for part in printed.split("(")[1:]:
        kind, ended, field = _split_part(part)
        if kind in hidden and parents:
            path.append(path[-1])
            left_out += 1
        else:
            parents.append(path[-1])
            path.append(len(labels))
            labels.append(kind)
            kinds.append(kind)
        if ended:
            del path[-ended:]
        if field and not (unread and f"{kinds[path[-1]]}.{field[:-1]}" in unread):
            labels[path[-1]] = field
    return make_tree(labels, parents, length=printed.count(")") - left_out, broken=broken)


def _read_words(printed: str, hidden: frozenset[str], *, broken: bool) -> Tree:
    """Read a print with quotes, word by word: a parenthesis in quotes begins or ends a node like any other."""
    words = printed.replace("(", " ( ").replace(")", " ) ").split()
    names: list[str] = []
    kinds: list[str] = []
    children: list[list[int]] = []
    open_nodes: list[int] = []
    current = -1
    for word in _unwrap(words, hidden) if hidden else words:
        if word == "(":
            if current >= 0:
                open_nodes.append(current)
            names.append("")
            kinds.append("")
            children.append([])
            current = len(names) - 1
        elif word != ")":
            kinds[current] = kinds[current] or word
            if not (word.endswith(":") and f"{kinds[current]}.{word[:-1]}" in hidden):
                names[current] = word
        elif open_nodes:
            parent = open_nodes.pop()
            children[parent].append(current)
            current = parent
    length = words.count(")") - sum(word in hidden for word in words[2:])
    return _flatten(names, children, current, length=length, broken=broken)


def _unwrap(words: list[str], hidden: frozenset[str]) -> Iterator[str]:
    """Leave out the parentheses and names of hidden nodes, but never the root's."""
    is_wrapper: list[bool] = []
    skip = False
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        quoted = before == after and before in {"'", '"'}  # a parenthesis that is missing or was not expected
        if skip:
            skip = False
        elif word not in {"(", ")"} or quoted:
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
