"""Tables of results: the summary, and every episode."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from eluder.experiments.run import Cell
from eluder.simulation import Result


def summary(results: Mapping[Cell, Result]) -> pd.DataFrame:
    """One row per environment and agent. Rewards and regret are in the environment's own units."""
    rows = []
    for cell, result in results.items():
        final = result.regret.sum(axis=1)
        rows.append(
            {
                "experiment": cell.experiment,
                "environment": result.environment,
                "states": cell.setting.states,
                "horizon": result.horizon,
                "episodes": result.regret.shape[1],
                "paths": result.regret.shape[0],
                "agent": cell.agent,
                "optimal_value": result.optimal_value.mean(),
                "regret_mean": final.mean(),
                "regret_std": final.std(ddof=1) if len(final) > 1 else 0.0,
                "average_return": result.returns.mean(),
                "seconds": result.seconds,
                "steps_per_second": result.steps / result.seconds,
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(["experiment", "states", "horizon"], kind="stable", ignore_index=True)


def episodes(results: Mapping[Cell, Result]) -> pd.DataFrame:
    """One row per path and episode."""
    frames = []
    for cell, result in results.items():
        paths, count = result.regret.shape
        frames.append(
            pd.DataFrame(
                {
                    "experiment": pd.Categorical.from_codes(np.zeros(paths * count, dtype=int), [cell.experiment]),
                    "states": np.int32(cell.setting.states),
                    "horizon": np.int32(result.horizon),
                    "agent": pd.Categorical.from_codes(np.zeros(paths * count, dtype=int), [cell.agent]),
                    "path": np.repeat(np.arange(paths, dtype=np.int32), count),
                    "episode": np.tile(np.arange(1, count + 1, dtype=np.int32), paths),
                    "regret": result.regret.ravel(),
                    "return": result.returns.ravel(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True).astype({"experiment": "category", "agent": "category"})


def write(path: Path, writer: Callable[[Path], None]) -> Path:
    """Writes a file beside `path` and moves it there: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    try:
        writer(Path(name))
        Path(name).chmod(0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    return path
