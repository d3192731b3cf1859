"""Claims: regret is at most of order d√𝒬* + d² on linear mixtures, and of order √K on the lower-bound instance."""

from __future__ import annotations

import numpy as np

from eluder import environments, simulate, theory
from eluder.agents import UCRLWVTR
from eluder.diagnostics import InstanceQuantities
from eluder.experiments.claims.base import (
    Alter,
    Outcome,
    Row,
    at_least,
    at_most,
    exponent,
    mean,
    pick,
    unaltered,
)

CONSTANT = 3.0  # what regret/(d√𝒬* + d²) may be: the bound without its constants and logarithms


def dimension(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """Random linear mixtures of growing d at fixed K, and the three-state lower-bound instance for growing K."""
    dims, episodes, paths, instances, counts = pick(
        size,
        test=((2, 4), 100, 8, 1, (250, 1000, 4000)),
        small=((2, 4, 8), 300, 16, 2, (250, 1000, 4000)),
        full=((2, 4, 8, 16, 32), 2000, 50, 5, (250, 1000, 4000, 16_000)),
    )
    mixtures = [[_mixture(dim, index, episodes, paths, seed, alter) for index in range(instances)] for dim in dims]
    regret = [np.concatenate([run["regret"] for run in runs]) for runs in mixtures]
    scaled = [np.concatenate([run["regret"] / run["form"] for run in runs]) for runs in mixtures]
    hard = [_hard(count, 4 * paths, seed, alter) for count in counts]

    growth = exponent(dims, regret, seed=seed)
    worst = max((mean(runs) for runs in scaled), key=lambda interval: interval.estimate)
    root = exponent(counts, [runs.sum(axis=1) for runs in hard], seed=seed)
    # On one instance that stays as it is, √K is only an upper bound, and a learner that is stuck pays K.
    fixed = _hard(counts[-1], 4 * paths, seed, alter, tuned=counts[0] // 4)
    tail = [fixed[:, : counts[-1] // part].sum(axis=1) for part in (8, 4, 2, 1)]
    slow = exponent([counts[-1] / part for part in (8, 4, 2, 1)], tail, seed=seed)
    rows = (
        Row(
            "dimension",
            "regret grows no faster than d², random mixtures",
            "exponent in d ≤ 2",
            str(growth),
            at_most(growth, 2.0),
        ),
        Row(
            "dimension",
            "regret / (d√𝒬* + d²) stays bounded, random mixtures",
            f"≤ {CONSTANT:g}",
            str(worst),
            at_most(worst, CONSTANT),
        ),
        Row(
            "dimension",
            "regret grows like √K on lower-bound instances tuned to each K",
            "0.4 ≤ exponent ≤ 0.6",
            str(root),
            at_most(root, 0.6) if root.low >= 0.4 else at_least(root, 0.4),
        ),
        Row(
            "dimension",
            "and more slowly than K on one such instance",
            "exponent ≤ 0.85",
            str(slow),
            at_most(slow, 0.85),
        ),
    )
    data = {
        "dims": np.array(dims),
        "regret": regret,
        "form": [np.mean([run["form"] for run in runs]) for runs in mixtures],
        "counts": np.array(counts),
        "hard": [runs.sum(axis=1) for runs in hard],
        "fixed": np.cumsum(fixed, axis=1).mean(axis=0),
    }
    return Outcome(rows, data, lambda: _draw(data, episodes))


def _mixture(dim: int, index: int, episodes: int, paths: int, seed: int, alter: Alter) -> dict:
    mdp = environments.random_mixture(dim=dim, states=8, actions=4, successors=3, horizon=10, seed=index)
    agent = alter(UCRLWVTR(mdp.linear_mixture(), levels=2))
    run = simulate(mdp, agent, episodes=episodes, paths=paths, seed=seed, record=[InstanceQuantities(mdp, 3)])
    Q, value = run.records["Q"].sum(axis=1).max(axis=-1).mean(), run.records["value"].sum(axis=1).mean()
    return {
        "regret": run.normalised_regret.sum(axis=1),
        "form": theory.corollary_bound(dim, variance=float(Q), value=float(value)),
    }


def _hard(episodes: int, paths: int, seed: int, alter: Alter, tuned: int | None = None) -> np.ndarray:
    mdp = environments.lower_bound(dim=4, horizon=8, episodes=tuned or episodes)
    agent = alter(UCRLWVTR(mdp.linear_mixture(), levels=2))
    return simulate(mdp, agent, episodes=episodes, paths=paths, seed=seed).normalised_regret


def _draw(data, episodes):
    from eluder.report.style import PALETTE, figure, styled

    @styled
    def draw():
        canvas, axes = figure("wide", columns=3)
        middle = [runs.mean() for runs in data["regret"]]
        spread = [runs.std(ddof=1) for runs in data["regret"]]
        look = {"marker": "o", "markersize": 3, "capsize": 2}
        axes[0, 0].errorbar(data["dims"], middle, yerr=spread, color=PALETTE[0], label="regret", **look)
        axes[0, 0].plot(data["dims"], data["form"], color="grey", linestyle=":", label="$d\\sqrt{Q^*} + d^2$")
        axes[0, 0].set(
            xscale="log", yscale="log", xlabel=f"d (random mixtures, K = {episodes})", ylabel="normalised regret"
        )
        hard = [runs.mean() for runs in data["hard"]]
        axes[0, 1].plot(data["counts"], hard, color=PALETTE[1], marker="o", markersize=3, label="regret")
        root = np.sqrt(data["counts"] / data["counts"][0]) * hard[0]
        axes[0, 1].plot(data["counts"], root, color="grey", linestyle=":", label="√K")
        axes[0, 1].set(xscale="log", yscale="log", xlabel="K (instance tuned to K)")
        for axis, ticks in ((axes[0, 0], data["dims"]), (axes[0, 1], data["counts"])):
            axis.set_xticks(ticks, [str(tick) for tick in ticks])
            axis.xaxis.set_tick_params(which="minor", bottom=False, labelbottom=False)
        episode = np.arange(1, len(data["fixed"]) + 1)
        axes[0, 2].plot(episode, data["fixed"], color=PALETTE[2], label="one instance")
        axes[0, 2].set(xlabel="episode")
        for axis in axes[0]:
            axis.legend()
        return canvas

    return draw()
