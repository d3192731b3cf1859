"""Claim: V_k ≥ V* at every step and state, in all but a share (M + 1)δ of runs (the lemma on optimism)."""

from __future__ import annotations

from typing import Any

import numpy as np

from eluder import environments, simulate, theory
from eluder.diagnostics import Optimism
from eluder.experiments.claims.base import Alter, Outcome, Row, at_most, mean, pick, share, unaltered
from eluder.models import Tabular

DELTA = 0.005


def optimism(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """The share of (k, h, s) with V_k < V*, against the multiplier of the radius."""
    episodes, paths, multipliers = pick(
        size,
        test=(60, 80, (1.0,)),
        small=(100, 128, (1.0, 0.1, 0.01, 0.003)),
        full=(400, 1000, (1.0, 0.1, 0.03, 0.01, 0.005, 0.003, 0.002)),
    )
    river = environments.riverswim(states=5, horizon=20)
    rows: list[Row] = []
    data: dict[str, Any] = {"multipliers": np.array(multipliers)}
    for name, model in (("linear mixture", river.linear_mixture()), ("tabular", Tabular(river))):
        parameters = theory.theorem(model, episodes=episodes, horizon=river.horizon, delta=DELTA)
        below, regret, any_below = [], [], []
        for multiplier in multipliers:
            agent = alter(parameters.agent(model, multiplier))
            run = simulate(river, agent, episodes=episodes, paths=paths, seed=seed, record=[Optimism(river)])
            below.append(mean(run.records["pessimistic"].mean(axis=1)))
            any_below.append(share(run.records["pessimistic"].any(axis=1)))
            regret.append(mean(run.normalised_regret.sum(axis=1)))
        allowed = (parameters.levels + 1) * DELTA
        rows.append(
            Row(
                "optimism",
                f"V_k < V* somewhere in at most (M+1)δ of runs, {name}",
                f"≤ {allowed:.3g}",
                f"{any_below[0]}; of all (k, h, s): {below[0].estimate:.3g}",
                at_most(any_below[0], allowed),
            )
        )
        data[name] = {"below": np.array(below), "any": np.array(any_below), "regret": np.array(regret)}
    return Outcome(tuple(rows), data, lambda: _draw(data, episodes))


def _draw(data, episodes):
    from eluder.report.style import PALETTE, figure, styled

    @styled
    def draw():
        canvas, axes = figure("wide", columns=2)
        for index, name in enumerate(("linear mixture", "tabular")):
            options = {"marker": "o", "markersize": 3, "color": PALETTE[index], "label": name}
            axes[0, 0].plot(data["multipliers"], data[name]["below"][:, 0], **options)
            axes[0, 1].plot(data["multipliers"], data[name]["regret"][:, 0], **options)
        for axis in axes[0]:
            axis.set(xscale="log", xlabel="multiplier of the theorem's radius")
        axes[0, 0].set(ylabel="share of (k, h, s) with V < V*", ylim=(-0.03, 1.03))
        axes[0, 1].set(ylabel=f"normalised regret, K = {episodes}")
        axes[0, 0].legend()
        return canvas

    return draw()
