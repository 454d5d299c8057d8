"""The journal of a run, the only store of record: its file, its lock, its shards, and all of them read as one."""

from simulator.running.journal.entries import Entry, FailedAttempt, Planned, PlanRow, Recorded, RecordedAttempt, Spent
from simulator.running.journal.journal import Journal

__all__ = ["Entry", "FailedAttempt", "Journal", "PlanRow", "Planned", "Recorded", "RecordedAttempt", "Spent"]
