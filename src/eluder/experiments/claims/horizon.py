"""Claim: with HOME the normalised regret grows no faster than the logarithm of the horizon."""

from __future__ import annotations

import math

import numpy as np

from eluder import environments, simulate
from eluder.agents import UCRLWVTR
from eluder.experiments.claims.base import Alter, Outcome, Row, at_most, exponent, pick, ratio, unaltered

# A √H rate would have exponent 1/2; a logarithm of H looks like a small power that shrinks as H grows.
LIMIT = 0.25


def horizon(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """Regret of a river at total reward ≤ 1 against H at fixed K, for several moment levels M."""
    episodes, paths, horizons, levels = pick(
        size,
        test=(120, 8, (40, 80, 160), (1, 3)),
        small=(300, 24, (40, 80, 160, 320), (0, 1, 3)),
        full=(2000, 100, (20, 40, 80, 160, 320, 640), (0, 1, 2, 3, 5, None)),
    )
    # The theorem's M, for the longest horizon.
    theorem = math.ceil(math.log2(3 * episodes * horizons[-1]))
    levels = tuple(theorem if level is None else level for level in levels)
    tail = slice(-3, None)  # exponents are fitted over the last two doublings, where growth has settled
    regret, slopes = {}, {}
    for level in levels:
        runs = []
        for steps in horizons:
            river = environments.riverswim(states=5, horizon=steps)
            agent = UCRLWVTR(river.linear_mixture(), levels=level)
            if level == levels[-1]:
                agent = alter(agent)
            runs.append(simulate(river, agent, episodes=episodes, paths=paths, seed=seed).normalised_regret.sum(axis=1))
        regret[level] = np.array(runs)
        slopes[level] = exponent(horizons[tail], runs[tail], seed=seed)
    best = slopes[levels[-1]]
    against = ratio(regret[levels[-1]][-1], regret[1][-1], seed=seed)
    rows = [
        Row(
            "horizon",
            f"regret with HOME (M = {levels[-1]}) grows like a logarithm of H",
            f"exponent ≤ {LIMIT}",
            str(best),
            at_most(best, LIMIT),
        ),
        Row(
            "horizon",
            f"more slowly than without HOME (M = 1), {horizons[-1]} steps",
            "regret ratio ≤ 1",
            str(against),
            at_most(against, 1.0),
        ),
    ]
    data = {"horizons": np.array(horizons), "regret": regret, "slopes": slopes}
    return Outcome(tuple(rows), data, lambda: _draw(data, episodes))


def _draw(data, episodes):
    from eluder.report.style import LINES, PALETTE, figure, styled

    @styled
    def draw():
        canvas, axes = figure("wide", columns=2)
        for index, (level, runs) in enumerate(data["regret"].items()):
            slope = data["slopes"][level]
            middle, spread = runs.mean(axis=1), runs.std(axis=1, ddof=1) / np.sqrt(runs.shape[1])
            look = {"color": PALETTE[index], "linestyle": LINES[index], "marker": "o", "markersize": 2.5}
            axes[0, 0].errorbar(data["horizons"], middle, yerr=2 * spread, label=f"M = {level}", **look)
            axes[0, 1].errorbar(
                index,
                slope.estimate,
                yerr=[[slope.estimate - slope.low], [slope.high - slope.estimate]],
                marker="o",
                color=PALETTE[index],
                capsize=3,
            )
        axes[0, 0].set(xscale="log", yscale="log", xlabel="H", ylabel=f"normalised regret, K = {episodes}")
        axes[0, 0].set_xticks(data["horizons"], [str(h) for h in data["horizons"]])
        axes[0, 0].xaxis.set_tick_params(which="minor", bottom=False, labelbottom=False)
        axes[0, 0].legend(ncols=2)
        axes[0, 1].axhline(LIMIT, color="grey", linewidth=0.8, linestyle=":")
        axes[0, 1].set_xticks(range(len(data["regret"])), [f"M = {level}" for level in data["regret"]])
        axes[0, 1].set(ylabel="exponent in H", title="over the last two doublings")
        return canvas

    return draw()
