"""Models by name: embedded, of a provider, or made up; what each takes, and what went wrong when it was asked."""

from simulator.running.models.opening import Model, ModelInfo, check_model, describe_model, locate_model, open_model

__all__ = ["Model", "ModelInfo", "check_model", "describe_model", "locate_model", "open_model"]
