"""Studies: found, resolved, kept inside their folder, frozen and read back equal."""

import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.definitions import Campaign, Persona, Study, Task, dump_study, load_campaign, load_study
from simulator.definitions.campaign import ModelChoice
from simulator.definitions.dumping import dump_yaml
from simulator.definitions.yaml_reading import parse_yaml
from simulator.errors import DefinitionError, UsageError

PERSONA = "description: A retired bus driver who keeps the accounts of a choir.\n"
TASK = "short: Write code to sort a choir by voice\n"
CAMPAIGN = """\
tasks: [choir]
prompts: {personas: [bo, john], model: mock}
generate: {models: mock}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    write(folder / "personas" / "bo.yaml", PERSONA)
    write(folder / "tasks" / "choir.yaml", TASK)
    write(folder / "campaigns" / "first.yaml", CAMPAIGN)
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refused(name: str, folder: Path | None = None) -> str:
    with pytest.raises(DefinitionError) as caught:
        load_campaign(name, folder=folder)
    return str(caught.value)


def test_by_path_the_study_is_where_the_campaign_lies(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_campaign(str(study / "campaigns" / "first.yaml"))
    assert list(loaded.personas) == ["bo", "john"]
    assert list(loaded.tasks) == ["choir"]
    assert loaded.campaign.name == "first"
    assert loaded.root == study
    monkeypatch.chdir(study.parent)  # where the command line's default, the current folder, is not the study
    assert load_campaign("study/campaigns/first.yaml", folder=Path()) == loaded
    moved = write(study / "campaign.yaml", CAMPAIGN)
    assert load_campaign(str(moved)).personas == loaded.personas


def test_by_name_in_the_study_folder(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_campaign("first", folder=study).root == study
    monkeypatch.chdir(study)
    assert load_campaign("first").campaign.name == "first"
    assert load_campaign("first", folder=Path()).campaign.name == "first"
    with pytest.raises(UsageError, match="did you mean `first`"):
        load_campaign("frist", folder=study)


def test_a_chosen_study_lends_its_definitions_to_a_campaign_elsewhere(study: Path, tmp_path: Path) -> None:
    alone = write(tmp_path / "elsewhere" / "c.yaml", CAMPAIGN)
    assert "choir" in refused(str(alone))
    assert list(load_campaign(str(alone), folder=study).tasks) == ["choir"]


def test_a_study_s_persona_goes_before_a_built_in_one(study: Path) -> None:
    write(study / "personas" / "john.yaml", PERSONA)
    assert load_campaign("first", folder=study).personas["john"].name is None
    assert load_campaign("personas-quickstart", folder=study).personas["john"].name is None
    assert load_campaign("personas-quickstart").personas["john"].name == "John"


def test_all_means_what_the_study_has(study: Path) -> None:
    write(study / "personas" / "al.yml", PERSONA)
    path = write(
        study / "campaigns" / "everybody.yaml", CAMPAIGN.replace("[bo, john]", "all").replace("[choir]", "all")
    )
    assert list(load_campaign(str(path)).personas) == ["al", "bo"]
    bare = write(study.parent / "bare" / "everybody.yaml", path.read_text(encoding="utf-8"))
    loaded = load_campaign(str(bare))
    assert len(loaded.tasks) == 22
    assert len(loaded.personas) >= 12


def test_unknown_personas_and_tasks_are_told_together_with_their_places(study: Path) -> None:
    path = write(
        study / "campaigns" / "c.yaml", CAMPAIGN.replace("[choir]", "[choir, calculater]").replace("bo,", "bob,")
    )
    with pytest.raises(DefinitionError) as caught:
        load_campaign(str(path))
    assert [(one.line, one.column) for one in caught.value.problems] == [(1, 16), (2, 22)]
    assert "did you mean `calculator`" in caught.value.problems[0].text
    assert "did you mean `bo`" in caught.value.problems[1].text


def test_ids_that_differ_by_form_or_case_only_are_told_with_both_places(study: Path) -> None:
    write(study / "personas" / "a.yaml", "id: Zoe\u0308\n" + PERSONA)
    write(study / "personas" / "b.yaml", "# second\nid: zoë\n" + PERSONA)
    said = refused("first", study)
    assert f"{study / 'personas' / 'b.yaml'}:2:5:" in said
    assert f"already that of {study / 'personas' / 'a.yaml'}:1:5" in said


def test_problems_of_all_files_are_told(study: Path) -> None:
    write(study / "personas" / "a.yaml", "nmae: x\n")
    write(study / "tasks" / "b.yaml", "")
    said = refused("first", study)
    assert "did you mean `name`" in said
    assert "empty" in said


def test_a_task_without_the_text_that_is_asked_for(study: Path) -> None:
    path = write(study / "campaigns" / "c.yaml", CAMPAIGN.replace("{personas", "{from: prompt, personas"))
    assert "c.yaml:1:9: the task `choir` has no `prompt`" in refused(str(path))


@pytest.mark.parametrize("where", ["personas", "tasks", "campaigns"])
def test_nothing_is_read_through_a_link_out_of_the_study(study: Path, where: str) -> None:
    outside = write(study.parent / "outside.yaml", {"personas": PERSONA, "tasks": TASK, "campaigns": CAMPAIGN}[where])
    (study / where / "linked.yaml").symlink_to(outside)
    assert "leads out of the study" in refused("linked" if where == "campaigns" else "first", study)


def test_a_linked_folder_out_of_the_study_is_refused(study: Path) -> None:
    (study / "personas").rename(study.parent / "personas-elsewhere")
    (study / "personas").symlink_to(study.parent / "personas-elsewhere")
    assert "leads out of the study" in refused("first", study)


@pytest.mark.parametrize(
    "template", ["../t.jinja", "/etc/passwd", "C:/t.jinja", "..\\\\t.jinja", "missing.jinja", "link.jinja", "personas"]
)
def test_a_template_stays_inside_the_study(study: Path, template: str) -> None:
    write(study.parent / "t.jinja", "secret")
    (study / "link.jinja").symlink_to(study.parent / "t.jinja")
    path = write(study / "campaigns" / "c.yaml", CAMPAIGN.replace("{personas", f'{{template: "{template}", personas'))
    said = refused(str(path))
    assert "c.yaml:2:21: `prompts.template`" in said
    assert "secret" not in said


def test_a_template_is_frozen_with_the_study(study: Path) -> None:
    write(study / "templates" / "t.jinja", "Be {{ persona }}: {{ task }}\n")
    path = write(
        study / "campaigns" / "c.yaml", CAMPAIGN.replace("{personas", "{template: templates/t.jinja, personas")
    )
    loaded = load_campaign(str(path))
    assert loaded.template == "Be {{ persona }}: {{ task }}\n"
    assert load_study(dump_study(loaded)).template == loaded.template


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("Be {{ persona }}:\n do {{ taks }} {{ task }}\n", 2, 8, "no variable `taks`"),
        ("{{ persona }}\n\n  {% if %}{{ task }}\n", 3, 3, "cannot be used"),
        ("{{ persona }}\n", 0, 0, "never uses `task`"),
        ("{{ persona }} {{ task }}\n{% include 'x' %}\n", 2, 1, "stands alone"),
    ],
)
def test_a_template_that_is_wrong_is_told_with_its_place(
    study: Path, text: str, line: int, column: int, said: str
) -> None:
    template = write(study / "t.jinja", text)
    path = write(study / "campaigns" / "c.yaml", CAMPAIGN.replace("{personas", "{template: t.jinja, personas"))
    with pytest.raises(DefinitionError) as caught:
        load_campaign(str(path))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.column) == (template, line, column)
    assert said in problem.text
    write(template, "{{ persona }} {{ task }}")
    frozen = write(study.parent / "run" / "campaign.yaml", dump_study(load_campaign(str(path))))
    frozen.write_text(frozen.read_text(encoding="utf-8").replace("{{ task }}", "{{ taks }}"), encoding="utf-8")
    assert "campaign.yaml" in refused(str(frozen))


SCRIPTS = ["../evil.py", "/tmp/evil.py", "out.py", "~/evil.py", "evil.py", "sub/../../evil.py", "a\\\\evil.py"]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("folder", [None, "here", "study"])
def test_a_campaign_cannot_name_a_program_outside_its_study(
    study: Path, script: str, folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = study.parent / "here"
    outside = write(here / "evil.py", "raise SystemExit('it was run')")
    write(study.parent / "evil.py", "")
    monkeypatch.chdir(here)  # where the person at the keyboard happens to be
    monkeypatch.setenv("HOME", str(here))
    (study / "out.py").symlink_to(outside)
    path = write(study / "campaigns" / "c.yaml", CAMPAIGN.replace("models: mock", f'models: ["mock:{script}"]'))
    chosen = {"here": Path(), "study": study, None: None}[folder]
    assert "c.yaml:3:21: The script of the model" in refused(str(path), chosen)
    # Nor can one that lies alone, or came as the folder of a run.
    alone = write(study.parent / "alone" / "c.yaml", path.read_text(encoding="utf-8").replace("choir", "calculator"))
    alone.write_text(alone.read_text(encoding="utf-8").replace("bo, ", ""), encoding="utf-8")
    assert "The script of the model" in refused(str(alone), chosen)
    frozen = dump_study(load_campaign("first", folder=study, model=f"mock:{script}".replace("\\\\", "\\")))
    run = write(study.parent / "runs" / "first-1" / "campaign.yaml", frozen)
    said = refused(str(run), chosen)
    assert said.count("The script of the model") == 2
    assert re.search(r"campaign\.yaml:\d+:\d+: The script", said)


def test_a_campaigns_own_program_is_its_own(study: Path) -> None:
    write(study / "models" / "m.py", "")
    path = write(study / "campaigns" / "c.yaml", CAMPAIGN.replace("models: mock", "models: 'mock:models/m.py'"))
    loaded = load_campaign(str(path))
    assert (loaded.root, loaded.given) == (study, None)
    assert load_campaign("c", folder=study) == loaded


def test_the_command_line_names_a_program_anywhere(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(study.parent / "here" / "m.py", "")
    monkeypatch.chdir(study.parent / "here")
    loaded = load_campaign("first", folder=study, model=" mock:m.py ")
    assert (loaded.given, loaded.campaign.prompts.model) == ("mock:m.py", ModelChoice(model="mock:m.py"))
    frozen = dump_study(loaded)
    again = load_study(frozen)  # executes nothing, and so needs nothing
    assert (again, again.given) == (loaded, None)
    run = write(study.parent / "runs" / "first-1" / "campaign.yaml", frozen)
    assert load_campaign(str(run), model="mock").campaign.prompts.model == ModelChoice(model="mock")
    bad = write(study / "campaigns" / "bad.yaml", CAMPAIGN.replace("models: mock", "models: 'mock:gone.py'"))
    assert load_campaign(str(bad), model="mock").given == "mock"


def test_the_model_of_the_command_line(study: Path) -> None:
    loaded = load_campaign("first", folder=study, model="openai:gpt-4o-mini")
    assert loaded.campaign.prompts.model == ModelChoice(model="openai:gpt-4o-mini")
    with pytest.raises(UsageError, match="empty"):
        load_campaign("first", folder=study, model=" ")


@pytest.mark.parametrize("name", ["", " ", "..", ".", "/", "no/such.yaml", "x" * 5000, "a\0b", "a\0b.yaml"])
def test_an_odd_name_is_a_usage_error(name: str, study: Path) -> None:
    with pytest.raises(UsageError):
        load_campaign(name, folder=study)


def test_a_frozen_study_is_loaded_from_its_file_and_holds_no_path(study: Path, tmp_path: Path) -> None:
    loaded = load_campaign("first", folder=study)
    text = dump_study(loaded)
    assert str(tmp_path) not in text
    path = write(tmp_path / "run" / "campaign.yaml", text)
    assert load_study(path) == loaded
    assert load_campaign(str(path)) == loaded
    assert dump_study(load_study(path)) == text
    with pytest.raises(DefinitionError, match=r"campaign\.yaml"):
        load_study("campaign: x\n")


def test_the_dump_is_the_same_for_any_hash_seed() -> None:
    code = "from simulator.definitions import *; print(dump_study(load_campaign('personas-quickstart')))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            cwd=Path(__file__).parents[3],
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "7")
    }
    assert len(texts) == 1


TEXTS = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"], include_characters="\t\n\r\x85\u2028", exclude_characters="\ufffe\uffff"
    ),
    max_size=60,
)
FILLED = TEXTS.map(lambda text: text if text.strip() else "x")


IDS = st.from_regex(r"[a-zà-ö0-9][a-zß-ö0-9_-]{0,40}", fullmatch=True).map(lambda text: f"x{text}")
PERSONAS = st.builds(
    Persona,
    id=IDS,
    name=st.none() | FILLED,
    description=st.just("one two three four five"),
    background=st.none() | FILLED,
    tools=st.lists(FILLED, max_size=3).map(tuple),
    goals=st.lists(FILLED, max_size=3).map(tuple),
    attributes=st.dictionaries(FILLED, TEXTS, max_size=3),
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
PARAMS = st.dictionaries(
    st.sampled_from(["effort", "k", "NO", "1.10", "a b:"]), SCALARS | st.lists(TEXTS, max_size=2).map(tuple)
)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    people = {
        one.id: one for one in draw(st.lists(PERSONAS, min_size=1, max_size=3, unique_by=lambda one: one.id.casefold()))
    }
    tasks = {
        "t": Task(
            id="t",
            short=draw(FILLED.map(lambda text: "Write " + " ".join(text.split()))),
            prompt=draw(st.none() | FILLED),
        )
    }
    choice = ModelChoice(model=draw(FILLED), params=draw(PARAMS), temperature=draw(st.none() | st.floats(0, 2)))
    campaign = Campaign.model_validate(
        {
            "name": draw(IDS),
            "tasks": ["t"],
            "prompts": {"personas": list(people), "model": choice, "iterations": draw(st.integers(1, 99))},
            "generate": {"models": [choice], "prefix": draw(TEXTS), "suffix": draw(TEXTS)},
            "seed": draw(st.integers(0, 2**63 - 1)),
        }
    )
    return Study(campaign, people, tasks, Path(), Path("c.yaml"), draw(st.none() | TEXTS))


@settings(max_examples=150, deadline=None)
@given(studies())
def test_a_dumped_study_reads_back_equal(study: Study) -> None:
    text = dump_study(study)
    again = load_study(text)
    assert again == study
    assert [*again.personas] == [*study.personas]
    assert dump_study(again) == text


VALUES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FILLED, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1))
def test_any_text_survives_yaml(value: dict[str, object]) -> None:
    document = parse_yaml(dump_yaml(value), Path("x.yaml"))
    assert not document.problems
    assert document.root is not None
    again = document.root.to_data()
    assert json.dumps(again).encode() == json.dumps(_nfc(value)).encode()


def _nfc(value: object) -> object:
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): _nfc(inner) for key, inner in value.items()}
    return [_nfc(inner) for inner in value] if isinstance(value, list) else value
