"""Claim: the generalised Eluder dimension lies between a certified lower bound and its closed form; runs stay below."""

from __future__ import annotations

import numpy as np

from eluder import FiniteMDP, environments, simulate, theory
from eluder.agents import UCRLWVTR
from eluder.diagnostics import Moments
from eluder.experiments.claims.base import Alter, Interval, Outcome, Row, at_least, at_most, mean, pick, unaltered
from eluder.models import LinearModel, Model, Tabular
from eluder.models.finite import Finite
from eluder.models.mnl import MNL
from eluder.models.neural import Neural
from eluder.models.simplex_mixture import SimplexMixture

SIGMA_MIN, RIDGE = 0.1, 1.0


def eluder(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """Greedy lower bound, empirical sum and closed-form bound against T, for each class."""
    horizon = 20
    episodes, paths, nonlinear = pick(size, test=(60, 4, 0), small=(40, 8, 0), full=(500, 20, 20))
    river = environments.riverswim(states=5, horizon=horizon)
    data: dict[str, dict[str, np.ndarray]] = {}
    for name, (model, play) in _classes(river, nonlinear > 0).items():
        count = (episodes if isinstance(model, LinearModel) else nonlinear) if play else 0
        steps = np.unique(np.geomspace(1, max(count, 40) * horizon, 24).astype(int))
        greedy = theory.greedy_lower_bound(model, int(steps[-1]), sigma_min=SIGMA_MIN, ridge=RIDGE, seed=seed)
        data[name] = {
            "steps": steps,
            "greedy": np.cumsum(greedy.terms)[steps - 1],
            "bound": np.array([theory.eluder_bound(model, t, sigma_min=SIGMA_MIN, ridge=RIDGE) for t in steps]),
            "run": _run(river, model, count, paths, seed, alter) if count else np.zeros((paths, 0)),
        }
    over = max(np.max(curves["greedy"] / curves["bound"]) for curves in data.values())
    tabular = data["tabular"]
    small = tabular["steps"] <= 200
    half = np.min(tabular["greedy"][small] / tabular["bound"][small])
    played = {name: _against_bound(river, curves, horizon) for name, curves in data.items() if curves["run"].size}
    worst = max(played.values(), key=lambda interval: interval.estimate)
    rows = (
        _row("the greedy lower bound never exceeds the closed form, all classes", "ratio ≤ 1", _sure(over), 1.0),
        Row(
            "eluder",
            "it is at least half of it for the tabular class up to T = 200",
            "ratio ≥ 0.5",
            f"{half:.3g}",
            at_least(_sure(half), 0.5),
        ),
        _row("the sum Σ min(1, D²/σ̄²) of runs stays below the closed form", "ratio ≤ 1", worst, 1.0),
    )
    return Outcome(rows, data, lambda: _draw(data, horizon))


def _sure(value: float) -> Interval:
    """A number that is computed, not estimated."""
    return Interval(float(value), float(value), float(value))


def _row(claim: str, expected: str, measured: Interval, limit: float) -> Row:
    return Row("eluder", claim, expected, str(measured), at_most(measured, limit))


def _classes(river: FiniteMDP, everything: bool) -> dict[str, tuple[Model, bool]]:
    """The classes, and whether an agent is to play with them."""
    rng = np.random.default_rng(5)
    kernels = np.concatenate([np.asarray(river.probs)[None], rng.dirichlet(np.ones(3), size=(3, 5, 2))])
    return {
        "linear mixture": (river.linear_mixture(), True),
        "tabular": (Tabular(river), True),
        "simplex mixture": (SimplexMixture(river.successors, np.moveaxis(kernels, 0, -1)), everything),
        "finite": (Finite(river.successors, kernels), everything),
        "MNL": (MNL.one_hot(river), False),
        "network": (Neural(river), False),
    }


def _run(river: FiniteMDP, model: Model, episodes: int, paths: int, seed: int, alter: Alter) -> np.ndarray:
    """The running sum of min(1, D²/σ̄²) at level 0, by path and episode."""
    # Closed forms take the ridge of the norm that stands for D_F; classes by oracle take λ itself.
    ridge = theory.geometry(model).norm_ridge(RIDGE) if isinstance(model, LinearModel) else RIDGE
    agent = alter(UCRLWVTR(model, levels=1, ridge=ridge, sigma_min=SIGMA_MIN))
    run = simulate(river, agent, episodes=episodes, paths=paths, seed=seed, record=[Moments(river)])
    return np.cumsum(run.records["eluder_sum"][..., 0], axis=1)


def _against_bound(river: FiniteMDP, curves: dict[str, np.ndarray], horizon: int) -> Interval:
    """The final sum over the closed form at the same T."""
    return mean(curves["run"][:, -1] / np.interp(curves["run"].shape[1] * horizon, curves["steps"], curves["bound"]))


def _draw(data, horizon):
    from eluder.report.style import PALETTE, figure, legend_below, styled

    @styled
    def draw():
        canvas, axes = figure("wide", rows=2, columns=3, panel_height=1.7, sharex=True)
        for axis, (name, curves) in zip(axes.flat, data.items(), strict=True):
            axis.plot(curves["steps"], curves["bound"], color=PALETTE[1], linestyle="--", label="closed form")
            axis.plot(curves["steps"], curves["greedy"], color=PALETTE[0], label="greedy lower bound")
            run = curves["run"].mean(axis=0)
            at = np.arange(1, run.size + 1) * horizon
            axis.plot(at, run, color=PALETTE[2], linestyle="-.", label="UCRL-WVTR")
            axis.set(xscale="log", yscale="log", title=name)
        for axis in axes[-1]:
            axis.set_xlabel("T")
        for axis in axes[:, 0]:
            axis.set_ylabel("dimension")
        legend_below(canvas, axes[0, 0], columns=3)
        return canvas

    return draw()
