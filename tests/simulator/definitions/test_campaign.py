"""Campaigns: the issue's own loads verbatim, and what cannot be run is refused with its place and a mend."""

import json
from pathlib import Path

import pytest

from simulator.definitions import Campaign, ModelChoice
from simulator.definitions.problems import validate
from simulator.definitions.yaml_reading import parse_yaml
from simulator.errors import DefinitionError
from simulator.running.models.parameters import find_fault

ISSUE = """\
name: personas-quickstart
study: personas
tasks: [calculator, bicycle-shop, accounting-reports]
prompts: {from: short, personas: [john, brad, harold, ethan], iterations: 3, model: embedded, temperature: 1.0}
generate: {models: [embedded], sample: 1, repeats: 1, temperature: 0}
seed: 7
"""


def read(text: str) -> Campaign:
    return validate(parse_yaml(text, Path("c.yaml")), Campaign)


def problems_of(text: str) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_campaign_of_the_issue_loads_verbatim() -> None:
    campaign = read(ISSUE)
    assert campaign.tasks == ("calculator", "bicycle-shop", "accounting-reports")
    assert campaign.prompts.source == "short"
    assert campaign.prompts.personas == ("john", "brad", "harold", "ethan")
    assert (campaign.prompts.iterations, campaign.prompts.temperature) == (3, 1.0)
    assert [choice.model for choice in campaign.generate.models] == ["embedded"]
    assert (campaign.generate.temperature, campaign.generate.max_tokens, campaign.seed) == (0.0, None, 7)


def test_a_model_is_a_name_or_a_mapping_and_its_parameters_are_read_as_yaml_1_2() -> None:
    model = (
        "{model: 'openai:x', base_url: 'http://localhost:8000/v1', temperature: 0.5, parallel: 4, "
        "params: {effort: low, top_k: 40, penalty: 1.1, small: 1e-3, think: true, country: NO, version: '1.10', "
        "zip: 007, stop: [a, 1], none: ~}}"
    )
    choice = read(ISSUE.replace("models: [embedded]", f"models: [embedded, {model}]")).generate.models[1]
    assert choice.params == {
        "effort": "low",
        "top_k": 40,
        "penalty": 1.1,
        "small": 0.001,
        "think": True,
        "country": "NO",
        "version": "1.10",
        "zip": 7,
        "stop": ("a", "1"),
    }
    assert type(choice.params["top_k"]) is int
    assert (choice.temperature, choice.parallel, choice.base_url) == (0.5, 4, "http://localhost:8000/v1")


def test_one_may_stand_for_a_list_and_all_for_everything() -> None:
    text = ISSUE.replace("[embedded]", "embedded").replace("[john, brad, harold, ethan]", "all")
    campaign = read(text.replace("[calculator, bicycle-shop, accounting-reports]", "calculator"))
    assert campaign.tasks == ("calculator",)
    assert campaign.prompts.personas == "all"
    assert len(campaign.generate.models) == 1


def test_affixes_keep_every_blank() -> None:
    campaign = read(ISSUE.replace("sample: 1,", 'sample: 1, prefix: " a ", suffix: "\\n\\nb\\n",'))
    assert (campaign.generate.prefix, campaign.generate.suffix) == (" a ", "\n\nb\n")


def test_another_model_replaces_those_of_both_stages() -> None:
    campaign = read(ISSUE).with_model("openai:gpt-4o-mini")
    assert campaign.prompts.model == ModelChoice(model="openai:gpt-4o-mini")
    assert [choice.model for choice in campaign.generate.models] == ["openai:gpt-4o-mini"]
    assert campaign.prompts.temperature == 1.0


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("[john, brad, harold, ethan]", "[]", "4:34", "names no persona"),
        ("[john, brad, harold, ethan]", "", "4:10", "`prompts.personas` is missing"),
        ("[calculator, bicycle-shop, accounting-reports]", "[]", "3:8", "names no task"),
        ("brad,", "John,", "4:41", "named twice, first as item 1"),
        ("brad,", "../brad,", "4:41", "an id is also the name of a file"),
        ("brad,", "[brad],", "4:41", "must be the id of a persona"),
        ("personas: [john, brad, harold, ethan], ", "", "4:10", "`prompts.personas` is missing"),
        ("model: embedded, temperature: 1.0", "temperature: 1.0", "4:10", "`prompts.model` is missing"),
        ("seed: 7", "seed: -7", "6:7", "at least 0"),
        ("seed: 7", "seed: seven", "6:7", "whole number"),
        ("seed: 7", "sed: 7", "6:1", "did you mean `seed`"),
        ("iterations: 3", "iteration: 3", "4:63", "did you mean `iterations`"),
        ("iterations: 3", "iterations: 0", "4:75", "at least 1"),
        ("sample: 1", "sample: 4", "5:40", "makes only 3"),
        ("temperature: 1.0", "temperature: hot", "4:108", "must be a number"),
        ("temperature: 1.0", "temperature: .nan", "4:108", "must be a"),
        ("temperature: 1.0", "temperature: 3", "4:108", "at most 2"),
        ("study: personas", "study: magic", "2:8", "must be one of 'personas'"),
        ("models: [embedded]", "models: []", "5:20", "empty list"),
        ("models: [embedded]", "models: [embedded, embedded]", "5:31", "the same as item 1"),
        ("models: [embedded]", "models: [{temperature: 1}]", "5:21", "`generate.models[1].model` is missing"),
        ("models: [embedded]", "models: [{model: x, params: {api_key: abc}}]", "5:40", "environment"),
        ("models: [embedded]", "models: [{model: x, params: {temperature: 1}}]", "5:40", "beside `params`"),
        ("models: [embedded]", "models: [{model: x, params: {a: {b: c}}}]", "5:44", "not a mapping"),
        ("models: [embedded]", "models: [{model: x, base_url: 'http://me:pw@h/'}]", "5:42", "environment"),
        ("models: [embedded]", "models: [{model: x, base_url: 'file:///etc'}]", "5:42", "http://"),
        ("models: [embedded]", "models: [{model: x, base_url: 'http://[::'}]", "5:42", "base_url"),
        ("models: [embedded]", "models: [{model: x, base_url: 'http://h:x/'}]", "5:42", "base_url` must be an address"),
        ("models: [embedded]", "models: [{model: x, base_url: 'http://h/?key=x'}]", "5:42", "query"),
        ("models: [embedded]", "models: [{model: x, top_p: 0}]", "5:39", "more than 0"),
        ("from: short", "from: long", "4:17", "must be one of 'short' or 'prompt'"),
    ],
)
def test_what_cannot_be_run_is_refused(old: str, new: str, place: str, said: str) -> None:
    assert old in ISSUE
    found = problems_of(ISSUE.replace(old, new))
    assert len(found) == 1, found
    assert found[0].startswith(f"c.yaml:{place}: ")
    assert said in found[0]


def test_a_key_is_not_repeated_in_the_error() -> None:
    found = problems_of(ISSUE.replace("[embedded]", "[{model: x, params: {api_key: sk-123456}}]"))
    assert "sk-123456" not in found[0]


@pytest.mark.parametrize("name", ["temperature", "top_p", "max_tokens", "parallel", "base_url"])
def test_a_campaign_and_a_model_agree_on_what_a_value_may_be(name: str) -> None:
    addresses = ["http://h", "https://h:1/v1", "http://h:x", "ftp://h", "http://u@h", "http://h?q", "http://h\\x", "h"]
    numbers = [-1, 0, 0.5, 1, 1.5, 2, 2.5, 1024, 1025, 1_000_000, 1_000_001]
    faults = []
    for value in addresses if name == "base_url" else numbers:
        text = ISSUE.replace("models: [embedded]", f"models: [{{model: x, {name}: {json.dumps(value)}}}]")
        faults.append(find_fault(name, value))
        if faults[-1]:
            assert len(problems_of(text)) == 1, value
        else:
            read(text)
    assert None in faults
    assert any(faults)
