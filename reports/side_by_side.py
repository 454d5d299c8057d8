"""Every text and every code side by side: one block a task, one column a speaker, within what a page can hold.

A page that is opened in a browser is kept under five megabytes. Texts are cut first, at ever fewer characters, then the
rewrites that no code was made from are left out, then whole texts; what was cut and left out is counted and said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import NamedTuple

import polars as pl

from reports.cells import Name, plural, rows
from reports.visible import Cut, cut_text, one_line, visible

__all__ = ["Block", "Code", "Column", "Shelf", "Text", "lay_out"]

_LIMITS = (20_000, 8_000, 4_000, 2_000, 1_000, 400)
_ROOM = 3_000_000
_EACH = 400
"""Bytes of markup around a text, about."""


@dataclass(frozen=True, slots=True)
class Text:
    """A rewrite, or a text by a speaker: which one it is, its status, whether a code was asked for with it.

    ``noun`` is what it is called.
    """

    raw: str
    number: str
    status: str = "ok"
    note: str = ""
    sampled: bool = False
    noun: str = "rewrite"
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """A reply and what was extracted from it: by which model, from which rewrite, with both statuses."""

    raw: str
    model: str
    about: str
    reply_status: str
    code_status: str
    notes: tuple[str, ...] = ()
    is_reply: bool = False
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """What one speaker has for one task."""

    name: Name
    texts: tuple[Text, ...] = ()
    codes: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """One task."""

    task: str
    title: str
    columns: tuple[Column, ...] = field(default_factory=tuple)

    @property
    def has_codes(self) -> bool:
        """Whether there is any reply to show."""
        return any(column.codes for column in self.columns)


class Shelf(NamedTuple):
    """All blocks, how many texts and codes there are in them, and what was cut or left out, in words."""

    blocks: tuple[Block, ...]
    texts: int
    codes: int
    note: str


def lay_out(
    tables: Mapping[str, pl.DataFrame], names: Mapping[str, Name], tasks: Mapping[str, str], *, room: int = _ROOM
) -> Shelf:
    """Put texts and codes side by side, cut so that all of them together take no more than ``room`` bytes.

    Parameters
    ----------
    tables
        Of a run: ``variants``, ``asks``, ``replies`` and ``codes``. Where ``variants`` is missing, ``texts``.
    names
        How each speaker is shown, in the order of the columns.
    tasks
        Id to title, in the order of the blocks; tasks that are not in it come after.
    room
        Bytes of UTF-8, escaped for HTML.
    """
    held = _read_variants(tables) if "variants" in tables else _read_texts(tables)
    order = dict.fromkeys([*(task for task in tasks if task in held), *held])
    blocks = []
    for task in order:
        by_speaker = held[task]
        columns = [_make_column(names[speaker], by_speaker[speaker]) for speaker in names if speaker in by_speaker]
        if None in by_speaker:
            plain = Name("as the task is written", "", "The prompt as the task is written")
            columns.insert(0, _make_column(plain, by_speaker[None]))
        blocks.append(Block(task, one_line(tasks.get(task) or task or "no task", 200), tuple(columns)))
    return _fit(blocks, room)


def _make_column(name: Name, held: tuple[list[Text], list[Code]]) -> Column:
    return Column(name, tuple(held[0]), tuple(held[1]))


Held = dict[str, dict[str | None, tuple[list[Text], list[Code]]]]


def _new_held() -> defaultdict[str, defaultdict[str | None, tuple[list[Text], list[Code]]]]:
    return defaultdict(lambda: defaultdict(lambda: ([], [])))


def _number(cell: object, turn: int) -> str:
    """Return a count from 1, as people count, for a replicate, which counts from 0."""
    return str(cell + 1) if isinstance(cell, int) else str(turn)


def _read_texts(tables: Mapping[str, pl.DataFrame]) -> Held:
    held = _new_held()
    for row in rows(tables, "texts"):
        texts = held[row["task"] or ""][row["speaker"]][0]
        number = row["iteration"]
        texts.append(Text(row["text"] or "", str(len(texts) + 1 if number is None else number), noun="text"))
    return {task: dict(by_speaker) for task, by_speaker in held.items()}


def _read_variants(tables: Mapping[str, pl.DataFrame]) -> Held:
    held = _new_held()
    replies = {row["reply"]: row for row in rows(tables, "replies")}
    codes = {row["reply"]: row for row in rows(tables, "codes")}
    asked: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows(tables, "asks"):
        asked[row["variant"]].append(row["reply"])
    for variant in rows(tables, "variants"):
        texts, made = held[variant["task"] or ""][variant["persona"]]
        number = _number(variant["replicate"], len(texts) + 1)
        noun = "text" if variant["method"] == "human" else "rewrite"
        sampled = asked.get(variant["variant"], [])
        texts.append(
            Text(
                variant["text"] or "",
                number,
                variant["status"] or "ok",
                one_line(variant["note"] or "", 300),
                bool(sampled),
                noun,
            )
        )
        for key in sampled:
            if key in replies:
                made.append(_read_code(replies[key], codes.get(key), f"{noun} {number}"))
    return {task: dict(by_speaker) for task, by_speaker in held.items()}


def _read_code(reply: Mapping[str, object], code: Mapping[str, object] | None, source: str) -> Code:
    text = str((code or {}).get("text") or "")
    answer = str(reply["text"] or "")
    notes = [
        f"{word}: {one_line(str(cell), 300)}"
        for word, cell in (
            ("error", reply["error"]),
            ("chosen", (code or {}).get("chosen")),
            ("left out", (code or {}).get("left_out")),
        )
        if cell
    ]
    repeat = reply["repeat"]
    about = f"from {source}" + (f", repeat {repeat + 1}" if isinstance(repeat, int) and repeat else "")
    return Code(
        raw=text or answer,
        model=one_line(str(reply["model"]), 80),
        about=about,
        reply_status=str(reply["status"]),
        code_status=str(code["status"]) if code else "not extracted",
        notes=tuple(notes),
        is_reply=not text and bool(answer.strip()),
    )


def _size(text: str) -> int:
    return len(escape(visible(text)).encode("utf-8", "replace")) + _EACH


def _fit(blocks: Sequence[Block], room: int) -> Shelf:
    """Cut at the largest of a few lengths at which all fits; where none does, leave out what no code was made from."""
    items: list[Text | Code] = []
    for block in blocks:
        for column in block.columns:
            items += [*column.texts, *column.codes]
    longest = _LIMITS[0]
    heads = [item.raw[:longest] for item in items]
    limit = next((limit for limit in _LIMITS if sum(_size(head[:limit]) for head in heads) <= room), _LIMITS[-1])
    left = room
    keep: set[int] = set()
    # The sampled and their codes first; within these the order of the page.
    for item in sorted(items, key=lambda item: isinstance(item, Text) and not item.sampled):
        left -= _size(item.raw[:limit])
        if left < 0:
            break
        keep.add(id(item))

    fitted = []
    for block in blocks:
        columns = tuple(
            replace(
                column,
                texts=tuple(
                    replace(item, cut=cut_text(item.raw, limit), raw="") for item in column.texts if id(item) in keep
                ),
                codes=tuple(
                    replace(item, cut=cut_text(item.raw, limit), raw="") for item in column.codes if id(item) in keep
                ),
            )
            for column in block.columns
        )
        if any(column.texts or column.codes for column in columns):
            fitted.append(replace(block, columns=columns))
    texts = [item for item in items if isinstance(item, Text)]
    cut = sum(len(item.raw) > limit for item in items if id(item) in keep)
    notes = []
    if cut:
        notes.append(f"{plural(cut, 'text')} longer than {limit:,} characters {'is' if cut == 1 else 'are'} cut there.")
    if len(keep) < len(items):
        notes.append(
            f"{len(keep):,} of {len(items):,} texts and codes are shown, the prompts that were sent on and their codes "
            "first, so that the page stays small."
        )
    if notes:
        notes.append("The tables hold all of them in full.")
    return Shelf(tuple(fitted), len(texts), len(items) - len(texts), " ".join(notes))
