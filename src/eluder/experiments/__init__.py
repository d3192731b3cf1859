"""Experiments that survive: specs, a result store, resume, and running on a cluster or a GPU.

Specs need the core alone; the store needs the `cli` extra.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eluder.experiments.spec import Grid as Grid
from eluder.experiments.spec import Part as Part
from eluder.experiments.spec import Spec as Spec
from eluder.experiments.spec import SpecError as SpecError

if TYPE_CHECKING:
    import pandas as pd


def load(folder: str | Path) -> pd.DataFrame:
    """All results under a folder (or an fsspec address) as one tidy table, a row per path and episode.

    The folder is an experiment's own, or one that holds several. Columns: experiment, environment, states, horizon,
    agent, seed, path, episode (from 1), regret and return of the episode, cumulative_regret and cumulative_return up
    to it, optimal_value, reward_scale, and whatever else was recorded. Where paths × episodes is large, at most 500
    log-spaced episodes of each path are there, with exact sums. Checksums are verified; a damaged file is left out
    with a warning. Results of the spec that was run last are returned, as far as a run under way has come.
    """
    from eluder.experiments import results  # needs the `cli` extra

    return results.load(folder)


__all__ = ["Grid", "Part", "Spec", "SpecError", "load"]
