"""The work on one cell: carry it on from where its files say it stopped, saving as it goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import numpy as np

from eluder import checkpoint
from eluder.experiments import thinning
from eluder.experiments.build import Built
from eluder.experiments.encoding import Records, join
from eluder.experiments.files import StoreError
from eluder.experiments.locks import Locks
from eluder.experiments.provenance import provenance
from eluder.experiments.spec import Series
from eluder.experiments.store import Cell, Store
from eluder.simulation import Run, chunks

# A run that is killed loses at most about this much.
CHECKPOINT_SECONDS = 2.0

_SUMS = {"regret": "cumulative_regret", "returns": "cumulative_return"}
_COLUMNS = {"regret": "regret", "returns": "return"}


class Stopped(Exception):
    """The work was told to stop, and has saved what it did."""


class ClaimLost(Exception):
    """Another process took this one for dead and does its work now."""


@dataclass
class Control:
    """How the work is done, and who is told of it."""

    stop: threading.Event = field(default_factory=threading.Event)
    advanced: Callable[[int], None] = lambda steps: None  # environment steps just taken, from any thread
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    workers: int = 1  # threads for one cell


def work_on_block(store: Store, series: Series, built: Built, block: int, locks: Locks, control: Control) -> bool:
    """Computes what is missing of a block of paths. False when another process is at it."""
    paths = range(block * store.block, min((block + 1) * store.block, series.paths))
    claim = f"{series.id}-{block:08d}"
    if not locks.claim(claim):
        return False
    try:
        for part in store.split(series.id, paths):
            if control.stop.is_set():
                raise Stopped
            _carry_on(store.cell(series.id, part), series, built, control, lambda: locks.holds(claim))
    except ClaimLost:
        return False
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise StoreError(
            f"{series.agent} on {series.environment} does not fit into the device's memory in blocks of {store.block} "
            "paths: use another --out with a smaller --block"
        ) from None
    finally:
        locks.release(claim)
    return True


def _carry_on(cell: Cell, series: Series, built: Built, control: Control, ours: Callable[[], bool]) -> None:
    """Takes a cell to the series' last episode, and makes good whatever of it is damaged or missing."""
    chain = cell.chain("parquet")
    finished = chain[-1][0].last if chain else 0
    episodes = max(series.episodes, finished)
    if finished == episodes and next(cell.states(finished), (0,))[0] == finished:
        cell.provenance()  # reports damage
        cell.tidy(finished, cell.covered())  # after a run that was killed before it could
        return
    under_way = cell.chain("part", finished)
    if under_way and under_way[-1][0].last >= episodes:
        return  # a longer run that is under way has these episodes, and may go on from where it is
    began = time.perf_counter()
    fresh = Run.start(built.environment, built.agent, built.recorders, cell.paths, series.seed, control.workers)
    layout = checkpoint.layout_of(fresh)
    run, sums, seconds, stored = _resumed(cell, fresh, layout, finished, episodes)
    at = max(finished, run.episodes)  # results up to here are on disk
    thin = thinning.is_large(series.paths, episodes) or any(r.thinned for r in stored)
    pending: list[Records] = []
    saved = time.perf_counter()
    for advanced, recorded in chunks(run, episodes):
        first, run = run.episodes, advanced
        new = _records(recorded, sums, first)
        if thin:
            new = new.keep(thinning.kept(new.episodes, episodes), thinned=True)
        pending.append(new.keep(new.episodes > finished, new.thinned))
        control.advanced((run.episodes - first) * built.environment.horizon * len(cell.paths))
        now = time.perf_counter()
        stopping = control.stop.is_set()
        if run.episodes < episodes and (stopping or now - saved >= control.checkpoint_seconds):
            if not ours():
                raise ClaimLost
            if run.episodes > at:
                new = join(pending)
                cell.write_records(at, run.episodes, new, "part")
                stored.append(new)
                at = run.episodes
            pending = []
            cell.write_state(run.episodes, _state(run, layout, sums), {"seconds": seconds + now - began})
            cell.tidy(finished, run.episodes)
            saved = now
            if stopping:
                raise Stopped
    # Results last: finished ones then always have their provenance, and the state that a longer run starts from.
    cell.write_state(episodes, _state(run, layout, sums), {})
    if episodes > finished:
        records = join(stored + pending)
        if thin:
            records = records.keep(thinning.kept(records.episodes, episodes), thinned=True)
        cell.write_provenance(finished, episodes, provenance(seconds + time.perf_counter() - began, control.workers))
        cell.write_records(finished, episodes, records, "parquet")
    cell.tidy(episodes, episodes)


def _resumed(
    cell: Cell, run: Run, layout: checkpoint.Layout, finished: int, episodes: int
) -> tuple[Run, dict[str, np.ndarray], float, list[Records]]:
    """The run at its latest usable state: with the sums and seconds up to it, and its results since `finished`."""
    for at, arrays, meta in cell.states(episodes):
        try:
            sums = {name: arrays.pop(name) for name in _SUMS.values()}
            own = {name.removeprefix("agent"): array for name, array in arrays.items()}
            if any(s.shape != (run.paths,) or s.dtype != np.float64 for s in sums.values()):
                continue
            resumed = checkpoint.from_arrays(run, own, at, layout)
            seconds = float(meta.get("seconds", 0.0))
        except (KeyError, ValueError, TypeError, IndexError):
            continue  # of an agent that no longer has this form
        parts = cell.parts(finished, at) if at > finished else []
        if parts is not None:
            return resumed, sums, seconds, parts
    return run, {name: np.zeros(run.paths) for name in _SUMS.values()}, 0.0, []


def _state(run: Run, layout: checkpoint.Layout, sums: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"agent{name}": array for name, array in checkpoint.to_arrays(run, layout).items()} | sums


def _records(recorded: dict[str, np.ndarray], sums: dict[str, np.ndarray], first: int) -> Records:
    """A chunk's records with exact running sums, which are carried on in `sums`."""
    columns = {_COLUMNS.get(name, name): values for name, values in recorded.items()}
    for name, summed in _SUMS.items():
        # One addition after the other, as over the whole run at once: chunks leave no trace in the bits.
        running = np.cumsum(np.concatenate([sums[summed][:, None], recorded[name]], axis=1), axis=1)[:, 1:]
        columns[summed], sums[summed] = running, running[:, -1].copy()
    count = recorded["regret"].shape[1]
    return Records(np.arange(first + 1, first + count + 1), columns, thinned=False)
