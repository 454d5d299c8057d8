"""Other people's records into the tables of `simulator.tables`, from where nothing knows where they came from.

Each reader says in its docstring what a row looks like. A row that cannot be used loses only itself: it is counted and
named in the warnings that come back beside the tables. A file from which nothing can be used, that lacks a column, or
of which an unknown part is missing (a gzip that was cut off) is a `simulator.errors.RecordError`. Ids are hashes of
content, so they do not change when rows are added or sorted.
"""

from __future__ import annotations

from simulator.imports.eval_results import read_eval_results
from simulator.imports.outcome_tables import MODELS, enter_outcomes, stream_outcomes
from simulator.imports.outcomes import OutcomeTable, scan_outcomes
from simulator.imports.samples import read_samples, stream_samples
from simulator.imports.sensitivity import SCORES, read_sensitivity, stream_sensitivity
from simulator.imports.texts import TEXTS, read_texts

__all__ = [
    "MODELS",
    "SCORES",
    "TEXTS",
    "OutcomeTable",
    "enter_outcomes",
    "read_eval_results",
    "read_samples",
    "read_sensitivity",
    "read_texts",
    "scan_outcomes",
    "stream_outcomes",
    "stream_samples",
    "stream_sensitivity",
]
