"""JSON Schemas of what users write, from which editors complete and check while one types."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel

from simulator.definitions.campaign import Campaign
from simulator.definitions.persona import Persona
from simulator.definitions.task import Task

__all__ = ["SchemaName", "json_schema", "schema_text"]

SchemaName = Literal["persona", "task", "campaign"]
_MODELS: dict[SchemaName, type[BaseModel]] = {"persona": Persona, "task": Task, "campaign": Campaign}
_TEXT_TYPES = ["string", "number", "boolean"]  # an editor's YAML reads 1.10 as a number; here it is text


def json_schema(name: SchemaName) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a persona, task or campaign file.

    Text fields admit numbers and booleans, since an editor takes ``1.10`` or ``true`` for one before Sociolect reads it
    as text; optional fields may be left empty; the id may be absent, for the file's name serves.
    """
    schema = _MODELS[name].model_json_schema(by_alias=True, mode="validation")
    definitions = schema.get("$defs", {})
    for part in (schema, *definitions.values()):
        _admit_empty(part)
    _widen(schema)
    if "ModelChoice" in definitions:
        definitions["ModelChoice"] = {"anyOf": [{"type": "string", "minLength": 1}, definitions["ModelChoice"]]}
    own = {"persona": "id", "task": "id", "campaign": "name"}[name]
    schema["required"] = [key for key in schema.get("required", []) if key != own]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text(name: SchemaName) -> str:
    """Return the schema as the text of a file."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"


def _admit_empty(part: dict[str, Any]) -> None:
    """Let every optional key of a mapping be empty, as in ``name:`` and nothing after it."""
    required = part.get("required", [])
    for key, value in part.get("properties", {}).items():
        if key in required:
            continue
        if "anyOf" in value:
            if {"type": "null"} not in value["anyOf"]:
                value["anyOf"].append({"type": "null"})
        elif "enum" in value:
            value["enum"] = [*value["enum"], None]
            value.pop("type", None)
        elif isinstance(value.get("type"), str):
            value["type"] = [value["type"], "null"]


def _widen(value: object) -> None:
    """Replace text types by text, number and boolean; the schema is a tree of a few levels."""
    if isinstance(value, dict):
        kind = value.get("type")
        if "enum" not in value and "const" not in value:
            if kind == "string":
                value["type"] = list(_TEXT_TYPES)
            elif isinstance(kind, list) and "string" in kind:
                value["type"] = [*_TEXT_TYPES, *(other for other in kind if other != "string")]
        for inner in value.values():
            _widen(inner)
    elif isinstance(value, list):
        for inner in value:
            _widen(inner)
