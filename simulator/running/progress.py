"""What a person sees while a campaign runs: how far it is, why it waits, when it will be done."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.text import Text

from simulator.running.campaign_run import StageProgress
from simulator.running.execution import Event
from simulator.terminal import printable

__all__ = ["RunProgress"]

_STYLE = {"ok": "green", "truncated": "yellow", "empty": "yellow", "refused": "yellow", "filtered": "yellow"}
_LINE_EVERY = 10.0
_VERBS = {"rewrite": "rewriting", "generate": "generating"}


class RunProgress:
    """Live progress on a terminal, a plain line now and then elsewhere; use as a context manager.

    The time still to go is reckoned from the replies of this start alone: those recorded before took none of its time.

    Parameters
    ----------
    console
        Where to draw; standard error, so that standard output stays a document.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rest]}"),
            console=console,
            auto_refresh=False,
        )
        self._live = Live(self, console=console, refresh_per_second=4, transient=False) if console.is_terminal else None
        self._task: TaskID | None = None
        self._stage = StageProgress("rewrite", 0)
        self._statuses: Counter[str] = Counter()
        self._known = 0
        self._begun = time.monotonic()
        self._waiting: dict[str, tuple[float, str]] = {}
        self._spoke = 0.0

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def __rich__(self) -> Group:
        """Return the bar and, below it, the models that wait and why."""
        now = time.monotonic()
        waits = [
            Text(
                f"  {model}: waits {until - now:.0f} s more: {printable(reason)}",
                style="yellow",
                overflow="ellipsis",
                no_wrap=True,
            )
            for model, (until, reason) in self._waiting.items()
            if until > now
        ]
        return Group(self._progress.get_renderable(), *waits)

    def begin_stage(self, stage: StageProgress) -> None:
        """Start the bar of a stage."""
        if self._task is not None:
            self._progress.update(self._task, rest=self._words(done=True))
        self._stage, self._begun = stage, time.monotonic()
        self._known, self._statuses = 0, Counter()
        self._waiting.clear()
        self._task = self._progress.add_task(f"{_VERBS[stage.stage]:10}", total=stage.total, rest="")
        self._speak(force=True)

    def report(self, event: Event) -> None:
        """Take note of one event."""
        if event.kind == "waiting":
            self._waiting[event.call.model] = (time.monotonic() + event.seconds, event.reason)
            if not self._live:
                self._console.print(
                    f"{event.call.model}: waits {event.seconds:.0f} s: {printable(event.reason)}",
                    markup=False,
                    highlight=False,
                )
            return
        self._waiting.pop(event.call.model, None)
        self._known += event.kind == "known"
        self._statuses[event.status] += 1
        if self._task is not None:
            self._progress.update(self._task, advance=1, rest=self._words())
        self._speak(force=sum(self._statuses.values()) == self._stage.total)

    def say(self, line: str) -> None:
        """Print one line above the bar."""
        self._console.print(line, markup=False, highlight=False)

    def _words(self, *, done: bool = False) -> str:
        statuses = " ".join(
            f"[{_STYLE.get(status, 'red')}]{count} {status}[/]" for status, count in sorted(self._statuses.items())
        )
        recorded_before = f" · {self._known} from before" if self._known else ""
        return f"{statuses}{recorded_before}{'' if done else self._eta()}"

    def _eta(self) -> str:
        asked = sum(self._statuses.values()) - self._known
        left = self._stage.total - sum(self._statuses.values())
        if not asked or not left:
            return ""
        seconds = (time.monotonic() - self._begun) / asked * left
        return f" · about {seconds / 60:.0f} min to go" if seconds >= 90 else f" · about {seconds:.0f} s to go"

    def _speak(self, *, force: bool) -> None:
        now = time.monotonic()
        if self._live or (not force and now - self._spoke < _LINE_EVERY):
            return
        self._spoke = now
        done = sum(self._statuses.values())
        words = Text.from_markup(self._words()).plain
        self._console.print(
            f"{_VERBS[self._stage.stage]}: {done}/{self._stage.total} {words}".rstrip(), markup=False, highlight=False
        )
