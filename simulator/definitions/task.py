"""A task: a programming request, in full and underspecified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from simulator.definitions.fields import Definition, Identifier, Items, RawText, Text

if TYPE_CHECKING:
    from typing import Self

__all__ = ["TOPICS", "PromptSource", "Task"]

PromptSource = Literal["short", "prompt"]
TOPICS = ("application development", "simulations and games", "algorithms", "data science")
"""The topics of the built-in tasks; a study may have others."""


class Task(Definition):
    """A programming request. ``prompt`` says it in full, ``short`` leaves it underspecified; one of them is enough."""

    id: Identifier = Field(
        description="A short name for this task, used in campaigns. The file's name where it is absent.",
        examples=["calculator"],
    )
    title: Text | None = Field(None, description="What people call the task.", examples=["A calculator"])
    topic: Text | None = Field(None, description="The topic under which it is listed.", examples=list(TOPICS))
    short: Text | None = Field(
        None,
        description="The request in one line, underspecified on purpose: what personas put into their own words.",
        examples=["Write code to make a calculator"],
    )
    prompt: Text | None = Field(None, description="The request in full, with the details that set it apart.")
    reference: RawText | None = Field(
        None, description="A program that does what is asked, written by hand: what codes are compared with."
    )
    language: Text = Field("python", description="The programming language that the code is to be in.")
    tags: Items = Field((), description="Words to find it by, one or a list.", examples=[["interface", "arithmetic"]])

    @field_validator("short")
    @classmethod
    def _is_one_line(cls, short: str | None) -> str | None:
        if short and len(short.splitlines()) > 1:
            raise ValueError("`short` is one line; write what is longer in `prompt`")
        return short

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.short or self.prompt):
            raise ValueError("the task asks for nothing; write the request in `prompt`, or in one line in `short`")
        return self

    @property
    def label(self) -> str:
        """The title, or the id where there is none."""
        return self.title or self.id

    def request(self, source: PromptSource) -> str:
        """Return the request's text, ``short`` or ``prompt``.

        Raises
        ------
        ValueError
            The task has no such text; `simulator.definitions.load_campaign` refuses a campaign that would need it.
        """
        text = self.short if source == "short" else self.prompt
        if text is None:
            raise ValueError(f"the task `{self.id}` has no `{source}`; write one, or set `from:` to the other")
        return text
