"""People's own prompts: the files that a campaign names under ``humans``, read row by row into what is sent of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from simulator.definitions.fields import Definition, RawText, Text, fold_id
from simulator.definitions.problems import nearest
from simulator.definitions.text_reading import resolve_inside
from simulator.definitions.yaml_reading import NO_TEXT, Document, shorten
from simulator.errors import Problem, RecordError

if TYPE_CHECKING:
    from simulator.imports.rows import Row

__all__ = ["MAX_ROWS", "HumanColumns", "HumanSource", "HumanTexts", "read_humans"]

MAX_ROWS = 20_000
"""Texts of one file. All of them are frozen with the campaign, and more than a study of people has ever gathered."""

_TOLD = 20
"""Problems of one file that are told one by one."""

_MEND = "Name the one that holds it under `columns`, as in `columns: {{{what}: NAME}}`."


class HumanColumns(Definition):
    """Which columns of a file hold what; other columns are ignored."""

    speaker: Text = Field("speaker", description="Who wrote the text.")
    text: Text = Field("text", description="What they wrote.")
    task: Text = Field("task", description="The id of the task that they asked for.")
    iteration: Text = Field("iteration", description="Counts a person's texts for a task; may be absent.")


class HumanSource(Definition):
    """A file of texts that real people wrote, to be sent as they stand."""

    texts: Text = Field(
        description="A CSV or JSONL file (.gz too) with a speaker, text and task a row; its path from the study.",
        examples=["people.csv"],
    )
    columns: HumanColumns = Field(HumanColumns(), description="The file's own names for these columns.")
    suffix: RawText = Field(
        "", description="Put behind every speaker's name, to tell them from personas.", examples=[" (human)"]
    )

    @field_validator("suffix")
    @classmethod
    def _is_short(cls, suffix: str) -> str:
        if len(suffix) > 40 or len(suffix.splitlines()) > 1:
            raise ValueError("a suffix is a few characters in one line")
        return suffix


class HumanTexts(Definition):
    """What one person wrote for one task, in the order of the file: a text's index is its replicate."""

    speaker: RawText
    task: RawText
    texts: tuple[RawText, ...]


def read_humans(
    document: Document,
    sources: Iterable[HumanSource],
    root: Path,
    *,
    tasks: Iterable[str],
    personas: Iterable[str],
    problems: list[Problem],
) -> tuple[HumanTexts, ...]:
    """Read every file of people's texts that a campaign names.

    A person's texts for a task stand in the order of ``iteration``, or of the rows where there is none. The same name
    in two files is the same person. A blank text stays, so that it is counted; what cannot be read, or asks for a task
    that the campaign has not, is a problem with its line, because nobody would know later why it is missing.

    Parameters
    ----------
    document, sources, root
        The campaign, what it says under ``humans``, and the folder out of which no path may lead.
    tasks, personas
        Ids; those of the tasks in the campaign's order, which is that of the result.
    problems
        Added to, at most twenty of a file one by one.

    Returns
    -------
    tuple of HumanTexts
        By task, then by speaker in the order of first appearance.
    """
    reading = _Reading({fold_id(task): task for task in tasks}, {fold_id(name): name for name in personas})
    for index, source in enumerate(sources):
        place = ("humans", index, "texts")
        try:
            path = resolve_inside(source.texts, root)
        except ValueError as error:
            problems.append(document.problem(place, f"`humans[{index + 1}].texts` {error}"))
            continue
        found = _Problems(path)
        try:
            reading.read(path, source, found)
        except RecordError as error:
            problems.append(document.problem(place, str(error)))
        problems += found.told()
    order = {task: number for number, task in enumerate(reading.tasks.values())}
    groups = sorted(reading.groups.items(), key=lambda group: order[group[0][0]])  # stable: speakers keep their order
    return tuple(
        HumanTexts(speaker=speaker, task=task, texts=tuple(text for _, text in sorted(texts, key=lambda one: one[0])))
        for (task, speaker), texts in groups
    )


@dataclass(slots=True)
class _Problems:
    """What is wrong with one file: the first ones, and how many there are."""

    path: Path
    first: list[Problem] = field(default_factory=list)
    more: int = 0

    def add(self, line: int, text: str) -> None:
        if len(self.first) < _TOLD:
            self.first.append(Problem(self.path, line, 1, text))
        else:
            self.more += 1

    def told(self) -> list[Problem]:
        if not self.more:
            return self.first
        last = self.first[-1].line
        return [*self.first, Problem(self.path, last + 1, 1, f"and {self.more:,} more rows from here on; mend these")]


@dataclass(slots=True)
class _Reading:
    """Texts so far, by task and speaker, each with its place in the order; ids under the form they are compared in."""

    tasks: dict[str, str]
    personas: dict[str, str]
    groups: dict[tuple[str, str], list[tuple[int, str]]] = field(default_factory=dict)

    def read(self, path: Path, source: HumanSource, found: _Problems) -> None:
        """Add the texts of a file.

        Raises
        ------
        RecordError
            The file as a whole cannot be used.
        """
        from simulator.imports.columns import Columns, check_columns  # noqa: PLC0415 - heavy, for few campaigns
        from simulator.imports.left_out import BadRowError  # noqa: PLC0415
        from simulator.imports.rows import open_rows  # noqa: PLC0415

        if path.exists() and not path.is_file() and not path.is_dir():
            raise RecordError(f"{path}: is a pipe, socket or device, not a file. Copy what it gives into a file.")
        names = source.columns.model_dump()
        needed = {what: name for what, name in names.items() if what != "iteration" or name != "iteration"}
        columns, rows, words = Columns(), 0, 0
        met: set[str] = set()
        with open_rows(path, wanted=list(names.values()), what="texts by people") as (header, found_rows):
            columns.meet(header)
            check_columns(path, header, needed, _MEND)
            for row in found_rows:
                rows += 1
                if rows > MAX_ROWS:
                    raise RecordError(
                        f"{path}: has more than {MAX_ROWS:,} rows. Keep those that the campaign needs, or share them "
                        f"between several campaigns."
                    )
                columns.meet(row.fields)
                try:
                    speaker, task, number, text = self._read_row(row, source)
                except BadRowError as error:
                    found.add(row.number, f"this row {error}")
                    continue
                if fold_id(speaker) in self.personas and speaker not in met:
                    found.add(row.number, self._explain_collision(speaker))
                met.add(speaker)
                words += bool(text.strip())
                texts = self.groups.setdefault((task, speaker), [])
                texts.append((len(texts) if number is None else number, text))
        check_columns(path, columns, needed, _MEND)
        if not words and not found.first:
            raise RecordError(
                f"{path}: none of its {rows:,} rows has a text. One row is one prompt that a person wrote: "
                f"{', '.join(list(names.values())[:3])}."
            )

    def _read_row(self, row: Row, source: HumanSource) -> tuple[str, str, int | None, str]:
        """Return speaker, task, iteration and text of a row; raise `BadRowError` for one that cannot be sent."""
        from simulator.imports.left_out import BadRowError  # noqa: PLC0415
        from simulator.imports.values import read_integer, read_name  # noqa: PLC0415

        if row.problem:
            raise BadRowError(row.problem)
        names, fields = source.columns, row.fields
        speaker = read_name(fields, names.speaker, "speaker")
        if not speaker:
            raise BadRowError(f"has no speaker in {names.speaker!r}; write who wrote the text, or take the row out")
        named = read_name(fields, names.task, "task")
        task = self.tasks.get(fold_id(named))
        if task is None:
            what = f"asks for the task {shorten(named)}" if named else f"has no task in {names.task!r}"
            raise BadRowError(f"{what}, which is none of the campaign's; {nearest(named, self.tasks.values())}")
        number = read_integer(fields, names.iteration)
        return " ".join(f"{speaker}{source.suffix}".split()), task, number, _read_text(fields.get(names.text), names)

    def _explain_collision(self, speaker: str) -> str:
        persona = self.personas[fold_id(speaker)]
        return (
            f"the speaker {shorten(speaker)} has the id of the persona `{persona}`, and the two could not be told "
            f'apart; rename one of them, or write `suffix: " (human)"` beside `texts` in the campaign'
        )


def _read_text(value: object, names: HumanColumns) -> str:
    """Return a text as it stands, empty where there is none."""
    from simulator.imports.left_out import BadRowError  # noqa: PLC0415
    from simulator.imports.values import check_unicode, kind_of  # noqa: PLC0415

    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRowError(f"has {kind_of(value)} in {names.text!r}, not a text")
    check_unicode(value, names.text)
    if broken := NO_TEXT.search(value):
        raise BadRowError(f"has U+{ord(broken[0]):04X} in {names.text!r}, which is no character of any text; remove it")
    return value
