"""The report of 10,000 paths × 5,000 episodes: under 10 MB, and under 10 s from stored results to the page.

    python benchmarks/report_size.py

The store is synthetic: random regret of four agents, thinned to 500 episodes as a real run of this size would be.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from eluder.experiments import Part, Spec
from eluder.experiments.encoding import Records
from eluder.experiments.results import Curves
from eluder.experiments.run import prepare
from eluder.experiments.thinning import kept
from eluder.report import page
from eluder.report.stored import StoredReport

AGENTS = ("ucrl-wvtr", "ucrl-wvtr-without-home", "ucrl-vtr", "random")


def synthetic(folder: Path, paths: int, episodes: int) -> None:
    """Writes what a run would have written, without running."""
    spec = Spec(
        name="large",
        environments=(Part.of("riverswim", horizon=20),),
        agents=tuple(Part.of(name) for name in AGENTS),
        episodes=episodes,
        paths=paths,
    )
    job = prepare(spec, str(folder))
    rng = np.random.default_rng(0)
    stored = np.arange(1, episodes + 1)
    stored = stored[kept(stored, episodes)]
    gaps = np.diff(stored, prepend=0)
    for task in job.tasks:
        block = range(task.block * job.store.block, task.block * job.store.block + task.paths)
        size = (len(block), stored.size)
        regret, returns = np.cumsum(rng.gamma(gaps, size=size), axis=1), np.cumsum(rng.gamma(gaps, size=size), axis=1)
        columns = {
            "regret": rng.random(size),
            "return": rng.random(size),
            "optimal_value": np.full(size, 13.86),
            "cumulative_regret": regret,
            "cumulative_return": returns,
        }
        cell = job.store.cell(task.series.id, block)
        cell.write_records(0, episodes, Records(stored, columns, thinned=True), "parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=10_000)
    parser.add_argument("--episodes", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        synthetic(Path(folder), options.paths, options.episodes)
        began = time.perf_counter()
        report = StoredReport(folder, xrays=0).report()
        read = time.perf_counter() - began
        path = page.write(Path(folder) / "report.html", report)
        seconds, size = time.perf_counter() - began, path.stat().st_size / 1e6
        series: list[Curves] = report.series
        print(f"{len(series)} agents × {series[0].paths} paths × {options.episodes} episodes")
        print(f"{size:.1f} MB (at most 10), {seconds:.1f} s (at most 10), of which {read:.1f} s reading the store")
        assert size < 10
        assert seconds < 10


if __name__ == "__main__":
    main()
