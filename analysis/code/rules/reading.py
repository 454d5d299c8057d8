r"""Reading rules from YAML: the built-in ones, and a user's own beside them.

A file of rules::

    language: python                  # whose grammar the queries are for
    features:
      retries:                        # the feature's name
        group: care                   # under which it is listed; `own` where it is absent
        means: It tries again what has failed.
        unless: [tests]               # features that, where they show, leave this one out
        signs:                        # any of them shows the feature
          - imports: [tenacity, backoff]
          - query: |                  # a tree-sitter query; @shown is the evidence, @except takes nodes out
              (decorator (call function: (identifier) @text)) @shown
            matching: ^retry          # a regular expression for a line of @text, or else of @shown
          - text: (?i)\btry again\b   # a regular expression for a line
            in: reply                 # of the whole reply, of what is `beside` the code, or (the default) of the `code`
            given: [network]          # counts only where this feature shows too
    frameworks:
      tenacity: [tenacity]            # short for a feature `framework:tenacity` with a sign by these imports

Regular expressions are those of Rust's crate ``regex``: no look-around and no backreference, so that no text takes
longer than in proportion to its length. Queries may use the predicates ``#eq?``, ``#not-eq?``, ``#any-of?`` and
``#not-any-of?``; what would be ``#match?`` is written under ``matching``. A feature that a user's file names again
replaces the built-in one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from analysis.code.rules.rule import Feature, Rules, Sign, SignPlace
from simulator.definitions.fields import Definition, Items, Key, RawText, Text
from simulator.definitions.problems import nearest, validate
from simulator.definitions.yaml_reading import read_yaml, shorten
from simulator.errors import DefinitionError, MissingError, Problem
from simulator.syntax import load_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from simulator.definitions.yaml_reading import Document

__all__ = ["builtin_rules", "read_rules"]

_BUILTIN = Path(__file__).parent / "builtin"
_PREDICATE = re.compile(r"#[\w-]+[?!]")
_CAPTURE = re.compile(r"@([\w.-]+)")
_KNOWN_PREDICATES = ("#eq?", "#not-eq?", "#any-of?", "#not-any-of?")
_NAME = re.compile(r"[^\W\d][\w.:-]*")

_NO_IMPORTS = "names modules, which are known of Python alone; write a sign with a `query` for what imports them"

_Pattern = Annotated[RawText, Field(min_length=1, max_length=5_000)]


class _SignText(Definition):
    """A sign as it is written."""

    imports: Items = Field((), description="Modules; the sign is there where one of them is imported.")
    query: _Pattern | None = Field(None, description="A tree-sitter query with a capture @shown.")
    matching: _Pattern | None = Field(None, description="A regular expression for a line of @text, or else @shown.")
    text: _Pattern | None = Field(None, description="A regular expression for a line.")
    place: SignPlace = Field("code", alias="in", description="Where `text` is looked for.")
    given: Items = Field((), description="Features without which this sign does not count.")

    @field_validator("matching", "text")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None and (fault := _regex_fault(pattern)):
            raise ValueError(f"it is no regular expression of Rust's dialect ({fault}); see docs.rs/regex")
        return pattern.strip() if pattern is not None else None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        ways = [name for name in ("imports", "query", "text") if getattr(self, name)]
        if len(ways) != 1:
            what = "none of them" if not ways else " and ".join(f"`{way}`" for way in ways)
            raise ValueError(
                f"a sign has one of `imports`, `query` and `text`, and this one has {what}; make a sign each"
            )
        if self.matching is not None and self.query is None:
            raise ValueError("`matching` is for what a `query` captures; write the pattern under `text`")
        if self.place != "code" and self.text is None:
            raise ValueError("only `text` is looked for outside the code; leave `in` out")
        return self


class _FeatureText(Definition):
    """A feature as it is written."""

    group: Text = Field("own", description="Under which it is listed.")
    means: Text = Field(description="What it says of a program, in a sentence.", examples=["It tries again."])
    unless: Items = Field((), description="Features that, where they show, leave this one out.")
    signs: tuple[_SignText, ...] = Field(min_length=1, description="Any of them shows the feature.")


class _File(Definition):
    """A file of rules."""

    language: Text = Field(description="Whose grammar the queries are for.", examples=["python"])
    features: dict[Key, _FeatureText] = Field({}, description="Features by name.")
    frameworks: dict[Key, Items] = Field({}, description="Libraries by name, with their modules.")

    @model_validator(mode="after")
    def _queries_fit(self) -> Self:
        for name in (*self.features, *self.frameworks):
            if not _NAME.fullmatch(name):
                raise _fault(
                    f"{shorten(name)} is no name of a feature; use letters, digits and `_`",
                    ("features" if name in self.features else "frameworks", name),
                )
        for name, modules in self.frameworks.items():
            if self.language != "python":
                raise _fault(_NO_IMPORTS, ("frameworks", name))
            if not modules:
                raise _fault(f"{shorten(name)} names no module; write at least one", ("frameworks", name))
        for name, feature in self.features.items():
            for number, sign in enumerate(feature.signs):
                if sign.imports and self.language != "python":
                    raise _fault(_NO_IMPORTS, ("features", name, "signs", number, "imports"))
                if sign.query is not None and (fault := _query_fault(sign.query, self.language)):
                    raise _fault(
                        f"is no query for {self.language}: {fault}", ("features", name, "signs", number, "query")
                    )
        return self

    def features_made(self) -> Iterator[Feature]:
        """Yield the features in the order in which they are written."""
        for name, feature in self.features.items():
            signs = tuple(
                Sign(
                    imports=sign.imports,
                    query=sign.query or "",
                    matching=sign.matching or "",
                    text=sign.text or "",
                    place=sign.place,
                    given=sign.given,
                )
                for sign in feature.signs
            )
            yield Feature(name, feature.group, feature.means, self.language, signs, feature.unless)
        for name, modules in self.frameworks.items():
            signs = (Sign(imports=modules),)
            yield Feature(f"framework:{name}", "frameworks", f"It uses {name}.", self.language, signs)


@lru_cache(maxsize=1)
def builtin_rules() -> Rules:
    """Return the built-in rules.

    Examples
    --------
    >>> builtin_rules().names()[:3]
    ('classes', 'functions', 'inheritance')
    """
    return _collect([_read(path, _BUILTIN) for path in sorted(_BUILTIN.glob("*.yaml"))], Rules(()))


def read_rules(path: Path, *, builtin: bool = True) -> Rules:
    """Return the rules of a user's file, after the built-in ones.

    Parameters
    ----------
    path
        The file; its form is that of this module's docstring.
    builtin
        Whether the built-in rules are among them. A feature that the file names again takes the place of the built-in.

    Raises
    ------
    DefinitionError
        What is wrong, each with file, line and column, and its mend.
    """
    return _collect([_read(path, path.parent)], builtin_rules() if builtin else Rules(()))


def _read(path: Path, root: Path) -> tuple[Document, _File]:
    document = read_yaml(path, root=root)
    return document, validate(document, _File)


def _collect(files: list[tuple[Document, _File]], before: Rules) -> Rules:
    """Put the features of files after those that there are, and see that what they name is there."""
    features = {feature.name: feature for feature in before.features}
    own: dict[str, Document] = {}
    for document, file in files:
        for feature in file.features_made():
            features[feature.name] = feature
            own[feature.name] = document
    problems = [problem for name, document in own.items() for problem in _names_amiss(features, name, document)]
    if problems:
        raise DefinitionError(problems)
    return Rules(tuple(features.values()))


def _names_amiss(features: dict[str, Feature], name: str, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with the other features that a feature names."""
    feature = features[name]
    places = [(other, ("features", name, "unless")) for other in feature.unless]
    places += [
        (other, ("features", name, "signs", number, "given"))  # type: ignore[misc]
        for number, sign in enumerate(feature.signs)
        for other in sign.given
    ]
    for other, place in places:
        if other not in features:
            yield document.problem(place, f"there is no feature {shorten(other)}; {nearest(other, features)}")
        elif features[other].unless or any(sign.given for sign in features[other].signs):
            yield document.problem(
                place, f"{shorten(other)} depends on features itself, and so cannot be depended on; name its signs here"
            )


def _fault(text: str, place: tuple[str | int, ...]) -> PydanticCustomError:
    return PydanticCustomError("parameter", "{text}", {"text": text, "at": place})


def _regex_fault(pattern: str) -> str:
    """Return why a pattern is none; nothing where it is one."""
    import polars as pl  # noqa: PLC0415 - only where there are rules to read

    try:
        pl.Series([""]).str.contains(pattern.strip())
    except pl.exceptions.ComputeError as error:
        lines = [line.strip() for line in str(error).split("\n\n")[0].splitlines()]
        return next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), lines[0])
    return ""


def _query_fault(query: str, language: str) -> str:
    """Return why a text is no query that a rule can use; nothing where it is one."""
    from tree_sitter import Query, QueryError  # noqa: PLC0415 - only where there are rules to read

    try:
        Query(load_grammar(language), query)
    except MissingError as error:
        return str(error)
    except (QueryError, ValueError) as error:
        return _explain(str(error))
    plain = re.sub(r'"(?:[^"\\]|\\.)*"', '""', query)
    for predicate in _PREDICATE.findall(plain):
        if predicate not in _KNOWN_PREDICATES:
            mend = (
                "write the pattern under `matching`" if "match" in predicate else f"use {', '.join(_KNOWN_PREDICATES)}"
            )
            return f"the predicate {shorten(predicate)} is not used in rules; {mend}"
    if "shown" not in _CAPTURE.findall(plain):
        return "no node is captured as `@shown`, which would be the evidence; write ` @shown` behind the node"
    return ""


def _explain(error: str) -> str:
    """Say what the parser of queries says, with rows and columns counted from 1."""
    if "EOF" in error:
        return "it ends within a bracket; close what is opened"
    found = re.fullmatch(r"(.*?)(?: in pattern)?(?: at row (\d+)(?:, column (\d+))?)?(?:: (.*))?", error, re.DOTALL)
    what, row, column, name = found.groups() if found else (error, None, None, None)
    what = f"{what[:1].lower()}{what[1:]}" + (f" {shorten(name)}" if name else "")
    if row is not None:
        what += f" in row {int(row) + 1}" + (f", column {int(column) + 1}," if column is not None else "") + " of it"
    return f"{what}; compare with how the grammar names its nodes"
