"""Whether a rewrite can be used: real good ones pass, each kind of bad one has its status, and any text has one."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.prompts import judge_rewrite
from simulator.prompts.rewrite import read_template
from simulator.running.calls import Form
from simulator.running.replies import REPLY_STATUSES, Reply, ReplyStatus
from simulator.running.variants import VARIANT_STATUSES

CALCULATOR = "Write code to make a calculator"
SHOP = "Write code for a database for an online bicycle shop"
REPORTS = "Write code to generate accounting reports"


def judge(text: str, task: str = CALCULATOR) -> tuple[str, str]:
    _, status, note = judge_rewrite(Reply("ok", text), task_text=task, form="chat")
    return status, note


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Could you make me a calculator with big buttons, please?", CALCULATOR),
        ("I need something that can add and subtract the marks of my pupils.", CALCULATOR),
        ("I'm sorry to bother you, but I can't work out sums by hand; could you help me?", CALCULATOR),
        ("Sure! Please write something that adds up marks.", CALCULATOR),
        ("Let's build a calculator together; could you write the part that divides?", CALCULATOR),
        ("I can't provide the old calculator, so start afresh.", CALCULATOR),
        ("I can't use the command line, so please let the calculator have a window.", CALCULATOR),
        ("Okay, imagine a till that adds up what people buy.", CALCULATOR),
        ("Here is what I need: a calculator for a script of mine.", CALCULATOR),
        ("Here's my problem: the tool I use to add up marks is broken.", CALCULATOR),
        ("To mark essays I add up points. Can you write something for that?", CALCULATOR),
        (
            "A calculator, in one class:\n- add(a, b)\n- divide(a, b), with an error at zero\nPlease test it.",
            CALCULATOR,
        ),
        ("Please use `decimal` for the sums; x = 0.1 + 0.2 must print 0.3.", CALCULATOR),
        ("Design the schema: bikes, customers, orders; foreign keys everywhere; PostgreSQL.", SHOP),
        ("We sell cycles on the web and want to keep track of stock.", SHOP),
        ("Create tables for frames and wheels, with prices.", SHOP),
        (
            "What came in and what went out, per month, on one page.\n```\n2024-01-05;rent;-500\n```\nAs above.",
            REPORTS,
        ),
        ("Print my ledger by quarter.", REPORTS),
        ("Bitte schreib mir etwas, das Zahlen zusammenrechnet und das Ergebnis anzeigt.", CALCULATOR),
        ("足し算と引き算ができるものを作ってください。", CALCULATOR),
        ("Ich brauche einen Rechner.", "Schreibe einen Taschenrechner"),
        ("Anything at all, as long as it runs.", "Write a program"),
    ],
)
def test_a_request_in_anybodys_words_is_ok(text: str, task: str) -> None:
    assert judge(text, task) == ("ok", "")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Sure, I can help you with that! What should it do?", "answered"),
        ("OK, I will create a calculator. I will use it when I need it.", "answered"),
        ("Certainly! Here's a simple calculator.", "answered"),
        ("Here is the prompt: Could you make a calculator?", "answered"),
        ("Here's a Python program that adds two numbers.", "answered"),
        ("Okay, here is a rewritten version: make a calculator", "answered"),
        ("**Prompt:** Make me a calculator", "answered"),
        ("I'd be happy to help you make a calculator.", "answered"),
        ("Hello! How can I help you with your calculator today?", "answered"),
        ("What kind of calculator would you like me to build?", "answered"),
        ("To make a calculator, you can use the following steps.", "answered"),
        ("Make me a calculator.\nAssistant: Sure!", "answered"),
        ("As an AI language model, I like calculators.", "answered"),
        ("I'm sorry, but I can't assist with that request.", "refused"),
        ("As an AI, I cannot help with calculators.", "answered"),
        ("I’m unable to help with this.", "refused"),
        ("```python\nprint(1 + 1)\n```", "code"),
        ("A calculator:\n\n```\ndef add(a, b):\n    return a + b\n", "code"),
        ("def add(a, b):\n    return a + b\n\nprint(add(1, 2))", "code"),
        ("import math\nx = input()\nprint(math.sqrt(float(x)))", "code"),
        (CALCULATOR, "echo"),
        ("“Write code to make a calculator.”", "echo"),
        ("I want a calculator that says check twenty servers, mail me any disk under ten percent free", "echo"),
        ("I would like to see the orbits of the planets in the sky.", "off_task"),
        ("Yes.", "off_task"),
        ("", "empty"),
        (' "" \n', "empty"),
        ("- …", "empty"),
        ("\u200b\ufeff", "empty"),
    ],
)
def test_what_is_not_a_request_has_a_status_and_a_reason(text: str, status: str) -> None:
    found, note = judge(text)
    assert (found, bool(note)) == (status, True)


@pytest.mark.parametrize(
    "text",
    [
        "As an English teacher, I need a calculator for marks.",
        "My name is Harold and I need a calculator.",
        "I am a teacher at a school and need a calculator.",
        "He needs a calculator with big buttons.",
    ],
)
def test_naming_who_asks_is_noted_and_stays_usable(text: str) -> None:
    status, note = judge(text)
    assert status == "ok"
    assert "asking" in note or "third person" in note


@pytest.mark.parametrize("text", ["As a result, the calculator shows a sum.", "I am a bit lost with my calculator."])
def test_what_only_looks_like_naming_has_no_note(text: str) -> None:
    assert judge(text) == ("ok", "")


@pytest.mark.parametrize("status", [status for status in REPLY_STATUSES if status != "ok"])
def test_a_reply_without_an_answer_keeps_its_status(status: ReplyStatus) -> None:
    text, found, note = judge_rewrite(Reply(status, ' "half a '), task_text=CALCULATOR, form="chat")
    assert (text, found) == ('"half a', status)
    assert note


def test_the_reason_of_an_error_is_passed_on() -> None:
    reply = Reply("error", error="the server closed the connection")
    assert judge_rewrite(reply, task_text=CALCULATOR, form="chat") == ("", "error", "the server closed the connection")


def test_a_completion_that_ended_by_length_has_no_closing_quote() -> None:
    reply = Reply("ok", "A calculator that", finish="length")
    assert judge_rewrite(reply, task_text=CALCULATOR, form="completion")[1] == "truncated"
    assert judge_rewrite(reply, task_text=CALCULATOR, form="chat")[1] == "ok"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ('"Add two numbers"', "Add two numbers"),
        ('"Add two numbers",', "Add two numbers"),
        ("“Add two numbers”\n", "Add two numbers"),
        ("'Don't add'", "Don't add"),
        ("`Add`", "Add"),
        ('"Add a "plus" button"', 'Add a "plus" button'),
        ('"Add" and "subtract"', '"Add" and "subtract"'),
        ("'Add' and 'subtract'", "'Add' and 'subtract'"),
        ('Press "add"', 'Press "add"'),
        ('"add', '"add'),
        ("add,", "add,"),
        ("« Additionne »", "Additionne"),
        ("Here it is:\n\n Add.", "Here it is:\n\n Add."),
    ],
)
def test_only_white_space_and_enclosing_quotes_are_removed(text: str, cleaned: str) -> None:
    assert judge_rewrite(Reply("ok", text), task_text=CALCULATOR, form="chat")[0] == cleaned


@given(
    text=st.text() | st.text(st.sampled_from("\"'“”`~ \n,.{}();=aeiou")),
    task=st.text(),
    status=st.sampled_from(REPLY_STATUSES),
    form=st.sampled_from(["chat", "completion"]),
)
def test_any_text_has_a_status_and_cleaning_only_removes_from_the_ends(
    text: str, task: str, status: ReplyStatus, form: Form
) -> None:
    cleaned, found, note = judge_rewrite(Reply(status, text), task_text=task, form=form)
    assert found in VARIANT_STATUSES
    assert cleaned in text
    assert found == "ok" or note
    assert judge_rewrite(Reply(status, text), task_text=task, form=form) == (cleaned, found, note)


@settings(max_examples=30)
@given(st.text(st.characters(categories=["L", "P", "Zs"]), min_size=1, max_size=4))
def test_a_reply_of_megabytes_is_judged(part: str) -> None:
    text = part * (2_000_000 // len(part))
    assert judge_rewrite(Reply("ok", text), task_text=CALCULATOR, form="chat")[1] in VARIANT_STATUSES


def test_the_examples_of_the_template_are_known_as_echoes() -> None:
    examples = [line.split('"')[1] for line in read_template("completion").splitlines() if line.count('"') == 2]
    assert len(examples) == 2
    assert [judge(example)[0] for example in examples] == ["echo", "echo"]


def test_recorded_rewrites_of_another_model_pass_but_for_the_four_that_are_none(shared_data: Path) -> None:
    lines = (shared_data / "recorded/persona_rewrites/rewrites.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    judged = [(record["text"], *judge(record["text"], record["prompt"])) for record in records]
    refused = sorted((status, text[:9]) for text, status, _ in judged if status != "ok")
    # Two introductions without a rewrite, and two openings of a fence with nothing in it.
    assert refused == [
        ("answered", "Here are "),
        ("answered", "Here are "),
        ("code", "```python"),
        ("code", "```python"),
    ]
    assert [note for _, status, note in judged if status == "ok" and note] == []
