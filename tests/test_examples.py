"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for room in ("simulator", "analysis", "reports")
    for path in (ROOT / room).rglob("*.py")
    if "\n    >>> " in path.read_text(encoding="utf-8") or "\n>>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_give_what_they_show(module: str) -> None:
    assert not doctest.testmod(import_module(module)).failed


def test_there_are_examples() -> None:
    assert len(WITH_EXAMPLES) > 40
