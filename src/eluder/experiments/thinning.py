"""Which episodes are kept when there are too many to keep all: log-spaced ones, with exact running sums."""

from __future__ import annotations

import numpy as np

# Results with more rows than this are thinned.
ROWS_AT_MOST = 2_000_000

# 54 points in each decade up to 10⁹ episodes: 460 in all. The same points for every run, whatever its length, so that
# a run that is extended has kept what a longer one would have kept.
_POINTS = np.unique(np.floor(10.0 ** (np.arange(9 * 54 + 1) / 54) + 1e-9).astype(np.int64))


def is_large(paths: int, episodes: int) -> bool:
    return paths * episodes > ROWS_AT_MOST


def kept(episodes: np.ndarray, last: int) -> np.ndarray:
    """Which of these episodes, counted from 1, stay: the log-spaced ones and the last. At most 500 of any run."""
    return np.isin(episodes, _POINTS) | (episodes == last)
