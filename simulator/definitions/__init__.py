"""What a user writes: personas, tasks and campaigns in YAML, read with places and mends.

Importing this package imports nothing else; each name is fetched when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.definitions.campaign import Campaign, GenerateStage, ModelChoice, PromptStage
    from simulator.definitions.finding import (
        Found,
        builtin_folder,
        find_persona,
        find_task,
        list_personas,
        list_tasks,
        load_personas,
        load_tasks,
    )
    from simulator.definitions.persona import Persona
    from simulator.definitions.schemas import json_schema
    from simulator.definitions.starter import write_study
    from simulator.definitions.study import Study, dump_study, list_campaigns, load_campaign, load_study
    from simulator.definitions.task import Task
    from simulator.definitions.text_reading import resolve_inside

__all__ = [
    "Campaign",
    "Found",
    "GenerateStage",
    "ModelChoice",
    "Persona",
    "PromptStage",
    "Study",
    "Task",
    "builtin_folder",
    "dump_study",
    "find_persona",
    "find_task",
    "json_schema",
    "list_campaigns",
    "list_personas",
    "list_tasks",
    "load_campaign",
    "load_personas",
    "load_study",
    "load_tasks",
    "resolve_inside",
    "write_study",
]

_HOMES = {
    "campaign": ("Campaign", "GenerateStage", "ModelChoice", "PromptStage"),
    "finding": (
        "Found",
        "builtin_folder",
        "find_persona",
        "find_task",
        "list_personas",
        "list_tasks",
        "load_personas",
        "load_tasks",
    ),
    "persona": ("Persona",),
    "schemas": ("json_schema",),
    "starter": ("write_study",),
    "study": ("Study", "dump_study", "list_campaigns", "load_campaign", "load_study"),
    "task": ("Task",),
    "text_reading": ("resolve_inside",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f"{__name__}.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
