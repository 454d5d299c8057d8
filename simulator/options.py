"""The options and arguments that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["JsonOption", "RunArgument", "StudyOption"]

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, such as runs/NAME-1a2b3c4d.")]
StudyOption = Annotated[Path, typer.Option("--study", help="The study folder, where your own YAML is looked up.")]
