"""The options and arguments that several verbs share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "AddressOption",
    "BudgetOption",
    "CampaignArgument",
    "EngineOption",
    "EntitiesOption",
    "JsonOption",
    "ModelOption",
    "PricesOption",
    "RulesOption",
    "RunArgument",
    "RunsOption",
    "StudyOption",
    "WorkersOption",
    "read_dollars",
]


def read_dollars(text: str) -> float:
    """Return an amount of US dollars that is more than nothing.

    Raises
    ------
    typer.BadParameter
        It is none.

    Examples
    --------
    >>> read_dollars("12.50")
    12.5
    """
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount > 0):
        raise typer.BadParameter(f"{text!r} is no amount of US dollars that is more than 0; write one such as 12.50.")
    return amount


AddressOption = Annotated[
    str | None,
    typer.Option("--address", metavar="ADDRESS", help="Of a Ray cluster that runs already, such as 10.0.0.1:6379."),
]
BudgetOption = Annotated[
    float | None,
    typer.Option(
        "--budget",
        parser=read_dollars,
        metavar="DOLLARS",
        help="Spend this much at most, earlier starts of the run included. Of n shards each may spend an n-th.",
    ),
]
CampaignArgument = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A built-in campaign's name or a YAML file.")]
EngineOption = Annotated[
    Literal["local", "ray"],
    typer.Option("--engine", help="Compute in processes of this machine, or on a Ray cluster (extra `cluster`)."),
]
EntitiesOption = Annotated[
    Path | None, typer.Option("--entities", metavar="FILE", help="YAML of your own entities, merges and stops.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="Use this model in place of the campaign's.")]
PricesOption = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Prices that go before the study's and the built-in.")
]
RulesOption = Annotated[
    Path | None, typer.Option("--rules", metavar="FILE", help="YAML of further features to look for in code.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, such as runs/NAME-1a2b3c4d.")]
RunsOption = Annotated[Path, typer.Option("--runs", help="Where run folders are kept.")]
StudyOption = Annotated[Path, typer.Option("--study", help="The study folder, where your own YAML is looked up.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Processes at once; by default one a core.")
]
