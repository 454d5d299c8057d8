"""EvalPlus samples: programs that a model wrote for the tasks of a benchmark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from simulator.code import Extraction, extract
from simulator.errors import RecordError
from simulator.imports.answers import Answer, Tables, answer_tables, concat_tables, take_as_code, variants_table
from simulator.imports.columns import Columns, check_columns
from simulator.imports.ids import ContentIds, content_id
from simulator.imports.left_out import BadRowError, LeftOut
from simulator.imports.rows import LONGEST_ROW, Row, open_rows
from simulator.imports.values import read_answer, read_name
from simulator.running.models.statuses import classify_reply

__all__ = ["Sample", "enter_samples", "model_of", "read_samples", "stream_samples"]

_BATCH = 10_000
_ENDS = re.compile(r"(?:[._-]eval_results)?(?:\.(?:jsonl|ndjson|json|csv|tsv|txt))?(?:\.gz)?$", re.IGNORECASE)
_MEND = 'One row is one sample: {{"task_id": "HumanEval/0", "solution": "..."}}, or with "completion".'


class Sample(NamedTuple):
    """A program for a task.

    Parameters
    ----------
    task
        The task's id: ``HumanEval/0``.
    text
        What the model wrote.
    code
        The program in it.
    """

    task: str
    text: str
    code: Extraction


def read_samples(
    source: Path | str,
    *,
    model: str | None = None,
    dataset: str | None = None,
    prompts: Mapping[str, str] | None = None,
    language: str = "python",
    raw: bool = False,
) -> tuple[Tables, list[str]]:
    """Read the samples that EvalPlus evaluates: a JSONL file (or gzip, or CSV), or a folder.

    Parameters
    ----------
    source
        A file, one row a sample: ``{"task_id": "HumanEval/0", "solution": "def f(...): ..."}``, where ``solution`` is
        a whole program, or ``{"task_id": "HumanEval/0", "completion": "    return ..."}``, which follows the task's
        prompt; of both, ``solution`` counts. Other fields are ignored. Or a folder of folders named after the tasks
        (``HumanEval_0``), with a whole program in each of their files (``0.py``, ``1.py``).
    model
        Who wrote them. By default the file's or folder's name, as EvalPlus names its files after the model.
    dataset
        The benchmark; by default what precedes the slash in each task's id.
    prompts
        The prompt of each task of the benchmark, by id. With it the code of a completion is prompt and completion, as
        EvalPlus runs it; without it (or for a task that is not in it) the completion is recorded as it is. It also
        fills the ``text`` of the variants, which is null otherwise.
    language
        The language of the programs.
    raw
        The samples are replies as models gave them, with fences and words: the code is extracted
        (`simulator.code.extract`) instead of taken as it stands, and put after no prompt.

    Returns
    -------
    dict of str to DataFrame
        ``variants`` (one a task: its original prompt), ``asks``, ``replies`` and ``codes`` (one a sample, in the file's
        order; ``repeat`` counts the samples of a task). A sample with nothing in it stays, with status ``empty``. Ids
        are hashes of model, task and program, and of how many equal samples come before, so that the results of
        EvalPlus on the same samples (`read_eval_results`) get the same ids.
    list of str
        One warning a row that was left out, the first 20, after one that counts them.

    Raises
    ------
    RecordError
        The source cannot be read, lacks a column, or has no sample that can be used.

    Examples
    --------
    >>> tables, warnings = read_samples("humaneval/gpt-4o_temp_0.0.jsonl")  # doctest: +SKIP
    """
    warnings: list[str] = []
    found = stream_samples(source, warnings, model=model, dataset=dataset, prompts=prompts, language=language, raw=raw)
    return concat_tables(found), warnings


def stream_samples(
    source: Path | str,
    warnings: list[str],
    *,
    model: str | None = None,
    dataset: str | None = None,
    prompts: Mapping[str, str] | None = None,
    language: str = "python",
    raw: bool = False,
    batch: int = _BATCH,
) -> Iterator[Tables]:
    """Yield the tables of `read_samples` in batches of so many samples; a variant comes once.

    When the last batch has been yielded, ``warnings`` says what was left out. Memory grows by an id a sample, not by
    its text.

    Raises
    ------
    RecordError
        As `read_samples`, some of it only when the file has been read.
    """
    path, known = Path(source), dict(prompts or {})
    left_out = LeftOut(path.name)
    found = _folder_samples(path, left_out, known) if path.is_dir() else _file_samples(path, left_out)
    model = model_of(path) if model is None else model
    samples = (_judge(*one, prompts=known, language=language, raw=raw) for one in found)
    yield from enter_samples(samples, model=model, dataset=dataset, prompts=known, batch=batch)
    if left_out.lost == left_out.read:
        why = f" {left_out.first}." if left_out.lost else ""
        raise RecordError(f"{path}: none of its {left_out.read} rows can be used as a sample.{why} " + _MEND.format())
    warnings.extend(left_out.warnings())


def enter_samples(
    samples: Iterable[Sample], *, model: str, dataset: str | None, prompts: Mapping[str, str], batch: int = _BATCH
) -> Iterator[Tables]:
    """Yield ``variants``, ``asks``, ``replies`` and ``codes`` of samples, in batches."""
    ids, repeats = ContentIds(), Counter[str]()
    variants: dict[str, str] = {}
    new: list[dict[str, object]] = []
    answers: list[Answer] = []
    for task, text, code in samples:
        if task not in variants:
            home = task.rpartition("/")[0] if dataset is None else dataset
            prompt = prompts.get(task)
            variants[task] = content_id("benchmark", home, task, prompt)
            note = "" if prompt is not None else "the prompt was not recorded"
            made = {"variant": variants[task], "task": task, "dataset": home, "text": prompt, "note": note}
            new.append({**made, "method": "original", "replicate": 0})
        reply = ids.make(["sample", model, task, code.text])
        answers.append(Answer(reply, variants[task], model, repeats[task], classify_reply(text), text, None, code))
        repeats[task] += 1
        if len(answers) == batch:
            yield {"variants": variants_table(new), **answer_tables(answers)}
            new, answers = [], []
    yield {"variants": variants_table(new), **answer_tables(answers)}


def model_of(path: Path) -> str:
    """Return the name that a file or folder of samples bears, without what tells its kind.

    >>> model_of(Path("humaneval/gpt-4o_temp_0.0_eval_results.json.gz"))
    'gpt-4o_temp_0.0'
    """
    return _ENDS.sub("", path.name) or path.name


def _judge(task: str, kind: str, text: str, *, prompts: Mapping[str, str], language: str, raw: bool) -> Sample:
    if raw:
        return Sample(task, text, extract(text, language=language))
    if kind == "completion" and task in prompts:
        whole = prompts[task] + text
        return Sample(task, text, take_as_code(whole, language=language, chosen="the prompt and the completion"))
    return Sample(task, text, take_as_code(text, language=language, chosen=f"the {kind}", body=kind == "completion"))


def _file_samples(path: Path, left_out: LeftOut) -> Iterator[tuple[str, str, str]]:
    columns = Columns()
    with open_rows(path, wanted=("task_id", "solution", "completion"), what="samples") as (header, rows):
        _check(path, header)
        for row in rows:
            left_out.read += 1
            columns.meet(row.fields)
            try:
                yield _read_row(row)
            except BadRowError as problem:
                left_out.add(row.place, problem, number=row.number)
    _check(path, columns)


def _check(path: Path, columns: Iterable[str]) -> None:
    names = list(columns)
    text = "completion" if "completion" in names else "solution"
    check_columns(path, names, {"task": "task_id", "program": text}, _MEND)


def _read_row(row: Row) -> tuple[str, str, str]:
    if row.problem:
        raise BadRowError(row.problem)
    task = read_name(row.fields, "task_id", "task")
    if not task:
        raise BadRowError("has no task in 'task_id'")
    kind = "solution" if "solution" in row.fields else "completion"
    if kind not in row.fields:
        raise BadRowError("has neither 'solution' nor 'completion'")
    return task, kind, read_answer(row.fields[kind], repr(kind))


def _folder_samples(folder: Path, left_out: LeftOut, prompts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    files = [path for path in folder.glob("*/*.py") if path.is_file()]
    if not files:
        held = ", ".join(sorted(repr(path.name) for path in folder.iterdir())[:10]) or "nothing"
        raise RecordError(
            f"{folder}: is no folder of samples: none of its folders holds a .py file; it holds {held}. EvalPlus keeps "
            "a folder a task, such as HumanEval_0/0.py. Or give a JSONL file of samples."
        )
    for path in sorted(files, key=_natural):
        left_out.read += 1
        try:
            text = _read_program(path)
        except BadRowError as problem:
            left_out.add(f"{path.parent.name}/{path.name}", problem, number=left_out.read)
            continue
        name = path.parent.name
        task = name if name in prompts else name.replace("_", "/")
        yield task, "solution", text


def _natural(path: Path) -> tuple[object, ...]:
    """Sort 2.py before 10.py, and the folders alike."""
    parts = re.split(r"(\d+)", f"{path.parent.name}/{path.name}")
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)


def _read_program(path: Path) -> str:
    try:
        if path.stat().st_size > LONGEST_ROW:
            raise BadRowError(f"is longer than {LONGEST_ROW:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadRowError("is not UTF-8") from None
    except OSError as error:
        raise BadRowError(f"cannot be read ({error.strerror or error})") from error
