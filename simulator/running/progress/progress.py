"""What is shown while a campaign runs: how far it is, what it costs, why it waits, when it will be done.

On a terminal a picture that changes in place; elsewhere a line now and then (`simulator.running.progress.log`); for
programs one JSON object a line (`simulator.running.progress.events`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from simulator.running.models import describe_model
from simulator.running.plan import label_of, models_of
from simulator.running.progress.drawing import draw_stage, one_line
from simulator.running.progress.events import ProgressEvents
from simulator.running.progress.log import ProgressLog
from simulator.running.progress.tally import Ceilings, Tally

if TYPE_CHECKING:
    from simulator.definitions import Study
    from simulator.running.events import Event, StageProgress

__all__ = ["ProgressPicture", "RunProgress", "ceilings_of"]


def ceilings_of(study: Study) -> Ceilings:
    """Return by stage and model the most calls at once of each of its entries in a campaign."""
    ceilings: dict[str, dict[str, tuple[int, ...]]] = {"pilot": {}}
    for stage, chosen in models_of(study).items():
        entries = {label_of(choice, params): (choice.model, params) for choice, params in chosen}
        each = ceilings.setdefault(stage, {})
        for name, params in entries.values():
            each[name] = (*each.get(name, ()), describe_model(name, params).parallel)
    ceilings["pilot"] = {name: parallel for each in ceilings.values() for name, parallel in each.items()}
    return ceilings


class _Display(Protocol):
    """A way to show what happens. What changes the tally is told under a lock, one at a time."""

    def open(self) -> None: ...
    def close(self) -> None: ...
    def begin(self, tally: Tally, /) -> None: ...
    def show(self, tally: Tally, event: Event, /) -> None: ...
    def say(self, line: str, /) -> None: ...
    def stop(self, tally: Tally | None, ending: dict[str, object], /) -> None: ...


class RunProgress:
    """The progress of one run; use as a context manager.

    It may be told of events by one thread while another one draws.

    Parameters
    ----------
    console
        Where to draw; standard error, so that standard output stays a document.
    ceilings
        By stage and model the most calls at once of each of its entries in the campaign.
    events
        Whether to write JSON lines for programs in place of anything for people.
    clock
        Returns seconds that only grow.
    """

    def __init__(
        self,
        console: Console,
        *,
        ceilings: Ceilings | None = None,
        events: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ceilings = ceilings or {}
        self._clock = clock
        self._lock = threading.RLock()
        self._tally: Tally | None = None
        self._display: _Display
        if events:
            self._display = ProgressEvents(console, clock)
        elif console.is_terminal and not console.is_dumb_terminal:
            self._display = ProgressPicture(console, clock, self._lock)
        else:
            self._display = ProgressLog(console, clock)

    def __enter__(self) -> Self:
        self._display.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was. May be called more than once."""
        self._display.close()

    def begin_stage(self, stage: StageProgress) -> None:
        """Begin the bar of a stage."""
        with self._lock:
            self._tally = Tally.begin(stage, self._ceilings, self._clock())
            self._display.begin(self._tally)

    def report(self, event: Event) -> None:
        """Take note of one event."""
        with self._lock:
            if self._tally is not None:
                self._tally.note(event, self._clock())
                self._display.show(self._tally, event)

    def say(self, line: str) -> None:
        """Show one line for people."""
        self._display.say(line)

    def stopped(self, why: str, text: str, *, resume: str, status: int) -> None:
        """Tell a program that the run ends before its end; people are told by whoever ends it."""
        self._display.stop(self._tally, {"why": why, "text": text, "resume": resume, "exit_status": status})


class ProgressPicture:
    """A terminal: a picture that is drawn again four times a second, in place.

    Parameters
    ----------
    console, clock
        As of `RunProgress`.
    lock
        Held by whoever changes a tally; taken by the thread that draws.
    """

    def __init__(self, console: Console, clock: Callable[[], float], lock: threading.RLock) -> None:
        self._console, self._clock, self._lock = console, clock, lock
        self._tally: Tally | None = None
        self._left: list[tuple[Tally, float]] = []
        self._closed: float | None = None
        self._live = Live(self, console=console, refresh_per_second=4, transient=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, plain = options.max_width, options.ascii_only
        lines: list[Text] = []
        with self._lock:
            now = self._clock() if self._closed is None else self._closed
            for tally, ended in self._left:
                lines += draw_stage(tally, console, width, ended, plain=plain, left=True)
            if self._tally is not None:
                ended_now = self._closed is not None
                lines += draw_stage(self._tally, console, width, now, plain=plain, ended=ended_now)
        for line in lines:
            line.no_wrap = True
        yield from lines

    def open(self) -> None:
        """Begin to draw."""
        self._live.start()

    def close(self) -> None:
        """Draw how it ended, and give the cursor back."""
        if self._closed is None:
            self._closed = self._clock()
            self._live.stop()

    def begin(self, tally: Tally) -> None:
        """Draw a stage below the earlier ones."""
        if self._tally is not None:
            self._left.append((self._tally, self._clock()))
        self._tally = tally

    def show(self, _tally: Tally, _event: Event) -> None:
        """Let it be seen when the picture is drawn next."""

    def say(self, line: str) -> None:
        """Print a line above the picture."""
        self._console.print(one_line(line))

    def stop(self, _tally: Tally | None, _ending: dict[str, object]) -> None:
        """Leave it to whoever ends the run."""
