"""Hyper-parameters that check themselves, and are always floats so that a new value recompiles nothing."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import numpy as np


def checked_number(
    name: str, value: Any, *, at_least: float | None = None, above: float = 0.0, below: float = math.inf
) -> float:
    """The value as a float: at least `at_least` where that is given, else above `above`; and below `below`."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    low = number and (value > above if at_least is None else value >= at_least)
    if not (low and math.isfinite(value) and value < below):
        bounds = f"above {above:g}" if at_least is None else f"of at least {at_least:g}"
        bounds += f" and below {below:g}" if below < math.inf else ""
        raise ValueError(f"{name} must be a number {bounds}, but is {value!r}.")
    return float(value)


def number(name: str, default: float, **limits: float) -> Any:
    """A field that holds one number, within limits as in `checked_number`."""
    return eqx.field(default=default, converter=lambda value: checked_number(name, value, **limits))


def multiplier(default: float = 1.0) -> Any:
    """The factor on an agent's bonus; 1 is the constant of its paper."""
    return number("multiplier", default, at_least=0.0)


def delta(default: float = 0.1) -> Any:
    """δ, the chance with which the confidence sets may fail."""
    return number("delta", default, below=1.0)


def episodes(default: float = 1000.0) -> Any:
    """K, the number of episodes that the confidence is spread over. The run may be shorter or longer."""
    return number("episodes", default, at_least=1.0)
