"""How large a campaign is: reckoned before anything is sent, and narrowed by a pilot."""

from simulator.running.size.ranges import Range
from simulator.running.size.size import PlanSize, SizeRow, size_of

__all__ = ["PlanSize", "Range", "SizeRow", "size_of"]
