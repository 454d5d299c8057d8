"""How a run ends before its end: what people, programs and shells are told of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.errors import SociolectError
from simulator.running.start import Start, resume_command
from simulator.terminal import print_error, print_json

if TYPE_CHECKING:
    from simulator.running.progress import RunProgress

__all__ = ["FINISHING", "INTERRUPTED", "Ending", "print_ending"]

INTERRUPTED = 130
"""The exit status of a run that Ctrl-C or SIGTERM has stopped."""

FINISHING = "Finishing what is in flight; press Ctrl-C again to stop at once."
"""What is shown after the first Ctrl-C."""

_STOPPED = "Stopped; every finished reply is recorded."


class Ending:
    """Ends one run early, always with the command that goes on with it.

    Parameters
    ----------
    start
        How the run was asked for.
    folder
        Its folder.
    progress
        What is shown of it.
    """

    def __init__(self, start: Start, folder: Path, progress: RunProgress) -> None:
        self._start, self._folder, self._progress = start, folder, progress

    def interrupt(self, times: int) -> None:
        """Heed Ctrl-C: the first lets what is in flight be finished, the second ends the process."""
        if times == 1:
            self._progress.say(FINISHING)
            return
        self._progress.close()
        self.tell_interrupted()
        # Threads that wait for a model cannot be called back, and the journal needs no goodbye.
        os._exit(INTERRUPTED)

    def tell_interrupted(self) -> None:
        """Tell that the run was interrupted, and how to go on."""
        resume = resume_command(self._start, "interrupted")
        self._document("interrupted", _STOPPED, resume, INTERRUPTED)
        if not self._start.json:
            print_error(f"{_STOPPED} {_go_on('interrupted', resume)}")

    def explain(self, error: SociolectError) -> None:
        """Add to an error that ends a run the command that goes on with it; whoever prints the error prints both.

        An error before the first call, or one that no going on can mend, is left as it is.
        """
        if error.stops is not None:
            resume = resume_command(self._start, error.stops)
            error.add_note(_go_on(error.stops, resume))
            self._document(error.stops, str(error), resume, error.exit_status)

    def _document(self, why: str, text: str, resume: str, status: int) -> None:
        self._progress.stopped(why, text, resume=resume, status=status)
        if self._start.json:
            print_ending(self._folder, stopped={"why": why, "text": text, "resume": resume, "exit_status": status})


def _go_on(why: str, command: str) -> str:
    return f"Go on with{', and a larger budget' if why == 'budget' else ''}:\n  {command}"


def print_ending(
    folder: Path,
    *,
    report: str | None = None,
    failed: int | None = None,
    shards_to_go: list[str] | None = None,
    stopped: dict[str, object] | None = None,
    warnings: list[str] | None = None,
) -> None:
    """Print the document of ``run --json``: the same keys however it ends (`simulator.running.progress.events`)."""
    print_json(
        {
            "run": str(folder),
            "complete": stopped is None,
            "report": report,
            "failed": failed,
            "shards_to_go": shards_to_go or [],
            "stopped": stopped,
            "warnings": warnings or [],
        }
    )
