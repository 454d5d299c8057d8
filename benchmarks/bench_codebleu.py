"""Pairs of codes compared by CodeBLEU in a second, against codebleu 0.7.0, on the same pairs in one run.

The peer pins an old tree-sitter, so it runs in an environment of its own, made with pip at the first run and kept in
the user's cache. The pairs are those of a sensitivity analysis: each reply of a row against each of its references.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from analysis.code.codebleu import CodeBleuMode, codebleu, codebleu_pairs
from rows import Row
from simulator.code import extract

RECORDED = Path(__file__).parents[2] / "shared" / "data" / "recorded" / "prompt_variability" / "sample.jsonl.gz"
PEER = "codebleu==0.7.0"
PARSERS = ("tree-sitter==0.22.3", "tree-sitter-python==0.21.0")
MODES: tuple[CodeBleuMode, ...] = ("sociolect", "pypi", "codexglue")
SAMPLE = 150

_COMPARE = """
import json, sys, time
from codebleu import calc_codebleu
pairs = json.load(sys.stdin)
calc_codebleu(["x = 1"], ["y = 2"], "python")
begun = time.process_time()
scores = [calc_codebleu([reference], [candidate], "python")["codebleu"] for reference, candidate in pairs]
json.dump({"seconds": time.process_time() - begun, "scores": scores}, sys.stdout)
"""


def measure() -> Iterator[Row]:
    """Compare all pairs in one batch in each mode, then some one by one; the peer compares them all."""
    pairs, whose = _pairs()
    sample = pairs[:: max(len(pairs) // SAMPLE, 1)]
    codebleu("x = 1", "y = 2")  # the grammar is loaded once
    peer, why = _peer(pairs)
    for mode in MODES:
        begun = time.process_time()
        codebleu_pairs(pairs, mode=mode)
        speed = len(pairs) / (time.process_time() - begun)
        yield _row(f"{len(pairs):,} {whose} pairs, {mode}, a second", speed, peer)
    begun = time.process_time()
    for reference, candidate in sample:
        codebleu(reference, candidate)
    yield _row(
        f"{len(sample)} of them one by one, sociolect, a second", len(sample) / (time.process_time() - begun), peer
    )
    if why:
        yield Row(f"no peer: {why}"[:51], "", "", "")


def _row(what: str, ours: float, peer: float | None) -> Row:
    if peer is None:
        return Row(what, f"{ours:,.0f}", "skipped", "")
    return Row(what, f"{ours:,.0f}", f"{peer:,.0f}", f"{ours / peer:.1f}")


def _pairs() -> tuple[list[tuple[str, str]], str]:
    if RECORDED.is_file():
        with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
            rows = [json.loads(line)["responses"] for line in file][::12]
        return [pair for row in rows for pair in _pairs_of(row)], "recorded"
    body = "\n".join(f"def function_{n}(value):\n    return value + {n}\n" for n in range(20))
    texts = [f"{body}\nfor number in range({n}):\n    print(function_{n % 20}(number))\n" for n in range(40)]
    return [(one, other) for one in texts for other in texts if one != other], "made-up"


def _pairs_of(responses: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    references = [code for reply in responses["0.0"] if (code := extract(reply).text)]
    for replies in responses.values():
        for reply in replies:
            code = extract(reply).text
            if code:
                yield from ((reference, code) for reference in references)


def _peer(pairs: list[tuple[str, str]]) -> tuple[float | None, str]:
    """Return how many pairs the peer compares in a second, or None and why it does not."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sociolect" / "benchmarks" / "codebleu"
    python = folder / "bin" / "python"
    try:
        if not (folder / "made").is_file():
            print(f"making an environment for {PEER} in {folder}", file=sys.stderr)
            venv.create(folder, with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER, *PARSERS]
            subprocess.run(install, check=True, capture_output=True, text=True, timeout=300)
            (folder / "made").touch()
        ended = subprocess.run(
            [str(python), "-W", "ignore", "-c", _COMPARE],
            input=json.dumps(pairs),
            capture_output=True,
            check=True,
            text=True,
            timeout=600,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
    except subprocess.CalledProcessError as error:
        return None, (error.stderr or "").strip().splitlines()[-1] if error.stderr else str(error)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return len(pairs) / json.loads(ended.stdout)["seconds"], ""
