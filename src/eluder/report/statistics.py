"""Bands around a mean curve, intervals of a mean, and paired tests between agents. Everything is deterministic."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_RESAMPLES = 1000
_LEVEL = 0.95
_QUANTILES = (0.1, 0.9)


class Band(NamedTuple):
    """A mean curve and the two ends of its band, each over the same points."""

    mean: Float[np.ndarray, " points"]
    low: Float[np.ndarray, " points"]
    high: Float[np.ndarray, " points"]


def _std(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, spread = curves.mean(axis=0), _deviation(curves)
    return mean - spread, mean + spread


def _standard_error(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, spread = curves.mean(axis=0), _deviation(curves) / np.sqrt(len(curves))
    return mean - spread, mean + spread


def _bootstrap(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The percentile bootstrap of the mean over paths, with whole paths drawn."""
    mean = curves.mean(axis=0)
    # One matrix product instead of copies of the curves. Single precision is plenty for distances from the mean.
    shifts = _draws(len(curves)) @ (curves - mean).astype(np.float32)
    low, high = np.quantile(shifts, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0).astype(float)
    return mean + low, mean + high


@functools.lru_cache(maxsize=2)
def _draws(paths: int) -> Float[np.ndarray, "resamples paths"]:
    """The share of each path in every resample."""
    counts = np.random.default_rng(0).multinomial(paths, np.full(paths, 1 / paths), size=_RESAMPLES)
    return (counts / paths).astype(np.float32)


def _quantiles(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.quantile(curves, _QUANTILES, axis=0)
    return low, high


# The choices of a band, with how a legend or an axis calls them.
BANDS: dict[str, tuple[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]] = {
    "std": ("± one standard deviation", _std),
    "standard-error": ("± one standard error", _standard_error),
    "bootstrap": ("95 % bootstrap interval of the mean", _bootstrap),
    "quantiles": ("10 % to 90 % of the paths", _quantiles),
}


def band(curves: Float[np.ndarray, "paths points"], kind: str = "std") -> Band:
    """The mean over paths and a band: "std", "standard-error", "bootstrap" or "quantiles"."""
    if kind not in BANDS:
        raise ValueError(f"The band must be one of {', '.join(map(repr, BANDS))}, but is {kind!r}.")
    low, high = BANDS[kind][1](curves)
    return Band(curves.mean(axis=0), low, high)


def mean_interval(values: Float[np.ndarray, " paths"]) -> tuple[float, float]:
    """A 95 % bootstrap interval of the mean."""
    low, high = _bootstrap(np.asarray(values, dtype=float)[:, None])
    return float(low[0]), float(high[0])


class Paired(NamedTuple):
    """Two agents on the same paths: the mean of first − second, its interval, and a two-sided p value."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    adjusted: float  # by Holm's method, over all pairs tested together


def paired_tests(values: dict[str, Float[np.ndarray, " paths"]]) -> list[Paired]:
    """Every pair of agents, by random sign flips of the differences path by path.

    Paths with the same number see the same random numbers, so differences are less noisy than the agents themselves.
    Pairs with different numbers of paths are compared on those they share.
    """
    found: list[Paired] = []
    for (first, x), (second, y) in itertools.combinations(values.items(), 2):
        shared = min(len(x), len(y))
        difference = np.asarray(x[:shared], dtype=float) - np.asarray(y[:shared], dtype=float)
        low, high = mean_interval(difference)
        p_value = sign_flip_p(difference)
        found.append(Paired(first, second, float(difference.mean()), low, high, p_value, p_value))
    adjusted = holm([pair.p_value for pair in found])
    return [pair._replace(adjusted=p) for pair, p in zip(found, adjusted, strict=True)]


def sign_flip_p(difference: Float[np.ndarray, " paths"], patterns: int = 10_000) -> float:
    """The share of sign patterns whose mean is at least as far from zero: all patterns for few paths, else drawn.

    Where p values are adjusted for very many tests, more `patterns` keep the smallest p value small enough.
    """
    paths = len(difference)
    if paths <= 12:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=paths)))
        extra = 0
    else:
        # In fewer rows for very many paths: p is then coarser but still valid.
        signs = _signs(int(min(patterns, max(1000, 2e7 // paths))), paths)
        extra = 1  # the pattern that was seen
    seen = abs(difference.sum())
    at_least = np.abs(signs @ difference) >= seen * (1 - 1e-12)
    return float((at_least.sum() + extra) / (len(signs) + extra))


@functools.lru_cache(maxsize=1)
def _signs(rows: int, paths: int) -> Float[np.ndarray, "rows paths"]:
    return np.random.default_rng(0).choice(np.array([-1.0, 1.0]), size=(rows, paths))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: each p value times the number of hypotheses still open, never decreasing."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    running = 0.0
    for position, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - position) * p_values[index]))
        adjusted[index] = running
    return adjusted.tolist()


def _deviation(curves: np.ndarray) -> np.ndarray:
    """The standard deviation over paths, zero for a single path."""
    return curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros(curves.shape[1:])
