"""A key that a server is sent is nowhere else: no file, output or traceback holds it, nor eight characters of it."""

import html
import json
import signal
import sqlite3
import subprocess
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from openai_server import Answer, OpenAIServer, completion, failure

from command_line import ROOT, Ended, start, start_program, wait_for

KEYS = [
    pytest.param("sk-proj-Xq7Vb2Wn9Kz4Lm8Rt3Yp6Hd1Gf5Jc0S_uNmIsTaKaBlE-42", id="as OpenAI's"),
    pytest.param("Xq7Vb2Wn9Kz4Lm8Rt3Yp6Hd1", id="as anybody's"),
    pytest.param("""ab"Kq7<Vz9>&Wx2\\Yr4'Tb6/Nc8+Md0=Pf3%41{Jh5}$Gs1;Lw""", id="of unusual characters"),
]
LONGEST_PART = 7
"""Characters of a key that may stand somewhere by chance, or shortened by a provider: ``sk-proj****``."""

CAMPAIGN = """
name: secret
study: personas
tasks: [calculator]
prompts:
  from: short
  personas: [john, harold]
  iterations: 3
  model: {{model: "openai:served", base_url: "{url}", parallel: 2, params: {{timeout: {timeout}}}}}
generate:
  models: [{{model: "openai:served", base_url: "{url}", parallel: 2, params: {{timeout: {timeout}}}}}]
  sample: 2
seed: 7
"""


class Secret:
    """A server that repeats the key wherever it can, a study that calls it, and everything that comes of that."""

    def __init__(self, folder: Path, key: str, script: Callable[[str], Answer]) -> None:
        self.folder, self.key, self.script = folder, key, script
        self.printed: list[str] = []
        self.requests = 0
        self.keys: set[str] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> "Secret":
        self.server = OpenAIServer(self._answer).__enter__()
        self.write()
        return self

    def __exit__(self, *exception: object) -> None:
        self.server.__exit__(None, None, None)

    def write(self, timeout: float = 20.0) -> None:
        text = CAMPAIGN.format(url=self.server.base_url, timeout=timeout)
        (self.folder / "secret.yaml").write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return {"SOCIOLECT_KEYS_FOR": f"{self.server.place}=SERVED_SECRET", "SERVED_SECRET": self.key}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return start(self.folder, "run", "secret.yaml", *arguments, environment=self.environment)

    def run(self, *arguments: str) -> Ended:
        return self.keep(wait_for(self.start(*arguments)))

    def keep(self, ended: Ended) -> Ended:
        self.printed += [ended.out, ended.err]
        return ended

    def _answer(self, _: dict[str, Any]) -> Answer:
        headers = {name.lower(): value for name, value in self.server.requests[-1].headers.items()}
        sent = headers["authorization"]
        with self._lock:
            self.keys.add(sent.removeprefix("Bearer "))
            self.requests += 1
        return self.script(sent)


WRITINGS: list[Callable[[str], str]] = [
    str,
    lambda one: json.dumps(one)[1:-1],
    html.escape,
    lambda one: html.escape(json.dumps(one)[1:-1]),
    urllib.parse.quote,
    lambda one: urllib.parse.quote_plus(one, safe=""),
    lambda one: one.translate({92: "\\\\", 39: "\\'"}),
]
"""A character of a key as it stands, and as it stands in JSON, HTML, both, an address, and a Python text."""


def parts_of(key: str) -> set[str]:
    """Every part of eight characters, however they are written."""
    length = LONGEST_PART + 1
    written = [[write(one) for one in key] for write in WRITINGS]
    return {"".join(form[at : at + length]) for form in written for at in range(len(key) - length + 1)}


def texts_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below a folder as text, byte by byte; databases and Parquet also as what they hold."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = str(path.relative_to(folder))
        yield name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield f"{name}, read", pl.read_parquet(path).write_ndjson()
        if path.suffix == ".sqlite":
            # Only read: who writes would put the log into the file, and delete it.
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
                yield f"{name}, dumped", "\n".join(connection.iterdump())


def places_with(key: str, texts: list[tuple[str, str]]) -> list[str]:
    parts = parts_of(key)
    return [f"{place}: {part}" for place, text in texts for part in parts if part in text]


def check(secret: Secret) -> None:
    files = [
        (name, text) for name, text in texts_in(secret.folder) if not name.endswith(".py") and name != "secret.yaml"
    ]
    assert secret.keys == {secret.key}  # it was sent, else there would be nothing to look for
    assert any(name.endswith("journal.sqlite, dumped") for name, _ in files)
    printed = [(f"printed {number}", text) for number, text in enumerate(secret.printed)]
    assert any(text for _, text in printed)
    assert places_with(secret.key, files + printed) == []


def echo(sent: str, status: int = 200, *, text: str = "") -> Answer:
    """An answer that repeats the key in every place that an answer has."""
    key = sent.removeprefix("Bearer ")
    headers = {"X-Echo": sent, "X-Request-Id": key}
    if status != 200:
        shortened = f"{key[:12]}...{key[-12:]}, {key[: len(key) // 2]}"
        answer = failure(status, f"Incorrect API key provided: {key}. Got {sent!r}, {shortened}", code=key)
        return Answer(status, answer.body, headers)
    wanted = f"Please write me a calculator with tests and a menu. {text}"
    return Answer(200, completion(wanted, model=f"served {key}", finish="stop").body, headers)


@pytest.fixture(name="secret", params=KEYS)
def _secret(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Secret]:
    with Secret(tmp_path, request.param, echo) as secret:
        yield secret


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    key = "Xq7Vb2Wn9Kz4Lm8Rt3Yp6Hd1"
    pl.DataFrame({"text": ["a" * 9999, f"x {key[3:12]} y"] * 99}).write_parquet(tmp_path / "a.parquet")
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as connection:
        connection.execute("CREATE TABLE t(x TEXT)")
        connection.execute("INSERT INTO t VALUES (?)", (f"{'a' * 3}{key[-8:]}",))
        connection.commit()
    (tmp_path / "c.html").write_text("nothing", encoding="utf-8")
    found = places_with(key, list(texts_in(tmp_path)))
    assert {place.split(":")[0].split(",")[0] for place in found} == {"a.parquet", "b.sqlite"}


@pytest.mark.slow
def test_a_run_that_succeeds(secret: Secret) -> None:
    secret.script = lambda sent: echo(sent, text=f"Connect with {sent}, or {sent.removeprefix('Bearer ')!r}.")
    ended = secret.run("--json")
    assert ended.status in {0, 3}, ended
    (run,) = (secret.folder / "runs").iterdir()
    texts = pl.read_parquet(run / "tables" / "replies.parquet")["text"]
    assert all("[key]" in text for text in texts)
    check(secret)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 400])
def test_a_run_that_fails(secret: Secret, status: int) -> None:
    secret.script = lambda sent: echo(sent, status)
    ended = secret.run("--no-retry")
    assert ended.status in {2, 3, 4}, ended
    assert secret.requests
    check(secret)


@pytest.mark.slow
def test_a_run_that_fails_without_json(secret: Secret) -> None:
    def script(sent: str) -> Answer:
        page = f"<p>{html.escape(sent)}</p><p>{sent}</p><a href='/?{urllib.parse.quote(sent)}'>{json.dumps(sent)}</a>"
        return Answer(500, page.encode(), {"Content-Type": "text/html"})

    secret.script = script
    assert secret.run("--no-retry").status in {3, 4}
    check(secret)


FAULTY = """
import sys
sys.path.insert(0, sys.argv[1])
import sociolect
from simulator.running.models import langchain_models

def fail(*arguments, **named):
    raise RuntimeError("an injected fault")

langchain_models.explain_failure = fail
sys.exit(sociolect.main(["run", "secret.yaml"]))
"""


@pytest.mark.slow
def test_a_run_that_crashes_with_a_traceback(secret: Secret) -> None:
    secret.script = lambda sent: echo(sent, 401)
    ended = secret.keep(wait_for(start_program(secret.folder, FAULTY, ROOT, environment=secret.environment)))
    assert ended.status == 1, ended
    assert "an injected fault" in ended.err
    assert "Traceback" in ended.err
    check(secret)


@pytest.mark.slow
def test_a_run_that_times_out(secret: Secret) -> None:
    secret.write(timeout=0.3)
    secret.script = lambda sent: Answer(200, echo(sent).body, {"X-Echo": sent}, "stall")
    assert secret.run("--no-retry").status in {3, 4}
    check(secret)


@pytest.mark.slow
def test_a_run_that_is_killed(secret: Secret) -> None:
    """Its write-ahead log lies beside the journal."""
    started = threading.Event()
    process: list[subprocess.Popen[str]] = []

    def script(sent: str) -> Answer:
        if secret.requests == 5:
            started.wait()
            process[0].kill()
        return echo(sent, text=f"Connect with {sent}.")

    secret.script = script
    process.append(secret.start())
    started.set()
    assert secret.keep(wait_for(process[0])).status == -signal.SIGKILL
    (run,) = (secret.folder / "runs").iterdir()
    assert (run / "journal.sqlite-wal").stat().st_size > 0
    logs = [(name, text) for name, text in texts_in(secret.folder) if name.endswith("-wal")]
    assert any("[key]" in text for _, text in logs)
    check(secret)
