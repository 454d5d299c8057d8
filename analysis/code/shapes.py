"""The shapes of the subtrees of a syntax tree, as numbers: equal subtrees have equal numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.code.ngrams import Numbers
    from analysis.code.syntax_tree import SyntaxTree

__all__ = ["list_printed_shapes", "list_shapes"]

_WRAPPER = "expression_statement"
_OPERATOR_FIELDS = frozenset({"operator", "operators"})


def list_shapes(tree: SyntaxTree, known: Numbers) -> list[int]:
    """Return the shape of every subtree that has anything under its top, and of the whole tree.

    A shape is the type of the top, the operator where it has one, and its children's fields and shapes; the names and
    values at the leaves are not looked at, as in the paper (section 3.2). Comments and docstrings are left out, and so
    is the wrapper that some grammars put around an expression that is a statement.

    Parameters
    ----------
    tree
        Of any depth.
    known
        The numbers given so far; new shapes are added.

    Returns
    -------
    list of int
        A number as often as its shape occurs.

    References
    ----------
    S. Ren et al., "CodeBLEU: a Method for Automatic Evaluation of Code Synthesis", 2020. https://arxiv.org/abs/2009.10297
    """
    kinds, named, fields, skipped = tree.kinds, tree.named, tree.fields, tree.skipped
    parents, number = _parents(tree), known.things
    below: dict[int, list[tuple[str | None, int]]] = {}
    operators: dict[int, list[str]] = {}
    shapes: list[int] = []
    hidden = _under(tree, skipped)
    for node in range(len(kinds) - 1, -1, -1):
        if hidden[node]:
            continue
        parent, inner = parents[node], below.pop(node, [])
        if named[node] and (kinds[node] != _WRAPPER or not node):
            key = (kinds[node], *reversed(operators.pop(node, ())), *inner)
            shape = number[key]
            if inner or not node or tree.after[node] > node + 1:
                shapes.append(shape)
            below.setdefault(parent, []).append((fields[node], shape))
        else:
            if fields[node] in _OPERATOR_FIELDS:
                operators.setdefault(parent, []).append(kinds[node])
            if inner:
                below.setdefault(parent, []).extend(inner)
    return shapes


def list_printed_shapes(tree: SyntaxTree, known: Numbers) -> list[int]:
    """Return the shapes as the published programs see them: two are equal where the parser prints them alike.

    The print has the types of nodes with a name and the fields of the children, so no operator, no name and no value.
    Comments are nodes like any other. Trees of newer grammars of Python are read as those of the grammar of the
    published scores, 0.21: ``not in`` has no words under it, ``string_content`` no lone backslash, ``except_clause`` no
    field ``value``.

    Parameters
    ----------
    tree, known
        As for `list_shapes`; numbers of one are not to be compared with those of the other.
    """
    kinds, named, fields, after, repairs = tree.kinds, tree.named, tree.fields, tree.after, tree.repairs
    parents, number = _parents(tree), known.things
    below: dict[int, list[tuple[str | None, int]]] = {}
    shapes: list[int] = []
    for node in range(len(kinds) - 1, -1, -1):
        inner = below.pop(node, [])
        if named[node] or node in repairs:
            shape = number[repairs.get(node, kinds[node]), *inner]
            parent = parents[node]
            field = None if fields[node] == "value" and kinds[parent] == "except_clause" else fields[node]
            below.setdefault(parent, []).append((field, shape))
            if inner or not node or (after[node] > node + 1 and kinds[node] != "string_content"):
                shapes.append(shape)
        elif inner:
            below.setdefault(parents[node], []).extend(inner)
    return shapes


def _parents(tree: SyntaxTree) -> list[int]:
    after = tree.after
    parents = [-1] * len(after)
    for node, end in enumerate(after):
        child = node + 1
        while child < end:
            parents[child] = node
            child = after[child]
    return parents


def _under(tree: SyntaxTree, tops: frozenset[int]) -> list[bool]:
    """Return whether each node is one of these or below one."""
    inside = [False] * len(tree.kinds)
    for top in tops:
        inside[top : tree.after[top]] = [True] * (tree.after[top] - top)
    return inside
