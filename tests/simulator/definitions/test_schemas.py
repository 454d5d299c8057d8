"""The JSON Schemas that editors complete and check by agree with what Sociolect itself reads."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from ruamel.yaml import YAML

from simulator.definitions import builtin_folder, json_schema
from simulator.definitions.schemas import SchemaName

FOLDERS: dict[SchemaName, str] = {"persona": "personas", "task": "tasks", "campaign": "campaigns"}


def as_an_editor_reads(text: str) -> Any:
    return YAML(typ="safe").load(text)


def errors(name: SchemaName, text: str) -> list[str]:
    return [error.message for error in Draft202012Validator(json_schema(name)).iter_errors(as_an_editor_reads(text))]


@pytest.mark.parametrize("name", ["persona", "task", "campaign"])
def test_each_schema_is_one_and_admits_every_built_in_file(name: SchemaName) -> None:
    Draft202012Validator.check_schema(json_schema(name))
    paths = sorted(builtin_folder(FOLDERS[name]).glob("*.yaml"))  # type: ignore[arg-type]
    assert paths
    for path in paths:
        assert errors(name, path.read_text(encoding="utf-8")) == [], path


def test_scalars_that_an_editor_takes_for_numbers_are_text() -> None:
    text = "id: 007\nname: 1.10\nrole: true\ntools: [3.12, 12]\nnot_known: 5\nbackground:\ngoals:\n"
    text += "attributes: {age: 71, on: yes}\n"
    assert errors("persona", text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("persona", "nmae: x"),
        ("persona", "tools: {a: b}"),
        ("persona", "role: [a]"),
        ("task", "prompt: {a: b}"),
        ("campaign", "tasks: [a]"),
        ("campaign", "tasks: [a]\nprompts: {personas: [a], model: m, iterations: x}\ngenerate: {models: m}"),
        ("campaign", "tasks: [a]\nprompts: {personas: [a], model: m}\ngenerate: {models: [{modle: m}]}"),
        ("campaign", "tasks: [a]\nprompts: {personas: [a], model: m, from: long}\ngenerate: {models: m}"),
    ],
)
def test_mistakes_are_underlined(name: SchemaName, text: str) -> None:
    assert errors(name, text)


def test_short_forms_are_admitted() -> None:
    text = "tasks: all\nprompts: {personas: john, model: {model: m, params: {k: 1}}, temperature: }\n"
    text += "generate: {models: m}\n"
    assert errors("campaign", text) == []


@pytest.mark.parametrize("name", ["persona", "task", "campaign"])
def test_every_key_is_described(name: SchemaName) -> None:
    schema = json_schema(name)
    parts = [schema, *schema.get("$defs", {}).values()]
    for part in parts:
        for inner in part.get("anyOf", [part]):
            for key, value in inner.get("properties", {}).items():
                assert value.get("description"), key


def test_the_schema_is_found_where_the_written_files_say(tmp_path: Path) -> None:
    from simulator.definitions import write_study

    for path in write_study(tmp_path / "s"):
        if path.suffix == ".yaml":
            first = path.read_text(encoding="utf-8").splitlines()[0]
            assert (path.parent / first.split("$schema=")[1]).is_file()
