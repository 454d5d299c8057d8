"""What is shown while a campaign runs: on a terminal of any width, in a log, and to a program."""

import io
import json
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from simulator.definitions import load_campaign
from simulator.running.calls import Stage
from simulator.running.events import Event, Kind, StageProgress
from simulator.running.journal.entries import Spent
from simulator.running.progress import RunProgress, ceilings_of
from simulator.running.progress.tally import Ceilings

FAST, SLOW = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5"
CEILINGS: Ceilings = {"rewrite": {FAST: (32,)}, "generate": {FAST: (32,), SLOW: (8,)}}
HOSTILE = f"{SLOW} takes no more calls. \x1b[31m[bold]red[/bold]\x1b[0m\r\n\u202eNext {'very ' * 300}long"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """A progress that is told of events on a clock that stands still in between."""

    def __init__(self, *, width: int = 100, terminal: bool = False, events: bool = False, ascii_: bool = False) -> None:
        self.clock = Clock()
        self.raw = io.BytesIO()
        self.file = io.TextIOWrapper(self.raw, encoding="ascii" if ascii_ else "utf-8", write_through=True)
        self.console = Console(
            file=self.file,
            width=width,
            height=40,
            force_terminal=terminal,
            color_system=None,
            markup=False,
            emoji=False,
            highlight=False,
        )
        self.progress = RunProgress(self.console, ceilings=CEILINGS, events=events, clock=self.clock)

    def stage(
        self, stage: Stage = "generate", total: int = 100, done: int = 0, *, budget: float | None = None, **spent: Any
    ) -> None:
        self.progress.begin_stage(StageProgress(stage, total, done, Spent(**spent), budget))

    def tell(self, kind: Kind = "recorded", model: str = FAST, *, after: float = 0.0, **about: Any) -> None:
        self.clock.now += after
        about = {"status": "ok", "cost": 0.01, "limit": 1, "in_flight": 1, **about}
        self.progress.report(Event(kind, model, **about))

    def picture(self) -> str:
        with self.console.capture() as captured:
            self.console.print(self.progress._display)
        return captured.get()

    def lines(self) -> list[str]:
        return self.raw.getvalue().decode("utf-8").splitlines()

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


# -- how far it is, when it is done -----------------------------------------------------------------------------------


def test_what_earlier_starts_did_is_done_but_makes_no_rate() -> None:
    watched = Watched(terminal=True)
    watched.stage("rewrite", total=1000, done=900)
    assert "900/1,000" in watched.picture()
    assert "900 from before" in watched.picture()
    assert "to go" not in watched.picture()
    for _ in range(10):
        watched.tell(after=2.0, cost=0.0)
    assert "910/1,000" in watched.picture()
    assert "about 3.0 min to go" in watched.picture(), "90 calls at 2 s each: what is from before took none of its time"


def test_a_call_that_is_known_is_counted_once() -> None:
    watched = Watched(terminal=True)
    watched.stage("rewrite", total=10, done=4)
    for _ in range(4):
        watched.tell("known")
    assert " 4/10" in watched.picture()
    for _ in range(12):
        watched.tell()
    assert "10/10" in watched.picture()


def test_the_time_to_go_is_the_slowest_models() -> None:
    watched = Watched(terminal=True)
    watched.stage(total=400)
    for _ in range(10):
        for _ in range(10):
            watched.tell(after=1.0)
        watched.tell(model=SLOW)
    # Half of the calls are each model's: 190 are left to the slow one, at ten seconds each.
    assert "about 32 min to go" in watched.picture()


def test_after_a_change_of_limit_there_is_no_time_until_there_is_a_rate() -> None:
    watched = Watched(terminal=True)
    watched.stage("rewrite", total=1000)
    for _ in range(64):
        watched.tell(after=0.5, limit=8)
    assert "to go" in watched.picture().split("$")[0]
    watched.tell("limit", limit=4, reason="HTTP 429")
    assert "to go" not in watched.picture().split("$")[0]
    for _ in range(4):
        watched.tell(after=1.0, limit=4)
    assert "about 16 min to go" in watched.picture()


def test_statuses_are_told_apart() -> None:
    watched = Watched(terminal=True)
    watched.stage(total=10)
    for status in ("ok", "refused", "ok", "error", "truncated", "empty", "filtered"):
        watched.tell(status=status)
    shown = watched.picture()
    for words in ("2 ok", "1 refused", "1 error", "1 truncated", "1 empty", "1 filtered"):
        assert words in shown


def test_a_stage_of_nothing_is_done() -> None:
    watched = Watched(terminal=True)
    watched.stage(total=0)
    assert "0/0" in watched.picture()


# -- money ------------------------------------------------------------------------------------------------------------


def test_money_is_what_is_known_and_at_most_and_never_a_false_zero() -> None:
    watched = Watched(terminal=True)
    watched.stage("rewrite", total=100, done=10, cost=1.0, at_most=1.5, budget=20.0)
    watched.tell(cost=0.25)
    assert "$1.25 spent, at most $1.75" in watched.picture()
    assert "about $22.25 to go" in watched.picture(), "89 calls at what one has cost"
    assert "budget $20.00" in watched.picture()
    watched.tell(cost=None, cost_at_most=0.5)
    watched.tell("waiting", cost=None, cost_at_most=0.125)
    assert "$1.25 spent, at most $2.38" in watched.picture(), "a reply without a count of tokens, and a lost one"
    assert "not known" not in watched.picture()

    unpriced = Watched(terminal=True)
    unpriced.stage("rewrite", total=100)
    unpriced.tell(cost=None)
    assert "price not known" in unpriced.picture()
    assert "$" not in unpriced.picture()

    mixed = Watched(terminal=True)
    mixed.stage(total=100)
    mixed.tell(cost=0.5)
    mixed.tell(model=SLOW, cost=None)
    assert "$0.50 spent · price of 1 reply not known" in mixed.picture()
    assert "to go" not in mixed.picture()

    free = Watched(terminal=True)
    free.stage(total=100)
    free.tell(cost=0.0)
    assert "$0.00 spent" in free.picture()


# -- limits and waiting -----------------------------------------------------------------------------------------------


def test_each_model_has_its_limit_and_its_reason() -> None:
    watched = Watched(terminal=True, width=140)
    watched.stage(total=100)
    watched.tell(limit=8, in_flight=7)
    watched.tell("paused", SLOW, seconds=47.0, reason=f"{SLOW} takes no more calls", limit=3, in_flight=2)
    shown = watched.picture()
    assert re.search(r"gpt-4o-mini +7 in flight, limit 8 \(ceiling 32\)", shown)
    assert re.search(r"sonnet-4-5 +2 in flight, limit 3 \(ceiling 8\) +waits 47 s: takes no more calls", shown)
    watched.clock.now += 40
    assert "waits 7 s" in watched.picture()
    watched.clock.now += 8
    assert "waits" not in watched.picture()
    watched.tell("waiting", SLOW, seconds=4.0, reason="did not answer in time", limit=3, in_flight=2)
    assert "asks a call again in 4 s: did not answer in time" in watched.picture()


def test_a_wait_of_unknown_length_lasts_until_a_call_begins() -> None:
    watched = Watched(terminal=True)
    watched.stage(total=100)
    watched.tell("paused", SLOW, reason="all that is left is set aside", limit=4, in_flight=2)
    watched.clock.now += 1000
    assert "waits: all that is left is set aside" in watched.picture()
    watched.tell(model=SLOW, limit=4, in_flight=1)
    assert "waits" in watched.picture()
    watched.tell(model=SLOW, limit=4, in_flight=2)
    assert "waits" not in watched.picture()


# -- terminals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 40, 50, 80, 120, 200])
def test_every_line_fits_into_any_terminal_and_hostile_text_is_only_text(width: int) -> None:
    watched = Watched(terminal=True, width=width)
    watched.stage("rewrite", total=96, done=90)
    watched.tell()
    watched.stage(total=1_000_000, done=300_000, cost=1234.5, at_most=1300.0, budget=5000.0)
    for status in ("ok", "refused", "truncated", "error", "empty", "filtered"):
        watched.tell(status=status, limit=8)
    watched.tell("paused", SLOW, seconds=47.0, reason=HOSTILE, limit=3, in_flight=2)
    watched.tell(
        "waiting", "mock:\u6a21\u578b\u6a21\u578b\u6a21\u578b\x1b]0;x\x07", seconds=1.0, reason="[link=x]y[/link]"
    )
    shown = watched.picture()
    lines = shown.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 40
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\x07" not in shown
    if width >= 40:
        assert "[bold]red[/bold]" in shown, "markup in what others wrote is shown, not heeded"
        assert "300,006/1,000,000" in shown
        assert "budget $5,000.00" in shown


def test_a_terminal_without_unicode_gets_none() -> None:
    watched = Watched(terminal=True, ascii_=True)
    watched.stage(total=10, done=5)
    watched.tell(status="refused")
    assert watched.picture().isascii()
    assert "##" in watched.picture()


def test_the_picture_is_drawn_at_the_end_and_the_cursor_given_back() -> None:
    watched = Watched(terminal=True)
    with watched.progress as progress:
        watched.stage("rewrite", total=1)
        watched.tell(after=3.0)
        watched.stage(total=1)
        watched.tell(after=5.0)
        progress.say("a line\x1b[2J above")
    progress.close()
    shown = watched.raw.getvalue().decode()
    assert shown.endswith("\x1b[?25h")
    last = shown[shown.rindex("rewriting") :]
    assert "1/1" in last
    assert "done in 3 s" in last
    assert "done in 5 s" in last
    assert "in flight" not in last
    assert "\x1b[2J" not in shown


# -- a log ------------------------------------------------------------------------------------------------------------


def test_a_log_has_a_line_at_most_every_ten_seconds() -> None:
    watched = Watched()
    watched.stage("rewrite", total=1000)
    for _ in range(1000):
        watched.tell(after=0.1)
    assert 10 <= len(watched.lines()) <= 12
    assert watched.lines()[0].startswith("rewriting: 0/1,000")
    assert watched.lines()[-1] == "rewriting: 1,000/1,000, 1,000 ok, done in 100 s, $10.00 spent"


def test_a_log_tells_of_waiting_once_and_then_how_often() -> None:
    watched = Watched()
    watched.stage(total=1000)
    for number in range(5000):
        watched.tell("waiting", SLOW, after=0.01, seconds=1.5, reason=f"{SLOW} is busy", limit=8 - number // 1000)
        watched.tell("limit", SLOW, limit=8 - number // 1000, reason="busy")
    said = [line for line in watched.lines() if "again" in line]
    assert len(said) == 2
    assert said[0] == f"{SLOW}: asks a call again in 2 s: is busy"
    assert "times since the last such line" in said[1]
    assert [line for line in watched.lines() if "at once" in line] == [f"{SLOW}: 7 calls at once, 8 before: busy"]


def test_a_line_of_a_log_is_one_line_whatever_is_in_it() -> None:
    watched = Watched(width=40)
    watched.progress.say("a campaign in a folder with a long name " * 5 + "\n\x1b[31m")
    watched.stage()
    watched.tell("paused", SLOW, seconds=9.0, reason=HOSTILE)
    assert len(watched.lines()) == 3
    assert "\x1b" not in "".join(watched.lines())


def test_a_reader_who_has_gone_does_not_end_the_run() -> None:
    for events in (False, True):
        watched = Watched(events=events)
        watched.file.close()
        watched.progress.say("a line")
        watched.stage()
        watched.tell()


def test_a_terminal_that_cannot_move_its_cursor_gets_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    watched = Watched(terminal=True)
    with watched.progress:
        watched.stage(total=1)
        watched.tell()
    assert "\x1b" not in "".join(watched.lines())
    assert watched.lines()[-1].startswith("generating: 1/1")


# -- a program --------------------------------------------------------------------------------------------------------


def test_events_are_json_lines() -> None:
    watched = Watched(events=True)
    watched.progress.say("hello")
    watched.stage(total=100, done=10, cost=1.0, at_most=2.0, unpriced=3, budget=9.0)
    for _ in range(20):
        watched.tell(after=0.25, limit=2, in_flight=2)
    watched.tell("limit", SLOW, limit=4, reason="HTTP 429")
    for _ in range(50):
        watched.tell("waiting", SLOW, after=0.1, seconds=1.25, reason=HOSTILE)
    watched.tell("paused", SLOW, reason="budget")
    watched.progress.stopped("quota", "No more.", resume="sociolect run x", status=4)
    events = watched.events()
    assert [event["event"] for event in events[:2]] == ["note", "stage"]
    assert [event["elapsed"] for event in events] == sorted(event["elapsed"] for event in events)
    (stage,) = [event for event in events if event["event"] == "stage"]
    assert (stage["total"], stage["done"], stage["before"], stage["budget"]) == (100, 10, 10, 9.0)
    assert stage["cost"] == {"known": 1.0, "at_most": 2.0, "unpriced": 3}
    assert stage["seconds_left"] is None
    progress = [event for event in events if event["event"] == "progress"]
    assert 5 <= len(progress) <= 7, "at most one a second, and one at the end"
    assert progress[-1]["statuses"] == {"ok": 20}
    assert progress[-1]["done"] == 30
    assert progress[-1]["models"][FAST] == {"in_flight": 2, "limit": 2, "ceiling": 32}
    waiting = [event for event in events if event["event"] == "waiting"]
    assert 5 <= len(waiting) <= 6
    assert waiting[0]["reason"] == HOSTILE
    assert sum(event["times"] for event in waiting) >= 41
    assert next(event for event in events if event["event"] == "paused")["seconds"] is None
    assert next(event for event in events if event["event"] == "limit")["ceiling"] == 8
    assert events[-1] == {
        "event": "stopped",
        "elapsed": events[-1]["elapsed"],
        "why": "quota",
        "text": "No more.",
        "resume": "sociolect run x",
        "exit_status": 4,
    }


def test_a_campaigns_ceilings_are_by_stage_and_model() -> None:
    ceilings = ceilings_of(load_campaign("personas-quickstart", model="mock"))
    assert ceilings["rewrite"] == ceilings["generate"] == ceilings["pilot"] == {"mock": (16,)}
