"""What a person, or a program, sees while a campaign runs."""

from simulator.running.progress.progress import RunProgress, ceilings_of

__all__ = ["RunProgress", "ceilings_of"]
