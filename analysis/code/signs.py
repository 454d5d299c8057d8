"""Where the signs of features are: one walk of a query over each program, one pattern at a time over all lines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from simulator.running.replies import repair_text
from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node, Query

    from analysis.code.program import Program
    from analysis.code.rules.rule import Feature, Place, Rules, Sign, SignPlace

__all__ = ["Rows", "find_signs"]

_IMPORTS = """
(import_statement name: (dotted_name) @module)
(import_statement name: (aliased_import name: (dotted_name) @module))
(import_from_statement module_name: (dotted_name) @module name: (dotted_name) @name)
(import_from_statement module_name: (dotted_name) @module name: (aliased_import name: (dotted_name) @name))
(import_from_statement module_name: (dotted_name) @module (wildcard_import))
"""
MAX_IN_PROGRESS = 1_000
"""How many half matches a query may hold: more are made by hostile text alone, and each costs memory."""
MAX_DEPTH = 400
"""How deep in the tree a match may begin: the deepest of 3,496 recorded programs has 29 levels. Every level can hold
half matches open, so that without a limit the time would grow with the square of the depth."""


class Rows(NamedTuple):
    """The rows, counted from 0 and in order, of the code or the reply, that show a feature."""

    place: Place
    rows: tuple[int, ...]


_Line = tuple[int, int, str]
"""A line that a pattern has yet to match: of which item, at which row, and what is on it."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The rules of one language as one query.

    ``owner`` says whose each of its patterns is, by the sign's number; -1 for imports. ``modules`` says which signs
    each module is one of.
    """

    query: Query
    owner: tuple[int, ...]
    modules: dict[str, list[int]]


def find_signs(items: Sequence[tuple[Program, str | None]], rules: Rules) -> list[dict[str, Rows]]:
    """Find which features show in each program, and in which rows.

    Parameters
    ----------
    items
        Programs, each with the whole reply that it is from, where that is known. Without it, signs in the reply are
        looked for in the code.
    rules
        What to look for.

    Returns
    -------
    found
        For each program, the features that show, in the order of the rules. The time is linear in the length of all
        texts, for a given set of rules.
    """
    signs = [(feature, sign) for feature in rules.features for sign in feature.signs]
    rows: dict[tuple[int, int], set[int]] = defaultdict(set)  # of item and sign
    waiting: dict[int, list[_Line]] = defaultdict(list)  # lines that a sign's pattern has yet to match
    for item, (program, _) in enumerate(items):
        if program.root is not None and (compiled := _compile(rules, program.language)):
            _walk(item, program.root, compiled, signs, rows, waiting)

    @cache
    def lines_of(place: SignPlace) -> list[_Line]:
        return [
            (item, row, line)
            for item, (program, reply) in enumerate(items)
            for row, line in _lines(program, repair_text(reply or "")[0], place)
        ]

    for number, (_, sign) in enumerate(signs):
        if sign.text:
            waiting[number] = lines_of(sign.place)
    for number, lines in waiting.items():
        _, sign = signs[number]
        for item, row in _matching(lines, sign.matching or sign.text):
            rows[item, number].add(row)
    return [_resolve(item, signs, rows) for item in range(len(items))]


def _walk(
    item: int,
    root: Node,
    compiled: _Compiled,
    signs: Sequence[tuple[Feature, Sign]],
    rows: dict[tuple[int, int], set[int]],
    waiting: dict[int, list[_Line]],
) -> None:
    """Walk a tree once, and note what each sign's query has captured."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - needed only where there is something parsed

    captured: dict[int, list[dict[str, list[Node]]]] = defaultdict(list)
    cursor = QueryCursor(compiled.query, match_limit=MAX_IN_PROGRESS)
    cursor.set_max_start_depth(MAX_DEPTH)
    for pattern, captures in cursor.matches(root):
        captured[compiled.owner[pattern]].append(captures)
    imported = _imported(captured.pop(-1, []))
    for module in imported.keys() & compiled.modules.keys():
        for number in compiled.modules[module]:
            rows[item, number].update(imported[module])
    for number, matches in captured.items():
        left_out = {(node.start_byte, node.end_byte) for match in matches for node in match.get("except", [])}
        for match in matches:
            for node in match.get("shown", []):
                if (node.start_byte, node.end_byte) in left_out:
                    continue
                row = node.start_point.row
                if not signs[number][1].matching:
                    rows[item, number].add(row)
                    continue
                # A text of its own only judges the node that is shown; a text that is shown is so at its line.
                step = 0 if "text" in match else 1
                for text in match.get("text", [node]):
                    pieces = (text.text or b"").decode("utf-8", "replace").split("\n")
                    waiting[number] += [(item, row + step * piece, line) for piece, line in enumerate(pieces)]


def _imported(matches: Sequence[dict[str, list[Node]]]) -> dict[str, set[int]]:
    """Return the rows at which each module, or anything within it, is imported."""
    rows: dict[str, set[int]] = defaultdict(set)
    for match in matches:
        module = match["module"][0]
        name = "".join((module.text or b"").decode("utf-8", "replace").split())
        names = [name, *(f"{name}.{(node.text or b'').decode('utf-8', 'replace')}" for node in match.get("name", []))]
        for dotted in names:
            parts = dotted.split(".")[:8]  # no rule names a deeper module, and hostile text could
            for length in range(1, len(parts) + 1):
                rows[".".join(parts[:length])].add(module.start_point.row)
    return rows


@lru_cache(maxsize=16)
def _compile(rules: Rules, language: str) -> _Compiled | None:
    """Put the queries of all rules of a language into one; None where there is none."""
    from tree_sitter import Query  # noqa: PLC0415

    parts: list[tuple[int, str]] = [(-1, _IMPORTS)] if language == "python" else []
    modules: dict[str, list[int]] = defaultdict(list)
    number = 0
    for feature in rules.features:
        for sign in feature.signs:
            if feature.language == language:
                if sign.query:
                    parts.append((number, sign.query + "\n"))
                for module in sign.imports:
                    modules[module].append(number)
            number += 1
    if not parts:
        return None
    query = Query(load_grammar(language), "".join(text for _, text in parts))
    ends: list[tuple[int, int]] = []
    place = 0
    for owner, text in parts:
        place += len(text.encode("utf-8"))
        ends.append((place, owner))
    owners: list[int] = []
    at = 0
    for pattern in range(query.pattern_count):
        while query.start_byte_for_pattern(pattern) >= ends[at][0]:
            at += 1
        owners.append(ends[at][1])
    return _Compiled(query, tuple(owners), dict(modules))


def _lines(program: Program, reply: str, place: SignPlace) -> Iterator[tuple[int, str]]:
    """Yield the lines in which a pattern is looked for, with their rows."""
    if program.status == "too_large":
        return
    is_code = program.status in ("ok", "unparsable", "no_grammar")
    lines = program.text.split("\n")
    if place == "code":
        if is_code:
            yield from enumerate(lines)
    elif place == "reply":
        yield from enumerate(reply.split("\n") if reply else lines)
    else:
        # Each line of the code is a line of the reply, but for its indentation.
        own = {line.strip() for line in lines} if is_code else set()
        for row, line in enumerate(reply.split("\n") if reply else lines):
            if line.strip() not in own:
                yield row, line


def _matching(lines: Sequence[_Line], pattern: str) -> list[tuple[int, int]]:
    """Return item and row of each line that a pattern matches, in a time linear in the length of all."""
    if not lines:
        return []
    matched = pl.Series([text for _, _, text in lines], dtype=pl.String).str.contains(pattern)
    return [lines[number][:2] for number in matched.arg_true()]


def _resolve(
    item: int, signs: Sequence[tuple[Feature, Sign]], rows: dict[tuple[int, int], set[int]]
) -> dict[str, Rows]:
    """Say which features show, now that it is known which signs are there."""
    free = {feature.name for number, (feature, sign) in enumerate(signs) if not sign.given and rows.get((item, number))}
    found: dict[str, Rows] = {}
    for number, (feature, sign) in enumerate(signs):
        shown = rows.get((item, number))
        if not shown or not free.issuperset(sign.given) or free.intersection(feature.unless):
            continue
        place: Place = "reply" if sign.text and sign.place != "code" else "code"
        before = found.get(feature.name)
        if before is None:
            found[feature.name] = Rows(place, tuple(sorted(shown)))
        elif before.place == place:
            found[feature.name] = Rows(place, tuple(sorted({*before.rows, *shown})))
        # A feature that the code shows needs no witness in the reply around it.
    return found
