"""Where a pure function is mapped over batches: this machine, or a cluster. The result is the same.

``mapping`` is the whole of it from outside, ``mapper`` the same as something that maps; ``local`` and ``ray_cluster``
are who works; ``attempts`` is what a worker does with a batch; ``parts`` are the files that come of it, and
``fingerprints`` say what each was made of.
"""

from __future__ import annotations

from simulator.engine.mapper import map_in
from simulator.engine.mapping import Engine, map_batches
from simulator.engine.parts import read_parts

__all__ = ["Engine", "map_batches", "map_in", "read_parts"]
