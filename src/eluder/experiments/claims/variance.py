"""Claims: regret follows √𝒬*, is flat in a deterministic MDP, and shrinks with V*₁K as rewards become rare."""

from __future__ import annotations

import numpy as np

from eluder import FiniteMDP, environments, simulate, theory
from eluder.agents import UCRLVTR, UCRLWVTR
from eluder.diagnostics import InstanceQuantities, Moments
from eluder.experiments.claims.base import (
    Alter,
    Interval,
    Outcome,
    Row,
    at_least,
    at_most,
    exponent,
    mean,
    pick,
    ratio,
    unaltered,
)
from eluder.models import Tabular

NOISE = (0.0, 0.01, 0.05, 0.2, 0.4)  # the chance that swimming right goes wrong
SPREAD = (0.05, 0.1, 0.2, 0.4)  # how far a win and a loss are from their middle
RARITY = (12, 50, 200)  # the rewards to be had in all episodes together, V*₁K
CONSTANT = 3.0  # what regret/(d√𝒬* + d²) may be: the bound without its constants and logarithms
# While f_* is in the sets of radius 1, variances are within E; this allows for the runs in which it leaves them.
OUTSIDE = 0.02


def variance(size: str = "small", *, alter: Alter = unaltered, seed: int = 0) -> Outcome:
    """Rivers from deterministic to noisy, and lotteries whose prizes or whose chances shrink."""
    episodes, paths, long = pick(size, test=(100, 16, 800), small=(300, 32, 1500), full=(3000, 200, 4000))
    rivers = [_river(noise, episodes, paths, seed, alter) for noise in NOISE]
    spreads = [_lottery(lottery(spread=spread), long, paths, seed, alter) for spread in SPREAD]
    rare = [_lottery(lottery(chance=total / long, spread=0.5), long, paths, seed, alter) for total in RARITY]
    quiet = lottery(spread=SPREAD[0])
    unweighted = simulate(quiet, UCRLVTR(_tabular(quiet)), episodes=long, paths=paths, seed=seed)

    form = [run["regret"] / theory.corollary_bound(3, variance=run["Q"].mean(), value=run["value"]) for run in rivers]
    worst = max((mean(scaled) for scaled in form), key=lambda interval: interval.estimate)
    settled = mean(rivers[0]["late"])
    beyond = mean(np.concatenate([run["outside"] for run in rivers]))
    growth = exponent([run["Q"].mean() for run in spreads], [run["regret"] for run in spreads], seed=seed)
    against = ratio(spreads[0]["regret"], unweighted.normalised_regret.sum(axis=1), seed=seed)
    first_order = exponent([run["value"] for run in rare], [run["regret"] for run in rare], seed=seed)
    rows = (
        _row(
            "regret / (d√𝒬* + d²) stays bounded, rivers of any noise",
            f"≤ {CONSTANT:g}",
            worst,
            at_most(worst, CONSTANT),
        ),
        _row("regret is flat at 𝒬* = 0: second half, deterministic river", "≤ 0.01", settled, at_most(settled, 0.01)),
        _row(
            "variance estimates further than E from the truth, rivers", f"≤ {OUTSIDE}", beyond, at_most(beyond, OUTSIDE)
        ),
        _row(
            "regret falls with the variance at equal structure, lotteries",
            "0.05 ≤ exponent in 𝒬* ≤ 0.6",
            growth,
            at_most(growth, 0.6) if growth.low > 0.05 else at_least(growth, 0.05),
        ),
        _row("weights pay off where variance is small: UCRL-WVTR / UCRL-VTR", "≤ 1", against, at_most(against, 1.0)),
        _row(
            "first order: as rewards become rare regret falls at least like √(V*₁K)",
            "exponent ≥ 0.5",
            first_order,
            at_least(first_order, 0.5),
        ),
    )
    data = {"noise": np.array(NOISE), "rivers": rivers, "spreads": spreads, "rare": rare}
    return Outcome(rows, data, lambda: _draw(data, episodes, long))


def _row(claim: str, expected: str, measured: Interval, verdict: str) -> Row:
    return Row("variance", claim, expected, str(measured), verdict)


def _river(noise: float, episodes: int, paths: int, seed: int, alter: Alter) -> dict:
    river = noisy_river(noise)
    agent = alter(UCRLWVTR(river.linear_mixture(), levels=3))
    record = [InstanceQuantities(river, 4), Moments(river)]
    run = simulate(river, agent, episodes=episodes, paths=paths, seed=seed, record=record)
    return {
        "regret": run.normalised_regret.sum(axis=1),
        "late": run.normalised_regret[:, episodes // 2 :].sum(axis=1),
        "outside": run.records["variance_outside"][..., 0].sum(axis=1) / (episodes * river.horizon),
        "Q": run.records["Q"].sum(axis=1).max(axis=-1),
        "value": float(run.records["value"].sum(axis=1).mean()),
    }


def _lottery(game: FiniteMDP, episodes: int, paths: int, seed: int, alter: Alter) -> dict:
    agent = alter(UCRLWVTR(_tabular(game), levels=3))
    run = simulate(game, agent, episodes=episodes, paths=paths, seed=seed, record=[InstanceQuantities(game, 4)])
    return {
        "regret": run.normalised_regret.sum(axis=1),
        "Q": run.records["Q"].sum(axis=1).max(axis=-1),
        "value": float(run.records["value"].sum(axis=1).mean()),
    }


def _tabular(game: FiniteMDP) -> Tabular:
    return Tabular(game, known_support=True)


def noisy_river(noise: float, states: int = 5, horizon: int = 20) -> FiniteMDP:
    """The paper's river with its own features and another current: right, stay, left with 1 − q, q/2, q/2."""
    river = environments.riverswim(states=states, horizon=horizon)
    theta = np.array([1 - noise, noise / 2, noise / 2])
    return FiniteMDP(
        river.successors,
        np.asarray(river.features) @ theta,
        river.rewards,
        horizon=horizon,
        features=river.features,
        name=f"river-{noise:g}",
    )


def lottery(chance: float = 0.6, spread: float = 0.5, horizon: int = 10, actions: int = 4) -> FiniteMDP:
    """One decision: actions win with chances up to `chance`, down to two thirds of it.

    A win pays (½ + spread)/H in every later step and a loss (½ − spread)/H: all lotteries of one `chance` have the same
    kernel, and the variance of their values is that of spread². At spread ½ a loss pays nothing.
    """
    start, won, lost = range(3)
    chances = chance * np.linspace(2 / 3, 1.0, actions)
    probs = np.zeros((3, actions, 2))
    probs[start] = np.stack([chances, 1 - chances], axis=-1)
    probs[won, :, 0] = probs[lost, :, 1] = 1.0
    rewards = np.zeros((3, actions))
    rewards[won], rewards[lost] = (0.5 + spread) / horizon, (0.5 - spread) / horizon
    successors = np.broadcast_to([won, lost], probs.shape)
    name = f"lottery-{chance:g}-{spread:g}"
    return FiniteMDP(successors, probs, rewards, horizon=horizon, start=start, reward_scale=1.0, name=name)


def _draw(data, episodes, long):
    from eluder.report.style import PALETTE, figure, styled

    @styled
    def draw():
        canvas, axes = figure("wide", columns=3)
        panels = (
            (data["rivers"], "Q", f"$\\sqrt{{Q^*}}$\nrivers, K = {episodes}"),
            (data["spreads"], "Q", f"$\\sqrt{{Q^*}}$\nlotteries of smaller prizes, K = {long}"),
            (data["rare"], "value", f"$\\sqrt{{V_1^*K}}$\nlotteries of rarer prizes, K = {long}"),
        )
        for index, (axis, (runs, name, label)) in enumerate(zip(axes[0], panels, strict=True)):
            x = [np.sqrt(np.mean(run[name])) for run in runs]
            y = [run["regret"].mean() for run in runs]
            spread = [run["regret"].std(ddof=1) for run in runs]
            axis.errorbar(x, y, yerr=spread, color=PALETTE[index], marker="o", markersize=3, capsize=2)
            axis.set(xlabel=label, ylim=(0, None), xlim=(0, None))
        axes[0, 0].plot(
            np.sqrt([run["Q"].mean() for run in data["rivers"]]),
            [run["late"].mean() for run in data["rivers"]],
            color="grey",
            linestyle=":",
            label="of it in the second half",
        )
        axes[0, 0].legend()
        axes[0, 0].set_ylabel("normalised regret")
        return canvas

    return draw()
