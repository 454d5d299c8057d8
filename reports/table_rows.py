"""The page's tables: rows of the analysis in the order and number in which they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from reports.cells import Name, Row, decimal, value, whole
from reports.charts import mean_tsed
from reports.entity_map import kind_of
from reports.graph import beyond_chance
from reports.visible import one_line

__all__ = [
    "CountTable",
    "OverlapTable",
    "TsedTable",
    "list_entities",
    "list_overlap",
    "list_speakers",
    "list_tsed",
    "sum_counts",
]

_ROWS = 400
_NAMES = 40


class OverlapTable(NamedTuple):
    """Rows of the overlap as shown, and how many there are in all."""

    rows: list[Row]
    total: int


def list_overlap(overlap: Sequence[Row], names: Mapping[str, Name]) -> OverlapTable:
    """Return pairs of speakers, those that share most first, with their verdict and the entities that both use."""
    known = [row for row in overlap if row["a"] in names and row["b"] in names]
    known.sort(key=lambda row: -whole(row["shared_entities"]))
    named = _NAMES if len(known) <= 100 else 12
    shown = []
    for row in known[:_ROWS]:
        words = list(row["names"] or [])
        shown.append(
            {
                **row,
                "a": names[row["a"]],
                "b": names[row["b"]],
                "rarefied": row.get("rarefied"),
                "verdict": {1: "more", 0: "chance", -1: "less"}[beyond_chance(row)]
                if value(row["q"]) is not None
                else "untested",
                "names": [one_line(word, 60) for word in words[:named]],
                "more": max(0, len(words) - named),
            }
        )
    return OverlapTable(shown, len(known))


def list_speakers(speakers: Sequence[Row], names: Mapping[str, Name]) -> list[Row]:
    """Return the speakers, in the order of ``names``, with the mean length of their texts."""
    by_id = {row["speaker"]: row for row in speakers}
    return [
        {
            **by_id[speaker],
            "name": name,
            "length": whole(by_id[speaker]["words"]) / whole(by_id[speaker]["texts"])
            if whole(by_id[speaker]["texts"])
            else None,
        }
        for speaker, name in names.items()
        if speaker in by_id
    ]


def list_entities(entity_map: Sequence[Row], limit: int = 60) -> list[Row]:
    """Return the most mentioned entities of the map, with the kind of thing that each is."""
    ranked = sorted(entity_map, key=lambda row: (-whole(row["mentions"]), row["entity"]))
    return [
        {
            "entity": one_line(row["entity"], 80),
            "kind": kind_of(row["label"]),
            "label": row["label"] or "",
            "mentions": row["mentions"],
            "speakers": row["speakers"] if not isinstance(row["speakers"], list) else len(row["speakers"]),
        }
        for row in ranked[:limit]
    ]


class TsedTable(NamedTuple):
    """Pairs of personas: their mean over tasks, and each task's as text; how many pairs there are in all."""

    tasks: list[str]
    rows: list[Row]
    total: int


def list_tsed(persona_tsed: Sequence[Row], names: Mapping[str, Name], tasks: Mapping[str, str]) -> TsedTable:
    """Return, per model and pair, the mean over tasks with what it rests on, and the mean of each task.

    Most alike first, model by model; four hundred rows at most.

    A task without a score says what its pairs came to instead of a number.
    """
    seen = dict.fromkeys(str(row["task"]) for row in persona_tsed)
    order = [*(task for task in tasks if task in seen), *(task for task in seen if task not in tasks)]
    by_task = {task: mean_tsed([row for row in persona_tsed if str(row["task"]) == task]) for task in order}
    shown: list[Row] = []
    models = list(dict.fromkeys(one_line(str(row["model"]), 60) for row in persona_tsed))
    for model, between in mean_tsed(persona_tsed).items():
        for both, (mean, scored_tasks, scored, pairs) in between.items():
            if not set(both) <= set(names):
                continue
            each = []
            for task in order:
                cell = by_task[task].get(model, {}).get(both)
                each.append("–" if cell is None else (decimal(cell[0]) if cell[0] is not None else f"0 of {cell[3]}"))
            shown.append(
                {
                    "model": one_line(model, 60),
                    "a": names[both[0]],
                    "b": names[both[1]],
                    "mean": mean,
                    "tasks": scored_tasks,
                    "scored": scored,
                    "pairs": pairs,
                    "each": each,
                }
            )
    shown.sort(key=lambda row: (models.index(row["model"]), row["mean"] is None, -(row["mean"] or 0.0)))
    return TsedTable([tasks.get(task, one_line(task, 80)) for task in order], shown[:_ROWS], len(shown))


class CountTable(NamedTuple):
    """One row per thing that was asked for; columns are statuses; ``lost`` names each that did not succeed."""

    statuses: list[str]
    rows: list[Row]
    lost: list[Row]
    more: int


_THINGS: dict[str, str] = {
    "variant": "rewrites",
    "text": "texts by people",
    "reply": "replies",
    "code": "codes",
}
_STAGES: dict[str, Literal["rewriting", "generating"]] = {"rewrite": "rewriting", "generate": "generating"}


def sum_counts(counts: Sequence[Row], names: Mapping[str, Name], tasks: Mapping[str, str]) -> CountTable:
    """Return how many texts, replies and codes there are by status, and which speaker and task lost which."""
    sums: dict[tuple[str, str, str], Counter[str]] = {}
    statuses: Counter[str] = Counter()
    lost: Counter[tuple[str, str, str, str, str]] = Counter()
    for row in counts:
        what, status, number = str(row["what"]), str(row["status"]), whole(row["count"])
        key = (what, str(row["stage"] or ""), one_line(str(row["model"] or ""), 60))
        sums.setdefault(key, Counter())[status] += number
        statuses[status] += number
        if status != "ok" and number:
            persona, task = row["persona"], row["task"]
            who = names[persona].short if persona in names else "–"
            lost[_THINGS.get(what, what), status, who, tasks.get(task, one_line(str(task or "–"), 80)), key[2]] += (
                number
            )
    order = ["ok", *sorted(status for status in statuses if status != "ok")]
    ranked = sorted(sums, key=lambda key: (list(_THINGS).index(key[0]) if key[0] in _THINGS else 9, *key))
    rows = [
        {
            "what": _THINGS.get(what, what),
            "stage": _STAGES.get(stage, stage),
            "model": model,
            "cells": [sums[what, stage, model][status] for status in order],
            "total": sum(sums[what, stage, model].values()),
        }
        for what, stage, model in ranked
    ]
    listed = [
        {"what": what, "status": status, "who": who, "task": task, "model": model, "count": number}
        for (what, status, who, task, model), number in sorted(lost.items(), key=lambda item: (-item[1], item[0]))
    ]
    return CountTable(order, rows, listed[:200], max(0, len(listed) - 200))
