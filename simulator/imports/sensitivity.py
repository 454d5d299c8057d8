"""Recorded sensitivity replies: what models answered to variants of tasks at rates from 0 to 1."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, get_args

import polars as pl

from simulator.code import extract
from simulator.errors import RecordError
from simulator.imports.answers import Answer, Tables, answer_tables, concat_tables, variants_table
from simulator.imports.columns import Columns, check_columns
from simulator.imports.ids import ContentIds, content_id
from simulator.imports.left_out import BadRowError, LeftOut
from simulator.imports.rows import Row, open_rows
from simulator.imports.values import kind_of, read_answer, read_name, read_text
from simulator.running.models.statuses import classify_reply
from simulator.running.replies import ReplyStatus
from simulator.running.variants import Method

__all__ = ["SCORES", "read_sensitivity", "stream_sensitivity"]

SCORES = pl.Schema({"reply": pl.String, "metric": pl.String, "score": pl.Float64})
"""A score in [0, 1] that others gave a reply; null where they gave none."""

_METHODS: dict[str, Method] = {
    **{method: method for method in get_args(Method)},
    "keyboard": "typos",
    "typo": "typos",
    "synonym": "synonyms",
    "paraphraser": "paraphrase",
}
_BATCH = 2_000  # replies: a few MB of text
_COLUMNS = {"model": "model", "method": "method", "task": "task", "prompts": "prompts", "replies": "responses"}
_MEND = (
    'One row is {{"model": ..., "method": ..., "task": ..., "question": ..., "prompts": {{"0.1": text}}, '
    '"responses": {{"0.1": [replies]}}}}.'
)


class _Record(NamedTuple):
    model: str
    method: Method
    task: str
    question: str
    prompts: dict[float, str]
    replies: dict[float, list[object]]
    scores: dict[float, list[object]]


def read_sensitivity(path: Path | str, *, dataset: str = "", language: str = "python") -> tuple[Tables, list[str]]:
    """Read replies of models to variants of tasks from a JSONL file, plain or gzip.

    Parameters
    ----------
    path
        One row is one model, method and task: ``{"model": "claude", "method": "keyboard", "task": "Q00000",
        "question": "Write ...", "prompts": {"0.0": "Write ...", "0.1": "Wrote ..."}, "responses": {"0.0": ["...",
        ...], "0.1": [...]}, "tsed": {"0.0": [0.8, ...], ...}}``. The keys of ``prompts`` and ``responses`` are rates
        from 0 to 1; a rate's replies are its repeats. ``method`` is one of ours or ``keyboard`` (typos), ``synonym``
        or ``paraphraser``. ``question`` (the task's own prompt) and ``tsed`` (a score for each reply, or null) may be
        absent; other fields are ignored.
    dataset
        Where the tasks are from; goes into ``variants``.
    language
        The language that was asked for.

    Returns
    -------
    dict of str to DataFrame
        ``variants`` (one a method, task, rate and text, whichever models it was sent to, and one ``original`` a
        question, sent to none), ``asks``, ``replies``, ``codes`` and `SCORES` as ``scores`` (only replies that have an
        entry there). Rate 0 keeps its method, because what was recorded as unaltered need not be. A reply of one line
        that begins with ``ERROR:`` is what a program put in place of an answer: its status is ``error``, its text is
        empty, and what it said stands in ``error``. Every id is a hash of content that does not change when rows are
        added or sorted; ``realised`` is null.
    list of str
        What was left out: rows, and single replies and scores within them, each counted and the first 20 named. A row
        that says exactly what an earlier one says is left out.

    Raises
    ------
    RecordError
        The file cannot be read, lacks a field, or has no reply that can be used.

    Examples
    --------
    >>> tables, warnings = read_sensitivity("sample.jsonl.gz")  # doctest: +SKIP
    """
    left_out = _lists(Path(path))
    tables = concat_tables(_stream(Path(path), left_out, dataset, language, _BATCH))
    return tables, [warning for one in left_out for warning in one.warnings()]


def stream_sensitivity(
    path: Path | str, warnings: list[str], *, dataset: str = "", language: str = "python", batch: int = _BATCH
) -> Iterator[Tables]:
    """Yield the tables of `read_sensitivity` in batches of at least so many replies; a variant comes once.

    When the last batch has been yielded, ``warnings`` says what was left out.

    Raises
    ------
    RecordError
        As `read_sensitivity`, some of it only when the file has been read.
    """
    left_out = _lists(Path(path))
    yield from _stream(Path(path), left_out, dataset, language, batch)
    warnings.extend(warning for one in left_out for warning in one.warnings())


def _lists(path: Path) -> tuple[LeftOut, LeftOut, LeftOut]:
    return LeftOut(path.name), LeftOut(path.name, "replies"), LeftOut(path.name, "scores")


def _stream(
    path: Path, left_out: tuple[LeftOut, LeftOut, LeftOut], dataset: str, language: str, batch: int
) -> Iterator[Tables]:
    lost_rows, lost_replies, lost_scores = left_out
    entering = _Entering(dataset, language, lost_replies, lost_scores)
    columns, seen = Columns(), dict[str, int]()
    with open_rows(path, wanted=list(_COLUMNS.values()), what="recorded replies") as (header, rows):
        check_columns(path, header, _COLUMNS, _MEND)
        for row in rows:
            lost_rows.read += 1
            columns.meet(row.fields)
            try:
                record = _read_row(row)
                _check_new(row, record, seen)
            except BadRowError as problem:
                lost_rows.add(row.place, problem, number=row.number)
                continue
            entering.add(row, record)
            if len(entering.answers) >= batch:
                yield entering.take()
    check_columns(path, columns, _COLUMNS, _MEND)
    yield entering.take()
    if lost_replies.read == lost_replies.lost:
        first_lost = lost_rows.first or lost_replies.first
        why = f" {first_lost}." if first_lost else ""
        raise RecordError(
            f"{path}: none of its {lost_rows.read} rows holds a reply that can be used.{why} " + _MEND.format()
        )


def _check_new(row: Row, record: _Record, seen: dict[str, int]) -> None:
    first = seen.setdefault(content_id(*map(repr, record)), row.number)
    if first != row.number:
        raise BadRowError(f"says the same as row {first}")


class _Entering:
    """Rows on their way into the tables: what of them has not been taken yet, and the ids given so far."""

    def __init__(self, dataset: str, language: str, lost_replies: LeftOut, lost_scores: LeftOut) -> None:
        self._dataset = dataset
        self._language = language
        self._lost_replies = lost_replies
        self._lost_scores = lost_scores
        self._ids = ContentIds()
        self._repeats = Counter[tuple[str, str]]()
        self._replicates = Counter[tuple[str, str, float | None]]()
        self._known: set[str] = set()
        self._variants: list[dict[str, object]] = []
        self._scores: list[tuple[str, str, float | None]] = []
        self.answers: list[Answer] = []

    def add(self, row: Row, record: _Record) -> None:
        if record.question:
            self._variant("original", record.task, None, record.question)
        for rate, text in record.prompts.items():
            variant = self._variant(record.method, record.task, rate, text)
            scores = record.scores.get(rate, [])
            for number, value in enumerate(record.replies.get(rate, [])):
                place = f"{row.place}, rate {rate}, reply {number + 1}"
                self._lost_replies.read += 1
                try:
                    answer = self._answer(value, variant, record.model)
                except BadRowError as problem:
                    self._lost_replies.add(place, problem, number=row.number)
                    continue
                self.answers.append(answer)
                if number < len(scores):
                    self._score(answer.reply, scores[number], place, row.number)

    def take(self) -> Tables:
        """Return what was added since the last time."""
        scores = pl.DataFrame(self._scores, schema=SCORES, orient="row")
        tables = {"variants": variants_table(self._variants), **answer_tables(self.answers), "scores": scores}
        self._variants, self.answers, self._scores = [], [], []
        return tables

    def _variant(self, method: Method, task: str, rate: float | None, text: str) -> str:
        variant = content_id("recorded", self._dataset, task, method, rate, text)
        if variant not in self._known:
            self._known.add(variant)
            alike = (task, method, rate)
            lineage = {"variant": variant, "task": task, "dataset": self._dataset, "method": method, "rate": rate}
            self._variants.append({**lineage, "replicate": self._replicates[alike], "text": text})
            self._replicates[alike] += 1
        return variant

    def _answer(self, value: object, variant: str, model: str) -> Answer:
        said = read_answer(value, "it")
        reply = self._ids.make(["reply", variant, model, said])
        failed = said.startswith("ERROR:") and len(said.splitlines()) == 1
        text = "" if failed else said
        status: ReplyStatus = "error" if failed else classify_reply(text)
        repeat = self._repeats[variant, model]
        self._repeats[variant, model] += 1
        code = extract(text, language=self._language)
        return Answer(reply, variant, model, repeat, status, text, said if failed else None, code)

    def _score(self, reply: str, score: object, place: str, number: int) -> None:
        self._lost_scores.read += 1
        if score is None or (isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1):
            self._scores.append((reply, "tsed", None if score is None else float(score)))
        else:
            said = repr(score) if isinstance(score, float) else kind_of(score)
            self._lost_scores.add(place, f"its score is {said}, not a number from 0 to 1", number=number)


def _read_row(row: Row) -> _Record:
    if row.problem:
        raise BadRowError(row.problem)
    fields = row.fields
    names = {what: read_name(fields, what, what) for what in ("model", "method", "task")}
    for what, name in names.items():
        if not name:
            raise BadRowError(f"has no {what} in {what!r}")
    method = _METHODS.get(names["method"].lower())
    if method is None:
        raise BadRowError(f"the method {names['method']!r} is none of {', '.join(_METHODS)}")
    prompts = {rate: _prompt(text, rate) for rate, text in _by_rate(fields, "prompts").items()}
    replies = {rate: _list(found, "responses", rate) for rate, found in _by_rate(fields, "responses").items()}
    unknown = sorted(replies.keys() - prompts.keys())
    if unknown:
        raise BadRowError(f"has responses at rate {unknown[0]}, but no prompt in 'prompts'")
    scores: dict[float, list[object]] = {}
    if fields.get("tsed") is not None:
        scores = {rate: _list(found, "tsed", rate) for rate, found in _by_rate(fields, "tsed").items()}
        for rate, found in scores.items():
            if len(found) != len(replies.get(rate, [])):
                raise BadRowError(f"has {len(found)} scores for {len(replies.get(rate, []))} replies at rate {rate}")
    question = read_text(fields, "question") if fields.get("question") is not None else ""
    return _Record(names["model"], method, names["task"], question, prompts, replies, scores)


def _by_rate(fields: Mapping[str, object], column: str) -> dict[float, object]:
    value = fields.get(column)
    if not isinstance(value, dict):
        raise BadRowError(f"{column!r} is {kind_of(value)}, not an object of rates")
    found: dict[float, object] = {}
    for key, entry in value.items():
        try:
            rate = float(key)
        except ValueError:
            rate = math.nan
        if not 0 <= rate <= 1:
            raise BadRowError(f"{key!r} in {column!r} is not a rate from 0 to 1")
        if rate in found:
            raise BadRowError(f"{column!r} names the rate {rate} twice")
        found[rate] = entry
    return found


def _prompt(value: object, rate: float) -> str:
    try:
        return read_text({"prompts": value}, "prompts")
    except BadRowError as problem:
        raise BadRowError(f"at rate {rate}: {problem}") from None


def _list(value: object, column: str, rate: float) -> list[object]:
    if not isinstance(value, list):
        raise BadRowError(f"{column!r} at rate {rate} is {kind_of(value)}, not a list")
    return value
