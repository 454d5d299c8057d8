"""Statistics that several studies share: pure functions of arrays."""

from __future__ import annotations

from analysis.stats.reliability import Reliability, measure_reliability

__all__ = ["Reliability", "measure_reliability"]
