"""How a run was asked for, and the command that goes on with it when it has stopped."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from simulator.running.models.failures import scrub

__all__ = ["Start", "resume_command"]


@dataclass(frozen=True, slots=True)
class Start:
    """The arguments of ``sociolect run``."""

    campaign: str
    model: str | None = None
    retry: bool = False
    no_retry: bool = False
    budget: float | None = None
    prices: Path | None = None
    shard: str | None = None
    study: Path = Path()
    runs: Path = Path("runs")
    json: bool = False

    @property
    def command(self) -> str:
        """The command line, quoted for a shell; what looks like a key in it is cut out.

        >>> Start("my study.yaml", budget=12.5, shard="1/2", retry=True).command
        "sociolect run 'my study.yaml' --retry --budget 12.5 --shard 1/2"
        """
        last = self.campaign.startswith("-")
        words = ["sociolect", "run", *([] if last else [self.campaign])]
        words += _option("--model", self.model)
        words += [name for name, given in (("--retry", self.retry), ("--no-retry", self.no_retry)) if given]
        words += _option("--budget", None if self.budget is None else f"{self.budget!r}".removesuffix(".0"))
        words += _option("--prices", self.prices)
        words += _option("--shard", self.shard)
        words += _option("--study", None if self.study == Path() else self.study)
        words += _option("--runs", None if self.runs == Path("runs") else self.runs)
        words += [*(["--json"] if self.json else []), *(["--", self.campaign] if last else [])]
        return shlex.join(scrub(word) for word in words)


def _option(name: str, value: object) -> list[str]:
    if value is None:
        return []
    return [f"{name}={value}"] if str(value).startswith("-") else [name, str(value)]


def resume_command(start: Start, why: str) -> str:
    """Return the command that goes on with a run that stopped: what an outage left as errors is asked again."""
    return replace(start, retry=start.retry or why == "outage").command
