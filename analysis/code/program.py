"""A text taken for a program: parsed, judged, and each of its lines told to be code, comment, docstring or blank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from analysis.code.judging import judge_text
from simulator.errors import MissingError
from simulator.running.replies import repair_text
from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Language, Node, Query

__all__ = ["MAX_CHARACTERS", "PROGRAM_STATUSES", "LineKind", "Program", "ProgramStatus", "parse_program"]

ProgramStatus = Literal["ok", "no_grammar", "empty", "prose", "unparsable", "too_large"]
PROGRAM_STATUSES: tuple[ProgramStatus, ...] = get_args(ProgramStatus)

LineKind = Literal["code", "comment", "docstring", "blank"]

MAX_CHARACTERS = 150_000
"""A longer text is not parsed: a parser that repairs errors needs up to 15 s for 1 MB of hostile text."""

_PYTHON_LINES = """
(comment) @comment
(expression_statement . (string) .) @text
(expression_statement . (concatenated_string) .) @text
"""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    r"""A text and what the parser made of it.

    Parameters
    ----------
    status
        ``ok``; ``no_grammar``: none for its language is installed; ``empty``: white space alone; ``prose``: sentences,
        not a program; ``unparsable``: the parser had to repair it; ``too_large``: longer than `MAX_CHARACTERS`.
    language
        Of the grammar.
    text
        With ``\n`` at the end of every line and no half of a surrogate pair.
    data
        The same in UTF-8, which the nodes' places count in.
    lines
        The kind of each line: ``code`` unless there is nothing on it but white space (``blank``), a comment
        (``comment``), or a string that stands by itself as a statement (``docstring``). None where there is no tree.
    commented
        On how many lines there is a comment, also behind code.
    root
        Of the syntax tree; None unless the status is ``ok`` or ``unparsable``.
    """

    status: ProgramStatus
    language: str
    text: str
    data: bytes = b""
    lines: tuple[LineKind, ...] = ()
    commented: int = 0
    root: Node | None = None


def parse_program(text: str, *, language: str = "python") -> Program:
    r"""Parse a text, whatever it is, in a time linear in its length and at any depth of nesting.

    Examples
    --------
    >>> parse_program("x = 1  # one\n\n# two").lines
    ('code', 'blank', 'comment')
    >>> parse_program("x = = 1").status
    'unparsable'
    """
    text = repair_text(text)[0].replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return Program("empty", language, text)
    if len(text) > MAX_CHARACTERS:
        return Program("too_large", language, text)
    try:
        grammar = load_grammar(language)
    except MissingError:
        return Program("no_grammar", language, text)
    from tree_sitter import Parser, QueryCursor  # noqa: PLC0415 - needed only where there is something to parse

    data = text.encode("utf-8")
    root = Parser(grammar).parse(data).root_node
    status = judge_text(text, (child.type for child in root.named_children), broken=root.has_error)
    if status == "prose":
        return Program("prose", language, text, data)
    found = QueryCursor(_line_query(grammar, language)).captures(root)
    lines, commented = _tell_lines(data, found.get("comment", []), found.get("text", []))
    return Program(status, language, text, data, lines, commented, root)


@lru_cache(maxsize=16)
def _line_query(grammar: Language, language: str) -> Query:
    """Return the query for comments and, in Python, strings that are statements."""
    from tree_sitter import Query  # noqa: PLC0415

    if language == "python":
        return Query(grammar, _PYTHON_LINES)
    kinds = {
        grammar.node_kind_for_id(number) or ""
        for number in range(grammar.node_kind_count)
        if grammar.node_kind_is_named(number) and grammar.node_kind_is_visible(number)
    }
    comments = sorted(kind for kind in kinds if kind.endswith("comment"))
    return Query(grammar, "\n".join(f"({kind}) @comment" for kind in comments) or "(ERROR) @none")


def _tell_lines(data: bytes, comments: Sequence[Node], texts: Sequence[Node]) -> tuple[tuple[LineKind, ...], int]:
    """Return the kind of each line, and on how many there is a comment."""
    lines = data.removesuffix(b"\n").split(b"\n")
    kinds: list[LineKind] = ["code"] * len(lines)
    commented: set[int] = set()
    for node in texts:
        for row in _whole_rows(lines, node):
            kinds[row] = "docstring"
    for node in comments:
        commented.update(range(node.start_point.row, min(node.end_point.row + 1, len(lines))))
        for row in _whole_rows(lines, node):
            kinds[row] = "comment"
    for row, line in enumerate(lines):
        if not line.strip():
            kinds[row] = "blank"
    return tuple(kinds), sum(kinds[row] != "blank" for row in commented)


def _whole_rows(lines: list[bytes], node: Node) -> range:
    """Return the rows on which there is nothing but this node, and perhaps a comment behind it."""
    first, last = node.start_point, node.end_point
    begin, end = first.row, min(last.row, len(lines) - 1)
    behind = lines[end][last.column :].strip() if last.row == end else b""
    if lines[begin][: first.column].strip():
        begin += 1
    if behind and not behind.startswith(b"#"):
        end -= 1
    return range(begin, end + 1)
