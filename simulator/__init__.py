"""From YAML to recorded replies and tables: definitions, prompts, running, extraction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.code import Extraction, extract
    from simulator.definitions import Campaign, Persona, Study, Task, load_campaign
    from simulator.engine import Engine, map_batches
    from simulator.errors import SociolectError
    from simulator.imports import read_eval_results, read_samples, read_sensitivity, read_texts, scan_outcomes
    from simulator.running.calls import Call, Message
    from simulator.running.campaign_run import run_campaign, run_folder
    from simulator.running.journal import Journal
    from simulator.running.models.mock import MockModel
    from simulator.running.replies import Reply
    from simulator.tables import read_table, read_tables, run_tables, write_run_tables, write_table, write_tables

__all__ = [
    "Call",
    "Campaign",
    "Engine",
    "Extraction",
    "Journal",
    "Message",
    "MockModel",
    "Persona",
    "Reply",
    "SociolectError",
    "Study",
    "Task",
    "extract",
    "load_campaign",
    "map_batches",
    "read_eval_results",
    "read_samples",
    "read_sensitivity",
    "read_table",
    "read_tables",
    "read_texts",
    "run_campaign",
    "run_folder",
    "run_tables",
    "scan_outcomes",
    "write_run_tables",
    "write_table",
    "write_tables",
]

_HOMES = {
    "simulator.code": ("Extraction", "extract"),
    "simulator.definitions": ("Campaign", "Persona", "Study", "Task", "load_campaign"),
    "simulator.errors": ("SociolectError",),
    "simulator.engine": ("Engine", "map_batches"),
    "simulator.imports": (
        "read_eval_results",
        "read_samples",
        "read_sensitivity",
        "read_texts",
        "scan_outcomes",
    ),
    "simulator.running.calls": ("Call", "Message"),
    "simulator.running.campaign_run": ("run_campaign", "run_folder"),
    "simulator.running.journal": ("Journal",),
    "simulator.running.models.mock": ("MockModel",),
    "simulator.running.replies": ("Reply",),
    "simulator.tables": ("read_table", "read_tables", "run_tables", "write_run_tables", "write_table", "write_tables"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
