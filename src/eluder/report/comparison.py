"""The figure of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from eluder.report import style
from eluder.report.statistics import mean_interval

if TYPE_CHECKING:
    from eluder.comparison import Comparison


@style.styled
def draw(comparison: Comparison) -> Figure:
    """A panel per environment and horizon; agents from the best mean rank down, regret on a logarithmic axis."""
    order = comparison.ranking["agent"].tolist()[::-1]
    places = list(dict.fromkeys(cell.place for cell in comparison.cells))
    columns = min(3, len(places))
    rows = -(-len(places) // columns)
    height = 0.9 + 0.17 * len(order)
    figure, axes = style.figure(rows=rows, columns=columns, panel_height=height, sharey=True)
    for panel, place in zip(axes.flat, places, strict=False):
        cells = {cell.agent: cell for cell in comparison.cells if cell.place == place}
        for position, agent in enumerate(order):
            cell = cells[agent]
            low, high = mean_interval(cell.regret)
            mean = cell.regret.mean()
            if mean <= 1e-9:  # the optimum has no place on a logarithmic axis
                panel.text(0.02, position, "0", transform=panel.get_yaxis_transform(), va="center", fontsize=7)
                continue
            panel.errorbar(
                mean,
                position,
                xerr=np.array([[mean - low], [high - mean]]),
                fmt="o",
                markersize=3.5,
                color=style.PALETTE[0],
                elinewidth=1.2,
                label="at its multiplier, 95 % interval",
            )
            if cell.at_theory is not None:
                panel.plot(
                    cell.at_theory.mean(),
                    position,
                    "o",
                    markersize=4.5,
                    markerfacecolor="none",
                    color=style.PALETTE[1],
                    label="at the theory's multiplier 1",
                )
        panel.set_xscale("log")
        panel.set_yticks(range(len(order)), order)
        panel.set_title(style.plain(f"{place[0]}, H = {place[1]}"))
        panel.set_xlabel(f"regret after {comparison.episodes} episodes")
    for unused in axes.flat[len(places) :]:
        unused.set_visible(False)
    shown = {
        label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=2)
    return figure
