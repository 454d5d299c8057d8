"""The size and form of a program: its lines, its decisions, what it defines and imports, as counts with a status."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from analysis.code.characters import similarity
from analysis.code.program import ProgramStatus, parse_program
from simulator.errors import UsageError
from simulator.syntax import load_grammar
from simulator.tables.schemas import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tree_sitter import Node, Query

__all__ = ["FORM_SCHEMA", "Form", "FunctionForm", "measure_codes", "measure_form"]

FORM_SCHEMA = pl.Schema(
    {
        name: OUTCOMES[name]
        for name in (
            *("code", "lines", "comment_lines", "complexity", "reference_similarity", "imports"),
            *("blank_lines", "docstring_lines", "functions", "classes", "form_status"),
        )
    }
)
"""What `measure_codes` returns: columns of the table ``outcomes``."""

_DECISIONS = """
[(if_statement) (elif_clause) (for_statement) (while_statement) (except_clause)
 (assert_statement) (boolean_operator) (conditional_expression) (for_in_clause) (if_clause)] @decision
(for_statement alternative: (else_clause) @decision)
(while_statement alternative: (else_clause) @decision)
(try_statement (else_clause) @decision)
(case_clause) @case
"""
_DEFINITIONS = """
(function_definition name: (identifier) @name) @function
(class_definition) @class
(import_statement name: (dotted_name) @module)
(import_statement name: (aliased_import name: (dotted_name) @module))
(import_from_statement module_name: (_) @module)
"""


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """A function or method: its name, the line of its ``def`` from 1, and its cyclomatic complexity."""

    name: str
    line: int
    complexity: int


@dataclass(frozen=True, slots=True)
class Form:
    """The size and form of a program.

    Every line that is not blank is counted once, in this order: a line on which there is nothing but a comment is a
    comment; one on which there is nothing but a string that stands by itself as a statement is a docstring; all others
    are lines of code. So `lines` + `blank_lines` + `docstring_lines` + the lines of nothing but comment is the number
    of lines.

    Parameters
    ----------
    status
        ``ok``; ``no_grammar``: none for its language is installed; ``empty``: white space alone; ``prose``: sentences,
        not a program; ``unparsable``: the parser had to repair it; ``too_large``: longer than
        `analysis.code.program.MAX_CHARACTERS`. Of an ``unparsable`` text there are lines, of others but ``ok`` there is
        no count.
    lines
        Lines of code: lines with anything on them that is neither comment nor docstring.
    comment_lines
        Lines on which there is a comment, also behind code.
    blank_lines
        Lines of white space alone, within a string too.
    docstring_lines
        Lines of a string that is a statement, blank ones within it not counted.
    complexity
        Cyclomatic complexity: decisions + 1, in Python. A decision is an ``if``, ``elif``, ``for``, ``while``,
        ``assert``, ``except``, ``and``, ``or``, a conditional expression, each ``for`` and ``if`` of a comprehension,
        the ``else`` of a loop or a ``try``, a ``case`` that can fail, and its ``if``. It is that of the whole program
        as one flow, so that it does not grow when a program is cut into functions.
    functions, classes
        How many are defined anywhere, methods among the functions; in Python.
    imports
        Modules imported anywhere, each counted once (``os`` and ``os.path`` are two), ``__future__`` not; in Python.
    by_function
        Each function by itself, in the order of their lines. A function within another is counted in itself alone.

    References
    ----------
    T. J. McCabe, "A Complexity Measure", IEEE Transactions on Software Engineering SE-2(4), 1976.
    https://doi.org/10.1109/TSE.1976.233837. Which constructs are decisions in Python is taken from radon's manual,
    but for the guard of a ``case``, which decides and is counted here.
    """

    status: ProgramStatus
    lines: int | None = None
    comment_lines: int | None = None
    blank_lines: int | None = None
    docstring_lines: int | None = None
    complexity: int | None = None
    functions: int | None = None
    classes: int | None = None
    imports: int | None = None
    by_function: tuple[FunctionForm, ...] = field(default=(), repr=False)


@lru_cache(maxsize=256)
def measure_form(text: str, *, language: str = "python") -> Form:
    r"""Count the lines, decisions, definitions and imports of a program.

    Parameters
    ----------
    text
        Any text at all. The time is linear in its length, and no depth of nesting is too deep.
    language
        Of other languages than Python whose grammar is installed, the lines are counted and the rest is None.

    Examples
    --------
    >>> form = measure_form("import os\n\ndef f(a):\n    '''Do it.'''\n    return a or 1  # or one\n")
    >>> form.lines, form.comment_lines, form.blank_lines, form.docstring_lines, form.complexity, form.imports
    (3, 1, 1, 1, 2, 1)
    >>> measure_form("I cannot help with that.").status
    'prose'
    """
    program = parse_program(text, language=language)
    if program.root is None:
        return Form(program.status)
    kinds = Counter(program.lines)
    sizes = (kinds["code"], program.commented, kinds["blank"], kinds["docstring"])
    if program.status != "ok" or language != "python":
        return Form(program.status, *sizes)
    from tree_sitter import QueryCursor  # noqa: PLC0415 - nobody who only asks for a schema needs it

    found = QueryCursor(_query()).captures(program.root)
    functions = found.get("function", [])
    decisions = _decisions(found)
    return Form(
        "ok",
        *sizes,
        complexity=len(decisions) + 1,
        functions=len(functions),
        classes=len(found.get("class", [])),
        imports=len({b"".join((node.text or b"").split()) for node in found.get("module", [])}),
        by_function=tuple(_by_function(functions, found.get("name", []), decisions)),
    )


def measure_codes(codes: pl.DataFrame, *, language: str = "python") -> pl.DataFrame:
    """Measure each code, as columns for the ``outcomes`` table: a pure function of a batch, for the engine.

    Parameters
    ----------
    codes
        ``code`` (its id) and ``text``, null where there is none. Also, where they are there: ``language``;
        ``reference``, the text of the reference solution, or a list of several, of which the most similar counts.
    language
        Of the codes that name none.

    Returns
    -------
    frame
        A row for each, in their order, with the columns of `FORM_SCHEMA`. What could not be measured is null, and
        ``form_status`` says why (see `Form`). ``reference_similarity`` is that of
        `analysis.code.characters.similarity`, null where there is no reference, or no code. The other measures of the
        table, token BLEU and CodeBLEU, join by ``code``.

    Raises
    ------
    UsageError
        A column is missing.

    Examples
    --------
    >>> frame = pl.DataFrame({"code": ["a", "b"], "text": ["x = 1", None], "reference": ["x = 2", "x = 2"]})
    >>> measure_codes(frame).select("code", "lines", "complexity", "reference_similarity", "form_status").rows()
    [('a', 1.0, 1.0, 0.8, 'ok'), ('b', None, None, None, 'empty')]
    """
    if missing := [name for name in ("code", "text") if name not in codes.columns]:
        raise UsageError(f"Codes to be measured need the columns code and text; {' and '.join(missing)} is not there.")
    has = set(codes.columns)
    rows = []
    for row in codes.select(name for name in ("code", "text", "language", "reference") if name in has).to_dicts():
        text = row["text"] or ""
        form = measure_form(text, language=row.get("language") or language)
        references = row.get("reference") or []
        rows.append(
            {
                **{name: getattr(form, name) for name in FORM_SCHEMA if hasattr(form, name)},
                "code": row["code"],
                "reference_similarity": None
                if form.status in ("empty", "prose")
                else _nearest(text, [references] if isinstance(references, str) else references),
                "form_status": form.status,
            }
        )
    return pl.DataFrame(rows, schema=FORM_SCHEMA)


def _nearest(text: str, references: Iterable[str | None]) -> float | None:
    """Return the greatest similarity to a reference; None where there is none to compare with."""
    scores = [similarity(text, reference) for reference in references if reference]
    return max((score for score in scores if score is not None), default=None)


@lru_cache(maxsize=1)
def _query() -> Query:
    """Return the query that finds all that is counted in Python."""
    from tree_sitter import Query  # noqa: PLC0415

    return Query(load_grammar("python"), _DECISIONS + _DEFINITIONS)


def _decisions(found: dict[str, list[Node]]) -> list[Node]:
    """Return the nodes that decide; of the cases, those that can fail."""
    return [*found.get("decision", []), *(case for case in found.get("case", []) if not _always_matches(case))]


def _always_matches(case: Node) -> bool:
    """Whether a case is a bare name or ``_``, which takes whatever comes: the ``else`` of a match."""
    patterns = [child for child in case.named_children if child.type == "case_pattern"]
    text = (patterns[0].text or b"").decode("utf-8", "replace").strip() if len(patterns) == 1 else ""
    return text.isidentifier() and text not in ("None", "True", "False")


def _by_function(functions: Sequence[Node], names: Sequence[Node], decisions: Sequence[Node]) -> list[FunctionForm]:
    """Give each decision to the innermost function that it is in, by one walk along the text."""
    spans = sorted((node.start_byte, node.end_byte, node.start_point.row + 1) for node in functions)
    named = {name.start_byte: (name.text or b"").decode("utf-8", "replace") for name in names}
    labels = [named[start] for start in sorted(named)]
    counts = [1] * len(spans)
    stack: list[int] = []
    following = 0
    for place in sorted(node.start_byte for node in decisions):
        while following < len(spans) and spans[following][0] <= place:
            stack.append(following)
            following += 1
        while stack and spans[stack[-1]][1] <= place:
            stack.pop()
        if stack:
            counts[stack[-1]] += 1
    return [FunctionForm(labels[at], spans[at][2], counts[at]) for at in range(len(spans))]
