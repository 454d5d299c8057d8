"""The tokens of a syntax tree as the published data flow reads them, faults included."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from analysis.code.syntax_tree import DOUBLES, TEXTS

if TYPE_CHECKING:
    from analysis.code.syntax_tree import SyntaxTree

__all__ = ["read_leaves"]


def read_leaves(tree: SyntaxTree) -> tuple[list[int], list[str], list[int], list[bool]]:
    """Return the leaves of a tree, their texts, their places among the tokens, and whether they pass for variables.

    A string is one leaf, whatever is filled in. A text is cut out of its line as if a byte were a character, and loses
    its line ends. Leaves at one and the same place, which are those that the parser put in, share the last one's. What
    has a text that is not its type passes for a variable; so do, in the grammars of their time, both words of
    ``not in`` and ``is not``, which newer grammars put under a node without a name.
    """
    kinds, after, starts, ends = tree.kinds, tree.after, tree.starts, tree.ends
    leaves: list[int] = []
    node = 0
    while node < len(kinds):
        whole = kinds[node] in TEXTS
        if (whole or after[node] == node + 1) and kinds[node] != "comment":
            leaves.append(node)
        node = after[node] if whole else node + 1
    spans = [(starts[leaf], ends[leaf]) for leaf in leaves]
    last = {span: place for place, span in enumerate(spans)}
    names = _cut(tree.data, spans)
    doubles = {child for node, kind in enumerate(kinds) if kind in DOUBLES for child in range(node + 1, after[node])}
    varies = [kinds[leaf] != name or leaf in doubles for leaf, name in zip(leaves, names, strict=True)]
    return leaves, names, [last[span] for span in spans], varies


def _cut(data: bytes, spans: list[tuple[int, int]]) -> list[str]:
    text = data.decode("utf-8")
    if len(text) == len(data):
        return [text[start:end].replace("\n", "") for start, end in spans]
    lines = text.split("\n")
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line.encode("utf-8")) + 1)
    return [_cut_one(lines, begins, start, end) for start, end in spans]


def _cut_one(lines: list[str], begins: list[int], start: int, end: int) -> str:
    first, last = bisect_right(begins, start) - 1, bisect_right(begins, end) - 1
    head, tail = start - begins[first], end - begins[last]
    if first == last:
        return lines[first][head:tail]
    return "".join([lines[first][head:], *lines[first + 1 : last], lines[last][:tail]])
