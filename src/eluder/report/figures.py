"""Figures of results: regret, reward, regret against the horizon, heat maps.

Every function takes results as `eluder.simulate` returns them, the curves of a store, or the table of `eluder.load`,
and returns a matplotlib figure; `save` writes it as PNG and PDF with its numbers as CSV beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from eluder.report import statistics, style
from eluder.report.series import Series, as_series, groups
from eluder.report.style import save as save

# The paper's agents come first, in its order; others follow as they come.
_FIRST = ("UCRL-WVTR", "UCRL-WVTR without HOME", "UCRL-VTR", "Random")


@style.styled
def regret(
    results: Any, *, band: str = "std", width: str = "wide", normalised: bool = False, log: bool = True
) -> Figure:
    """Mean cumulative regret against the episode, one panel per environment and horizon.

    **Arguments:**

    - `results`: what to draw.
    - `band`: "std" as in the paper, "standard-error", "bootstrap" or "quantiles".
    - `width`: "column" or "wide" for a paper, "slide" for a talk.
    - `normalised`: whether to divide by the reward scale.
    - `log`: whether both axes are logarithmic, since agents differ by factors.
    """
    panels = list(groups(as_series(results)).values())
    figure, axes = _grid(len(panels), width)
    for panel, of_panel in zip(axes.flat, panels, strict=False):
        _curves(panel, of_panel, lambda one: one.regret, band, normalised)
        panel.set_title(style.plain(of_panel[0].group.title))
        panel.set_xlabel("episode")
        if log:
            style.log_axes(panel)
    _label_first_column(axes, f"cumulative regret\n({_unit(normalised)})")
    style.name_lines(figure, axes)
    return figure


@style.styled
def average_return(results: Any, *, band: str = "std", width: str = "wide") -> Figure:
    """Reward per episode so far against the episode, with the optimum as a line."""
    panels = list(groups(as_series(results)).values())
    figure, axes = _grid(len(panels), width)
    for panel, of_panel in zip(axes.flat, panels, strict=False):
        _average_return(panel, of_panel, band)
        panel.set_title(style.plain(of_panel[0].group.title))
    _label_first_column(axes, "average return so far\n(reward units per episode)")
    style.name_lines(figure, axes)
    return figure


@style.styled
def regret_and_return(results: Any, *, band: str = "std", width: str = "wide") -> Figure:
    """Regret above, average return below, one column per environment."""
    panels = list(groups(as_series(results)).values())
    figure, axes = style.figure(width, rows=2, columns=len(panels))
    for column, of_panel in enumerate(panels):
        _curves(axes[0, column], of_panel, lambda one: one.regret, band)
        axes[0, column].set_xlabel("episode")
        style.log_axes(axes[0, column])
        _average_return(axes[1, column], of_panel, band)
        axes[0, column].set_title(style.plain(of_panel[0].group.title))
    axes[0, 0].set_ylabel("cumulative regret\n(reward units)")
    axes[1, 0].set_ylabel("average return so far\n(reward units per episode)")
    style.legend_below(figure, axes[0, 0])
    return figure


@style.styled
def against_horizon(results: Any, *, band: str = "std", width: str = "column") -> Figure:
    """Regret of the whole run, total reward scaled to at most 1, against the horizon on log axes."""
    series = as_series(results)
    figure, axes = style.figure(width, panel_height=2.7)
    panel = axes[0, 0]
    looks = style.looks(_agents(series))
    for agent in looks:
        of_agent = sorted((one for one in series if one.agent == agent), key=lambda one: one.horizon)
        finals = [one.final_regret() / one.reward_scale for one in of_agent]
        bands = [statistics.band(final[:, None], band) for final in finals]
        mean, low, high = (np.concatenate(parts) for parts in zip(*bands, strict=True))
        options = looks[agent] | {"marker": "o", "markersize": 3}
        style.band(panel, [one.horizon for one in of_agent], mean, low, high, agent, options)
    episodes = {int(one.episodes[-1]) for one in series}
    of = f"{episodes.pop()} episodes" if len(episodes) == 1 else "the run"
    panel.set_xlabel("horizon H (steps)")
    style.log_axes(panel)
    panel.set_ylabel(f"regret of {of}\n(total reward at most 1)")
    style.name_lines(figure, axes, columns=1)
    return figure


@style.styled
def heat_map(results: Any, *, width: str = "wide", log: bool = True, normalised: bool = False) -> Figure:
    """Mean final regret as a table of agents by environments."""
    series = as_series(results)
    agents = _agents(series)
    where = list(dict.fromkeys(one.group.title for one in series))
    values = np.full((len(agents), len(where)), np.nan)
    for one in series:
        final = one.final_regret().mean() / (one.reward_scale if normalised else 1.0)
        values[agents.index(one.agent), where.index(one.group.title)] = final
    figure, axes = style.figure(width, panel_height=0.8 + 0.28 * len(agents))
    log = log and bool(np.nanmin(values) > 0)
    style.heat_map(axes[0, 0], values, agents, where, log=log, unit=f"mean final regret\n({_unit(normalised)})")
    axes[0, 0].set_title("mean final regret")
    return figure


# How the catalogue's experiments are drawn; any other one as regret curves.
_DRAWN: dict[str, Callable[..., Figure]] = {
    "figure-4": regret_and_return,
    "horizon": against_horizon,
    "horizon-full": against_horizon,
}


def draw(experiment: str, results: Any, **options: Any) -> Figure:
    """The figure of an experiment; `options` are `band` and `width`."""
    own = [one for one in as_series(results) if one.experiment == experiment]
    if not own:
        raise ValueError(f"There are no results of {experiment!r} to draw.")
    return _DRAWN.get(experiment, regret)(own, **options)


def _grid(panels: int, width: str) -> tuple[Figure, np.ndarray]:
    columns = min(panels, 1 if width == "column" else 3)
    rows = -(-panels // columns)
    figure, axes = style.figure(width, rows=rows, columns=columns, panel_height=2.5 if rows == 1 else 2.1)
    for panel in axes.flat[panels:]:
        panel.set_visible(False)
    return figure, axes


def _label_first_column(axes: np.ndarray, text: str) -> None:
    for panel in axes[:, 0]:
        panel.set_ylabel(text)


def _curves(
    panel: Axes,
    of_panel: Sequence[Series],
    values: Callable[[Series], np.ndarray],
    band: str,
    normalised: bool = False,
) -> None:
    by_agent = {one.agent: one for one in of_panel}
    looks = style.looks(_agents(of_panel))
    for agent, options in looks.items():
        one = by_agent[agent]
        curve = statistics.band(values(one) / (one.reward_scale if normalised else 1.0), band)
        style.band(panel, one.episodes, *curve, agent, options)


def _average_return(panel: Axes, of_panel: Sequence[Series], band: str) -> None:
    _curves(panel, of_panel, lambda one: one.average_return, band)
    optimum = of_panel[0].optimal_value
    panel.axhline(optimum, color="black", linewidth=0.8)
    panel.annotate("optimum", (1.0, optimum), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
    panel.set(xlabel="episode", ylim=(0, optimum * 1.15))
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _unit(normalised: bool) -> str:
    return "total reward at most 1" if normalised else "reward units"


def _agents(series: Sequence[Series]) -> list[str]:
    present = list(dict.fromkeys(one.agent for one in series))
    return [agent for agent in _FIRST if agent in present] + [agent for agent in present if agent not in _FIRST]
