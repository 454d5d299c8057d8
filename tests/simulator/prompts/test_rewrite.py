"""The message that asks a model to rewrite: values never change its structure, and a bad template is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.definitions.persona import Persona
from simulator.errors import UsageError
from simulator.prompts import TEMPLATE_VARIABLES, find_template_problems, render_rewrite
from simulator.prompts.rewrite import ENOUGH_WORDS, describe_briefly, read_template
from simulator.running.calls import Form

ANA = Persona(
    id="ana",
    name="Ana",
    role="nurse on a children's ward",
    education="A degree of three years",
    tools=("Excel",),
    not_known=("programming",),
    goals=("few steps", "large type"),
    communication="Says who does what and when.",
    attributes={"age": "38"},
)
ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
HOSTILE = st.one_of(
    ANYTHING,
    st.sampled_from(
        [
            "{{ 7 * 7 }}",
            "{% raw %}",
            "{# #}",
            '"',
            '" \n\nWho: me',
            "a\u2028b",
            "a\x85b\x00c",
            "＂",
            "“”",
            "${name}",
            "\\",
        ]
    ),
)


def test_chat_is_one_user_message_without_stops_that_holds_persona_and_task_as_they_are() -> None:
    messages, stop = render_rewrite(ANA, 'Say "hi"\n\nin {{ two }} lines', form="chat")
    assert stop == ()
    assert [message.role for message in messages] == ["user"]
    assert 'Say "hi"\n\nin {{ two }} lines' in messages[0].text
    assert ANA.describe() in messages[0].text


def test_completion_ends_on_an_opening_quote_and_stops_at_the_closing_one() -> None:
    (message,), stop = render_rewrite(ANA, "Write code to plan a roster", form="completion")
    assert message.role == "user"
    assert message.text.endswith('Task: Write code to plan a roster\nWords: "')
    assert stop == ('"',)
    assert "Ana" not in message.text


@given(task=HOSTILE, role=HOSTILE)
def test_no_value_changes_the_structure_of_a_completion(task: str, role: str) -> None:
    persona = ANA.model_copy(update={"role": role})
    plain = render_rewrite(ANA, "plain", form="completion")[0][0].text
    text = render_rewrite(persona, task, form="completion")[0][0].text
    assert text.count('"') == plain.count('"')
    assert len(text.splitlines()) == len(plain.splitlines())
    labels = [line.split(":")[0] for line in plain.splitlines()]
    assert [line[: len(label)] for line, label in zip(text.splitlines(), labels, strict=True)] == labels


@given(task=HOSTILE, description=HOSTILE)
def test_a_chat_holds_every_value_untouched(task: str, description: str) -> None:
    persona = ANA.model_copy(update={"description": description})
    text = render_rewrite(persona, task, form="chat")[0][0].text
    frame = read_template("chat").split("-#}\n")[1].strip()
    assert text == frame.replace("{{ persona }}", persona.describe(), 1).replace("{{ task }}", task, 1)


def test_quotes_become_typographic_in_the_direction_they_face() -> None:
    text = render_rewrite(ANA, 'A "big" button ("go"), 5" wide', form="completion")[0][0].text
    assert "Task: A “big” button (“go”), 5” wide\n" in text


def test_a_brief_description_leaves_a_life_out_only_where_the_rest_says_enough() -> None:
    assert describe_briefly(ANA) == (
        "Nurse on a children's ward. Age: 38. Uses Excel. Does not know programming. Wants: few steps; large type. "
        "Says who does what and when."
    )
    bare = Persona(id="ben", name="Ben", role="baker", experience="Ten years of bread", background="Grew up in a mill")
    assert describe_briefly(bare) == "Baker. Grew up in a mill. Ten years of bread."
    assert len(describe_briefly(bare).split()) < ENOUGH_WORDS


def test_personas_that_differ_in_an_attribute_are_told_apart_in_both_forms() -> None:
    other = ANA.model_copy(update={"attributes": {"age": "83"}})
    for form in ("chat", "completion"):
        assert render_rewrite(ANA, "x", form=form) != render_rewrite(other, "x", form=form)


def test_a_template_of_the_user_stands_in_place_of_the_built_in_one() -> None:
    template = "{% if name %}{{ name }} is {% endif %}{{ persona | upper }}\r\nwants {{ task }}.\n\n"
    (message,), stop = render_rewrite(ANA, "a <b> & {{ c }}", form="chat", template=template)
    assert message.text == f"Ana is {ANA.describe().upper()}\nwants a <b> & {{{{ c }}}}."
    assert stop == ()


@pytest.mark.parametrize(("ending", "stop"), [('"', '"'), ("“", "”"), ("«", "»"), (":", "\n\n")])
def test_a_completion_stops_at_the_partner_of_the_mark_that_its_template_ends_on(ending: str, stop: str) -> None:
    template = "{{ persona }} {{ task }} " + ending
    assert render_rewrite(ANA, "x", form="completion", template=template)[1] == (stop,)


def test_a_persona_without_a_name_has_an_empty_one() -> None:
    persona = Persona(id="x", description="Someone who keeps bees in a small town")
    text = render_rewrite(persona, "t", form="chat", template="[{{ name }}]{{ persona }}{{ task }}")[0][0].text
    assert text.startswith("[]Someone")


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{{ persona }}", "it never uses `task`"),
        ("{{ task }}", "it never uses `persona`"),
        ("", "it never uses `persona`"),
        ("{# {{ task }} #}{{ persona }}", "it never uses `task`"),
        ("{{ persona }}{{ task }}\n\n{{ taks }}", "line 3: there is no variable `taks`"),
        ("{{ persona }}{{ task }}\n{% if age %}x{% endif %}", "line 2: there is no variable `age`"),
        ("{{ persona }}\n{{ task", "line 2: "),
        ("{{ persona }}\n{% nonsense %}{{ task }}", "line 2: Encountered unknown tag 'nonsense'"),
        ("{{ persona }}\n{{ task | shout }}", "line 2: No filter named 'shout'"),
        ("{{ persona }}{{ task }}\n{% include '/etc/passwd' %}", "line 2: a template stands alone"),
        ("{{ persona }}{{ task }}\n{% extends 'x' %}", "line 2: a template stands alone"),
        ("{{ persona }}\n{{ task }}\n{{ 1 / 0 }}", "line 3: division by zero"),
        ("{{ persona }}{{ task }}\n{{ task.__class__ }}", "line 2: access to attribute '__class__'"),
        ("{{ persona }}{{ task }}\n{{ task.nothing }}", "line 2: "),
        ("{{ persona }}{{ task }}\n{{ task.upper }}", "line 2: only text and numbers can be printed"),
        ("{{ persona }}{{ task }}{{ [1] | random }}", "No filter named 'random'"),
        ("{{ persona }}{{ task }}{{ lipsum() }}", "there is no variable `lipsum`"),
        ("{{ persona }}{{ task }}\n{% for i in range(999999999) %}{% endfor %}", "line 2: Range too big"),
        ("{{ persona }}{{ task }}" + "{% if 1 %}" * 3000, "nested too deeply"),
    ],
)
@pytest.mark.parametrize("form", ["chat", "completion"])
def test_an_unusable_template_is_named_with_its_line_and_the_known_variables(
    template: str, told: str, form: Form
) -> None:
    with pytest.raises(UsageError) as caught:
        render_rewrite(ANA, "a task", form=form, template=template)
    assert told in str(caught.value)
    assert all(f"`{name}`" in str(caught.value) for name in TEMPLATE_VARIABLES)
    assert "\n" not in str(caught.value)


@given(st.text(st.sampled_from("{}%#-|()[]'\" \nabpersontak0.~"), max_size=80) | ANYTHING)
def test_any_template_is_either_rendered_or_refused(template: str) -> None:
    try:
        render_rewrite(ANA, "a task", form="chat", template=template)
    except UsageError:
        return
    assert find_template_problems(template) == ()


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_the_built_in_templates_have_no_problem(form: Form) -> None:
    assert find_template_problems(read_template(form)) == ()
