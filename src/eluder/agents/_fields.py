"""Hyper-parameters that check themselves, and are always floats so that a new value recompiles nothing."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx


def number(
    name: str, default: float, *, at_least: float | None = None, above: float = 0.0, below: float = math.inf
) -> Any:
    """A field that holds one number: at least `at_least` where that is given, else above `above`; and below `below`."""

    def check(value) -> float:
        low = value > above if at_least is None else value >= at_least
        if isinstance(value, bool) or not (math.isfinite(value) and low and value < below):
            bounds = f"above {above:g}" if at_least is None else f"of at least {at_least:g}"
            bounds += f" and below {below:g}" if below < math.inf else ""
            raise ValueError(f"{name} must be a number {bounds}, but is {value!r}.")
        return float(value)

    return eqx.field(default=default, converter=check)


def multiplier(default: float = 1.0) -> Any:
    """The factor on an agent's bonus; 1 is the constant of its paper."""
    return number("multiplier", default, at_least=0.0)


def delta(default: float = 0.1) -> Any:
    """δ, the chance with which the confidence sets may fail."""
    return number("delta", default, below=1.0)


def episodes(default: float = 1000.0) -> Any:
    """K, the number of episodes that the confidence is spread over. The run may be shorter or longer."""
    return number("episodes", default, at_least=1.0)
