"""Prompts of real people: read from their files, refused with the line, frozen with the campaign."""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.definitions import dump_study, load_campaign, load_study
from simulator.definitions import humans as reading
from simulator.definitions.humans import HumanTexts
from simulator.definitions.schemas import json_schema
from simulator.errors import DefinitionError

CAMPAIGN = """\
name: people
tasks: [calculator, todo-api]
prompts: {personas: [john], model: mock}
humans:
  - texts: people.csv
generate: {models: mock}
"""
ONLY = CAMPAIGN.replace("prompts: {personas: [john], model: mock}\n", "")
PEOPLE = "speaker,text,task\nAnn,a calculator pls,calculator\n"


def write(folder: Path, people: str | bytes = PEOPLE, campaign: str = CAMPAIGN, name: str = "people.csv") -> Path:
    (folder / name).write_bytes(people.encode() if isinstance(people, str) else people)
    (folder / "c.yaml").write_text(campaign, encoding="utf-8")
    return folder / "c.yaml"


def read(folder: Path, *args: str | bytes, **more: str) -> list[tuple[str, str, tuple[str, ...]]]:
    study = load_campaign(str(write(folder, *args, **more)))  # type: ignore[arg-type]
    return [(texts.task, texts.speaker, texts.texts) for texts in study.humans]


def refused(folder: Path, *args: str | bytes, **more: str) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        load_campaign(str(write(folder, *args, **more)))  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def test_texts_stand_by_task_and_speaker_in_the_order_of_the_file(tmp_path: Path) -> None:
    people = (
        "speaker,text,task,age\n"
        "Bob,todo one,todo-api,40\nAnn,calc one,calculator,30\nBob,todo two,TODO-API,40\n Ann ,calc one,calculator,30\n"
        "Bob,,calculator,40\n"
    )
    assert read(tmp_path, people) == [
        ("calculator", "Ann", ("calc one", "calc one")),
        ("calculator", "Bob", ("",)),
        ("todo-api", "Bob", ("todo one", "todo two")),
    ]


@pytest.mark.parametrize(
    ("name", "columns", "people"),
    [
        ("people.csv", "", "\ufeffspeaker;text;task\r\nZoë 🙂;a; b;calculator\r\n".replace("a; b", '"a; b"')),
        ("people.tsv", "", "speaker\ttext\ttask\nZoë 🙂\ta; b\tcalculator\n"),
        ("people.jsonl", "", json.dumps({"task": "calculator", "text": "a; b", "speaker": "Zoë 🙂", "x": None})),
        ("p.csv", "{text: statement, speaker: who}", "who,statement,task\nZoë 🙂,a; b,calculator\n"),
    ],
    ids=["semicolons, BOM, CRLF", "tabs", "JSONL", "renamed"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_files_of_every_kind_give_the_same(tmp_path: Path, name: str, columns: str, people: str, packed: bool) -> None:
    source = f"{name}{'.gz' if packed else ''}{f', columns: {columns}' if columns else ''}"
    campaign = CAMPAIGN.replace("- texts: people.csv", f"- {{texts: {source}}}")
    data = gzip.compress(people.encode()) if packed else people.encode()
    found = read(tmp_path, data, campaign=campaign, name=f"{name}{'.gz' if packed else ''}")
    assert found == [("calculator", "Zoë 🙂", ("a; b",))]


def test_an_iteration_orders_and_two_files_of_one_person_are_one(tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("speaker,text,task,iteration\nAnn,last,calculator,9\n", encoding="utf-8")
    people = "speaker,text,task,iteration\nAnn,second,calculator,2\nAnn,first,calculator,1\n"
    campaign = CAMPAIGN.replace("- texts: people.csv", "- texts: people.csv\n  - texts: more.csv")
    assert read(tmp_path, people, campaign=campaign) == [("calculator", "Ann", ("first", "second", "last"))]


def test_a_campaign_of_people_alone_needs_no_prompts(tmp_path: Path) -> None:
    study = load_campaign(str(write(tmp_path, campaign=ONLY)))
    assert (study.personas, len(study.humans)) == ({}, 1)
    assert load_study(dump_study(study)) == study
    half = ONLY.replace("humans:", "prompts: {from: prompt}\nhumans:")  # no persona, so that no task needs a `prompt`
    assert load_campaign(str(write(tmp_path, campaign=half))).humans == study.humans


@pytest.mark.parametrize(
    ("people", "line", "said"),
    [
        ("Ann,x,calculater", 2, "asks for the task `calculater`, which is none of the campaign's; did you mean `calc"),
        ("Ann,x,", 2, "has no task in 'task'"),
        ("Ann,x,clock", 2, "which is none of the campaign's"),
        ("Ann,x,calculator\n ,x,calculator", 3, "has no speaker in 'speaker'"),
        ("Ann,x", 2, "has 2 cells where the header has 3"),
        ("Ann,a\fb,calculator", 2, "has U+000C in 'text'"),
        ('Ann,"one\ntwo",calculator\nJohn,x,calculator', 4, "has the id of the persona `john`"),
    ],
)
def test_a_row_that_cannot_be_sent_is_refused_with_its_line(tmp_path: Path, people: str, line: int, said: str) -> None:
    (found,) = refused(tmp_path, f"speaker,text,task\n{people}\n")
    assert found.startswith(f"{tmp_path / 'people.csv'}:{line}:1: ")
    assert said in found


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ("", "empty"),
        ("speaker,text,task\n", "none of its 0 rows has a text"),
        ("speaker,text,task\nAnn, ,calculator\n", "none of its 1 rows has a text"),
        ("speaker,statement,task\nAnn,x,calculator\n", "no column 'text' for the text"),
        ("who,text,task\nAnn,x,calculator\n", "as in `columns: {speaker: NAME}`"),
        (b"PK\x03\x04\0\0", "spreadsheet"),
        (b"\x1f\x8b\x08\0\0", "damaged or cut off"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_at_its_name(tmp_path: Path, people: str | bytes, said: str) -> None:
    (found,) = refused(tmp_path, people)
    assert found.startswith(f"{tmp_path / 'c.yaml'}:5:12: ")
    assert said in found


@pytest.mark.parametrize(
    ("source", "place", "said"),
    [
        ("- texts: gone.csv", "5:12", "there is no such file"),
        ("- texts: ../people.csv", "5:12", "leads out of the study"),
        ("- texts: /etc/hostname", "5:12", "leads out of the study"),
        ("- texts: link.csv", "5:12", "is a link that leads out of the study"),
        ("- texts: pipe.csv", "5:12", "is a pipe"),
        ("- texts: folder", "5:12", "is a folder"),
        ("- {texts: people.csv, sufix: x}", "5:25", "did you mean `suffix`"),
        ("- {texts: people.csv, columns: {tekst: x}}", "5:35", "did you mean `text`"),
        ("- {texts: people.csv, columns: {iteration: turn}}", "5:13", "no column 'turn' for the iteration"),
        ('- {texts: people.csv, suffix: "a\\nb"}', "5:33", "a few characters in one line"),
        ("people.csv", "5:3", "must be a list"),
    ],
)
def test_a_source_that_is_wrong_is_refused_in_the_campaign(tmp_path: Path, source: str, place: str, said: str) -> None:
    study = tmp_path / "study"
    (study / "folder").mkdir(parents=True)
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (study / "link.csv").symlink_to(tmp_path / "people.csv")
    os.mkfifo(study / "pipe.csv")
    found = refused(study, campaign=CAMPAIGN.replace("- texts: people.csv", source))
    assert found[0].startswith(f"{study / 'c.yaml'}:{place}: ")
    assert said in found[0]


def test_a_campaign_in_which_nobody_asks_is_refused(tmp_path: Path) -> None:
    nobody = "tasks: [calculator]\ngenerate: {models: mock}\n"
    (found,) = refused(tmp_path, campaign=nobody)
    assert "prompts` is missing; add a line `prompts: ...`" in found
    empty = refused(tmp_path, campaign=CAMPAIGN.replace("\n  - texts: people.csv", " []").replace("[john]", ""))
    assert "`prompts.personas` is missing" in empty[0]


def test_every_problem_is_told_but_no_more_than_anybody_reads(tmp_path: Path) -> None:
    found = refused(tmp_path, "speaker,text,task\n" + "Ann,x,nothing\n" * 50)
    assert len(found) == 21
    assert "and 30 more rows from here on" in found[-1]


def test_one_row_more_than_a_file_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_ROWS", 3)
    assert read(tmp_path, PEOPLE + "Ann,x,calculator\n" * 2)[0][2] == ("a calculator pls", "x", "x")
    assert "more than 3 rows" in refused(tmp_path, PEOPLE + "Ann,x,calculator\n" * 3)[0]


def test_a_suffix_tells_a_person_from_the_persona_of_that_name(tmp_path: Path) -> None:
    people = PEOPLE.replace("Ann", "JOHN")
    assert "`suffix:" in refused(tmp_path, people)[0]
    told_apart = CAMPAIGN.replace("texts: people.csv", 'texts: people.csv\n    suffix: " (human)"')
    assert read(tmp_path, people, campaign=told_apart)[0][1] == "JOHN (human)"


def test_a_frozen_campaign_needs_its_file_no_longer(tmp_path: Path) -> None:
    study = load_campaign(str(write(tmp_path)))
    frozen = dump_study(study)
    assert frozen == dump_study(load_campaign(str(tmp_path / "c.yaml")))
    (tmp_path / "people.csv").unlink()
    (tmp_path / "frozen.yaml").write_text(frozen, encoding="utf-8")
    assert load_study(frozen) == study == load_campaign(str(tmp_path / "frozen.yaml"))
    assert dump_study(load_study(frozen)) == frozen
    write(tmp_path, PEOPLE.replace("pls", "please"))
    assert dump_study(load_campaign(str(tmp_path / "c.yaml"))) != frozen


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_whatever_people_write_is_frozen_to_the_last_blank_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("people")
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows([("speaker", "text", "task"), *((f"x{name}", text, "calculator") for name, text in rows)])
    try:
        study = load_campaign(str(write(folder, table.getvalue(), campaign=ONLY)))
    except DefinitionError:
        assert any(not text.isprintable() or not text.strip() for _, text in rows)
        return
    assert sorted(text for texts in study.humans for text in texts.texts) == sorted(text for _, text in rows)
    assert load_study(dump_study(study)) == study


def test_two_megabytes_of_one_text(tmp_path: Path) -> None:
    text = "a calculator 🙂\n" * 150_000
    table = io.StringIO(newline="")
    csv.writer(table).writerows([("speaker", "text", "task"), ("Ann", text, "calculator")])
    study = load_campaign(str(write(tmp_path, table.getvalue())))
    assert study.humans == (HumanTexts(speaker="Ann", task="calculator", texts=(text,)),)
    assert load_study(dump_study(study)) == study


def test_an_editor_knows_the_section() -> None:
    schema = json_schema("campaign")
    assert "prompts" not in schema["required"]
    assert schema["properties"]["humans"]["items"] == {"$ref": "#/$defs/HumanSource"}
    source = schema["$defs"]["HumanSource"]
    assert (source["required"], set(source["properties"])) == (["texts"], {"texts", "columns", "suffix"})
