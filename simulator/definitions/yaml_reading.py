"""YAML 1.2 as people write it: every scalar stays text, every value keeps its place, every problem is told at once.

The reader works on ruamel.yaml's stream of events, not on its objects, so that no text can build an object, follow an
alias, or nest deeper than `MAX_DEPTH`. What cannot be meant in a definition (a tag, an anchor, a second document, a key
written twice) is a problem with its place, not a guess.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from simulator.definitions.text_reading import MAX_BYTES, read_text
from simulator.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MAX_DEPTH",
    "Document",
    "Node",
    "Plain",
    "is_null",
    "parse_yaml",
    "read_yaml",
    "shorten",
]

MAX_DEPTH = 32
"""No schema nests deeper than six; recursion over a document is safe at this depth."""

NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
"""Control characters, half surrogate pairs and non-characters: no text that a person writes holds one."""
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Plain(str):
    """A scalar that was written without quotes: ``NO``, ``1.10``, ``~``. Text like any other until a schema asks."""

    __slots__ = ()


def is_null(value: object) -> bool:
    """Whether a value is an unquoted ``null``, ``~`` or nothing at all, which leaves an optional field out."""
    return isinstance(value, Plain) and str(value) in _NULLS


@dataclass(slots=True)
class Node:
    """A value and the place where it begins, from 1; ``keys`` holds the places of a mapping's keys."""

    line: int
    column: int
    value: str | list[Node] | dict[str, Node]
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)

    def to_data(self) -> object:
        """Return dicts, lists and strings; recursion is bounded by `MAX_DEPTH`."""
        if isinstance(self.value, dict):
            return {key: node.to_data() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.to_data() for node in self.value]
        return self.value


@dataclass(slots=True)
class Document:
    """A YAML file as read: its root (None where syntax ended the reading) and what is wrong with it so far."""

    path: Path
    root: Node | None
    problems: list[Problem]

    def place(self, location: Iterable[str | int], *, key: bool = False) -> tuple[int, int]:
        """Return line and column of the value (or, with ``key``, of the last key) that a path of keys leads to.

        A step that leads nowhere is passed over: the place is then that of the nearest value that exists.
        """
        if self.root is None:
            return 0, 0
        node, place = self.root, (self.root.line, self.root.column)
        for step in self.known(location):
            if isinstance(node.value, dict):
                key_place = node.keys[str(step)]
                node = node.value[str(step)]
                place = key_place if key else (node.line, node.column)
            elif isinstance(node.value, list):
                node = node.value[int(step)]
                place = (node.line, node.column)
        return place

    def known(self, location: Iterable[str | int]) -> tuple[str | int, ...]:
        """Return the steps of a path of keys that lead somewhere in the file."""
        node, steps = self.root, []
        for step in location:
            inner: Node | None = None
            if node and isinstance(node.value, dict) and isinstance(step, str):
                inner = node.value.get(step)
            elif node and isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
                inner = node.value[step]
            if inner is not None:
                node = inner
                steps.append(step)
        return tuple(steps)

    def problem(self, location: Iterable[str | int], text: str, *, key: bool = False) -> Problem:
        """Return a problem at the place of ``location``."""
        line, column = self.place(location, key=key)
        return Problem(self.path, line, column, text)


def shorten(text: str, width: int = 60) -> str:
    """Quote what a user wrote in one short line, without anything that could move a terminal's cursor."""
    line = "".join(character if character.isprintable() else " " for character in text[: width + 1])
    return f"`{line if len(text) <= width else line[: width - 1] + '…'}`"


def read_yaml(path: Path, *, root: Path, max_bytes: int = MAX_BYTES) -> Document:
    """Read a YAML file that lies in ``root``.

    Raises
    ------
    DefinitionError
        The file cannot be read as text (see `read_text`). What is wrong *in* the YAML is in the document's
        ``problems``, so that the schema's problems can be told beside it.
    """
    return parse_yaml(read_text(path, root=root, max_bytes=max_bytes), path)


def parse_yaml(text: str, path: Path) -> Document:
    """Parse one YAML document; problems are collected, not raised."""
    if control := NO_TEXT.search(text):
        line = text.count("\n", 0, control.start()) + 1
        column = control.start() - text.rfind("\n", 0, control.start())
        what = f"the control character U+{ord(control[0]):04X} has no place in a definition; remove it"
        return Document(path, None, [Problem(path, line, column, what)])
    document = Document(path, None, [])
    _Composer(document).compose(text)
    if document.root is None and not document.problems:
        mend = "write at least `description: ...`, or copy a built-in definition"
        document.problems.append(Problem(path, 0, 0, f"the file is empty; {mend}"))
    return document


class _Stop(Exception):  # noqa: N818 - it ends a reading; the error itself is already among the problems
    """Nothing after this place can be read with sense."""


@dataclass(slots=True)
class _Frame:
    """A collection that is being read. ``key`` is the mapping key that waits for its value."""

    node: Node
    key: str | None = None
    waits: bool = False  # a key was read (perhaps one that is refused, key None) and its value comes next
    is_key: bool = False  # this collection stands where a key should


class _Composer:
    """Builds nodes from events on a stack of its own: any nesting costs memory, not recursion."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.stack: list[_Frame] = []

    def compose(self, text: str) -> None:
        documents = 0
        try:
            for event in YAML(typ="base", pure=True).parse(text):
                kind = type(event).__name__
                line, column = event.start_mark.line + 1, event.start_mark.column + 1
                if kind == "DocumentStartEvent":
                    documents += 1
                    if documents > 1:
                        self._tell(line, column, "a second document begins here (`---`); put it in a file of its own")
                        return
                else:
                    self._take(kind, event, line, column)
        except _Stop:
            return
        except MarkedYAMLError as error:
            self.document.root = None
            self._syntax(error)
        except (YAMLError, ValueError, OverflowError, IndexError, AttributeError, TypeError, AssertionError) as error:
            # What the parser throws on text that it did not foresee (an escape beyond Unicode, for one) is still the
            # text's fault, and the user has to hear of it with the file's name.
            self.document.root = None
            self._tell(
                0, 0, f"the file cannot be read as YAML ({str(error).splitlines()[0] if str(error) else 'unknown'})"
            )

    def _tell(self, line: int, column: int, text: str) -> None:
        self.document.problems.append(Problem(self.document.path, line, column, text))

    def _syntax(self, error: MarkedYAMLError) -> None:
        opened, mark = error.context_mark, error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        self._tell(line, column, _explain(str(error.problem or ""), opened.line + 1 if opened else line))

    def _take(self, kind: str, event: Any, line: int, column: int) -> None:
        if kind == "AliasEvent":
            mend = "write the value out, or, if the text begins with `*`, put it in quotes"
            self._tell(line, column, f"an alias (`*name`) is not used in definitions; {mend}")
            self._add(Node(line, column, ""), is_scalar=True)
            return
        if getattr(event, "anchor", None):
            mend = "remove it, or, if the text begins with `&`, put it in quotes"
            self._tell(line, column, f"an anchor (`&name`) is not used in definitions; {mend}")
        if getattr(event, "tag", None):
            mend = "the schema knows each value's type; remove it, or, if the text begins with `!`, put it in quotes"
            self._tell(line, column, f"a tag (`!...`) is not used in definitions; {mend}")
        if kind == "ScalarEvent":
            self._add(Node(line, column, self._scalar(event, line, column)), is_scalar=True)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self.stack) >= MAX_DEPTH:
                self._tell(line, column, f"more than {MAX_DEPTH} levels, one in another; no definition needs as many")
                self.document.root = None
                raise _Stop
            node = Node(line, column, {} if kind == "MappingStartEvent" else [])
            self.stack.append(_Frame(node, is_key=self._add(node, is_scalar=False)))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.stack.pop()

    def _scalar(self, event: Any, line: int, column: int) -> str:
        value = str(event.value)
        if not value.isascii():  # "\ud83d\ude00", as JSON writes what lies beyond U+FFFF, is one character
            value = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), value)
        if broken := NO_TEXT.search(value):
            what = f"the text holds U+{ord(broken[0]):04X}, which is no character of any text; remove the escape"
            self._tell(line, column, what)
            value = value[: broken.start()] + "?"
        return Plain(value) if not getattr(event, "style", None) else value

    def _add(self, node: Node, *, is_scalar: bool) -> bool:
        """Put a node where the events say that it belongs; return whether it stands in a key's place."""
        if not self.stack:
            self.document.root = node
            return False
        frame = self.stack[-1]
        if isinstance(frame.node.value, list):
            frame.node.value.append(node)
            return False
        assert isinstance(frame.node.value, dict)  # noqa: S101 - a frame is a collection
        if frame.waits:
            if frame.key is not None:
                frame.node.value[frame.key] = node
            frame.waits, frame.key = False, None
            return False
        frame.waits, frame.key = True, None
        if not is_scalar:
            self._tell(node.line, node.column, "a key must be one word of text; this is a list or a mapping")
            return True
        key = unicodedata.normalize("NFC", str(node.value))
        if not key:
            self._tell(node.line, node.column, "a key is missing before the colon; write `key: value`")
        elif key in frame.node.keys:
            first = frame.node.keys[key][0]
            lines = f"first in line {first} and again in line {node.line}"
            self._tell(node.line, node.column, f"the key {shorten(key)} is written twice, {lines}; keep one")
        else:
            frame.node.keys[key] = (node.line, node.column)
            frame.node.value[key] = Node(node.line, node.column, Plain(""))
            frame.key = key
        return False


_SYNTAX = (
    (r"found character '\\t'|found character '\t'", "a tab cannot indent YAML; use spaces"),
    (
        r"mapping values are not allowed|mapping value",
        "a colon followed by a space cannot stand here; put the text in quotes, or begin a new line for the next key",
    ),
    (
        r"could not find expected ':'",
        "this line is neither `key: value` nor part of the text above; indent it under its key, or add the colon",
    ),
    (
        r"expected <block end>|did not find expected|block mapping|block sequence",
        "the indentation does not fit the lines above; give all keys of one level the same number of spaces",
    ),
    (r"unexpected end of stream|document separator", "a quoted text that is opened in line {line} is never closed"),
    (r"expected ',' or", "a list or mapping in brackets that is opened in line {line} lacks a comma or its end"),
    (r"flow node|expected the node content", "a value is missing here, or a bracket is not closed"),
    (
        r"undefined alias",
        "an alias (`*name`) is not used in definitions; if the text begins with `*`, put it in quotes",
    ),
    (r"expected '<document start>'", "what follows does not belong to the text before it; put the text in quotes"),
    (
        r"escape",
        "a backslash in double quotes must begin an escape that exists; write the text in single quotes",
    ),
    (r"cannot start any token", "a text cannot begin with this character; put it in quotes"),
)


def _explain(problem: str, opened: int) -> str:
    """Say in the user's words what the parser says in its own."""
    for pattern, text in _SYNTAX:
        if re.search(pattern, problem):
            return text.format(line=opened)
    return f"this is not YAML ({problem or 'unknown problem'}); compare the line with a built-in definition"
