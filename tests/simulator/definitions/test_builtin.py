"""The built-in personas, tasks and campaigns: whole, findable, as the issue and the design name them."""

import re
from pathlib import Path

import pytest

from simulator.definitions import builtin_folder, find_persona, find_task, load_campaign, load_personas, load_tasks
from simulator.definitions import finding as finding_module
from simulator.definitions.task import TOPICS
from simulator.errors import MissingError, UsageError

TASKS = {
    "application development": 8,
    "simulations and games": 7,
    "algorithms": 5,
    "data science": 2,
}


def test_personas_are_many_and_told_briefly() -> None:
    personas = load_personas(builtin_folder("personas"))
    assert {"john", "brad", "harold", "ethan"} <= set(personas)
    assert len(personas) >= 12
    for persona in personas.values():
        assert 30 <= len(persona.describe().split()) <= 95, persona.id
        assert persona.not_known or persona.id in ("brad",), persona.id


def test_personas_widen_age_language_gender_and_expertise() -> None:
    personas = load_personas(builtin_folder("personas")).values()
    ages = [int(persona.attributes["age"]) for persona in personas]
    assert min(ages) < 16
    assert max(ages) > 65
    assert len({persona.spoken[0] for persona in personas}) >= 8
    genders = [persona.attributes["gender"] for persona in personas]
    assert len(set(genders)) >= 3
    assert sum(gender in ("woman", "girl") for gender in genders) >= 5
    assert sum(not persona.languages for persona in personas) >= 3


def test_tasks_are_on_the_published_topics() -> None:
    tasks = load_tasks(builtin_folder("tasks"))
    assert {"calculator", "bicycle-shop", "accounting-reports"} <= set(tasks)
    assert {topic: sum(task.topic == topic for task in tasks.values()) for topic in TOPICS} == TASKS
    assert tasks["calculator"].short == "Write code to make a calculator"
    for task in tasks.values():
        assert re.match(r"Write code (to|for) ", task.short or ""), task.id
        assert len((task.prompt or "").split()) >= 50, task.id
        assert task.title
        assert task.tags


@pytest.mark.parametrize("kind", ["personas", "tasks", "campaigns"])
def test_each_file_is_named_after_its_id(kind: finding_module.Kind) -> None:
    for path in builtin_folder(kind).glob("*.yaml"):
        first = re.search(r"^(?:id|name): (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert first is not None
        assert first[1] == path.stem


def test_the_built_in_campaigns_load() -> None:
    quick = load_campaign("personas-quickstart")
    assert list(quick.personas) == ["john", "brad", "harold", "ethan"]
    assert list(quick.tasks) == ["calculator", "bicycle-shop", "accounting-reports"]
    assert (quick.campaign.prompts.iterations, quick.campaign.generate.sample, quick.campaign.seed) == (3, 1, 7)
    published = load_campaign("personas-published")
    assert (len(published.personas), len(published.tasks)) == (4, 3)
    assert (published.campaign.prompts.iterations, published.campaign.prompts.temperature) == (5, 1.0)
    assert published.campaign.generate.sample == 1
    assert len({choice.model.split(":")[0] for choice in published.campaign.generate.models}) == 2


def test_found_by_id_in_any_case_and_the_nearest_is_named() -> None:
    assert find_persona("John").definition.id == "john"
    assert find_task("calculator").builtin
    with pytest.raises(UsageError, match="did you mean `harold`"):
        find_persona("harald")
    with pytest.raises(UsageError, match="did you mean `bicycle-shop`"):
        find_task("bycicle-shop")


def test_in_an_installation_the_folders_lie_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "simulator" / "definitions"
    (package / "builtin" / "personas").mkdir(parents=True)
    monkeypatch.setattr(finding_module, "__file__", str(package / "finding.py"))
    assert builtin_folder("personas") == package / "builtin" / "personas"
    with pytest.raises(MissingError, match="install Sociolect again"):
        builtin_folder("tasks")
