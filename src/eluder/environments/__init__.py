"""Environments: functions that return a `FiniteMDP`."""

from eluder.environments.riverswim import riverswim as riverswim

__all__ = ["riverswim"]
