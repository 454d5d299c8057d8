"""What every test may use: a command line that runs as a process of its own, and a home of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from command_line import ROOT, Ended, Sociolect, start, wait_for


@pytest.fixture
def sociolect(tmp_path: Path) -> Sociolect:
    """Run ``sociolect ARGUMENTS`` as a person would, in an empty folder and without any key."""

    def run(*arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any) -> Ended:
        return wait_for(start(tmp_path, *arguments, environment=environment, **options))

    return run


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of data recorded by others, which is not part of the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder ../shared/data, recorded by others, is not here")
    return folder
