"""A campaign: which personas ask for which tasks, which models rewrite and which generate, how often."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from simulator.definitions.fields import Definition, Identifier, Key, RawText, Text, fold_id
from simulator.definitions.humans import HumanSource
from simulator.definitions.task import PromptSource
from simulator.definitions.yaml_reading import Plain, is_null, shorten
from simulator.running.calls import Parameter
from simulator.running.models.parameters import BOUNDS, find_fault

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Campaign", "GenerateStage", "ModelChoice", "PromptStage"]

_SECRET = re.compile(r"api_?key|secret|passw|authorization|bearer|credential|access_?token", re.IGNORECASE)
_OWN_KEYS = frozenset({"model", "base_url", "temperature", "top_p", "max_tokens", "parallel"})
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")


def _read_parameter(value: object) -> object:
    """Read a free scalar as YAML 1.2's core schema does: only what is unquoted can be other than text."""
    if isinstance(value, list):
        return tuple(str(item) if isinstance(item, str) else item for item in value)
    return _read_plain(value) if isinstance(value, Plain) else value


def _read_plain(value: Plain) -> Parameter:
    text = str(value)
    if is_null(value):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def _check_parameter(value: object) -> object:
    if isinstance(value, tuple) and not all(isinstance(item, str) for item in value):
        raise ValueError("a parameter is a number, a text, true or false, or a list of texts")
    if not isinstance(value, (str, int, float, bool, tuple, type(None))):
        raise ValueError("a parameter is a number, a text, true or false, or a list of texts; not a mapping")  # noqa: TRY004 - pydantic
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number must be finite")
    return value


ParameterField = Annotated[
    Any, BeforeValidator(lambda value: _check_parameter(_read_parameter(value)), json_schema_input_type=Any)
]
_LEAST, _MOST = ({name: bounds[end] for name, bounds in BOUNDS.items()} for end in (0, 1))
Temperature = Annotated[float, Field(ge=_LEAST["temperature"], le=_MOST["temperature"], allow_inf_nan=False)]
TopP = Annotated[float, Field(gt=_LEAST["top_p"], le=_MOST["top_p"], allow_inf_nan=False)]
Ids = Annotated[
    Annotated[tuple[Identifier, ...], Tag("ids")] | Annotated[Literal["all"], Tag("all")],
    Discriminator(lambda value: "all" if value == "all" else "ids"),
]
"""Ids in the order in which they are to be run, or everything there is."""
MaxTokens = Annotated[int, Field(ge=_LEAST["max_tokens"], le=_MOST["max_tokens"])]

_TEMPERATURE = (
    "How freely the model chooses its words: 0 always the likeliest, 1 as it was trained. Not sent where absent."
)
_MAX_TOKENS = "The longest reply, in tokens. Not sent where absent."
_TOP_P = "Choose among the likeliest tokens that together have this probability. Not sent where absent."


class ModelChoice(Definition):
    """A model and what is sent to it; a plain name is a model with nothing special about it."""

    model: Text = Field(
        description="`embedded`, `mock`, or any LangChain `provider:model`.",
        examples=["embedded", "openai:gpt-4o-mini"],
    )
    base_url: Text | None = Field(
        None, description="The address of an OpenAI-compatible server.", examples=["http://localhost:8000/v1"]
    )
    temperature: Temperature | None = Field(None, description=f"{_TEMPERATURE} Wins over the stage's.")
    top_p: TopP | None = Field(None, description=f"{_TOP_P} Wins over the stage's.")
    max_tokens: MaxTokens | None = Field(None, description=f"{_MAX_TOKENS} Wins over the stage's.")
    parallel: int | None = Field(
        None,
        ge=_LEAST["parallel"],
        le=_MOST["parallel"],
        description="Calls at once; the model's own number where absent. It moves the embedded model's texts.",
    )
    params: dict[Key, ParameterField] = Field(
        {},
        description="Anything else that the provider accepts, name and value. Keys belong in the environment.",
        examples=[{"reasoning_effort": "low"}],
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Any) -> Any:
        return {"model": data} if isinstance(data, str) else data

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, address: str | None) -> str | None:
        if fault := find_fault("base_url", address) if address is not None else None:
            raise PydanticCustomError("parameter", "{text}", {"text": fault, "at": ()})
        return address

    @field_validator("params")
    @classmethod
    def _holds_no_key(cls, params: dict[str, Parameter]) -> dict[str, Parameter]:
        for name in params:
            if _SECRET.search(name):
                raise ValueError(
                    f"{shorten(name)} looks like a key, which has no place in a campaign; set it in the environment"
                )
            if name in _OWN_KEYS:
                raise ValueError(f"`{name}` is a key of the model itself; write it beside `params`, not in it")
        return {name: value for name, value in params.items() if value is not None and value != ()}


class PromptStage(Definition):
    """How prompts are made: who rewrites which text of a task, how often, with which model."""

    source: PromptSource = Field(
        "short", alias="from", description="Which text of a task is rewritten: `short` (underspecified) or `prompt`."
    )
    personas: Ids = Field(
        (), description="Ids of personas, one or a list, or `all` that the study has. May be absent beside `humans`."
    )
    iterations: int = Field(1, ge=1, le=10_000, description="Rewrites of each task by each persona.")
    model: ModelChoice | None = Field(None, description="The model that rewrites; needed where there are personas.")
    temperature: Temperature | None = Field(None, description=_TEMPERATURE)
    max_tokens: MaxTokens | None = Field(None, description=_MAX_TOKENS)
    template: Text | None = Field(
        None,
        description="A Jinja template of the study (a path relative to its folder) in place of the built-in one.",
        examples=["templates/rewrite.jinja"],
    )

    @field_validator("personas", mode="before", json_schema_input_type=Literal["all"] | str | list[str])
    @classmethod
    def _list_personas(cls, value: object) -> object:
        return _check_list(value, "persona")


class GenerateStage(Definition):
    """How code is generated: which models, from how many of the rewrites, how often."""

    models: tuple[ModelChoice, ...] = Field(min_length=1, description="The models that write code, one or a list.")
    sample: int = Field(1, ge=1, description="Texts of each persona, or person, and task that code is generated from.")
    repeats: int = Field(1, ge=1, le=10_000, description="Replies to each of them by each model.")
    temperature: Temperature | None = Field(None, description=_TEMPERATURE)
    top_p: TopP | None = Field(None, description=_TOP_P)
    max_tokens: MaxTokens | None = Field(None, description=_MAX_TOKENS)
    prefix: RawText = Field("", description="Text put before every prompt, a blank line between them.")
    suffix: RawText = Field("", description="Text put after every prompt, a blank line between them.")

    @field_validator("models", mode="before", json_schema_input_type=ModelChoice | list[ModelChoice])
    @classmethod
    def _one_or_many_models(cls, value: object) -> object:
        return [value] if isinstance(value, (str, dict)) else value

    @field_validator("models")
    @classmethod
    def _differ(cls, models: tuple[ModelChoice, ...]) -> tuple[ModelChoice, ...]:
        for index, choice in enumerate(models):
            if choice in models[:index]:
                first = models.index(choice) + 1
                text = f"is the same as item {first}; keep one (`repeats` asks the same model more than once)"
                raise PydanticCustomError("twice", "{text}", {"text": text, "at": (index,)})
        return models


class Campaign(Definition):
    """One campaign: personas x tasks x models x repeats, expanded by ``plan``, recorded by ``run``."""

    name: Identifier = Field(description="Names the run's folder. The file's name where it is absent.")
    study: Literal["personas"] = Field("personas", description="Which analysis and report end the run.")
    tasks: Ids = Field(description="Ids of tasks, one or a list, or `all` that the study has.")
    prompts: PromptStage = Field(
        PromptStage(), description="How prompts are made. May be absent where all are people's own (`humans`)."
    )
    humans: tuple[HumanSource, ...] = Field(
        (), description="Files of prompts that real people wrote; they are sent as they stand, beside the rewrites."
    )
    generate: GenerateStage = Field(description="How code is generated from them.")
    seed: int = Field(0, ge=0, lt=2**63, description="Where every random choice begins.")

    @field_validator("tasks", mode="before", json_schema_input_type=Literal["all"] | str | list[str])
    @classmethod
    def _list_tasks(cls, value: object) -> object:
        return _check_list(value, "task")

    @model_validator(mode="after")
    def _somebody_asks(self) -> Self:
        if not (self.prompts.personas or self.humans):
            at = ("prompts", "personas") if "prompts" in self.model_fields_set else ("prompts",)
            raise PydanticCustomError("missing", "nobody asks", {"at": at})
        if self.prompts.personas and self.prompts.model is None:
            raise PydanticCustomError("missing", "nobody rewrites", {"at": ("prompts", "model")})
        return self

    @model_validator(mode="after")
    def _sample_exists(self) -> Self:
        if self.prompts.personas and self.generate.sample > self.prompts.iterations:
            text = (
                f"asks for {self.generate.sample} rewrites of each persona and task, but `prompts.iterations` makes "
                f"only {self.prompts.iterations}; lower the one or raise the other"
            )
            raise PydanticCustomError("sample", "{text}", {"text": text, "at": ("generate", "sample")})
        return self

    def with_model(self, model: str) -> Campaign:
        """Return the same campaign with one model in place of those of both stages."""
        choice = ModelChoice.model_validate(model)
        prompts = self.prompts.model_copy(update={"model": choice})
        generate = self.generate.model_copy(update={"models": (choice,)})
        return self.model_copy(update={"prompts": prompts, "generate": generate})


def _check_list(value: object, noun: str) -> object:
    """Read a list of ids, one id, or ``all``; refuse an empty list and an id that is named twice."""
    if is_null(value):
        value = []
    if isinstance(value, str):
        return "all" if value == "all" else (str(value),)
    if not isinstance(value, (list, tuple)):
        raise PydanticCustomError(
            "ids", "{text}", {"text": f"must be a list of {noun} ids, or `all`; write `[one, two]`", "at": ()}
        )
    if not value:
        text = f"names no {noun}; name at least one, or write `all`"
        raise PydanticCustomError("ids", "{text}", {"text": text, "at": ()})
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise PydanticCustomError("ids", "{text}", {"text": f"must be the id of a {noun}", "at": (index,)})
        first = seen.setdefault(fold_id(item), index)
        if first != index:
            text = f"the {noun} {shorten(item)} is named twice, first as item {first + 1}; name it once"
            raise PydanticCustomError("ids", "{text}", {"text": text, "at": (index,)})
    return tuple(value)
