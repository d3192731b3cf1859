"""Tables of results: the summary, and every stored episode."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from eluder.experiments.results import Curves, frame


def summary(results: Sequence[Curves]) -> pd.DataFrame:
    """One row per environment and agent. Rewards and regret are in the environment's own units."""
    rows = []
    for result in results:
        final = result.cumulative_regret[:, -1]
        rows.append(
            {
                "experiment": result.experiment,
                "environment": result.environment,
                "states": result.states,
                "horizon": result.horizon,
                "episodes": int(result.episodes[-1]),
                "paths": result.paths,
                "agent": result.agent,
                "optimal_value": result.optimal_value.mean(),
                "regret_mean": final.mean(),
                "regret_std": final.std(ddof=1) if len(final) > 1 else 0.0,
                "average_return": (result.cumulative_return[:, -1] / result.episodes[-1]).mean(),
                "seconds": result.seconds,
                "steps_per_second": result.steps / result.seconds if result.seconds else float("nan"),
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(["experiment", "states", "horizon"], kind="stable", ignore_index=True)


def episodes(results: Sequence[Curves]) -> pd.DataFrame:
    """One row per path and stored episode."""
    table = pd.concat([frame(result) for result in results], ignore_index=True)
    return table.astype(dict.fromkeys(("experiment", "environment", "agent"), "category"))


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
