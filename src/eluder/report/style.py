"""One look for every figure: sizes for a paper, colours that survive colour-blindness and a grey printer."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib

if "DISPLAY" not in os.environ:
    matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Okabe & Ito's palette, in an order in which neighbours differ in lightness too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6BB1")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 1)))

# The same agent has the same colour and dash everywhere.
_FIXED = {"UCRL-WVTR": 0, "UCRL-WVTR without HOME": 1, "UCRL-VTR": 2, "Random": 3, "Optimal": 6}

WIDTHS = {"column": 3.35, "wide": 6.9}  # inches: one column of a paper, or both

_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.35,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "savefig.dpi": 200,
}


def styled(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorates a function that draws: the house style holds while it runs, and the user's own after it."""

    @functools.wraps(draw)
    def in_style(*args: _P.args, **options: _P.kwargs) -> _R:
        with plt.rc_context(_STYLE):
            return draw(*args, **options)

    return in_style


def figure(width: str = "wide", rows: int = 1, columns: int = 1, panel_height: float = 2.1, **options):
    """A figure and its axes as a two-dimensional array. Call it in a function decorated with `styled`."""
    size = (WIDTHS[width], rows * panel_height)
    return plt.subplots(rows, columns, figsize=size, squeeze=False, **options)


def look(name: str, position: int = 0) -> dict:
    """Colour and dash of a line, fixed by the agent's name where it has one."""
    index = _FIXED.get(name)
    if index is None:
        index = (4 + position) % len(PALETTE)
    return {"color": PALETTE[index], "linestyle": LINES[index]}


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend for all panels, under them, so that it covers no data."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def save(figure: Figure, path: Path | str, suffixes: Sequence[str] = (".png", ".pdf")) -> list[Path]:
    """Writes `path` as PNG and as PDF (or SVG), each at once or not at all, and closes the figure."""
    base = Path(path).with_suffix("")
    base.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix in suffixes:
        target = base.with_name(base.name + suffix)
        with tempfile.NamedTemporaryFile(dir=base.parent, suffix=suffix, delete=False) as temporary:
            # Without a date the same data give the same file.
            metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(suffix)
            with plt.rc_context({"svg.hashsalt": base.name}):
                figure.savefig(temporary, format=suffix[1:], metadata=metadata)
        Path(temporary.name).chmod(0o644)
        os.replace(temporary.name, target)
        written.append(target)
    plt.close(figure)
    return written
