"""Runs experiments: one cell per setting and agent, several cells at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from eluder.experiments.catalogue import PAPER_AGENTS, Experiment, Setting
from eluder.simulation import Result, cores, simulate


@dataclass(frozen=True)
class Cell:
    """One agent on one setting of an experiment."""

    experiment: str
    setting: Setting
    agent: str

    def steps(self, paths: int) -> int:
        """Environment steps of this cell."""
        return self.setting.episodes * self.setting.horizon * paths


def cells(experiments: Iterable[Experiment]) -> list[Cell]:
    """Every cell, the largest first: a long one started last would leave a core idle."""
    every = [Cell(e.name, setting, agent) for e in experiments for setting in e.settings for agent in setting.agents]
    return sorted(every, key=lambda cell: -cell.steps(1))


def run_cells(
    work: list[Cell],
    *,
    paths: int,
    seed: int,
    advanced: Callable[[int], None] = lambda steps: None,
    finished: Callable[[Cell, Result], None] = lambda cell, result: None,
) -> dict[Cell, Result]:
    """The results of all cells. Cells whose run Ctrl-C cut short are left out, the others are kept.

    `advanced` is told how many environment steps were taken since it was last called, from any thread.
    """
    stop = threading.Event()

    def run(cell: Cell) -> Result | None:
        if stop.is_set():
            return None
        environment = cell.setting.environment()
        episodes_before = 0

        def progress(episodes: int) -> None:
            nonlocal episodes_before
            advanced((episodes - episodes_before) * cell.setting.horizon * paths)
            episodes_before = episodes
            if stop.is_set():  # Ctrl-C reaches the main thread only
                raise KeyboardInterrupt

        # Cells in parallel use the cores better than each cell's paths in parallel: batches stay large.
        result = simulate(
            environment,
            PAPER_AGENTS[cell.agent](environment),
            episodes=cell.setting.episodes,
            paths=paths,
            seed=seed,
            progress=progress,
            workers=1 if len(work) > 1 else None,
        )
        return None if result.interrupted else result

    results: dict[Cell, Result] = {}
    with ThreadPoolExecutor(cores()) as pool:
        pending = {pool.submit(run, cell): cell for cell in work}
        try:
            for future in as_completed(pending):
                result = future.result()
                if result is not None:
                    results[pending[future]] = result
                    finished(pending[future], result)
        except KeyboardInterrupt:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
    return {cell: results[cell] for cell in work if cell in results}
