"""The results of EvalPlus: its verdict on every sample."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from simulator.errors import RecordError
from simulator.imports.answers import Tables, concat_tables, take_as_code
from simulator.imports.files import open_bytes, unreadable
from simulator.imports.left_out import BadRowError, LeftOut
from simulator.imports.rows import decode_json
from simulator.imports.samples import Sample, enter_samples, model_of
from simulator.imports.values import check_unicode, kind_of, read_answer
from simulator.tables import CHECKS

__all__ = ["read_eval_results"]

_SUITES = ("base", "plus")
_VERDICTS = ("pass", "fail", "timeout")
_WHAT = "file of EvalPlus results"


class _Verdict(NamedTuple):
    suite: str
    status: str
    failed_input: str | None


def read_eval_results(
    path: Path | str,
    *,
    model: str | None = None,
    dataset: str | None = None,
    prompts: Mapping[str, str] | None = None,
    language: str = "python",
) -> tuple[Tables, list[str]]:
    """Read the ``eval_results.json`` that EvalPlus (0.2 and later) writes beside the samples, plain or gzip.

    The file is one JSON document and is held in memory as a whole (some five times its size).

    Parameters
    ----------
    path
        The file: ``{"eval": {"HumanEval/0": [{"solution": "...", "base_status": "pass", "plus_status": "fail",
        "base_fail_tests": [], "plus_fail_tests": [[...]]}, ...], ...}, ...}``. A sample was evaluated on the base tests
        alone where ``plus_status`` is absent or null. The other fields are ignored.
    model, dataset, prompts, language
        As in `simulator.imports.read_samples`. The same samples get the same ids from either file, as long as
        ``model`` is the same.

    Returns
    -------
    dict of str to DataFrame
        ``variants``, ``asks``, ``replies`` and ``codes`` as from the samples, and ``checks``: for each sample one row
        a suite, ``pass``, ``fail`` or ``timeout`` (EvalPlus calls whatever goes wrong otherwise a fail). ``plus`` is
        the further tests alone, so a sample passes EvalPlus's plus when it passes both. ``failed_input`` is the JSON of
        the first failed test's arguments, where EvalPlus kept them.
    list of str
        One warning a sample that was left out, the first 20, after one that counts them.

    Raises
    ------
    RecordError
        The file cannot be read, is no such document, or has no sample that can be used.

    Examples
    --------
    >>> tables, warnings = read_eval_results("gpt-4o_temp_0.0_eval_results.json")  # doctest: +SKIP
    """
    path = Path(path)
    left_out = LeftOut(path.name, "samples")
    verdicts: list[tuple[_Verdict, ...]] = []
    samples = _samples(_read_document(path), left_out, verdicts, language)
    model = model_of(path) if model is None else model
    tables = concat_tables(enter_samples(samples, model=model, dataset=dataset, prompts=prompts or {}))
    if not verdicts:
        why = f" {left_out.first}." if left_out.lost else ""
        raise RecordError(
            f"{path}: none of its {left_out.read} samples can be used.{why} Each needs a solution and a base_status, "
            "as EvalPlus 0.2 and later write them: evaluate again with one of those."
        )
    tasks = dict(tables["variants"].select("variant", "task").iter_rows())
    codes = tables["replies"].select("reply", "variant").iter_rows()
    checks = [
        {"code": code, "task": tasks[variant], **verdict._asdict()}
        for (code, variant), found in zip(codes, verdicts, strict=True)
        for verdict in found
    ]
    tables["checks"] = pl.DataFrame([{**dict.fromkeys(CHECKS), **check} for check in checks], schema=CHECKS)
    return tables, left_out.warnings()


def _read_document(path: Path) -> dict[str, object]:
    with open_bytes(path, _WHAT) as (data, _):
        try:
            document = decode_json(data.read().decode("utf-8-sig", "surrogateescape"))
        except BadRowError as problem:
            raise RecordError(
                f"{path}: {problem}; a {_WHAT} is one JSON document. Samples without verdicts are read as samples."
            ) from None
        except (EOFError, zlib.error, OSError) as error:
            raise unreadable(path, error, 0) from error
    found = document.get("eval") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        names = ", ".join(map(repr, list(document)[:10])) if isinstance(document, dict) else kind_of(document)
        raise RecordError(
            f"{path}: is no {_WHAT}: it has no object 'eval' with the samples of each task; it holds {names}. "
            "Samples without verdicts are read as samples."
        )
    return found


def _samples(
    found: dict[str, object], left_out: LeftOut, verdicts: list[tuple[_Verdict, ...]], language: str
) -> Iterator[Sample]:
    """Yield the samples that can be used, and add the verdicts on each."""
    for task, samples in found.items():
        entries = samples if isinstance(samples, list) else [samples]
        for number, entry in enumerate(entries, start=1):
            left_out.read += 1
            try:
                check_unicode(task, "the task's id")
                text, verdict = _read_entry(entry)
            except BadRowError as problem:
                left_out.add(f"{task!r} sample {number}", problem, number=left_out.read)
                continue
            verdicts.append(verdict)
            yield Sample(task, text, take_as_code(text, language=language, chosen="the solution"))


def _read_entry(entry: object) -> tuple[str, tuple[_Verdict, ...]]:
    if not isinstance(entry, dict):
        raise BadRowError(f"is {kind_of(entry)}, not an object")
    if "nfiles" in entry:
        raise BadRowError("is as EvalPlus before 0.2 wrote it, without the solutions")
    return read_answer(entry.get("solution"), "'solution'"), tuple(_read_verdicts(entry))


def _read_verdicts(entry: Mapping[str, object]) -> Iterator[_Verdict]:
    for suite in _SUITES:
        status = entry.get(f"{suite}_status")
        if status is None and suite == "plus":
            continue
        if status not in _VERDICTS:
            said = repr(status) if isinstance(status, str) else kind_of(status)
            raise BadRowError(f"'{suite}_status' is {said}, not one of {', '.join(_VERDICTS)}")
        failed = entry.get(f"{suite}_fail_tests")
        first = json.dumps(failed[0]) if isinstance(failed, list) and failed else None
        yield _Verdict(suite, str(status), first)
