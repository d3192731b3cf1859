"""Reading a store: curves for figures and tables, and one tidy table of everything."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from eluder.experiments import thinning
from eluder.experiments.encoding import Records, join
from eluder.experiments.files import StoreError, open_files
from eluder.experiments.store import Cell, Store

if TYPE_CHECKING:
    import pandas as pd


class Curves(NamedTuple):
    """The stored results of one series. Rewards and regret are in the environment's own units."""

    experiment: str
    environment: str
    states: int
    horizon: int
    agent: str
    seed: int
    reward_scale: float
    episodes: Int[np.ndarray, " points"]  # those that are stored, counted from 1
    columns: dict[str, np.ndarray]  # by name, of shape (paths, points, ...)
    complete: bool  # whether all paths and episodes of the spec are there
    seconds: float  # wall time, where it is known
    path_numbers: Int[np.ndarray, " paths"]  # which paths these are: not all need be stored

    @property
    def paths(self) -> int:
        return self.columns["regret"].shape[0]

    @property
    def cumulative_regret(self) -> Float[np.ndarray, "paths points"]:
        return self.columns["cumulative_regret"]

    @property
    def cumulative_return(self) -> Float[np.ndarray, "paths points"]:
        return self.columns["cumulative_return"]

    @property
    def optimal_value(self) -> Float[np.ndarray, "paths points"]:
        return self.columns["optimal_value"]

    @property
    def steps(self) -> int:
        """Environment steps taken, over all paths."""
        return self.paths * int(self.episodes[-1]) * self.horizon


def curves(store: Store) -> list[Curves]:
    """The results of the spec that was run last in a store, as far as they are there."""
    content = store.experiment()
    if content is None:
        raise StoreError(f"{store.files.address} holds no readable experiment.json: run its spec again to restore it")
    try:
        name, entries = str(content["name"]), [_Entry.of(entry) for entry in content["series"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StoreError(f"experiment.json of {store.files.address} is not one of eluder's") from None
    found = (_read(store, name, entry) for entry in entries)
    return [one for one in found if one is not None]


class _Entry(NamedTuple):
    """A line of the store's table of contents."""

    id: str
    environment: str
    agent: str
    states: int
    horizon: int
    reward_scale: float
    seed: int
    episodes: int
    paths: int

    @classmethod
    def of(cls, entry: dict[str, Any]) -> _Entry:
        kinds: dict[str, Callable[[Any], Any]] = {"id": str, "environment": str, "agent": str, "reward_scale": float}
        return cls(**{name: kinds.get(name, int)(entry[name]) for name in cls._fields})


def _read(store: Store, experiment: str, entry: _Entry) -> Curves | None:
    found: list[tuple[Cell, Records, int]] = []
    for cell in store.cells(entry.id):
        if cell.paths.start < entry.paths:
            chain = cell.chain("parquet")
            chain += cell.chain("part", chain[-1][0].last if chain else 0)
            if chain:
                found.append((cell, join([records for _, records in chain]), chain[-1][0].last))
    if not found:
        return None
    # A run under way has come further on some paths than on others: what all of them have.
    last = min(entry.episodes, *(end for _, _, end in found))
    thin = any(records.thinned for _, records, _ in found)
    parts, numbers, seconds = [], [], 0.0
    for cell, records, _ in found:
        wanted = records.episodes <= last
        if thin:
            wanted &= thinning.kept(records.episodes, last if last == entry.episodes else 0)
        kept = records.keep(wanted, thin)
        inside = min(cell.paths.stop, entry.paths) - cell.paths.start
        numbers.append(np.arange(cell.paths.start, cell.paths.start + inside, dtype=np.int32))
        parts.append(kept._replace(columns={name: values[:inside] for name, values in kept.columns.items()}))
        seconds += sum(float(p.get("seconds", 0.0)) for p in cell.provenance())
    # Paths whose run was once shorter may lack the last episode of a longer one, and the other way round.
    common = parts[0].episodes
    for part in parts[1:]:
        common = np.intersect1d(common, part.episodes)
    parts = [part.keep(np.isin(part.episodes, common), thin) for part in parts]
    names = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in names}
    complete = last == entry.episodes and len(columns["regret"]) == entry.paths
    return Curves(
        experiment=experiment,
        environment=entry.environment,
        states=entry.states,
        horizon=entry.horizon,
        agent=entry.agent,
        seed=entry.seed,
        reward_scale=entry.reward_scale,
        episodes=common,
        columns=columns,
        complete=complete,
        seconds=seconds,
        path_numbers=np.concatenate(numbers),
    )


def load(folder: str | Path) -> pd.DataFrame:
    """See `eluder.load`."""
    import pandas as pd

    frames = [frame(one) for store in stores(folder) for one in curves(store)]
    if not frames:
        raise StoreError(f"{folder} holds no results of eluder: make some with `eluder run SPEC --out {folder}`")
    table = pd.concat(frames, ignore_index=True)
    return table.astype(dict.fromkeys(("experiment", "environment", "agent"), "category"))


def stores(folder: str | Path, on_damage: Callable[[str], None] | None = None) -> Iterator[Store]:
    """The store at a folder, or those in it. Damaged files are warned of unless `on_damage` is told of them."""

    def warn(sentence: str) -> None:
        warnings.warn(sentence, stacklevel=4)

    on_damage = on_damage or warn
    files = open_files(folder)
    names = files.names("")
    if "store.json" in names or "experiment.json" in names:
        yield Store.open(folder, on_damage=on_damage)
        return
    for name in names:
        inner = f"{str(folder).rstrip('/')}/{name}"
        if "experiment.json" in files.names(name):
            yield Store.open(inner, on_damage=on_damage)


def frame(one: Curves) -> pd.DataFrame:
    import pandas as pd

    count = len(one.episodes)
    rows = one.paths * count
    data: dict[str, Any] = {
        name: pd.Categorical.from_codes(np.zeros(rows, dtype=np.int8), [getattr(one, name)])
        for name in ("experiment", "environment", "agent")
    }
    data |= {"states": np.int32(one.states), "horizon": np.int32(one.horizon), "seed": one.seed}
    data["path"] = np.repeat(one.path_numbers, count)
    data["episode"] = np.tile(one.episodes, one.paths)
    for name, values in one.columns.items():
        flat = values.reshape(rows, *values.shape[2:])
        data[name] = flat if flat.ndim == 1 else list(flat)
    data["reward_scale"] = one.reward_scale
    return pd.DataFrame(data, index=pd.RangeIndex(rows))
