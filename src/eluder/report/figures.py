"""The paper's figures, from results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from eluder.experiments.catalogue import PAPER_AGENTS
from eluder.experiments.results import Curves
from eluder.report import style


@style.styled
def draw(experiment: str, results: Sequence[Curves]) -> Figure:
    """The figure of an experiment of the catalogue."""
    own = [result for result in results if result.experiment == experiment]
    return {"figure-2": _regret_panels, "figure-4": _regret_and_reward, "horizon": _against_horizon}[experiment](own)


def _regret_panels(results: Sequence[Curves]) -> Figure:
    horizons = sorted({result.horizon for result in results})
    figure, axes = style.figure(columns=len(horizons), panel_height=2.5)
    for panel, horizon in zip(axes[0], horizons, strict=True):
        of_panel = [result for result in results if result.horizon == horizon]
        _regret(panel, of_panel)
        panel.set_title(f"{of_panel[0].states} states, H = {horizon}")
    axes[0, 0].set_ylabel("cumulative regret (reward units)")
    style.legend_below(figure, axes[0, 0])
    return figure


def _regret_and_reward(results: Sequence[Curves]) -> Figure:
    rivers = sorted({result.states for result in results})
    figure, axes = style.figure(rows=2, columns=len(rivers))
    for column, states in enumerate(rivers):
        of_panel = [result for result in results if result.states == states]
        _regret(axes[0, column], of_panel)
        _average_return(axes[1, column], of_panel)
        axes[0, column].set_title(f"{states} states, H = {of_panel[0].horizon}")
    axes[0, 0].set_ylabel("cumulative regret\n(reward units)")
    axes[1, 0].set_ylabel("average return so far\n(reward units per episode)")
    style.legend_below(figure, axes[0, 0])
    return figure


def _against_horizon(results: Sequence[Curves]) -> Figure:
    figure, axes = style.figure("column", panel_height=2.7)
    panel = axes[0, 0]
    for agent in _agents(results):
        of_agent = sorted(
            ((result.horizon, result) for result in results if result.agent == agent),
            key=lambda pair: pair[0],
        )
        horizons = np.array([horizon for horizon, _ in of_agent])
        finals = np.stack([result.cumulative_regret[:, -1] for _, result in of_agent])
        mean, spread = finals.mean(axis=1), _spread(finals)
        look = style.look(agent)
        panel.plot(horizons, mean, marker="o", markersize=3, label=agent, **look)
        panel.fill_between(horizons, mean - spread, mean + spread, color=look["color"], alpha=0.18, linewidth=0)
    episodes = results[0].episodes[-1]
    panel.set(xscale="log", yscale="log", xlabel="horizon H (steps)")
    panel.set_ylabel(f"regret of {episodes} episodes\n(total reward at most 1)")
    style.legend_below(figure, panel, columns=1)
    return figure


def _regret(panel: Axes, results: Sequence[Curves]) -> None:
    """Mean cumulative regret ± one standard deviation over paths. Log scales: agents differ by factors."""
    for agent in _agents(results):
        result = next(result for result in results if result.agent == agent)
        _band(panel, result.episodes, result.cumulative_regret, agent)
    panel.set(xscale="log", yscale="log", xlabel="episode")


def _average_return(panel: Axes, results: Sequence[Curves]) -> None:
    for agent in _agents(results):
        result = next(result for result in results if result.agent == agent)
        _band(panel, result.episodes, result.cumulative_return / result.episodes, agent)
    optimum = results[0].optimal_value.mean()
    panel.axhline(optimum, color="black", linewidth=0.8)
    panel.annotate("optimum", (1.0, optimum), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
    panel.set(xlabel="episode", ylim=(0, optimum * 1.15))
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _band(panel: Axes, x: np.ndarray, curves: np.ndarray, agent: str) -> None:
    # A vector figure needs no more points than a reader can see.
    keep = np.unique(np.concatenate([np.geomspace(1, len(x), 150), np.linspace(1, len(x), 150)]).astype(int)) - 1
    mean, spread = curves.mean(axis=0)[keep], _spread(curves.T)[keep]
    look = style.look(agent)
    panel.plot(x[keep], mean, label=agent, **look)
    low = np.maximum(mean - spread, mean * 1e-3) if (mean > 0).all() else mean - spread
    panel.fill_between(x[keep], low, mean + spread, color=look["color"], alpha=0.18, linewidth=0)


def _spread(by_path: np.ndarray) -> np.ndarray:
    """The standard deviation over the last axis, zero for a single path."""
    return by_path.std(axis=-1, ddof=1) if by_path.shape[-1] > 1 else np.zeros(by_path.shape[:-1])


def _agents(results: Sequence[Curves]) -> list[str]:
    present = {result.agent for result in results}
    return [agent for agent in PAPER_AGENTS if agent in present]
