"""A user's own rules: what they find, and what is said where they are wrong."""

import pickle
from pathlib import Path

import pytest

from analysis.code.features import find_features
from analysis.code.rules import Rules, builtin_rules, read_rules
from simulator.errors import DefinitionError

OWN = """\
language: python
features:
  retries:
    group: care
    means: It tries again what has failed.
    unless: [tests]
    signs:
      - imports: [tenacity]
      - query: |
          (decorator (call function: (identifier) @text)) @shown
          (function_definition name: (identifier) @text) @shown
          (function_definition name: (identifier) @except (#eq? @except "retry_never"))
        matching: ^retry
      - text: (?i)\\btry again\\b
        in: reply
        given: [network]
  classes:
    means: Our own word for it.
    signs:
      - text: ^class
frameworks:
  tenacity: [tenacity]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(DefinitionError) as raised:
        read_rules(write(folder, text))
    return [str(problem).removeprefix(f"{folder / 'rules.yaml'}:") for problem in raised.value.problems]


def lines(text: str, rules: Rules, reply: str | None = None) -> dict[str, int | None]:
    return {one.feature: one.line for one in find_features(text, rules=rules, reply=reply) if one.group != "kind"}


def test_own_rules_stand_after_the_built_in_ones_and_may_replace_them(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, OWN))
    assert rules.names() == (*builtin_rules().names(), "retries", "framework:tenacity")
    assert next(one for one in rules.features if one.name == "classes").group == "own"
    alone = read_rules(
        write(tmp_path, OWN.replace("[tests]", "[]").replace("        given: [network]\n", "")), builtin=False
    )
    assert alone.names() == ("retries", "classes", "framework:tenacity")
    assert lines("import tenacity\nclass A: pass", alone) == {"retries": 1, "classes": 2, "framework:tenacity": 1}


def test_what_own_rules_find(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, OWN))
    assert lines("x = 1\n@retry(3)\ndef f(): return 1", rules)["retries"] == 2
    assert lines("def retry_it():\n    return 1", rules)["retries"] == 1
    assert "retries" not in lines("def f():\n    return retry", rules)
    assert "retries" not in lines("import unittest\nimport tenacity", rules), "unless there are tests"
    assert "retries" not in lines("x = 1", rules, "Please try again."), "nothing given"
    assert lines("import requests", rules, "a\nPlease try again.\n")["retries"] == 2


def test_the_node_that_is_taken_out_is_the_one_that_was_shown(tmp_path: Path) -> None:
    text = """\
language: python
features:
  own:
    means: A function but one.
    signs:
      - query: |
          (function_definition name: (identifier) @shown)
          (function_definition name: (identifier) @except (#any-of? @except "f" "g"))
"""
    rules = read_rules(write(tmp_path, text), builtin=False)
    assert lines("def f(): return 1\ndef h(): return 2", rules) == {"own": 2}
    assert lines("def f(): return 1\ndef g(): return 2", rules) == {}


def test_rules_can_be_sent_to_another_process(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, OWN))
    again = pickle.loads(pickle.dumps(rules))
    assert again == rules
    assert hash(again) == hash(rules)


HEAD = "language: python\nfeatures:\n  own:\n    means: It does.\n    signs:\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            HEAD + "      - text: '(a'\n",
            "6:15: `features.own.signs[1].text` cannot be used: it is no regular expression",
        ),
        (HEAD + "      - text: 'a(?=b)'\n", "look-around"),
        (
            HEAD + "      - query: (fun) @shown\n",
            "6:16: `features.own.signs[1].query` is no query for python: invalid node type",
        ),
        (HEAD + "      - query: |\n          (call\n            (flour) @shown)\n", "in row 2, column"),
        (HEAD + "      - query: (call\n", "it ends within a bracket; close what is opened"),
        (HEAD + "      - query: (call) @seen\n", "no node is captured as `@shown`"),
        (
            HEAD + '      - query: ((call) @shown (#match? @shown "a"))\n',
            "the predicate `#match?` is not used in rules; write the pattern under `matching`",
        ),
        (HEAD + "      - query: ((call) @shown (#is? local))\n", "use #eq?"),
        (HEAD + "      - text: a\n        imports: [b]\n", "this one has `imports` and `text`; make a sign each"),
        (HEAD + "      - in: reply\n", "this one has none of them"),
        (HEAD + "      - imports: [a]\n        matching: b\n", "`matching` is for what a `query` captures"),
        (HEAD + "      - imports: [a]\n        in: reply\n", "only `text` is looked for outside the code"),
        (HEAD + "      - text: a\n        in: answer\n", "must be one of 'code', 'reply' or 'beside', but is `answer`"),
        (HEAD + "      - txt: a\n", "6:9: the key `txt` is not known here; did you mean `text`?"),
        (
            HEAD + "      - text: a\n        given: [clases]\n",
            "7:16: there is no feature `clases`; did you mean `classes`?",
        ),
        (HEAD + "      - text: a\n        given: [storage_memory]\n", "depends on features itself"),
        (HEAD + "      []\n", "is an empty list; name at least one"),
        ("language: python\nfeatures:\n  own:\n    signs:\n      - text: a\n", "`features.own.means` is missing"),
        (
            "language: python\nfeatures:\n  our own:\n    means: a\n    signs:\n      - text: a\n",
            "`our own` is no name of a feature",
        ),
        ("language: klingon\nfeatures:\n  own:\n    means: a\n    signs:\n      - query: (a) @shown\n", "pip install"),
        ("language: javascript\nframeworks:\n  react: [react]\n", "known of Python alone"),
        ("language: python\nframeworks:\n  react: []\n", "names no module"),
        ("features: {}\n", "`language` is missing"),
        ("language: [python\n", "2:1: a list or mapping in brackets"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_its_mend(tmp_path: Path, text: str, told: str) -> None:
    found = faults(tmp_path, text)
    assert len(found) >= 1
    assert told in "\n".join(found)
    assert all(fault[0].isdigit() for fault in found)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"none\.yaml: there is no such file"):
        read_rules(tmp_path / "none.yaml")


def test_no_pattern_takes_longer_than_the_text_is_long(tmp_path: Path) -> None:
    rules = read_rules(write(tmp_path, HEAD + "      - text: ^(a+)+$\n"), builtin=False)
    assert lines("a" * 100_000 + "!", rules) == {}
