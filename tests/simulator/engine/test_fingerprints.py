import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from batch_functions import doubled, failing, marked
from pydantic import BaseModel

from command_line import ROOT
from simulator.engine.fingerprints import fingerprint, pickle_function
from simulator.errors import UsageError

ANY: Callable[..., Any] = doubled
OTHER: Callable[..., Any] = failing
"""Functions of a module; they are not called here, so anything may be bound to them."""


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Options(BaseModel):
    rate: float = 0.5
    names: set[str] = set()


def test_each_argument_and_the_version_count() -> None:
    functions: list[Callable[..., Any]] = [ANY, partial(ANY)]
    values: list[Any] = [
        *(
            None,
            True,
            1,
            1.0,
            "1",
            b"1",
            2.5,
            "",
            (),
            [],
            {},
            set(),
            frozenset(),
            Path("a"),
            Path("b"),
            doubled,
            failing,
        ),
        *(["a", "b"], ["ab"], [["a"], "b"], ("a", "b"), {"a": "b"}, {"b": "a"}, {"a", "b"}, {"a,b"}, "a,b"),
        *(Colour.RED, Colour.BLUE, Point(1, 2), Point(2, 1), Options(), Options(rate=0.1), Options(names={"x", "y"})),
        *(pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]}), pl.DataFrame({"b": [1]}), partial(marked, "a")),
    ]
    functions += [partial(ANY, value) for value in values]
    functions += [partial(ANY, first=1), partial(ANY, second=1), partial(ANY, 1, 1), partial(OTHER, 1)]
    found = [fingerprint(function) for function in functions] + [fingerprint(ANY, "2"), fingerprint(ANY, "22")]
    assert len(set(found)) == len(found)


def test_equal_arguments_are_the_same_in_every_process() -> None:
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from batch_functions import doubled\n"
        "from simulator.engine.fingerprints import fingerprint\n"
        "words = [chr(97 + n) * 3 for n in range(20)]\n"
        "print(fingerprint(partial(doubled, set(words), dict.fromkeys(words, words[0]), at=Path('x')), '1'))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, str(ROOT), str(ROOT / "tests")],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    words = ["".join([chr(97 + n)] * 3) for n in reversed(range(20))]
    same = {word: "".join(["a"] * 3) for word in words}
    assert found == {fingerprint(partial(ANY, set(words), same, at=Path("x")), "1")}


def nested() -> Callable[[pl.DataFrame], pl.DataFrame]:
    def inner(frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    return inner


@pytest.mark.parametrize("function", [lambda frame: frame, nested(), partial(nested()), partial(ANY, key=nested())])
def test_a_function_without_a_name_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="Define it at the top of a module"):
        fingerprint(function)


def test_a_function_of_the_main_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubled, "__module__", "__main__")
    with pytest.raises(UsageError, match=r"__main__.doubled cannot be mapped"):
        fingerprint(doubled)


def test_an_argument_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(UsageError, match="Bind to it only what can be pickled"):
        pickle_function(partial(ANY, threading.Lock()))
