"""Each feature on texts that have it and texts that nearly have it; the kinds; the table; what is no program."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from analysis.code.artefact import KINDS
from analysis.code.features import FEATURE_TABLE_SCHEMA, FEATURES_SCHEMA, feature_table, find_features, find_in_codes
from analysis.code.rules import builtin_rules
from command_line import ROOT
from simulator.engine import Engine, map_batches, read_parts
from simulator.errors import UsageError

LOOP = "for x in y:\n    print(x)\n    f(x)\n    g(x)\n    h(x)\n"

HAVE: list[tuple[str, str, int]] = [  # a feature, a text that has it, and the line that shows it
    ("classes", "x = 1\nclass A: pass", 2),
    ("functions", "class A:\n    def f(self): pass\n\n@d\ndef g(): pass", 5),
    ("inheritance", "class A(object): pass\nclass B(models.Model): pass", 2),
    ("main_guard", "x = 1\nif '__main__' == __name__:\n    f()", 2),
    ("type_hints", "def f(a):\n    pass\ndef g(a) -> int:\n    pass", 3),
    ("type_hints", "x: int = 1", 1),
    ("docstrings", "# a\n'''What it is.'''\nx = 1", 2),
    ("docstrings", "class A:\n    '''One.'''", 2),
    ("comments", "x = '# no'\ny = 1  # yes", 2),
    ("named_constants", "x = 1\nMAX_SIZE = 2", 2),
    ("tests", "def test_it():\n    pass", 1),
    ("tests", "import unittest as u", 1),
    ("tests", "x = 1\nassert x", 2),
    ("console_output", "x = 1\nprint 'a'", 2),
    ("console_output", "sys.stdout.write(x)", 1),
    ("user_input", "x = int(input('How many? '))", 1),
    ("command_line", "import sys\nx = sys.argv[1]", 2),
    ("command_line", "from argparse import ArgumentParser", 1),
    ("window", "from PyQt5.QtWidgets import QApplication", 1),
    ("web_interface", "from flask import Flask", 1),
    ("web_interface", "from aiohttp import web", 1),
    ("notebook_cells", "x = 1\n%matplotlib inline", 2),
    ("notebook_cells", "x = 1\n# %%\ny = 1", 2),
    ("random_numbers", "import random\nx = random.choice(y)", 2),
    ("random_numbers", "x = np.random.default_rng(1).normal()", 1),
    ("network", "import urllib.request", 1),
    ("plots", "import matplotlib.pyplot as plt", 1),
    ("error_handling", "try:\n    f()\nexcept A:\n    pass", 3),
    ("raises_errors", "def f():\n    raise A", 2),
    ("input_validation", "if x < 0:\n    raise ValueError('x')", 2),
    ("input_validation", "if not isinstance(x, int):\n    return None", 1),
    ("input_validation", "if x:\n    f()\nelse:\n    print('Invalid choice')", 4),
    ("logging", "import logging", 1),
    ("configuration", "with open('config.yaml') as file:\n    pass", 1),
    ("configuration", "from configparser import ConfigParser", 1),
    ("example", "x = 1\n# Example usage:\nf()", 2),
    ("example", "def f():\n    '''Do it.\n\n    Usage:\n        f()\n    '''", 4),
    ("storage_memory", "class A:\n    def __init__(self):\n        self.items = {}", 3),
    ("storage_memory", "class A:\n    def __init__(self):\n        self.items = defaultdict(list)", 3),
    ("storage_file", "df.to_csv('a.csv')", 1),
    ("storage_sqlite", "engine = create_engine('sqlite:///a.db')", 1),
    ("storage_orm", "from django.db import models", 1),
    ("storage_server", "url = 'postgresql+psycopg://u@host/db'", 1),
    ("storage_server", "import pymongo", 1),
    ("reads_files", "with open('a') as file:\n    pass", 1),
    ("reads_files", "file = open('a', 'rb')", 1),
    ("docker", "# docker run -p 80:80 me", 1),
    ("cloud", "import boto3", 1),
    ("environment_variables", "import os\nkey = os.environ['KEY']", 2),
    ("concurrency", "async def f():\n    pass", 1),
    ("concurrency", "from concurrent.futures import ThreadPoolExecutor", 1),
    ("passwords", "class User:\n    password = Column(String)", 2),
    ("passwords", "def login(self, name, user_password):\n    pass", 1),
    ("passwords", "user = {'name': n, 'password': p}", 1),
    ("hashing", "import hashlib", 1),
    ("authentication", "def authenticate_user(name):\n    pass", 1),
    ("authentication", "from flask_login import login_required", 1),
    ("sql_from_strings", "c.execute(f\"SELECT * FROM users WHERE name = '{name}'\")", 1),
    ("sql_from_strings", "c.execute('''\n    DELETE FROM users WHERE id = %s\n    ''' % id)", 2),
    ("sql_from_strings", "q = 'INSERT INTO a VALUES (' + x + ')'", 1),
    ("sql_from_strings", "q = 'SELECT a FROM b WHERE c = {}'.format(d)", 1),
    ("runs_text", "x = eval(y)", 1),
    ("placeholders", "def f():\n    pass\ndef g():\n    '''Do it.'''\n    pass", 2),
    ("placeholders", "x = 1\n# TODO: the rest", 2),
    ("placeholders", "key = 'your-api-key'", 1),
    ("placeholders", "def f():\n    raise NotImplementedError", 2),
    ("placeholders", "def f():\n    # Add your logic here\n    return 1", 2),
    ("other_files", "from .models import A", 1),
    ("other_files", "x = 1\ndata = pd.read_csv('sales.csv')", 2),
    ("other_files", "# git clone https://example.org/a.git", 1),
    ("framework:pandas", "import os, pandas as pd", 1),
    ("framework:scikit-learn", "from sklearn.cluster import KMeans", 1),
]

HAVE_NOT: list[tuple[str, str]] = [  # a feature, and a text that looks as if it had it
    ("classes", "x = 'class A: pass'"),
    ("functions", "class A:\n    @property\n    def f(self): pass"),
    ("inheritance", "class A(object, metaclass=M): pass"),
    ("main_guard", "if name == '__main__':\n    f()"),
    ("docstrings", "def f():\n    x = 1\n    'no docstring'"),
    ("named_constants", "class A:\n    MAX = 1\nx = 2"),
    ("tests", "def f(x):\n    assert x"),
    ("console_output", "x.print(1)"),
    ("random_numbers", "import random"),
    ("network", "import urllib.parse"),
    ("input_validation", "try:\n    f()\nexcept KeyError as e:\n    print('Error', e)"),
    ("configuration", "config = {}"),
    ("example", "# The usage of memory is small"),
    ("storage_memory", "class A:\n    def f(self):\n        self.items = []\n        open('a', 'w').write(self.items)"),
    ("storage_file", "webbrowser.open(url)"),
    ("reads_files", "open('a', 'w').write(x)"),
    ("passwords", "def generate_password(length):\n    return 'password'"),
    ("sql_from_strings", "c.execute('SELECT * FROM a WHERE b = ?', (b,))"),
    ("runs_text", "model.eval()"),
    ("placeholders", "class A:\n    def __init__(self):\n        pass"),
    ("placeholders", "@abstractmethod\ndef f(self):\n    pass"),
    ("placeholders", "class A(Exception):\n    pass"),
    ("other_files", "df.to_csv('a.csv')"),
    ("framework:pandas", "import pandas_like"),
]


def shown(text: str, **options: str) -> dict[str, int | None]:
    return {one.feature: one.line for one in find_features(text, **options)}  # type: ignore[arg-type]


@pytest.mark.parametrize(("feature", "text", "line"), HAVE)
def test_a_feature_is_found_at_the_line_that_shows_it(feature: str, text: str, line: int) -> None:
    found = {one.feature: one for one in find_features(text)}
    assert feature in found
    assert found[feature].line == line
    assert found[feature].text == text.split("\n")[line - 1].strip()


@pytest.mark.parametrize(("feature", "text"), HAVE_NOT)
def test_what_only_looks_like_a_feature_is_none(feature: str, text: str) -> None:
    assert feature not in shown(text)


def test_every_built_in_feature_is_tried() -> None:
    names = {name for name in builtin_rules().names() if not name.startswith("framework:")}
    assert {feature for feature, _, _ in HAVE} >= names - {"asks_back"}


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("snippet", "x = df.pivot(a, b)", 1),
        ("snippet", "def f(a):\n    x = 1\n    y = 2\n    z = 3\n    return x\n", 1),
        ("snippet", "# nothing but a comment", 1),
        ("function_library", "def f():\n    return 1\n@d\ndef g():\n    return 2\ndef h():\n    return 3\n", 1),
        ("script", "import os\n\n" + LOOP, 3),
        (
            "script",
            "def f():\n    a\n    b\n    c\n\ndef main():\n    f()\n\nif __name__ == '__main__':\n    main()\n",
            6,
        ),
        ("script", "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nx = 1\nf(x)\n", 6),
        ("snippet", "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nx = 1\ny = 2\n", 1),
        ("class_library", "x = 1\nclass A:\n    a = 1\n    b = 2\n    c = 3\n    d = 4\nprint(A())\n", 2),
        ("script", "class A:\n    a = 1\n" + LOOP, 3),
        ("cli", "import argparse\n" + LOOP, 1),
        ("cli", LOOP + "x = input()\n", 6),
        ("gui", "import tkinter\nx = input()\n" + LOOP, 1),
        ("web_app", "import streamlit as st\nimport tkinter\n", 1),
        ("notebook", "!pip install flask\nimport flask\n", 1),
    ],
)
def test_kinds_of_artefact(kind: str, text: str, line: int) -> None:
    first = find_features(text)[0]
    assert (first.feature, first.group, first.line) == (f"kind:{kind}", "kind", line)
    assert first.text == text.split("\n")[line - 1].strip()


def test_a_reply_without_code_is_questions_or_instructions() -> None:
    reply = "Happy to help.\n\nCould you tell me which database you use?"
    for text, whole in (("", reply), (reply, None)):
        kind, asks = find_features(text, reply=whole)[:2]
        assert (kind.feature, kind.line, asks.feature) == ("kind:questions", 3, "asks_back")
    reply = "\nOpen the settings and choose the printer."
    kind = find_features("", reply=reply)[0]
    assert (kind.feature, kind.line, kind.place) == ("kind:instructions", 2, "reply")
    assert shown("", reply="  \n ") == {"kind:none": None} == shown("")


def test_what_is_beside_the_code_is_looked_for_in_the_reply() -> None:
    reply = "Build it with Docker:\n```bash\ndocker build .\n```\n```python\nprint('Please provide it?')\n```\n"
    code = "print('Please provide it?')"
    docker = next(one for one in find_features(code, reply=reply) if one.feature == "docker")
    assert (docker.place, docker.line, docker.lines, docker.text) == ("reply", 1, 2, "Build it with Docker:")
    assert "docker" not in shown(code)
    assert "asks_back" not in shown(code, reply=reply)
    assert "asks_back" in shown(code, reply=reply + "Would you like me to add a test?")


def test_how_many_lines_show_it_and_a_long_line_is_cut() -> None:
    found = {one.feature: one for one in find_features(f"print(1); print(2)\nprint({'3' * 300})\n")}
    assert found["console_output"].lines == 2
    cut = {one.feature: one for one in find_features(f"# {'a' * 300}\nx = 1")}["comments"].text
    assert cut is not None
    assert len(cut) == 200
    assert cut.endswith("…")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        ("def f(:\n    print(1)\n", "unparsable"),
        ("x = 1\n" * 100_000, "too_large"),
        ("print 'a'\nexcept_ = 1\nprint `x`\n", "ok"),
        ("\x0cprint(1)\n\tprint(2)\n", "ok"),
        ("f(" * 30_000 + ")" * 30_000, "ok"),
        ("z = x" + ".y" * 60_000 + "()", "ok"),
        ("@a\n" * 20_000 + "def f(): pass", "ok"),
        ("if x: f()\n" + "elif x: f()\n" * 12_000, "ok"),
        ("print(" + '"error",' * 10_000 + ")", "ok"),
    ],
)
def test_any_text_has_values_or_a_status(text: str, status: str) -> None:
    found = find_features(text)
    assert {one.status for one in found} == {status}
    assert found[0].group == "kind"
    assert all(one.feature != "kind:none" for one in found) or status in ("empty", "too_large")


def test_in_another_language_only_text_is_looked_at() -> None:
    assert set(shown("FROM docker\nclass A {}\n" * 3, language="klingon")) == {"kind:none", "docker"}


def test_codes_become_rows_and_rows_a_table_by_persona() -> None:
    codes = pl.DataFrame(
        {
            "code": ["1", "2", "3", "4", "5"],
            "persona": ["ana", "bo", "ana", "bo", None],
            "text": ["import tkinter", "class A: pass\nclass B: pass", "# a\nclass C: pass", None, "class D: pass"],
        }
    )
    features = find_in_codes(codes)
    assert features.schema == FEATURES_SCHEMA
    assert features["code"].unique(maintain_order=True).to_list() == ["1", "2", "3", "4", "5"]
    table = feature_table(features, codes)
    assert table.schema == FEATURE_TABLE_SCHEMA
    classes = table.filter(pl.col("feature") == "classes").to_dicts()
    assert [(row["by"], row["codes"], row["having"], row["share"], row["lines"]) for row in classes] == [
        ("ana", 2, 1, 0.5, 1),
        ("bo", 2, 1, 0.5, 2),
    ]
    assert [(row["code"], row["line"], row["text"]) for row in classes] == [
        ("3", 2, "class C: pass"),
        ("2", 1, "class A: pass"),
    ]
    assert classes[0]["means"] == "It defines a class."
    window = table.filter(pl.col("feature") == "window").to_dicts()
    assert [(row["by"], row["having"], row["share"], row["code"]) for row in window] == [
        ("ana", 1, 0.5, "1"),
        ("bo", 0, 0.0, None),
    ]
    assert set(table["feature"]) == {
        "kind:gui",
        "kind:snippet",
        "kind:none",
        "window",
        "classes",
        "comments",
        "framework:tkinter",
    }
    order = table["feature"].unique(maintain_order=True).to_list()
    assert order == sorted(order, key=[*(f"kind:{kind}" for kind in KINDS), *builtin_rules().names()].index)
    shuffled = feature_table(features.sample(fraction=1, shuffle=True, seed=1), codes)
    assert shuffled.equals(table)
    assert find_in_codes(codes.clear()).schema == FEATURES_SCHEMA
    assert feature_table(features.clear(), codes.clear()).schema == FEATURE_TABLE_SCHEMA
    with pytest.raises(UsageError, match="persona is not there"):
        feature_table(features, codes.drop("persona"))


def test_it_runs_in_the_engine(tmp_path: Path) -> None:
    batches = [pl.DataFrame({"code": [f"{n}"], "text": [f"x = {n}\nclass A{n}: pass"]}) for n in range(3)]
    parts = map_batches(find_in_codes, batches, tmp_path / "features", engine=Engine(workers=2))
    found = pl.concat(list(read_parts(parts)))
    assert found.equals(pl.concat([find_in_codes(batch) for batch in batches]))


@pytest.mark.slow
def test_the_seed_of_hashes_changes_nothing() -> None:
    program = "import sys; from analysis.code.features import *; print(find_features(sys.stdin.read()))"
    text = "\n".join(text for _, text, _ in HAVE[:12])
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1
