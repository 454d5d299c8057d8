"""Replies in every shape that is known (``replies.yaml``), and what holds of any reply."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from simulator.code import extract
from simulator.code.dressings import read_notebook
from simulator.code.fences import find_blocks, split_lines

CORPUS: list[dict[str, Any]] = YAML(typ="safe").load((Path(__file__).parent / "replies.yaml").read_text("utf-8"))
UNCHECKED = "; not checked, for want of its grammar"
"""What is said where a grammar is not installed; it may be."""


@pytest.mark.parametrize("known", CORPUS, ids=[known["shape"] for known in CORPUS])
def test_what_is_in_a_reply_is_found(known: dict[str, Any]) -> None:
    found = extract(known["reply"], language=known.get("asked", "python"))
    assert (found.status, found.text) == (known["status"], known.get("code", ""))
    assert found.language == known.get("language", known.get("asked", "python"))
    assert found.chosen.removesuffix(UNCHECKED) == known["chosen"]
    assert found.left_out == known.get("left_out", "")


def test_the_shapes_are_many_and_none_stands_twice() -> None:
    assert len(CORPUS) >= 100
    assert len({known["shape"] for known in CORPUS}) == len({known["reply"] for known in CORPUS}) == len(CORPUS)


def named_blocks(words: str) -> list[int]:
    """Return the numbers of the blocks that ``chosen`` or ``left_out`` names."""
    numbers: list[int] = []
    for several, one in re.findall(r"\bblocks (\d+(?:, \d+)*)|\bblock (\d+)", words):
        numbers += [int(number) for number in (several or one).split(", ")]
    return numbers


pieces = st.sampled_from(
    [
        "```python\nx = 1\n```\n",
        "```python\ndef f():\n    return 1\n```\n",
        "```\nprint('hi')\n```\n",
        "```bash\nls\n```\n",
        "```json\n{}\n```\n",
        "```js\nlet a;\n```\n",
        "```python\n```\n",
        "```python\nx = (\n```\n",
        "```python\na = '''\n```\n",
        "'''\n```\n",
        "````markdown\n```python\ny = 2\n```\n````\n",
        ">>> x\n",
        "> ```python\n> z = 3\n> ```\n",
        "Words, only words.\n",
        "x = 5\n",
        "\n",
    ]
)


@given(st.lists(pieces, max_size=7).map("".join))
@settings(max_examples=300)
def test_every_block_is_chosen_or_left_out(reply: str) -> None:
    found = extract(reply)
    whole = found.chosen.startswith("the whole reply")
    if not whole and not found.chosen.startswith("nothing: the reply"):
        numbers = named_blocks(found.chosen) + named_blocks(found.left_out)
        assert sorted(numbers) == list(range(1, found.blocks + 1))
    if "'''" not in reply and "begins within" not in found.chosen:  # or else fences are paired otherwise
        assert found.blocks == len(find_blocks(reply))


@given(st.lists(pieces, max_size=7).map("".join))
def test_every_line_of_code_is_in_the_reply(reply: str) -> None:
    raw = {line.strip() for line in split_lines(reply)}
    for line in extract(reply).text.split("\n"):
        assert any(line.strip() in own for own in raw)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"cells": 3}',
        '{"cells": [3, null, {"cell_type": 4}, {"cell_type": "code", "source": 5}]}',
        '{"cells": [{"cell_type": "code", "source": [1, "x = 1"]}]}',
        '{"cells": ' + "[" * 100_000,
    ],
)
def test_what_is_hardly_a_notebook(text: str) -> None:
    assert read_notebook(text) in (None, [], ["x = 1"])
    assert extract(text).status in {"ok", "no_code", "unparsable"}


@pytest.mark.slow
def test_hardly_a_recorded_reply_has_code_that_does_not_parse(shared_data: Path) -> None:
    from simulator.imports import read_sensitivity

    tables, _ = read_sensitivity(shared_data / "recorded" / "prompt_variability" / "sample.jsonl.gz")
    answered = tables["codes"].filter(tables["replies"]["status"] == "ok")
    assert answered.height == 4_538
    assert (answered["status"] == "ok").sum() >= 4_536
    assert (answered["status"] == "unparsable").sum() <= 1
