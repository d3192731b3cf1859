"""One agent on one environment, as figures and the report page see it: cumulative curves at a few hundred episodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from eluder.simulation import Result

if TYPE_CHECKING:
    import pandas as pd

    from eluder.experiments.results import Curves

# A screen or a printed column shows no more points than this.
POINTS = 300


class Series(NamedTuple):
    """Regret and reward of an agent on an environment, in the environment's own units."""

    experiment: str
    environment: str
    horizon: int
    agent: str
    episodes: Int[np.ndarray, " points"]  # at which the curves are known, counted from 1
    regret: Float[np.ndarray, "paths points"]  # summed over the episodes up to each point
    returns: Float[np.ndarray, "paths points"]  # likewise
    optimal_value: float  # the mean of V*₁(s₁)
    reward_scale: float
    states: int | None = None
    seconds: float = float("nan")  # wall time
    misfit: float = 0.0  # how far the model class is from the environment
    seed: int = 0
    complete: bool = True  # whether the run has ended

    @classmethod
    def of(cls, result: Result, *, experiment: str = "", agent: str | None = None, states: int | None = None) -> Series:
        """A simulation's result. `agent` is the name to show, where the result's own would not tell two apart."""
        points = checkpoints(result.regret.shape[1])
        return cls(
            experiment=experiment,
            environment=result.environment,
            horizon=result.horizon,
            agent=agent or result.agent,
            episodes=points,
            regret=_sums(result.regret, points),
            returns=_sums(result.returns, points),
            optimal_value=float(result.optimal_value.mean()),
            reward_scale=result.reward_scale,
            states=states,
            seconds=result.seconds,
            misfit=result.misfit,
        )

    @classmethod
    def stored(cls, curves: Curves) -> Series:
        """A series of a store."""
        keep = _kept(curves.episodes)
        return cls(
            experiment=curves.experiment,
            environment=curves.environment,
            horizon=curves.horizon,
            agent=curves.agent,
            episodes=curves.episodes[keep],
            regret=curves.cumulative_regret[:, keep],
            returns=curves.cumulative_return[:, keep],
            optimal_value=float(curves.optimal_value.mean()),
            reward_scale=curves.reward_scale,
            states=curves.states,
            seconds=curves.seconds or float("nan"),
            seed=curves.seed,
            complete=curves.complete,
        )

    @property
    def group(self) -> Group:
        """What it may be compared within."""
        return Group(self.experiment, self.environment, self.horizon, self.seed)

    @property
    def average_return(self) -> Float[np.ndarray, "paths points"]:
        """Reward per episode up to each point."""
        return self.returns / self.episodes

    def final_regret(self, last: int | None = None) -> Float[np.ndarray, " paths"]:
        """Regret up to the last episode, or to the last point that is not beyond `last`."""
        point = -1 if last is None else int(np.searchsorted(self.episodes, last, side="right")) - 1
        return self.regret[:, point]


class Group(NamedTuple):
    """Series with the same group differ in their agents only."""

    experiment: str
    environment: str
    horizon: int
    seed: int

    @property
    def title(self) -> str:
        """The environment, for headings."""
        seed = f", seed {self.seed}" if self.seed else ""
        return f"{self.environment}, H = {self.horizon}{seed}"


def checkpoints(episodes: int, points: int = POINTS) -> Int[np.ndarray, " points"]:
    """Episode numbers up to `episodes`, the first and the last among them, dense at both ends of a log axis."""
    if episodes <= points:
        return np.arange(1, episodes + 1)
    spread = np.concatenate([np.geomspace(1, episodes, points // 2), np.linspace(1, episodes, points // 2)])
    return np.unique(np.round(spread).astype(int))


def groups(series: Iterable[Series]) -> dict[Group, list[Series]]:
    """Series by what they may be compared within, in the order in which they come.

    Agents of the same name in one group are told apart by their number of episodes, else by their place.
    """
    result: dict[Group, list[Series]] = {}
    for one in series:
        group = result.setdefault(one.group, [])
        taken = {other.agent for other in group}
        if one.agent in taken:
            one = one._replace(agent=f"{one.agent} ({one.episodes[-1]} episodes)")
        if one.agent in taken:
            one = one._replace(agent=f"{one.agent} [{len(group) + 1}]")
        group.append(one)
    return result


def last_common(series: Iterable[Series]) -> int:
    """The last episode that all series have come to, for a fair comparison of runs under way."""
    return min(int(one.episodes[-1]) for one in series)


def as_series(data: Any) -> list[Series]:
    """Series from what a user has at hand.

    That is a `Result`, a `Series`, the curves of a store, several of these, or the table of `eluder.load`.
    """
    if isinstance(data, Series):
        return [data]
    if isinstance(data, Result):
        return [Series.of(data)]
    if hasattr(data, "cumulative_regret"):
        return [Series.stored(data)]
    if hasattr(data, "columns"):
        return from_frame(data)
    return [one for item in data for one in as_series(item)]


def from_frame(frame: pd.DataFrame) -> list[Series]:
    """Series from a tidy table with the columns experiment, environment, horizon, agent, path, episode, regret, return.

    Regret and return are of single episodes unless there are the columns `cumulative_regret` and `cumulative_return`.
    """
    needed = {"environment", "horizon", "agent", "path", "episode"}
    if missing := needed - set(frame.columns):
        raise ValueError(f"The table of results lacks the column {sorted(missing)[0]!r}.")
    keys = [key for key in ("experiment", "environment", "states", "horizon", "agent", "seed") if key in frame.columns]
    result = []
    for values, rows in frame.groupby(keys, sort=False, observed=True):
        named = dict(zip(keys, values if isinstance(values, tuple) else (values,), strict=True))
        result.append(_from_rows(named, rows))
    return result


def _from_rows(named: dict[str, Any], rows: pd.DataFrame) -> Series:
    rows = rows.sort_values(["path", "episode"], kind="stable")
    episodes = np.unique(rows["episode"].to_numpy())
    paths = len(np.unique(rows["path"].to_numpy()))
    if len(rows) != paths * len(episodes):
        raise ValueError(f"{named['agent']} on {named['environment']}: some paths lack episodes that others have.")

    def column(name: str, otherwise: float) -> np.ndarray:
        return rows[name].to_numpy(dtype=float) if name in rows.columns else np.array([otherwise])

    def cumulative(name: str) -> np.ndarray:
        if f"cumulative_{name}" in rows.columns:
            return column(f"cumulative_{name}", 0.0).reshape(paths, len(episodes))
        return np.cumsum(rows[name].to_numpy(dtype=float).reshape(paths, len(episodes)), axis=1)

    keep = _kept(episodes)
    return Series(
        experiment=str(named.get("experiment", "")),
        environment=str(named["environment"]),
        horizon=int(named["horizon"]),
        agent=str(named["agent"]),
        episodes=episodes[keep],
        regret=cumulative("regret")[:, keep],
        returns=cumulative("return")[:, keep],
        optimal_value=float(column("optimal_value", np.nan).mean()),
        reward_scale=float(column("reward_scale", 1.0)[0]),
        states=int(named["states"]) if "states" in named else None,
        seed=int(named.get("seed", 0)),
    )


def _kept(episodes: Int[np.ndarray, " stored"]) -> Int[np.ndarray, " points"]:
    """The places of the points to show among the episodes that are stored."""
    places = np.searchsorted(episodes, checkpoints(int(episodes[-1])))
    return np.unique(np.minimum(places, len(episodes) - 1))


def _sums(values: Float[np.ndarray, "paths episodes"], points: Int[np.ndarray, " points"]) -> np.ndarray:
    """Sums over the episodes up to each point, without a cumulative copy of everything."""
    starts = np.concatenate([[0], points[:-1]])
    return np.cumsum(np.add.reduceat(values, starts, axis=1), axis=1)
