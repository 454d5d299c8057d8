"""The tables: their schemas, how they are made from the records of a run, and their files.

``schemas`` says what each column is; ``recorded`` makes the tables of record from the journals of a run; ``files``
writes and reads one table, ``folders`` all tables of a run at once.
"""

from __future__ import annotations

from simulator.tables.files import read_table, scan_batches, write_table, writing_table
from simulator.tables.folders import add_tables, making_results, read_state, read_tables, replacing_tables, write_tables
from simulator.tables.recorded import Mapper, run_tables, stream_tables, write_run_tables
from simulator.tables.schemas import (
    ASKS,
    CHECKS,
    CODES,
    COMPARISONS,
    OUTCOMES,
    REPLIES,
    SCHEMAS,
    TABLES,
    VARIANTS,
    Table,
)

__all__ = [
    "ASKS",
    "CHECKS",
    "CODES",
    "COMPARISONS",
    "OUTCOMES",
    "REPLIES",
    "SCHEMAS",
    "TABLES",
    "VARIANTS",
    "Mapper",
    "Table",
    "add_tables",
    "making_results",
    "read_state",
    "read_table",
    "read_tables",
    "replacing_tables",
    "run_tables",
    "scan_batches",
    "stream_tables",
    "write_run_tables",
    "write_table",
    "write_tables",
    "writing_table",
]
