"""Running a campaign: plan, models, calls and replies, execution, journal, progress."""

__all__: list[str] = []
