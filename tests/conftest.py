"""What every test may use: a command line that runs as a process of its own, and a home of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from command_line import Ended, Sociolect

ROOT = Path(__file__).parent.parent


@pytest.fixture
def sociolect(tmp_path: Path) -> Sociolect:
    """Run ``sociolect ARGUMENTS`` as a person would, in an empty folder and without any key."""

    def start(*arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any) -> Ended:
        inherited = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
        program = "import sys; sys.path.insert(0, sys.argv[1]); import sociolect as s; sys.exit(s.main(sys.argv[2:]))"
        ended = subprocess.run(
            [sys.executable, "-c", program, str(ROOT), *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            cwd=tmp_path,
            env={**inherited, "NO_COLOR": "1", "COLUMNS": "200", **(environment or {})},
            **options,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return start


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of data recorded by others, which is not part of the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder ../shared/data, recorded by others, is not here")
    return folder
