"""Claim: at the theorem's radius f_* stays in every confidence set, in all but a share (M + 1)δ of runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from eluder import environments, simulate, theory
from eluder.diagnostics import Coverage
from eluder.experiments.claims.base import (
    FAILS,
    HOLDS,
    LEVEL,
    Alter,
    Outcome,
    Row,
    at_most,
    pick,
    share,
    unaltered,
)
from eluder.models import Tabular

# Of the radius; 1 is the theorem's.
MULTIPLIERS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
DELTA = 0.005


def coverage(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """Runs at the theorem's radius and at shares of it, on a linear mixture and on a tabular class."""
    episodes, paths, scan_paths, multipliers = pick(
        size,
        test=(40, 128, 128, (1.0,)),
        small=(40, 256, 64, MULTIPLIERS),
        full=(200, 10_000, 1000, MULTIPLIERS),
    )
    rows: list[Row] = []
    data: dict[str, Any] = {"multipliers": np.array(multipliers)}
    for name, environment, model in _classes():
        parameters = theory.theorem(model, episodes=episodes, horizon=environment.horizon, delta=DELTA)
        left, margin = [], []
        for multiplier in multipliers:
            agent = alter(parameters.agent(model, multiplier))
            count = paths if multiplier == 1 else scan_paths
            run = simulate(
                environment, agent, episodes=episodes, paths=count, seed=seed, record=[Coverage(environment, agent)]
            )
            left.append(share(~run.records["covered"].all(axis=(1, 2))))
            margin.append(run.records["distance"].max(axis=(1, 2)) / run.records["radius"][:, -1])
        allowed = (parameters.levels + 1) * DELTA
        rows.append(
            Row(
                "coverage",
                f"f_* leaves a confidence set in at most (M+1)δ of runs, {name}",
                f"≤ {allowed:.3g}",
                f"{left[0]} of {paths:,} runs",
                at_most(left[0], allowed),
            )
        )
        # Below a radius at which nothing is learned coverage means little, so multipliers count from 1 downwards.
        failed = next((i for i, interval in enumerate(left) if interval.estimate > allowed), len(multipliers))
        covers = multipliers[:failed]
        rows.append(
            Row(
                "coverage",
                f"the theorem's radius is conservative, {name}",
                "a multiplier ≤ 1 covers",
                f"{covers[-1]:g} covers; the largest distance is {margin[0].max():.2g} of the radius"
                if covers
                else f"not even 1; the largest distance is {margin[0].max():.2g} of the radius",
                HOLDS if covers else FAILS,
            )
        )
        data[name] = {
            "left": np.array(left),
            "allowed": allowed,
            "margin": margin[0],
            "smallest": covers[-1] if covers else np.inf,
        }
    return Outcome(tuple(rows), data, lambda: _draw(data))


def _classes():
    river = environments.riverswim(states=5, horizon=20)
    garnet = environments.garnet(states=8, actions=4, successors=3, horizon=10, seed=1)
    yield "linear mixture (river)", river, river.linear_mixture()
    yield "tabular (Garnet)", garnet, Tabular(garnet, known_support=True)


def _draw(data):
    from eluder.report.style import PALETTE, figure, styled

    @styled
    def draw():
        canvas, axes = figure("wide", columns=2)
        names = [name for name in data if name != "multipliers"]
        for index, name in enumerate(names):
            left = data[name]["left"]
            axes[0, 0].errorbar(
                data["multipliers"],
                left[:, 0],
                yerr=[left[:, 0] - left[:, 1], left[:, 2] - left[:, 0]],
                marker="o",
                markersize=3,
                color=PALETTE[index],
                label=name,
            )
            axes[0, 0].axhline(data[name]["allowed"], color=PALETTE[index], linestyle=":", linewidth=0.8)
            axes[0, 1].hist(data[name]["margin"], bins=40, color=PALETTE[index], alpha=0.6, label=name)
        axes[0, 0].set(
            xscale="log",
            xlabel="multiplier of the theorem's radius",
            ylabel="share of runs in which\nf* leaves a set",
            title=f"{LEVEL:.0%} intervals; dotted: (M+1)δ",
        )
        axes[0, 0].legend()
        axes[0, 1].set(
            xlabel="largest distance of f* in a run / radius", ylabel="runs", title="at the theorem's radius"
        )
        return canvas

    return draw()
