r"""What a user adds to the entities: categories and phrases, names that are one, and what is never counted.

A file of rules::

    categories:
      framework: A library that programs are built on.    # a category of one's own; the built-in ones are there already
    phrases:                                               # a category, and what belongs to it
      framework: [Django, Ruby on Rails, React]
      keyword: [isolation level]
    merges:                                                # an entity, and its other names
      javascript: [js, java script]
    stop: [thing, stuff]                                   # never an entity

A phrase is found whatever its letters' case, and goes before everything else that is as long. Merges and stops are of
entities as the tables show them: in lower case, nouns in the singular, hyphens as spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from analysis.language.entities import LABELS
from simulator.definitions.fields import Definition, Items, Key, Text
from simulator.definitions.problems import nearest, validate
from simulator.definitions.yaml_reading import read_yaml, shorten

if TYPE_CHECKING:
    from typing import Self

__all__ = ["EntityRules", "read_entity_rules"]


@dataclass(frozen=True, slots=True)
class EntityRules:
    """What is added to the built-in ways of finding entities.

    Parameters
    ----------
    phrases
        The category of each phrase, which is in lower case, its words as spaCy cuts them.
    names
        The entity that another name stands for.
    stop
        Entities that are never counted, by the names that they have after merging.
    categories
        What each category of one's own means.
    """

    phrases: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    stop: frozenset[str] = frozenset()
    categories: Mapping[str, str] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """The words of the longest phrase; 0 where there is none."""
        return max(map(len, self.phrases), default=0)

    def merge(self, entity: str) -> str | None:
        """Return the name under which an entity is counted, None where it is not.

        >>> EntityRules(names={"js": "javascript"}, stop=frozenset({"thing"})).merge("js")
        'javascript'
        """
        name = self.names.get(entity, entity)
        return None if name in self.stop else name


class _File(Definition):
    """A file of rules."""

    categories: dict[Key, Text] = Field({}, description="Categories of your own, with what they mean.")
    phrases: dict[Key, Items] = Field({}, description="Phrases by category.")
    merges: dict[Key, Items] = Field({}, description="Other names by entity.")
    stop: Items = Field((), description="What is never an entity.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        known = [*LABELS, *self.categories]
        for name in self.categories:
            if name in LABELS:
                raise _fault(f"{shorten(name)} is built in; only describe categories of your own", ("categories", name))
        for name, phrases in self.phrases.items():
            if name not in known:
                text = f"{shorten(name)} is no category; describe it under `categories`, or {nearest(name, known)}"
                raise _fault(text, ("phrases", name))
            if not phrases:
                raise _fault(f"{shorten(name)} has no phrase; write at least one", ("phrases", name))
        owner: dict[str, str] = {}
        for name, others in self.merges.items():
            for other in map(_plain, others):
                if owner.setdefault(other, _plain(name)) != _plain(name):
                    text = f"{shorten(other)} is merged with {shorten(owner[other])} and with {shorten(name)}"
                    raise _fault(f"{text}; choose one", ("merges", name))
        for name in self.merges:
            if owner.get(_plain(name), _plain(name)) != _plain(name):
                text = f"{shorten(name)} is itself another name of {shorten(owner[_plain(name)])}; list both there"
                raise _fault(text, ("merges", name))
        return self


def read_entity_rules(path: Path) -> EntityRules:
    """Read a user's file of rules; its form is that of this module's docstring.

    Raises
    ------
    DefinitionError
        What is wrong, each with file, line and column, and its mend.
    MissingError
        The English model is not installed.
    """
    file = validate(read_yaml(path, root=path.parent), _File)
    return EntityRules(
        phrases=_cut(file.phrases),
        names={_plain(other): _plain(name) for name, others in file.merges.items() for other in others},
        stop=frozenset(map(_plain, file.stop)),
        categories=dict(file.categories),
    )


def _cut(phrases: Mapping[str, Iterable[str]]) -> dict[tuple[str, ...], str]:
    """Return the category of each phrase, cut into words as texts are."""
    from analysis.language.pipeline import load_english  # noqa: PLC0415 - spaCy

    listed = [(category, phrase) for category, some in phrases.items() for phrase in some]
    make_doc = load_english().make_doc if listed else None
    return {tuple(token.lower_ for token in make_doc(phrase)): category for category, phrase in listed if make_doc}


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("-", " ").split())


def _fault(text: str, place: tuple[str | int, ...]) -> PydanticCustomError:
    return PydanticCustomError("parameter", "{text}", {"text": text, "at": place})
