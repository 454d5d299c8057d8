"""A persona: a described person who asks for software, and the description that a model is given of them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from simulator.definitions.fields import Definition, Identifier, Items, Key, RawText, Text

if TYPE_CHECKING:
    from typing import Self

__all__ = ["MIN_WORDS", "Persona", "count_words"]

MIN_WORDS = 5
"""A persona of fewer words says too little for a model to tell them from anybody else."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Persona(Definition):
    """A described person: who they are, what they know, how they talk.

    ``description`` alone is enough; every other field is left out of the prompt where it is not filled.
    """

    id: Identifier = Field(
        description="A short name for this persona, used in campaigns. The file's name where it is absent.",
        examples=["john"],
    )
    name: Text | None = Field(None, description="What people call them.", examples=["John"])
    role: Text | None = Field(None, description="What they do.", examples=["junior software engineer"])
    description: Text | None = Field(
        None,
        description="Who they are, in free text. Enough by itself; the other keys say the same in parts.",
        examples=["A retired bus driver who keeps the accounts of a choir and has never programmed."],
    )
    background: Text | None = Field(None, description="Where they come from and what shaped their view of software.")
    education: Text | None = Field(None, description="What they learned, where they learned it.")
    experience: Text | None = Field(None, description="What they have done, with software above all, and for how long.")
    tools: Items = Field((), description="Programs they use, one or a list.", examples=[["Word", "Excel"]])
    languages: Items = Field((), description="Programming languages they know, one or a list.", examples=[["Python"]])
    spoken: Items = Field(
        (), description="Languages they speak, the first one first, one or a list.", examples=[["Norwegian", "English"]]
    )
    not_known: Items = Field(
        (),
        description="What they explicitly do not know, so that no model puts it into their mouth; one or a list.",
        examples=[["programming", "databases"]],
    )
    communication: Text | None = Field(None, description="How they write when they ask for something.")
    goals: Items = Field((), description="What they want from software, one or a list.")
    attributes: dict[Key, RawText] = Field(
        {},
        description="Anything else about them, as name and text: `country: NO` and `age: 071` stay what they are.",
        examples=[{"age": "71", "country": "NO"}],
    )

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        said = [self.role, self.description, self.background, self.education, self.experience, self.communication]
        said += [*self.tools, *self.languages, *self.spoken, *self.not_known, *self.goals, *self.attributes.values()]
        words = count_words(" ".join(text for text in said if text))
        if words < MIN_WORDS:
            few = "nothing" if not words else "one word" if words == 1 else f"{words} words"
            raise ValueError(
                f"{few} about this person, too little to tell them from anybody else; say in `description`, in at "
                f"least {MIN_WORDS} words, who they are and what they know"
            )
        return self

    def describe(self) -> str:
        """Return who they are in compact English, of the filled fields only, in one line, in the third person.

        >>> Persona(id="a", name="Ana", role="ward nurse", languages="R", not_known=["networks", "servers"]).describe()
        'Ana: ward nurse. Programs in R. Does not know networks, servers.'
        """
        parts = [": ".join(part for part in (self.name, self.role) if part)]
        parts += [self.description or "", self.background or "", self.education or "", self.experience or ""]
        parts += [
            f"{label} {', '.join(items)}" if items else ""
            for label, items in (
                ("Uses", self.tools),
                ("Programs in", self.languages),
                ("Speaks", self.spoken),
                ("Does not know", self.not_known),
            )
        ]
        parts.append(f"Wants: {'; '.join(self.goals)}" if self.goals else "")
        parts.append(self.communication or "")
        parts.append("; ".join(f"{name}: {value}" for name, value in self.attributes.items() if value.strip()))
        return " ".join(_sentence(part) for part in parts if part.strip())


def _sentence(text: str) -> str:
    """Put text into one line that ends as a sentence does in its script."""
    line = " ".join(text.split())
    last = line.rstrip("\"'”’»)]")[-1:]
    return line if unicodedata.category(last or "x") == "Po" and last not in ",;:/&@#%*\\-" else f"{line}."


def count_words(text: str) -> int:
    """Count words; in scripts without spaces between words two characters count as one word.

    >>> count_words("a retired bus driver"), count_words("退職したバスの運転手")
    (4, 5)
    """
    unspaced = len(_UNSPACED.findall(text))
    return len(re.findall(r"\w+", _UNSPACED.sub(" ", text))) + (unspaced + 1) // 2
