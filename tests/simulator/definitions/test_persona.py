"""Personas: what is enough, what is too little, what a model is told, and which ids are safe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.definitions import Persona, Task
from simulator.definitions.fields import MAX_ID_BYTES, check_id, fold_id
from simulator.definitions.persona import count_words


def test_a_description_alone_is_enough() -> None:
    persona = Persona(id="bo", description="A retired bus driver with a choir.")
    assert persona.describe() == "A retired bus driver with a choir."


def test_only_filled_fields_are_told_each_once_in_one_line() -> None:
    persona = Persona(
        id="ana",
        name="Ana",
        role="nurse",
        description="Works\nat night",
        tools=("Excel",),
        languages=("R", "SQL"),
        spoken=("Catalan",),
        not_known=("servers",),
        goals=("few steps", "no mix-ups"),
        communication="Warm!",
        attributes={"age": "38", "empty": " "},
    )
    assert persona.describe() == (
        "Ana: nurse. Works at night. Uses Excel. Programs in R, SQL. Speaks Catalan. Does not know servers. "
        "Wants: few steps; no mix-ups. Warm! age: 38."
    )


def test_a_single_text_is_a_list_of_one() -> None:
    data = {"id": "a", "role": "keeper of the harbour library", "not_known": "programming", "goals": "peace"}
    persona = Persona.model_validate(data)
    assert (persona.not_known, persona.goals) == (("programming",), ("peace",))


@pytest.mark.parametrize(
    "data", [{}, {"name": "Ana Maria de la Cruz Santos"}, {"role": "nurse"}, {"description": ". , - ! ? ;"}]
)
def test_too_little_to_mean_anything_is_refused(data: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="too little to tell them from anybody else"):
        Persona.model_validate({"id": "x", **data})


def test_scripts_without_spaces_are_counted_too() -> None:
    assert Persona(id="x", description="退職したバスの運転手です").describe().endswith("です.")
    assert count_words("ผมเป็นครู") >= 4
    assert count_words("") == 0


def test_a_sentence_keeps_its_own_ending() -> None:
    assert Persona(id="x", description="他是一位退休的公交车司机。").describe().endswith("司机。")
    assert Persona(id="x", description="Says: “I know what I want!”").describe().endswith("want!”")


@pytest.mark.parametrize("good", ["john", "a", "John", "zoë", "직원", "персона-2", "x_1", "9lives", "a" * 64, "नर्स"])
def test_safe_ids(good: str) -> None:
    assert check_id(good) == good


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        ".",
        "..",
        "a/b",
        "a\\b",
        "../x",
        "-x",
        "_x",
        "a b",
        "a.b",
        "con",
        "NUL",
        "com1",
        "LPT9",
        "all",
        "a" * 65,
        "a\x00",
        "a\u202eb",
        "a:b",
        "~",
        "*",
        "😀",
        "a\n",
        "字" * 64 + "a",
        "́a",
        "x\u200dy",
        "²",
    ],
)
def test_unsafe_ids(bad: str) -> None:
    if bad == "a\n":  # white space around an id is no part of it
        assert check_id(bad) == "a"
        return
    with pytest.raises(ValueError, match="id"):
        check_id(bad)


def test_ids_are_nfc_and_compared_without_case() -> None:
    assert check_id("zoe\u0308") == "zoë"
    assert fold_id("ZOE\u0308") == fold_id("zoë")
    assert fold_id("Straße") == fold_id("STRASSE")


@given(st.text())
def test_any_text_is_a_safe_id_or_refused(text: str) -> None:
    try:
        identifier = check_id(text)
    except ValueError:
        return
    assert check_id(identifier) == identifier
    assert len(identifier.encode()) <= MAX_ID_BYTES
    assert not set(identifier) & set('/\\:*?"<>|. \0')


def test_a_task_needs_a_request_and_its_short_one_is_one_line() -> None:
    with pytest.raises(ValidationError, match="asks for nothing"):
        Task(id="t", title="T")
    with pytest.raises(ValidationError, match="one line"):
        Task(id="t", short="a\nb")
    task = Task(id="t", short="Write code")
    assert task.request("short") == "Write code"
    assert task.label == "t"
    with pytest.raises(ValueError, match="no `prompt`"):
        task.request("prompt")
