"""What several environments need: checks of parameters, costs turned into rewards, the tightest reward scale."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from eluder import _validate as validate


def chance(value: float, name: str, low: float = 0.0, high: float = 1.0) -> float:
    """A number between `low` and `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
        raise ValueError(f"{name} must be a number between {low:g} and {high:g}, but is {value!r}.")
    return float(value)


def at_least(value: int, least: int, name: str) -> int:
    """A whole number of at least `least`."""
    if validate.positive_integer(value, name) < least:
        raise ValueError(f"{name} must be at least {least}, but is {value}.")
    return int(value)


def choice(value: str, allowed: Iterable[str], name: str) -> str:
    if value not in (allowed := list(allowed)):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, but is {value!r}.")
    return value


def non_negative(rewards: np.ndarray) -> tuple[np.ndarray, float]:
    """Rewards with a constant added so that none is negative, and that constant (0 when none is needed).

    Every episode has the same number of steps, so the constant adds the same to every policy's value and
    changes no regret. `FiniteMDP.original_value` takes it off again.
    """
    offset = max(0.0, -float(rewards.min()))
    return rewards + offset, offset


def tight_scale(successors: np.ndarray, probs: np.ndarray, rewards: np.ndarray, horizon: int) -> float:
    """The largest total reward of any trajectory: the smallest valid `reward_scale` (1 where nothing is paid)."""
    by_step = rewards[None] if rewards.ndim == 2 else rewards
    return validate.largest_return(successors, probs, by_step, horizon) or 1.0
