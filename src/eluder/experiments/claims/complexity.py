"""Claim: time grows linearly in K and H and no faster than the paper's Õ(KHM𝒪 + KHMℛ + |A|KH𝒪 + |A|KHℛ) in the rest.

Planning needs Q at every state, so |A| reads |S||A| (errata 17); with closed forms 𝒪 and ℛ are d and d².
"""

from __future__ import annotations

import math
import time

import numpy as np

from eluder import environments, simulate
from eluder.agents import UCRLWVTR
from eluder.experiments.claims.base import Alter, Outcome, Row, at_most, exponent, pick, unaltered
from eluder.models.ball_mixture import BallMixture

# What is varied, and the power that the paper's form allows it. d is that of D_F, a d × d form.
POWERS = {"K": 1, "H": 1, "S": 1, "A": 1, "M": 1, "d": 2}
# Timings on a shared machine wobble: an exponent this much above its power still counts as that power.
SLACK = 0.25
_BASE = {"K": 150, "H": 32, "S": 16, "A": 4, "M": 2, "d": 4}


def complexity(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """Time of whole runs and calls of the regression oracle, against K, H, S, A, M and d."""
    paths, repeats, varied, factors, counts = pick(
        size,
        test=(4, 3, ("K",), (1, 2, 4), ()),
        small=(16, 4, ("K", "H", "M"), (1, 2, 4), (16, 32, 64)),
        full=(32, 7, tuple(POWERS), (1, 2, 4, 8), (16, 32, 64, 128)),
    )
    times: dict[str, tuple[list[int], list[np.ndarray]]] = {}
    for name in varied:
        sizes = [_BASE[name] * factor for factor in factors]
        runs = [_seconds(_BASE | {name: value}, paths, repeats, seed, alter) for value in sizes]
        times[name] = (sizes, runs)
    rows = []
    slopes = {}
    for name, (sizes, runs) in times.items():
        # M counts levels from 0, so the work is that of M + 1.
        x = [value + 1 for value in sizes] if name == "M" else sizes
        slopes[name] = exponent(x, runs, seed=seed)
        limit = POWERS[name] + SLACK
        rows.append(
            Row(
                "complexity",
                f"time against {name}",
                f"exponent ≤ {POWERS[name]} (+{SLACK})",
                str(slopes[name]),
                at_most(slopes[name], limit),
            )
        )
    calls = counts, [_oracle_calls(count, seed) for count in counts]
    if counts:
        growth = exponent(*calls, seed=seed)
        claim = "oracle calls against K are linear up to a logarithm, Algorithm 3"
        rows.append(Row("complexity", claim, "exponent ≤ 1.35", str(growth), at_most(growth, 1.35)))
    data = {"times": times, "slopes": slopes, "calls": calls}
    return Outcome(tuple(rows), data, lambda: _draw(data))


def _seconds(sizes: dict[str, int], paths: int, repeats: int, seed: int, alter: Alter) -> np.ndarray:
    mdp = environments.random_mixture(
        dim=sizes["d"], states=sizes["S"], actions=sizes["A"], successors=3, horizon=sizes["H"], seed=0
    )
    agent = alter(UCRLWVTR(mdp.linear_mixture(), levels=sizes["M"]))

    def once() -> float:
        # The processor's time, not the clock's: others may be using the machine.
        began = time.process_time()
        simulate(mdp, agent, episodes=sizes["K"], paths=paths, seed=seed, workers=1)
        return time.process_time() - began

    once()  # compiles
    measured = np.sort([once() for _ in range(repeats)])
    # Interruptions only ever add time: the faster half says more about the work.
    return measured[: math.ceil(repeats / 2)]


def _oracle_calls(episodes: int, seed: int) -> np.ndarray:
    """Calls of the regression oracle, counted by the agent, with D_F by Algorithm 3."""
    from eluder.uncertainty import OracleSearch

    river = environments.riverswim(states=3, horizon=5)
    mixture = river.linear_mixture()
    model = BallMixture(mixture.successors, mixture.features)
    agent = UCRLWVTR(model, levels=1, ridge=1.0, uncertainty=OracleSearch())
    return np.asarray(simulate(river, agent, episodes=episodes, paths=4, seed=seed).report["oracle_calls"], dtype=float)


def _draw(data):
    from eluder.report.style import PALETTE, figure, styled

    @styled
    def draw():
        names = list(data["times"])
        columns = 3 if len(names) > 3 else len(names)
        rows = math.ceil((len(names) + 1) / columns) if len(names) > 3 else 1
        canvas, axes = figure("wide", rows=rows, columns=columns + (rows == 1), panel_height=1.8)
        for axis, name in zip(axes.flat, names, strict=False):
            sizes, runs = data["times"][name]
            axis.plot(sizes, [run.mean() for run in runs], color=PALETTE[0], marker="o", markersize=3)
            axis.set(xscale="log", yscale="log", xlabel=name, ylabel="seconds")
            axis.set_title(f"exponent {data['slopes'][name].estimate:.2f}, allowed {POWERS[name]}")
            axis.set_xticks(sizes, [str(value) for value in sizes])
            axis.xaxis.set_tick_params(which="minor", bottom=False, labelbottom=False)
        counts, calls = data["calls"]
        last = axes.flat[len(names)]
        last.plot(counts, [run.mean() for run in calls], color=PALETTE[1], marker="o", markersize=3)
        last.set(xscale="log", yscale="log", xlabel="K", ylabel="oracle calls", title="Algorithm 3")
        last.set_xticks(counts, [str(value) for value in counts])
        last.xaxis.set_tick_params(which="minor", bottom=False, labelbottom=False)
        for axis in axes.flat[len(names) + 1 :]:
            axis.set_visible(False)
        return canvas

    return draw()
