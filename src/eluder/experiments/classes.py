"""UCRL-WVTR on one river with every model class: regret on one figure, oracle calls and time in its table."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from eluder.agents import UCRLWVTR
from eluder.environments import riverswim
from eluder.mdp import FiniteMDP
from eluder.models import MNL, Finite, Model, Neural, SimplexMixture, Tabular
from eluder.simulation import Result, simulate

NAMES = ("tabular", "linear mixture", "simplex mixture", "MNL", "finite", "neural")


class Row(NamedTuple):
    """One class's line in the table; means over paths."""

    name: str
    regret: float
    standard_error: float
    seconds: float  # per episode and path, compilation left out
    oracle_calls: float  # per episode
    oracle_failures: float  # in the whole run


def river_mnl(river: FiniteMDP, bound: float = 5.0) -> MNL:
    """The paper's river by logits: of right and left beside staying, and of the good move at both ends (d = 3)."""
    back, here, ahead = range(3)
    features = np.zeros((river.states, 2, 3, 3))
    features[1:-1, 1, ahead, 0] = features[1:-1, 1, back, 1] = 1
    features[0, 1, ahead, 2] = features[-1, 1, here, 2] = 1
    return MNL(river.successors, features, np.asarray(river.probs) > 0, bound)


def river_finite(river: FiniteMDP) -> Finite:
    """Rivers with other currents, on a grid of the simplex over (right, stay, left), and the true one."""
    tenths = np.arange(0.1, 0.9, 0.1)
    grid = [(right, stay, 1 - right - stay) for right in tenths for stay in tenths if right + stay < 0.95]
    features = np.asarray(river.features)
    return Finite(river.successors, np.stack([features @ theta for theta in [*grid, (0.9, 0.05, 0.05)]]))


def river_classes(river: FiniteMDP) -> dict[str, Model]:
    """Every class over the paper's river, by name."""
    models = (
        Tabular(river),
        river.linear_mixture(),
        SimplexMixture(river.successors, river.linear_mixture().features),
        river_mnl(river),
        river_finite(river),
        Neural(river),
    )
    return dict(zip(NAMES, models, strict=True))


def run(
    episodes: int = 1000,
    paths: int = 10,
    *,
    states: int = 5,
    horizon: int = 20,
    seed: int = 0,
    names: tuple[str, ...] = NAMES,
) -> tuple[dict[str, Result], list[Row]]:
    """The paper's preset on each class: results by name, and the table."""
    river = riverswim(states, horizon)
    models = river_classes(river)
    results, rows = {}, []
    for name in names:
        times: list[tuple[int, float]] = []
        agent = UCRLWVTR(models[name])
        result = simulate(
            river,
            agent,
            episodes=episodes,
            paths=paths,
            seed=seed,
            progress=lambda done, times=times: times.append((done, time.perf_counter())),
        )
        # The first chunk compiles.
        (first, began), (last, ended) = times[0], times[-1]
        total = result.regret.sum(axis=1)
        rows.append(
            Row(
                name,
                float(total.mean()),
                float(total.std(ddof=1) / np.sqrt(paths)) if paths > 1 else float("nan"),
                (ended - began) / max(last - first, 1) / paths,
                float(np.mean(result.report.get("oracle_calls", 0))) / episodes,
                float(np.mean(result.report.get("oracle_failures", 0))),
            )
        )
        results[name] = result
    return results, rows


def figure(results: dict[str, Result]) -> Any:
    """Mean cumulative regret of each class on log scales, with a band of one standard error."""
    from eluder.report import style

    @style.styled
    def draw():
        drawn, axes = style.figure("column", panel_height=2.8)
        panel = axes[0, 0]
        for position, (name, result) in enumerate(results.items()):
            cumulative = result.cumulative_regret
            mean, error = cumulative.mean(axis=0), cumulative.std(axis=0) / np.sqrt(len(cumulative))
            episode, look = np.arange(1, len(mean) + 1), style.look(name, position)
            panel.plot(episode, mean, label=name, **look)
            panel.fill_between(episode, mean - error, mean + error, color=look["color"], alpha=0.18, linewidth=0)
        panel.set(xscale="log", yscale="log", xlabel="episode", ylabel="cumulative regret (reward units)")
        style.legend_below(drawn, panel, columns=2)
        return drawn

    return draw()
