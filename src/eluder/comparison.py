"""Agents × environments × horizons as one grid: one table, one figure, paired tests and a ranking with uncertainty.

All agents see the same random numbers on the same path, so they are compared path by path. Theory constants are far too
careful at small scale, and not equally so for every agent: with `multipliers` each agent is also run at its best one
from a common grid, chosen on other random numbers than those it is then measured on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from eluder import agents as _agents
from eluder import environments as _environments
from eluder.agents import Agent
from eluder.mdp import FiniteMDP
from eluder.report.statistics import holm, mean_interval, sign_flip_p
from eluder.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EnvironmentSpec = str | Mapping[str, Any] | FiniteMDP
AgentSpec = str | Mapping[str, Any] | Callable[[FiniteMDP], Agent]

# From the theory's 1 down to almost no bonus, three to a factor of ten.
GRID = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
_TUNING_SEED = 1_000_003  # added to the seed, so that no agent is measured on the numbers that chose its multiplier
_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class Cell:
    """One agent in one environment."""

    environment: str
    horizon: int
    agent: str
    multiplier: float | None  # what it ran with; None for an agent without one
    regret: Float[np.ndarray, " paths"]  # cumulative, after the last episode, in the environment's units
    at_theory: Float[np.ndarray, " paths"] | None  # the same at multiplier 1, where that is not `regret`
    sweep: Mapping[float, Float[np.ndarray, " paths"]]  # the tuning runs, by multiplier

    @property
    def place(self) -> tuple[str, int]:
        return self.environment, self.horizon


@dataclass(frozen=True)
class Comparison:
    """What `compare` returns. Tables are pandas data frames; regret is in each environment's own units."""

    cells: tuple[Cell, ...]
    episodes: int
    paths: int
    seed: int

    @property
    def table(self) -> pd.DataFrame:
        """One row per cell: mean regret, standard error, bootstrap interval, and the mean at the theory's 1."""
        import pandas as pd

        rows = []
        for cell in self.cells:
            low, high = mean_interval(cell.regret)
            theory = cell.regret if cell.multiplier == 1 else cell.at_theory
            rows.append(
                {
                    "environment": cell.environment,
                    "horizon": cell.horizon,
                    "agent": cell.agent,
                    "multiplier": cell.multiplier,
                    "regret": cell.regret.mean(),
                    "standard_error": _standard_error(cell.regret),
                    "low": low,
                    "high": high,
                    "regret_at_1": None if theory is None else theory.mean(),
                }
            )
        return pd.DataFrame(rows)

    @property
    def tests(self) -> pd.DataFrame:
        """Every pair of agents in every environment: difference path by path, its interval and its p values.

        `adjusted` is by Holm's method over all pairs of the whole comparison.
        """
        import pandas as pd

        pairs = [pair for _, group in self._places() for pair in itertools.combinations(group, 2)]
        # Holm's method may multiply the smallest p value by the number of pairs: it has to be small enough for that.
        patterns = max(10_000, 50 * len(pairs))
        rows = []
        for first, second in pairs:
            difference = first.regret - second.regret
            low, high = mean_interval(difference)
            p_value = sign_flip_p(difference, patterns)
            rows.append((*first.place, first.agent, second.agent, difference.mean(), low, high, p_value))
        columns = ["environment", "horizon", "first", "second", "difference", "low", "high", "p_value"]
        table = pd.DataFrame(rows, columns=columns)
        return table.assign(adjusted=holm(table["p_value"].tolist()))

    @property
    def ranking(self) -> pd.DataFrame:
        """Agents by mean rank over environments (1 is best), with bootstrap intervals and the chance to be first.

        Resamples draw paths, the same ones for every agent of an environment; equal regrets share their ranks.
        """
        import pandas as pd

        labels = list(dict.fromkeys(cell.agent for cell in self.cells))
        rng = np.random.default_rng(self.seed)
        drawn, observed = [], []
        for _, group in self._places():
            regret = np.stack([next(cell.regret for cell in group if cell.agent == label) for label in labels])
            weights = rng.multinomial(self.paths, np.full(self.paths, 1 / self.paths), size=_RESAMPLES) / self.paths
            drawn.append(_ranks(weights @ regret.T))
            observed.append(_ranks(regret.mean(axis=1)[None])[0])
        mean_ranks = np.mean(drawn, axis=0)  # resamples × agents
        low, high = np.quantile(mean_ranks, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
        first = mean_ranks == mean_ranks.min(axis=1, keepdims=True)
        chance = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
        table = pd.DataFrame(
            {"agent": labels, "rank": np.mean(observed, axis=0), "low": low, "high": high, "chance_first": chance}
        )
        return table.sort_values("rank", kind="stable", ignore_index=True)

    @property
    def sweep(self) -> pd.DataFrame:
        """The tuning runs: one row per cell and multiplier, the chosen one marked."""
        import pandas as pd

        rows = [
            (*cell.place, cell.agent, multiplier, regret.mean(), _standard_error(regret), multiplier == cell.multiplier)
            for cell in self.cells
            for multiplier, regret in cell.sweep.items()
        ]
        columns = ["environment", "horizon", "agent", "multiplier", "regret", "standard_error", "best"]
        return pd.DataFrame(rows, columns=columns)

    def markdown(self) -> str:
        """The table with one column per environment: mean regret, interval and multiplier; agents in order of rank."""
        places = [place for place, _ in self._places()]
        by_key = {(cell.place, cell.agent): cell for cell in self.cells}
        heads = [f"{environment}, H = {horizon}" for environment, horizon in places]
        lines = ["| agent | rank | " + " | ".join(heads) + " |", "|---|---|" + "---|" * len(heads)]
        for row in self.ranking.to_dict("records"):
            entries = [_entry(by_key[place, row["agent"]]) for place in places]
            rank = f"{row['rank']:.1f} [{row['low']:.1f}, {row['high']:.1f}]"
            lines.append(f"| {row['agent']} | {rank} | " + " | ".join(entries) + " |")
        return "\n".join(lines)

    def figure(self) -> Figure:
        """One panel per environment: mean regret and interval of each agent, tuned and at the theory's multiplier."""
        from eluder.report.comparison import draw

        return draw(self)

    def _places(self) -> list[tuple[tuple[str, int], list[Cell]]]:
        places = dict.fromkeys(cell.place for cell in self.cells)
        return [(place, [cell for cell in self.cells if cell.place == place]) for place in places]


def compare(
    environments: Sequence[EnvironmentSpec],
    agents: Sequence[AgentSpec],
    *,
    episodes: int,
    paths: int = 32,
    seed: int = 0,
    horizons: Sequence[int] | None = None,
    multipliers: Sequence[float] | None = None,
    progress: Callable[[str], Any] | None = None,
    workers: int | None = None,
) -> Comparison:
    """Runs every agent in every environment on common random numbers.

    **Arguments:**

    - `environments`: names, mappings such as {"name": "riverswim", "states": 6}, or MDPs.
    - `agents`: names, mappings such as {"name": "ucbvi-bf", "delta": 0.05}, or functions from an MDP to an agent.
      Agents that take a number of `episodes` are told the true one.
    - `episodes`, `paths`, `seed`: of every run.
    - `horizons`: every environment, given by name, at each of these.
    - `multipliers`: a common grid, e.g. `eluder.comparison.GRID`. Agents that have a multiplier, and were not given
      one, run at the best of them.
    - `progress`: called with a line of text before each cell.
    - `workers`: threads, as in `eluder.simulate`.
    """
    if not environments or not agents:
        raise ValueError("A comparison needs at least one environment and one agent.")
    if multipliers is not None and not list(multipliers):
        raise ValueError("multipliers must name at least one number.")
    mdps = [mdp for spec in environments for mdp in _mdps(spec, horizons)]
    # Agents are made before anything runs: a wrong name or parameter ends the comparison at once.
    plan = [(mdp, spec, _make(spec, mdp, episodes)) for mdp in mdps for spec in agents]
    labels = [(mdp.name, mdp.horizon, agent.label) for mdp, _, agent in plan]
    for twice in {label for label in labels if labels.count(label) > 1}:
        raise ValueError(
            f"{twice[2]} is twice in {twice[0]} with H = {twice[1]}: name each agent and environment once."
        )

    def regret(mdp: FiniteMDP, agent: Agent, at_seed: int) -> np.ndarray:
        return simulate(mdp, agent, episodes=episodes, paths=paths, seed=at_seed, workers=workers).regret.sum(axis=1)

    cells = []
    for number, (mdp, spec, agent) in enumerate(plan):
        if progress is not None:
            progress(f"{number + 1}/{len(plan)}: {agent.label} in {mdp.name}, H = {mdp.horizon}")
        sweep, at_theory = {}, None
        multiplier = getattr(agent, "multiplier", None)
        if multipliers is not None and _tunable(spec):
            runs = {float(c): _make(spec, mdp, episodes, multiplier=c) for c in multipliers}
            sweep = {c: regret(mdp, tried, seed + _TUNING_SEED) for c, tried in runs.items()}
            multiplier = min(sweep, key=lambda c: sweep[c].mean())
            if multiplier != 1:
                at_theory = regret(mdp, _make(spec, mdp, episodes, multiplier=1.0), seed)
            agent = runs[multiplier]
        cells.append(Cell(mdp.name, mdp.horizon, agent.label, multiplier, regret(mdp, agent, seed), at_theory, sweep))
    return Comparison(tuple(cells), episodes, paths, seed)


def _mdps(spec: EnvironmentSpec, horizons: Sequence[int] | None) -> list[FiniteMDP]:
    if isinstance(spec, FiniteMDP):
        if horizons is not None:
            raise ValueError(f"{spec.name!r} has its horizon already: give environments by name to vary the horizon.")
        return [spec]
    name, params = _named(spec, "environment")
    if horizons is None:
        return [_environments.make(name, **params)]
    return [_environments.make(name, **(params | {"horizon": horizon})) for horizon in horizons]


def _make(spec: AgentSpec, mdp: FiniteMDP, episodes: int, **extra: Any) -> Agent:
    if callable(spec):
        return spec(mdp)
    name, params = _named(spec, "agent")
    if "episodes" in _agents.parameters(name):
        params.setdefault("episodes", episodes)
    return _agents.make(name, mdp, **(params | extra))


def _tunable(spec: AgentSpec) -> bool:
    if callable(spec):
        return False
    name, params = _named(spec, "agent")
    return "multiplier" in _agents.parameters(name) and "multiplier" not in params


def _named(spec: str | Mapping[str, Any], what: str) -> tuple[str, dict[str, Any]]:
    if isinstance(spec, str):
        return spec, {}
    params = dict(spec)
    if "name" not in params:
        raise ValueError(
            f"An {what} given as a mapping needs a 'name' beside its parameters, but has {sorted(params)}."
        )
    return params.pop("name"), params


def _ranks(means: Float[np.ndarray, "rows agents"]) -> Float[np.ndarray, "rows agents"]:
    """Ranks from 1 along the last axis; equal values share the middle of theirs."""
    below = (means[:, None, :] < means[:, :, None]).sum(axis=2)
    equal = (means[:, None, :] == means[:, :, None]).sum(axis=2)
    return 1 + below + (equal - 1) / 2


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _entry(cell: Cell) -> str:
    # Rounding leaves the optimum a hair off zero.
    mean, low, high = (0.0 if abs(x) < 1e-9 else x for x in (cell.regret.mean(), *mean_interval(cell.regret)))
    text = f"{mean:.4g} [{low:.4g}, {high:.4g}]"
    return text if cell.multiplier is None else f"{text} at {cell.multiplier:g}"
