"""YAML as people write it: text stays text, every problem has its place, and no input ends in another exception."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.definitions.persona import Persona
from simulator.definitions.problems import validate
from simulator.definitions.yaml_reading import MAX_DEPTH, Plain, is_null, parse_yaml, read_yaml
from simulator.errors import DefinitionError

HERE = Path("personas/x.yaml")
WHO = "description: A retired bus driver who keeps a choir's accounts.\n"


def problems_of(text: str) -> list[str]:
    """Everything that is wrong with a persona's text, as the user reads it."""
    with pytest.raises(DefinitionError) as caught:
        validate(parse_yaml(text, HERE), Persona, defaults={"id": "x"})
    return [str(problem) for problem in caught.value.problems]


def read_bytes(tmp_path: Path, data: bytes) -> Persona:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    return validate(read_yaml(path, root=tmp_path), Persona, defaults={"id": "x"})


def refused(tmp_path: Path, data: bytes) -> str:
    with pytest.raises(DefinitionError) as caught:
        read_bytes(tmp_path, data)
    assert len(caught.value.problems) == 1
    return str(caught.value)


def test_scalars_stay_what_was_written() -> None:
    text = WHO + (
        "attributes: {country: NO, version: 1.10, time: 12:30, postcode: 007, on: yes, day: 2024-01-02, big: 1_000}\n"
        "tools: [3.10, true, 0x1F, null]\n"
    )
    persona = validate(parse_yaml(text, HERE), Persona, defaults={"id": "x"})
    assert persona.attributes == {
        "country": "NO",
        "version": "1.10",
        "time": "12:30",
        "postcode": "007",
        "on": "yes",
        "day": "2024-01-02",
        "big": "1_000",
    }
    assert persona.tools == ("3.10", "true", "0x1F", "null")
    assert all(type(tool) is str for tool in persona.tools)


@pytest.mark.parametrize("null", ["", "~", "null", "Null", "NULL"])
def test_null_leaves_an_optional_field_out_and_is_text_elsewhere(null: str) -> None:
    persona = validate(
        parse_yaml(f"{WHO}name: {null}\ntools: {null}\nattributes: {{a: {null}}}\n", HERE),
        Persona,
        defaults={"id": "x"},
    )
    assert persona.name is None
    assert persona.tools == ()
    assert persona.attributes == {"a": null}


def test_a_quoted_null_is_a_name() -> None:
    assert validate(parse_yaml(WHO + 'name: "Null"\n', HERE), Persona, defaults={"id": "x"}).name == "Null"
    assert not is_null("null")
    assert is_null(Plain("null"))


def test_all_problems_of_a_file_at_once_in_file_order() -> None:
    found = problems_of("id: ..\nnmae: Bo\nrole: [x]\ntools: {a: b}\nrole: again\ngoals: *x\nage: 3\n")
    assert [problem.split(": ")[0] for problem in found] == [
        "personas/x.yaml:1:5",
        "personas/x.yaml:2:1",
        "personas/x.yaml:3:7",
        "personas/x.yaml:4:8",
        "personas/x.yaml:5:1",
        "personas/x.yaml:6:8",
        "personas/x.yaml:7:1",
    ]
    assert "did you mean `name`?" in found[1]
    assert "first in line 3 and again in line 5" in found[4]
    assert "alias" in found[5]
    assert "anything else goes under `attributes`" in found[6]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("name:\n\tJohn: x", ":2:1:", "tab"),
        ("\tname: x", ":1:1:", "tab"),
        ("role: a: b", ":1:8:", "quotes"),
        ("role: 'never closed\n", ":2:1:", "opened in line 1"),
        ("role: [a, b\nname: x", ":2:", "bracket"),
        ("role: x\n  name: y", ":2:", "quotes"),
        ("goals:\n  - a\n name: y", ":3:2:", "indentation"),
        ("role: !!python/object:os.system x", ":1:7:", "tag"),
        ("role: &a x", ":1:7:", "anchor"),
        ("role: *a", ":1:7:", "alias"),
        ("- a\n- b", ":1:1:", "a mapping of keys to values; this is a list"),
        ("just text", ":1:1:", "a mapping of keys to values; this is the text"),
        ("? [a]\n: b", ":1:3:", "a key must be one word"),
        (": b", ":1:1:", "key is missing"),
        ('role: "\\q"', ":1:", "escape"),
        ('role: "\\ud83d"', ":1:7:", "U+D83D"),
        ('role: "\\u0000"', ":1:7:", "U+0000"),
        ("role: \x1b[31m", ":1:7:", "U+001B"),
        ("role: @x", ":1:7:", "quotes"),
        ("<<: {role: x}\n", ":1:1:", "not known"),
        ("a: b\n---\nc: d\n", ":2:1:", "second document"),
        ("attributes: x", ":1:13:", "must be a mapping"),
        ("attributes: {a: [b]}", ":1:17:", "must be text"),
    ],
)
def test_each_mistake_is_told_with_its_place_and_a_mend(text: str, place: str, said: str) -> None:
    found = problems_of(text)
    assert any(place in problem and said in problem for problem in found), found


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"])
def test_an_empty_file_is_told(text: str) -> None:
    assert any("empty" in problem or "nothing about" in problem for problem in problems_of(text))


def test_a_pair_of_escapes_is_one_character() -> None:
    persona = validate(parse_yaml(WHO + 'name: "\\ud83d\\ude00"\n', HERE), Persona, defaults={"id": "x"})
    assert persona.name == "\U0001f600"


@pytest.mark.parametrize("deep", ["[" * 200_000, "- " * 200_000, "{a: " * 50_000, "? " * 200_000])
def test_nesting_is_bounded_without_recursion(deep: str) -> None:
    assert any(f"more than {MAX_DEPTH} levels" in problem for problem in problems_of(deep))


def test_aliases_cannot_multiply() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
    document = parse_yaml("\n".join(lines), HERE)
    assert document.root is not None
    assert len(str(document.root.to_data())) < 5_000
    assert sum("an alias" in problem.text for problem in document.problems) == 99


def test_a_flood_of_problems_is_cut() -> None:
    found = problems_of("".join(f"k{i}: 1\n" for i in range(400)))
    assert len(found) == 101
    assert "more problems" in found[-1]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_any_newline_with_or_without_byte_order_mark(tmp_path: Path, newline: str, mark: bytes) -> None:
    text = "name: Zoë\ndescription: |\n  Sells flowers in a small\n  shop by the harbour.\nrole: florist\n".replace(
        "\n", newline
    )
    persona = read_bytes(tmp_path, mark + text.encode())
    assert (persona.name, persona.role) == ("Zoë", "florist")
    assert persona.description == "Sells flowers in a small\nshop by the harbour."


def test_utf8_whatever_the_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert read_bytes(tmp_path, (WHO + "name: 直美\n").encode()).name == "直美"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
        ("name: x\n".encode("utf-16"), "UTF-16"),
        ("name: x\n".encode("utf-16-le"), "binary"),
        (b"name: x\nrole: caf\xe9\n", "x.yaml:2:10: the byte 0xE9 is not UTF-8"),
        (b"#" * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in refused(tmp_path, data)


def test_folders_pipes_missing_files_and_odd_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    for name, said in {
        "folder.yaml": "folder",
        "pipe.yaml": "not a regular file",
        "loop.yaml": "cannot be read",
        "missing.yaml": "no such file",
        "n" * 300 + ".yaml": "cannot be read",
        "a\0b.yaml": "cannot be read",
    }.items():
        with pytest.raises(DefinitionError, match=said):
            read_yaml(tmp_path / name, root=tmp_path)


def test_an_unreadable_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(WHO, encoding="utf-8")

    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(DefinitionError, match=r"Permission denied.*permissions"):
        read_yaml(path, root=tmp_path)


def test_a_link_out_of_the_study_is_refused_and_one_within_is_not(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (tmp_path / "secret.yaml").write_text(WHO, encoding="utf-8")
    (study / "real.yaml").write_text(WHO, encoding="utf-8")
    (study / "out.yaml").symlink_to(tmp_path / "secret.yaml")
    (study / "in.yaml").symlink_to("real.yaml")
    assert read_yaml(study / "in.yaml", root=study).root is not None
    with pytest.raises(DefinitionError, match="leads out of the study"):
        read_yaml(study / "out.yaml", root=study)


YAML_BITS = st.lists(
    st.sampled_from(
        [
            "name",
            "role",
            "description",
            "id",
            "attributes",
            ":",
            ": ",
            "\n",
            "  ",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ",",
            "|",
            ">",
            "\t",
            "'",
            '"',
            "\\",
            "&a",
            "*a",
            "!!int",
            "#",
            "%YAML 1.1\n",
            "---\n",
            "...\n",
            "? ",
            "~",
            "x y z a b c",
            "\x85",
            "\u2028",
            "é",
            "\\U99999999",
            "\\ud83d",
            "<<",
            "@",
            "`",
            "|9",
            ">-\n",
            "\ufeff",
            "%TAG ! x\n",
            "!<",
            "!x!y ",
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
        YAML_BITS.map(str.encode),
    )
)
def test_any_bytes_give_a_persona_or_a_definition_error(tmp_path: Path, data: bytes) -> None:
    try:
        persona = read_bytes(tmp_path, data)
    except DefinitionError as error:
        assert all(problem.text for problem in error.problems)  # noqa: PT017 - the other branch is as good
    else:
        assert persona.describe()
