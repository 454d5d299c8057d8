"""The whole path, as processes: from YAML to a report, interrupted in every way, with models that answer anything."""

import os
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from command_line import Sociolect

CAMPAIGN = """
name: small
study: personas
tasks: [calculator, bicycle-shop]
prompts: {from: short, personas: [john, harold, ethan], iterations: 2, model: MODEL, temperature: 1.0, max_tokens: 200}
generate: {models: [MODEL], sample: 1, repeats: 1, temperature: 0, max_tokens: 400}
seed: 7
"""
CALLS = 3 * 2 * 2 + 3 * 2

MODEL = """
import os, signal
from pathlib import Path
from simulator.running.calls import Call
from simulator.running.models.mock import MockModel

LOG = Path(os.environ["ASKED"])
DIE_AT = int(os.environ.get("DIE_AT", "0"))
INTERRUPT_AT = os.environ.get("INTERRUPT_AT", "").split()

def answer(call: Call) -> str:
    with LOG.open("a") as log:
        log.write(call.key + "\\n")
    asked = len(LOG.read_text().split())
    if asked == DIE_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    if str(asked) in INTERRUPT_AT:
        os.kill(os.getpid(), signal.SIGINT)
    TEXT
"""
PLAIN = """return f"Please write me a calculator or a bicycle shop number {call.seed}, with tests and a menu." \\
        if call.stage == "rewrite" else f"```python\\nfor i in range({call.seed % 7}):\\n    print(i)\\n```\""""


def study(folder: Path, answer: str = PLAIN) -> Path:
    (folder / "model.py").write_text(MODEL.replace("TEXT", answer), encoding="utf-8")
    campaign = folder / "small.yaml"
    campaign.write_text(CAMPAIGN.replace("MODEL", "mock:model.py"), encoding="utf-8")
    return campaign


def asked(folder: Path) -> Counter[str]:
    return Counter((folder / "asked").read_text().split())


def results(run: Path) -> dict[str, bytes]:
    """Every file that is made from the records, but for the two columns that are measured anew."""
    files = {
        str(path.relative_to(run)): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and not path.name.startswith(("journal.", "replies."))
    }
    replies = pl.read_parquet(run / "tables" / "replies.parquet").drop("seconds", "attempts")
    return {**files, "replies": replies.write_csv().encode()}


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param((1, 5, 13, CALLS), marks=pytest.mark.slow, id="four"),
        pytest.param(tuple(range(1, 5 * CALLS)), marks=pytest.mark.prove, id="at every call"),
    ],
)
def test_a_run_killed_again_and_again_equals_one_that_was_not(
    tmp_path: Path, sociolect: Sociolect, kills: tuple[int, ...]
) -> None:
    campaign = study(tmp_path)
    whole = sociolect("run", campaign, "--runs", "whole", "--json", environment={"ASKED": str(tmp_path / "asked")})
    assert whole.status == 0, whole.err
    assert sum(asked(tmp_path).values()) == CALLS
    once = set(asked(tmp_path))
    (tmp_path / "asked").unlink()

    in_flight = 0
    for kill_at in kills:
        killed = sociolect(
            "run", campaign, "--runs", "killed", environment={"ASKED": str(tmp_path / "asked"), "DIE_AT": str(kill_at)}
        )
        in_flight += killed.status == -9
        if killed.status == 0:
            break
    assert in_flight >= 3
    last = sociolect("run", campaign, "--runs", "killed", "--json", environment={"ASKED": str(tmp_path / "asked")})
    assert last.status == 0, last.err

    assert set(asked(tmp_path)) == once
    name = Path(whole.document()["run"]).name
    assert results(tmp_path / "killed" / name) == results(tmp_path / "whole" / name)


@pytest.mark.slow
def test_a_finished_call_is_never_asked_again(tmp_path: Path, sociolect: Sociolect) -> None:
    campaign = study(tmp_path)
    environment = {"ASKED": str(tmp_path / "asked"), "DIE_AT": "14"}
    assert sociolect("run", campaign, environment=environment).status == -9
    (run,) = (tmp_path / "runs").iterdir()
    finished = sociolect("status", run, "--json").document()
    recorded = sum(row["count"] for row in finished["replies"])
    assert finished["to_ask"]["generate"] > 0
    before = asked(tmp_path)
    assert sociolect("run", campaign, environment={"ASKED": environment["ASKED"]}).status == 0
    again = {key: count for key, count in asked(tmp_path).items() if count > 1}
    assert sum(before.values()) - recorded >= len(again)
    assert sociolect("status", run, "--json").document()["to_ask"] == {"rewrite": 0, "generate": 0}
    total = sum(asked(tmp_path).values())
    assert sociolect("run", campaign, environment={"ASKED": environment["ASKED"]}).status == 0
    assert sum(asked(tmp_path).values()) == total


@pytest.mark.slow
@pytest.mark.parametrize(("interrupt_at", "words"), [("3", "Stopped"), ("3 4", "Stopped; every finished reply")])
def test_one_interrupt_drains_and_two_stop(tmp_path: Path, sociolect: Sociolect, interrupt_at: str, words: str) -> None:
    campaign = study(tmp_path)
    environment = {"ASKED": str(tmp_path / "asked"), "INTERRUPT_AT": interrupt_at}
    ended = sociolect("run", campaign, environment=environment)
    assert ended.status == 130, ended.err
    assert "press Ctrl-C again" in ended.err
    assert words in ended.err
    assert "Traceback" not in ended.err
    (run,) = (tmp_path / "runs").iterdir()
    recorded = sum(row["count"] for row in sociolect("status", run, "--json").document()["replies"])
    if interrupt_at == "3":
        assert recorded == sum(asked(tmp_path).values()) < CALLS
    assert sociolect("run", campaign, environment={"ASKED": environment["ASKED"]}).status == 0
    assert len(asked(tmp_path)) == CALLS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "status", "reply", "variant"),
    [
        ('return ""', 3, "empty", "empty"),
        ("return \"I'm sorry, but I can't help with that.\"", 3, "refused", "refused"),
        ('return "Write a calculator or bicycle shop " + "\\ud83d now, please."', 3, "ok", "ok"),
        ('return "Write a calculator or a bicycle shop. " + "very " * 2_000_000', 3, "ok", "too_long"),
        ('return "Write a <script>alert(1)</script> calculator or bicycle shop \\x00 \\u202e now."', 3, "ok", "ok"),
    ],
    ids=["nothing", "refusal", "half a surrogate pair", "10 MB", "markup"],
)
def test_models_that_answer_anything(
    tmp_path: Path, sociolect: Sociolect, answer: str, status: int, reply: str, variant: str
) -> None:
    campaign = study(tmp_path, answer)
    ended = sociolect("run", campaign, "--json", environment={"ASKED": str(tmp_path / "asked")})
    assert ended.status == status, ended.err
    assert "Traceback" not in ended.err
    run = tmp_path / ended.document()["run"]
    replies = pl.read_parquet(run / "tables" / "replies.parquet")
    assert set(replies["status"]) == {reply}
    variants = pl.read_parquet(run / "tables" / "variants.parquet")
    assert variants.height == 12
    assert set(variants["status"]) == {variant}
    page = (run / "report.html").read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert "<script>alert(1)" not in page


@pytest.mark.slow
def test_a_full_disk_ends_with_one_paragraph_and_the_run_goes_on_later(tmp_path: Path, sociolect: Sociolect) -> None:
    import resource

    campaign = study(tmp_path, PLAIN + ' + "\\n# " + "x" * 40_000')
    environment = {"ASKED": str(tmp_path / "asked")}

    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))

    full = sociolect("run", campaign, environment=environment, preexec_fn=limit)
    assert full.status == 4, full.err
    assert "Traceback" not in full.err
    assert "Everything recorded before is kept" in full.err
    assert sociolect("run", campaign, environment=environment).status == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert pl.read_parquet(run / "tables" / "replies.parquet").height == CALLS


def test_bad_input_is_one_paragraph(tmp_path: Path, sociolect: Sociolect) -> None:
    campaign = study(tmp_path)
    good = campaign.read_text(encoding="utf-8")
    for text, words in [
        (good.replace("[john, harold, ethan]", "[]"), "persona"),
        (good.replace("bicycle-shop", "bicyle-shop"), "bicycle-shop"),
        (good.replace("harold", "harald"), "harold"),
        (good.replace("mock:model.py", "mock:nothere.py"), "nothere.py"),
        (good.replace("mock:model.py", '"openai:gpt-4o-mini"'), "OPENAI_API_KEY"),
        (good.replace("mock:model.py", '"nobody:nothing"'), "nobody"),
        (good.replace("iterations: 2", "iterations: two"), "iterations"),
        ("", "empty"),
    ]:
        campaign.write_text(text, encoding="utf-8")
        ended = sociolect("run", campaign, environment={"ASKED": os.devnull})
        assert ended.status == 2, (words, ended.err)
        assert words in ended.err
        assert "Traceback" not in ended.err
        assert ended.out == ""
    assert not (tmp_path / "runs").exists()


def test_the_version_and_the_help_are_quick_to_find(sociolect: Sociolect) -> None:
    assert re.fullmatch(r"sociolect \d+\.\d+\.\d+\n", sociolect("--version").out)
    shown = sociolect("--help")
    assert shown.status == 0
    for verb in (
        "init",
        "persona",
        "task",
        "plan",
        "run",
        "status",
        "analyze",
        "report",
        "overlap",
        "export",
        "doctor",
    ):
        assert re.search(rf"^\s+{verb}\s", shown.out, re.MULTILINE), verb
    assert sociolect("nosuchverb").status == 2
    assert sociolect("status", "nowhere").status == 2


@pytest.mark.slow
def test_report_and_export_never_show_an_earlier_campaign(tmp_path: Path, sociolect: Sociolect) -> None:
    campaign = study(tmp_path)
    environment = {"ASKED": str(tmp_path / "asked")}
    assert sociolect("run", campaign, environment=environment).status == 0
    (run,) = (tmp_path / "runs").iterdir()
    text = campaign.read_text(encoding="utf-8").replace("[john, harold, ethan]", "[brad]")
    campaign.write_text(text, encoding="utf-8")
    killed = sociolect("run", campaign, environment={**environment, "DIE_AT": str(CALLS + 2)})
    assert killed.status == -9
    exported = sociolect("export", run, "--format", "jsonl", "--json")
    assert exported.status == 0, exported.err
    speakers = (run / "export" / "texts.jsonl").read_text(encoding="utf-8")
    assert '"john"' not in speakers
    assert "John" not in (run / "report.html").read_text(encoding="utf-8")
    assert sociolect("report", run, "--json").status == 0


def test_what_the_system_does_not_do_is_said_in_a_sentence(tmp_path: Path, sociolect: Sociolect) -> None:
    def full() -> None:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)

    def gone() -> None:
        folder = tmp_path / "gone"
        folder.mkdir()
        os.chdir(folder)
        folder.rmdir()

    for arguments, before in [
        (["persona", "list"], full),
        (["persona", "list", "--json"], full),
        (["persona", "list"], gone),
        (["status", "x" * 300], None),
        (["plan", "personas-quickstart"], gone),
    ]:
        ended = sociolect(*arguments, preexec_fn=before)
        assert ended.status in (2, 4), (arguments, ended)
        assert "Traceback" not in ended.err, (arguments, ended.err)
        assert ended.err.startswith("sociolect: ")
