"""One look for every figure: sizes for a paper or a slide, colours that survive colour-blindness and a grey printer."""

from __future__ import annotations

import csv
import functools
import io
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

from eluder.report import colours
from eluder.report.colours import PALETTE as PALETTE

_P = ParamSpec("_P")
_R = TypeVar("_R")

# The dashes that `colours.Look.dash` counts.
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 1)))

# Inches: one column of a paper, both, or a slide. A slide is drawn small and shown large, so that its text is.
WIDTHS = {"column": 3.35, "wide": 6.9, "slide": 16 / 3}
_SLIDE_HEIGHT, _SLIDE_DPI = 3.0, 360  # 1920 × 1080 pixels
_NOTEBOOK_DPI = 110

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

# The numbers behind each figure that is still open, for the table beside it.
_numbers: weakref.WeakKeyDictionary[Figure, list[dict[str, Any]]] = weakref.WeakKeyDictionary()


def styled(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorates a function that draws: the house style holds while it runs, and the user's own after it."""

    @functools.wraps(draw)
    def in_style(*args: _P.args, **options: _P.kwargs) -> _R:
        with matplotlib.rc_context(_STYLE):
            return draw(*args, **options)

    return in_style


class Drawing(Figure):
    """A figure that belongs to whoever holds it: pyplot keeps no list of it, and a notebook shows it once."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=_NOTEBOOK_DPI)
        return buffer.getvalue()


def figure(width: str = "wide", rows: int = 1, columns: int = 1, panel_height: float = 2.1, **options):
    """A figure and its axes as a two-dimensional array. Call it in a function decorated with `styled`."""
    if width not in WIDTHS:
        raise ValueError(f"The width must be one of {', '.join(map(repr, WIDTHS))}, but is {width!r}.")
    height = _SLIDE_HEIGHT if width == "slide" else rows * panel_height
    dpi = options.pop("dpi", _SLIDE_DPI if width == "slide" else None)
    made = Drawing(figsize=(WIDTHS[width], height), dpi=dpi)
    return made, made.subplots(rows, columns, squeeze=False, **options)


def look(name: str, position: int | None = None) -> dict:
    """Colour and dash of a line: an agent's own. `position` tells lines apart that do not stand for an agent."""
    if position is not None and not colours.is_fixed(name):
        index = (4 + position) % len(PALETTE)
        return {"color": PALETTE[index], "linestyle": LINES[index]}
    return _as_options(colours.look(name))


def looks(names: Iterable[str]) -> dict[str, dict]:
    """The looks of lines that share a panel, no two the same."""
    return {name: _as_options(one) for name, one in colours.looks(names).items()}


def _as_options(one: colours.Look) -> dict:
    return {"color": one.colour, "linestyle": LINES[one.dash]}


def plain(text: str) -> str:
    """Text as it stands: a dollar sign in a name begins no formula."""
    return text.replace("$", r"\$")


def band(panel: Axes, x, mean, low, high, label: str, options: Mapping[str, Any] | None = None) -> None:
    """A line with a band around it. On a log axis a band that reaches zero is cut off far below the line."""
    options = dict(look(label) if options is None else options)
    x, mean, low, high = (np.asarray(values, dtype=float) for values in (x, mean, low, high))
    panel.plot(x, mean, label=plain(label), **options)
    shown = np.maximum(low, mean * 1e-3) if (mean > 0).all() else low
    panel.fill_between(x, shown, high, color=options["color"], alpha=0.18, linewidth=0)
    rows = zip(x.tolist(), mean.tolist(), low.tolist(), high.tolist(), strict=True)
    _remember(panel, [{"line": label, "x": a, "mean": b, "low": c, "high": d} for a, b, c, d in rows])


class _Between(Formatter):
    """Labels between powers of ten, at 2 and 5, where an axis shows less than a decade and a half."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        assert self.axis is not None
        low, high = self.axis.get_view_interval()
        digit = round(x / 10.0 ** np.floor(np.log10(x) + 1e-9))
        return f"{x:g}" if np.log10(high / low) < 1.5 and digit in (2, 5) else ""


def log_axes(panel: Axes) -> None:
    """Logarithmic axes with few labels, none on top of another."""
    panel.set(xscale="log", yscale="log")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_minor_formatter(_Between())


def heat_map(panel: Axes, values, rows: Sequence[str], columns: Sequence[str], *, log: bool = False, unit: str = ""):
    """A table as colours, each cell with its number in a readable ink. NaN cells stay empty."""
    values = np.asarray(values, dtype=float)
    norm = LogNorm() if log else None
    image = panel.imshow(np.ma.masked_invalid(values), aspect="auto", cmap="cividis", norm=norm)
    panel.set_xticks(range(len(columns)), columns, rotation=30, ha="right", rotation_mode="anchor")
    panel.set_yticks(range(len(rows)), rows)
    panel.grid(visible=False)
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            ink = "black" if np.asarray(image.norm(value)).item() > 0.55 else "white"
            panel.text(j, i, f"{value:.3g}", ha="center", va="center", color=ink, fontsize=6)
    bar = panel.figure.colorbar(image, ax=panel)
    bar.set_label(unit)
    if log:
        bar.ax.yaxis.set_minor_formatter(_Between())
    cells = [(rows[i], columns[j], float(value)) for (i, j), value in np.ndenumerate(values)]
    _remember(panel, [{"row": a, "column": b, "value": c} for a, b, c in cells])
    return image


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend for all panels, under them, so that it covers no data."""
    handles, labels = axes.get_legend_handles_labels()
    # No wider than the figure: a long name counts for its length.
    widest = max((len(label) for label in labels), default=1) * 0.055 + 0.45  # inches, about
    columns = max(1, min(columns, int(figure.get_figwidth() / widest)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def label_lines(panel: Axes) -> bool:
    """Writes each line's name at its right end, moved apart where they would overlap.

    Returns False and writes nothing when there is no room for all of them.
    """
    lines = [line for line in panel.get_lines() if not str(line.get_label()).startswith("_")]
    figure = panel.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    box = panel.get_window_extent()
    gap = 8.5 * figure.dpi / 72  # one line of text
    if len(lines) * gap > box.height:
        return False
    ends = [panel.transData.transform((line.get_xdata()[-1], line.get_ydata()[-1]))[1] for line in lines]  # type: ignore[index]
    order = np.argsort(ends)
    places = np.clip(np.asarray(ends)[order], box.y0 + gap / 2, box.y1 - gap / 2)
    for i in range(1, len(places)):  # upwards from the lowest
        places[i] = max(places[i], places[i - 1] + gap)
    limit = box.y1 - gap / 2
    for i in reversed(range(len(places))):  # and back down where the top is full
        places[i] = min(places[i], limit - (len(places) - 1 - i) * gap)
    for place, index in zip(places, order, strict=True):
        line = lines[index]
        panel.annotate(
            str(line.get_label()),
            (1.0, (place - box.y0) / box.height),
            xycoords="axes fraction",
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=line.get_color(),
            annotation_clip=False,
        )
    return True


def name_lines(figure: Figure, axes: np.ndarray, columns: int = 4) -> None:
    """Direct labels where they fit, which is beside a single panel that is not narrow; else one legend below."""
    direct = axes.size == 1 and figure.get_figwidth() > 5 and label_lines(axes.flat[0])
    if not direct:
        legend_below(figure, axes.flat[0], columns)


def numbers(figure: Figure) -> list[dict[str, Any]]:
    """The numbers behind a figure: those of bands and heat maps, else every line that has a name."""
    if figure in _numbers:
        return _numbers[figure]
    rows: list[dict[str, Any]] = []
    for panel in figure.axes:
        for line in panel.get_lines():
            if not str(line.get_label()).startswith("_"):
                points = zip(np.atleast_1d(line.get_xdata()), np.atleast_1d(line.get_ydata()), strict=True)
                title = panel.get_title() or panel.get_ylabel()
                rows += [{"panel": title, "line": line.get_label(), "x": x, "mean": y} for x, y in points]
    return rows


def save(figure: Figure, path: Path | str, suffixes: Sequence[str] = (".png", ".pdf")) -> list[Path]:
    """Writes `path` as PNG and as PDF (or SVG), and the numbers behind it as CSV.

    Each file is written at once or not at all.
    """
    base = Path(path).with_suffix("") if Path(path).suffix in (".png", ".pdf", ".svg") else Path(path)
    base.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix in suffixes:
        target = base.with_name(base.name + suffix)
        with tempfile.NamedTemporaryFile(dir=base.parent, suffix=suffix, delete=False) as temporary:
            # Without a date the same data give the same file.
            metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(suffix)
            dpi = max(figure.dpi, _STYLE["savefig.dpi"])
            settings: dict[Any, Any] = {**_STYLE, "svg.hashsalt": base.name}
            with matplotlib.rc_context(settings):
                figure.savefig(temporary, format=suffix[1:], metadata=metadata, dpi=dpi)
        written.append(_put(temporary.name, target))
    if rows := numbers(figure):
        with tempfile.NamedTemporaryFile("w", dir=base.parent, newline="", encoding="utf-8", delete=False) as table:
            writer = csv.DictWriter(table, list(dict.fromkeys(name for row in rows for name in row)))
            writer.writeheader()
            writer.writerows(rows)
        written.append(_put(table.name, base.with_name(base.name + ".csv")))
    return written


def _put(temporary: str, target: Path) -> Path:
    Path(temporary).chmod(0o644)
    os.replace(temporary, target)
    return target


def _remember(panel: Axes, rows: list[dict[str, Any]]) -> None:
    figure = panel.get_figure(root=True)
    assert figure is not None
    # Titles and labels are often set after the data: they are looked up when the table is written.
    known = _numbers.setdefault(figure, [])
    known += [{"panel": _Title(panel), **row} for row in rows]


class _Title:
    """A panel's title and quantity as they are when asked."""

    def __init__(self, panel: Axes):
        self._panel = weakref.ref(panel)

    def __str__(self) -> str:
        panel = self._panel()
        if panel is None:
            return ""
        quantity = " ".join(panel.get_ylabel().split())
        return ": ".join(part for part in (panel.get_title(), quantity) if part)
