"""From pydantic's errors to problems that a user can mend: place, what, why, the mend."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from simulator.definitions.yaml_reading import Document, shorten
from simulator.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["nearest", "validate"]

MAX_PROBLEMS = 100
"""More than this in one file help nobody."""

OWN_KINDS = frozenset({"ids", "twice", "sample", "parameter"})
"""The kinds of error that `simulator.definitions.campaign` raises itself, each with its whole ``text``."""

Model = TypeVar("Model", bound=BaseModel)


def validate(document: Document, model: type[Model], *, defaults: Mapping[str, str] | None = None) -> Model:
    """Make a model from a document, or raise everything that is wrong with it at once.

    Parameters
    ----------
    document
        As read by `simulator.definitions.yaml_reading.read_yaml`, with the problems of its syntax.
    model
        A pydantic model whose keys are the document's.
    defaults
        Keys that are filled in where the document does not have them, such as the id from the file's name.

    Raises
    ------
    DefinitionError
        With one problem for each thing that is wrong, in file order.
    """
    problems = list(document.problems)
    if document.root is not None:
        data = document.root.to_data()
        if not isinstance(data, dict):
            text = f"a definition is a mapping of keys to values; this is {_kind(data)}. Write lines such as `id: ...`"
            problems.append(document.problem((), text))
            raise DefinitionError(problems)
        try:
            result = model.model_validate({**(defaults or {}), **data})
        except ValidationError as error:
            # A value that could not be read as YAML is not complained of a second time for what stands in its place.
            told = {(problem.line, problem.column) for problem in document.problems}
            # Nor is a list called too short for items in it that are wrong.
            errors = [
                one
                for one in error.errors(include_url=False)
                if not (one["type"] == "too_short" and isinstance(one["input"], list) and one["input"])
            ]
            found = [_problem(document, model, one) for one in errors]
            problems.extend(problem for problem in found if (problem.line, problem.column) not in told)
        else:
            if not problems:
                return result
    raise DefinitionError(_capped(problems))


def _capped(problems: list[Problem]) -> list[Problem]:
    if len(problems) <= MAX_PROBLEMS:
        return problems
    ordered = sorted(problems)
    first = ordered[MAX_PROBLEMS]
    rest = f"from here on {len(problems) - MAX_PROBLEMS:,} more problems; mend the first ones"
    return [*ordered[:MAX_PROBLEMS], Problem(first.path, first.line, first.column, rest)]


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known words are near to an unknown one, and which there are.

    >>> nearest("toolz", ["tools", "name"])
    'did you mean `tools`? Known are: tools, name'
    """
    words = list(known)
    folded = {candidate.casefold(): candidate for candidate in words}
    near = difflib.get_close_matches(word[:80].casefold(), folded, n=1, cutoff=0.6) if words else []
    shown = ", ".join(words[:40]) + (f", and {len(words) - 40} more" if len(words) > 40 else "")
    listed = f"known are: {shown}" if words else "none is known here"
    return f"did you mean `{folded[near[0]]}`? {listed[0].upper()}{listed[1:]}" if near else listed


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"the text {shorten(str(value))}" if str(value) else "empty"


def _keys(model: type[BaseModel]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]


def _model_at(model: type[BaseModel], location: Sequence[str | int]) -> type[BaseModel]:
    """Follow a path of keys to the model that reads the mapping there."""
    for step in location:
        for name, info in model.model_fields.items():
            if step in (name, info.alias):
                model = _inner_model(info.annotation) or model
    return model


def _inner_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        if found := _inner_model(argument):
            return found
    return None


def _problem(document: Document, model: type[BaseModel], error: Mapping[str, object]) -> Problem:
    kind = str(error["type"])
    context: Mapping[str, object] = error.get("ctx") or {}  # type: ignore[assignment]
    location: tuple[str | int, ...] = error["loc"]  # type: ignore[assignment]
    if extra := context.get("at"):
        location = (*location, *extra)  # type: ignore[misc]
    name = _name(document.known(location))
    if kind in OWN_KINDS:
        return document.problem(location, f"{name} {context['text']}")
    if kind == "extra_forbidden":
        known = _keys(_model_at(model, location[:-1]))
        free = next((f" (anything else goes under `{key}`)" for key in ("attributes", "params") if key in known), "")
        text = f"the key {shorten(str(location[-1]))} is not known here; {nearest(str(location[-1]), known)}{free}"
        return document.problem(location, text, key=True)
    if kind == "missing":
        name = _name((*document.known(location[:-1]), location[-1]))
        return document.problem(location[:-1], f"{name} is missing; add a line `{location[-1]}: ...`")
    return document.problem(location, f"{name} {_what(kind, context, error)}" if name else _what(kind, context, error))


def _name(location: Sequence[str | int]) -> str:
    """Name a place as users think of it: ``prompts.iterations``; ``generate.models[2].params``, counted from 1."""
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step + 1}]"
        elif step != "[key]":
            text += f".{step}" if text else str(step)
    return shorten(text) if text else ""


def _what(kind: str, context: Mapping[str, object], error: Mapping[str, object]) -> str:
    value = error.get("input")
    given = _kind(value)
    shown = shorten(value) if isinstance(value, str) and value else given
    if kind in ("too_short", "too_long") and isinstance(value, str):
        kind = f"string_{kind}"
    fixed = {
        "string_type": f"must be text, but is {given}; write it in one line, or after `|` in indented lines",
        "string_too_short": "is empty; write something, or leave the key out where it is optional",
        "string_too_long": f"is longer than {context.get('max_length')} characters; shorten it",
        "int_parsing": f"must be a whole number, such as 3, but is {shown}",
        "int_type": f"must be a whole number, such as 3, but is {shown}",
        "int_from_float": f"must be a whole number, such as 3, but is {shown}",
        "int_parsing_size": "is a number with too many digits",
        "float_parsing": f"must be a number, such as 0.7, but is {shown}",
        "float_type": f"must be a number, such as 0.7, but is {shown}",
        "finite_number": f"must be a finite number, such as 0.7, but is {shown}",
        "tuple_type": f"must be a list, but is {given}; write `[one, two]`, or one item a line after `- `",
        "list_type": f"must be a list, but is {given}; write `[one, two]`, or one item a line after `- `",
        "dict_type": f"must be a mapping, but is {given}; write `{{key: value}}`, or indented lines `key: value`",
        "model_type": f"must be a mapping, but is {given}; write `{{key: value}}`, or indented lines `key: value`",
        "literal_error": f"must be one of {context.get('expected')}, but is {shown}",
        "greater_than": f"must be more than {context.get('gt')}, but is {shown}",
        "greater_than_equal": f"must be at least {context.get('ge')}, but is {shown}",
        "less_than": f"must be less than {context.get('lt')}, but is {shown}",
        "less_than_equal": f"must be at most {context.get('le')}, but is {shown}",
        "too_short": "is an empty list; name at least one",
        "too_long": f"has more than {context.get('max_length')} items",
    }
    if kind == "value_error":
        return f"cannot be used: {context.get('error')}"
    return fixed.get(kind) or f"cannot be used: {error.get('msg')}"
