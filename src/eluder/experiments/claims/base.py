"""What the experiments on the paper's claims share: rows with verdicts, and the intervals behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import stats

from eluder.agents import UCRLWVTR

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
# Intervals of this level back every verdict.
LEVEL = 0.99

Alter = Callable[[UCRLWVTR], UCRLWVTR]  # what an experiment runs in place of the agent it was written for


def unaltered(agent: UCRLWVTR) -> UCRLWVTR:
    """The agent as it is."""
    return agent


class Interval(NamedTuple):
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


class Row(NamedTuple):
    """One claim and what became of it."""

    experiment: str
    claim: str
    expected: str
    measured: str
    verdict: str


class Outcome(NamedTuple):
    """What an experiment returns."""

    rows: tuple[Row, ...]
    data: dict[str, Any]  # arrays and numbers behind the rows and the figure
    draw: Callable[[], Any]  # draws the figure


def at_most(interval: Interval, limit: float) -> str:
    """Whether a quantity is at most `limit`."""
    if interval.high <= limit:
        return HOLDS
    return FAILS if interval.low > limit else UNDECIDED


def at_least(interval: Interval, limit: float) -> str:
    """Whether a quantity is at least `limit`."""
    return at_most(Interval(-interval.estimate, -interval.high, -interval.low), -limit)


def share(events: ArrayLike, level: float = LEVEL) -> Interval:
    """The chance of an event from independent trials, with Clopper and Pearson's exact interval."""
    events = np.asarray(events, dtype=bool)
    count, total = int(events.sum()), events.size
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, count, total - count + 1) if count else 0.0
    high = stats.beta.ppf(1 - tail, count + 1, total - count) if count < total else 1.0
    return Interval(count / total, float(low), float(high))


def mean(samples: ArrayLike, level: float = LEVEL) -> Interval:
    """The mean of independent samples, with Student's interval."""
    samples = np.asarray(samples, dtype=float).ravel()
    centre = float(samples.mean())
    if samples.size < 2:
        return Interval(centre, -np.inf, np.inf)
    half = float(stats.t.ppf((1 + level) / 2, samples.size - 1) * samples.std(ddof=1) / np.sqrt(samples.size))
    return Interval(centre, centre - half, centre + half)


def exponent(
    x: Sequence[float], samples: Sequence[Float[np.ndarray, " runs"]], level: float = LEVEL, seed: int = 0
) -> Interval:
    """p in "mean ∝ x^p": the slope of log mean against log x, with a bootstrap over the runs at each x."""
    rng = np.random.default_rng(seed)
    log_x = np.log(np.asarray(x, dtype=float))
    centred = (log_x - log_x.mean()) / np.sum((log_x - log_x.mean()) ** 2)
    means = np.log([np.mean(runs) for runs in samples])
    draws = np.stack([np.log(_resampled_means(rng, runs)) for runs in samples])
    slope, slopes = float(centred @ means), centred @ draws
    tail = (1 - level) / 2
    low, high = np.quantile(slopes, [tail, 1 - tail])
    return Interval(slope, float(low), float(high))


def ratio(above: Float[np.ndarray, " runs"], below: Float[np.ndarray, " runs"], seed: int = 0) -> Interval:
    """The ratio of two means: e^p for the exponent p between x = 1 and x = e."""
    slope = exponent((1.0, np.e), (below, above), seed=seed)
    return Interval(*(float(np.exp(value)) for value in slope))


def _resampled_means(rng: np.random.Generator, runs: np.ndarray, draws: int = 1000) -> np.ndarray:
    runs = np.asarray(runs, dtype=float)
    return np.maximum(rng.choice(runs, size=(draws, runs.size)).mean(axis=1), np.finfo(float).tiny)


def pick(size: str, **settings: Any) -> Any:
    """The setting of a size: "full" is the experiment, "small" runs in seconds, "test" is the least that can decide."""
    if size not in settings:
        raise ValueError(f"size must be one of {', '.join(map(repr, settings))}, but is {size!r}.")
    return settings[size]
