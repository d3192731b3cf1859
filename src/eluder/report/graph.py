"""Pictures of an MDP's transition graph.

    python -m eluder.report.graph docs/figures/environments

rebuilds the pictures of docs/environments.md.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import patches
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from eluder.mdp import FiniteMDP
from eluder.report import style
from eluder.report.layout import positions

_RADIUS = 0.3  # of a node; neighbours are about one unit apart
_GREY = "#555555"  # arrows that belong to no single action
_PAID = "#F6D27A"  # nodes that pay
_MANY = 4  # more actions than this are drawn as one
_LABELLED = 46  # more arrows than this carry no labels
_INCHES = 0.62  # a unit of the picture
_TOO_MANY = 400  # states
_ROUNDING = 1e-9


class Arrow(NamedTuple):
    """An arrow of the picture: what one action, or several that do the same, may lead to."""

    source: int
    target: int
    action: int | None  # None: every action, or a bundle of them
    low: float  # the chance; from low to high for a bundle
    high: float
    paid: float  # what is written beside the chance: r(s, a) in original units on one arrow of the pair, else 0

    @property
    def label(self) -> str:
        chance = "" if self.low == self.high == 1 else f"{self.high:.2g}"
        if self.high != self.low:
            chance = f"{self.low:.3g} to {self.high:.3g}"
        return ", ".join(part for part in (chance, signed(self.paid)) if part)


def signed(reward: float) -> str:
    return f"{reward:+.3g}".replace("-", "−") if reward else ""


def arrows(mdp: FiniteMDP, actions: Sequence[int] | None = None, bundle: bool | None = None) -> list[Arrow]:
    """What to draw. Actions that do the same in a state share their arrows; many actions are bundled.

    A reward is written on the likeliest arrow of its pair, unless all actions pay the same (see `state_rewards`).
    """
    drawn = list(range(mdp.actions)) if actions is None else list(actions)
    bundle = len(drawn) > _MANY if bundle is None else bundle
    kernel = mdp.dense_kernel()
    rewards, same_pay = _rewards(mdp)[:, drawn], state_rewards(mdp, drawn)
    result = []
    for s in range(mdp.states):
        rows = kernel[s, drawn]
        if bundle or (np.ptp(rows, axis=0).max() < _ROUNDING and same_pay[s] is not None):
            groups = [(None, rows)]
        else:
            groups = [(action, rows[[i]]) for i, action in enumerate(drawn)]
        for i, (action, chances) in enumerate(groups):
            likeliest = int(chances.max(axis=0).argmax())
            for target in np.flatnonzero(chances.max(axis=0)):
                column = chances[:, target]
                low, high = float(column[column > 0].min()), float(column.max())
                low, high = (1.0 if 1 - x < _ROUNDING else x for x in (high if high - low < _ROUNDING else low, high))
                paid = rewards[s, i] if action is not None and same_pay[s] is None and target == likeliest else 0.0
                result.append(Arrow(s, int(target), action, low, high, float(paid)))
    return result


def state_rewards(mdp: FiniteMDP, drawn: Sequence[int]) -> list[float | None]:
    """What a state pays whatever is done there, in original units; None where it depends on the action."""
    return [float(row[0]) if np.ptp(row) < _ROUNDING else None for row in _rewards(mdp)[:, list(drawn)]]


def _rewards(mdp: FiniteMDP) -> np.ndarray:
    """r(s, a) in original units, the largest over the steps."""
    return np.round(np.asarray(mdp.rewards).max(axis=0) - mdp.reward_offset, 12)


@style.styled
def draw(
    mdp: FiniteMDP,
    *,
    layout: str | np.ndarray = "auto",
    actions: Sequence[int] | None = None,
    bundle: bool | None = None,
    hide: Sequence[str] = (),
    labels: bool | None = None,
) -> Figure:
    """A picture of the MDP: a node per state, an arrow per action and successor, in the action's colour.

    Chances and rewards (in original units, with their sign) are written at the arrows when these are few; thin
    arrows are unlikely. Nodes that pay are filled, those where an episode may start have a thick rim, and those that
    are never left have a double one.

    **Arguments:**

    - `layout`: "auto", "line", "grid", "layers", "circle", or positions of shape (S, 2).
    - `actions`: the actions to draw; all by default.
    - `bundle`: whether actions are drawn as one, with the range of their chances; by default when they are many.
    - `hide`: names of states to leave out.
    - `labels`: whether arrows carry labels; by default when they are few.
    """
    if mdp.states > _TOO_MANY:
        raise ValueError(f"{mdp.name!r} has {mdp.states} states, too many for a picture: draw a smaller instance.")
    at = positions(mdp, layout)
    drawn = arrows(mdp, actions, bundle)
    absorbing = set(range(mdp.states)) - {arrow.source for arrow in drawn if arrow.source != arrow.target}
    names = mdp.state_names or tuple(map(str, range(mdp.states)))
    hidden = {names.index(name) for name in hide}
    drawn = [a for a in drawn if not {a.source, a.target} & hidden and a.source not in absorbing]
    labels = len(drawn) <= _LABELLED if labels is None else labels
    picture = _Picture(mdp, at, names, [s for s in range(mdp.states) if s not in hidden])
    worth = state_rewards(mdp, range(mdp.actions) if actions is None else actions)
    leaving = {arrow.source for arrow in drawn}
    for s in picture.nodes:
        # Where no arrow shows what is paid, the node says what can be.
        paid = worth[s] if s in leaving or worth[s] is not None else float(_rewards(mdp)[s].max())
        picture.node(s, paid, s in absorbing)
    picture.arrows(drawn, labels)
    picture.legend(drawn)
    return picture.figure


class _Picture:
    """A drawing under way."""

    def __init__(self, mdp: FiniteMDP, at: np.ndarray, names: Sequence[str], nodes: list[int]):
        self.mdp, self.at, self.names, self.nodes = mdp, at, names, nodes
        margin = np.array([1.1, 0.95])
        low, high = at[nodes].min(axis=0) - margin, at[nodes].max(axis=0) + margin
        width, height = _INCHES * (high - low)
        self.figure = style.Drawing(figsize=(max(width, 3.2), height + 0.3))
        self.axes = self.figure.subplots()
        self.axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        self.axes.axis("off")
        self.starts, self.pays = np.asarray(mdp.start) > 0, _rewards(mdp).max(axis=1) > 0
        self.patches: dict[int, patches.Circle] = {}
        self.notes = {}  # legend entries of the nodes, by their text

    def node(self, s: int, paid: float | None, absorbing: bool) -> None:
        start, pays = bool(self.starts[s]), bool(self.pays[s])
        rim = {"edgecolor": "black", "facecolor": _PAID if pays else "white", "lw": 2.2 if start else 0.8}
        self.patches[s] = patches.Circle(tuple(self.at[s]), _RADIUS, zorder=3, **rim)
        self.axes.add_patch(self.patches[s])
        if absorbing:
            inner = patches.Circle(tuple(self.at[s]), 0.86 * _RADIUS, fill=False, lw=0.6, zorder=3)
            self.axes.add_patch(inner)
        name, worth = self.names[s], signed(paid or 0.0)
        size = 7 if len(name) <= 4 else 5
        if worth and pays:
            self._text(self.at[s] - (0, 0.13), worth, fontsize=5, zorder=4)
        lift = 0.05 if worth and pays else 0
        self._text(self.at[s] + (0, lift), name, fontsize=size, zorder=4)
        for note, holds, look in (
            ("start", start, {"mfc": "white", "mew": 2}),
            ("pays", pays, {"mfc": _PAID, "mew": 0.8}),
            ("never left", absorbing, {"mfc": "black", "mew": 0.1, "ms": 8, "marker": "$\\circledcirc$"}),
        ):
            if holds and note not in self.notes:
                look = {"marker": "o", "mec": "black", "ms": 6} | look
                self.notes[note] = Line2D([], [], ls="", label=note, **look)

    def arrows(self, drawn: list[Arrow], labels: bool) -> None:
        pairs = {(arrow.source, arrow.target) for arrow in drawn}
        plain = {(arrow.source, arrow.target) for arrow in drawn if arrow.action is None}
        crowded = self._directions(pairs)
        for (source, target), group in itertools.groupby(sorted(drawn, key=lambda a: a[:2]), key=lambda a: a[:2]):
            together = list(group)
            both_ways = (target, source) in pairs
            for index, arrow in enumerate(together):
                if source == target:
                    where = self._loop(arrow, crowded[source])
                elif {(source, target), (target, source)} <= plain and not labels:
                    if source < target:  # one arrow with two heads
                        self._line(arrow, self.at[source], self.at[target], 0.0, heads="<|-|>")
                    continue
                else:
                    where = self._bow(arrow, index, len(together), both_ways)
                if labels and arrow.label:
                    self._label(where, arrow)

    def _text(self, where: np.ndarray, text: str, **options: Any) -> None:
        self.axes.text(float(where[0]), float(where[1]), style.plain(text), ha="center", va="center", **options)

    def _label(self, where: np.ndarray, arrow: Arrow) -> None:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
        self._text(where, arrow.label, color=_colour(arrow), fontsize=5.8, bbox=box, zorder=5)

    def _directions(self, pairs: set[tuple[int, int]]) -> dict[int, list[float]]:
        """The angles at which arrows touch each node."""
        result: dict[int, list[float]] = {s: [] for s in self.nodes}
        for source, target in pairs:
            if source != target:
                for here, there in ((source, target), (target, source)):
                    x, y = self.at[there] - self.at[here]
                    result[here].append(float(np.arctan2(y, x)))
        return result

    def _bow(self, arrow: Arrow, index: int, count: int, both_ways: bool) -> np.ndarray:
        """A curved arrow between two nodes; its label's place."""
        start, end = self.at[arrow.source], self.at[arrow.target]
        # Opposite arrows bend to opposite sides by themselves; those of several actions fan out.
        bend = -0.16 * (index + 1) if both_ways else 0.2 * ((count - 1) / 2 - index)
        others = [self.at[s] for s in self.nodes if s not in (arrow.source, arrow.target)]
        if abs(bend) < 0.3 and any(_in_the_way(start, end, other) for other in others):
            bend = -0.32 - 0.1 * index
        self._line(arrow, start, end, bend)
        across = np.array([end[1] - start[1], start[0] - end[0]])
        # Labels of long arrows stand near their source: further on, arrows cross.
        place = min(0.5, 0.9 / float(np.linalg.norm(end - start)))
        return (1 - place) * start + place * end + 2 * place * (1 - place) * bend * across

    def _loop(self, arrow: Arrow, taken: list[float]) -> np.ndarray:
        """An arrow from a node to itself, where there is most room; its label's place."""
        angles = np.pi / 2 - np.arange(24) * np.pi / 12  # upwards first
        room = [min((abs(np.angle(np.exp(1j * (angle - t)))) for t in taken), default=0.0) for angle in angles]
        angle = float(angles[int(np.argmax(np.round(room, 6)))])
        taken.append(angle)
        centre = self.at[arrow.source]
        out, back = (centre + _RADIUS * np.array([np.cos(angle + turn), np.sin(angle + turn)]) for turn in (0.5, -0.5))
        self._line(arrow, out, back, -1.9)
        # Text is wider than high: beside the node it needs more room than above it.
        reach = np.array([_RADIUS + 0.4 + 0.03 * len(arrow.label), _RADIUS + 0.4])
        return centre + reach * (np.cos(angle), np.sin(angle))

    def _line(self, arrow: Arrow, start: np.ndarray, end: np.ndarray, bend: float, heads: str = "-|>") -> None:
        patch = patches.FancyArrowPatch(
            (start[0], start[1]),
            (end[0], end[1]),
            connectionstyle=f"arc3,rad={bend:.3f}",
            arrowstyle=heads,
            mutation_scale=6,
            lw=0.5 + 1.1 * arrow.high,
            color=_colour(arrow),
            zorder=2,
        )
        if arrow.source == arrow.target:  # a loop is given by points on the rim
            patch.shrinkA = patch.shrinkB = 0.0
        else:  # others by centres, and are cut off at the rims
            patch.set_patchA(self.patches[arrow.source])
            patch.set_patchB(self.patches[arrow.target])
        self.axes.add_patch(patch)

    def legend(self, drawn: list[Arrow]) -> None:
        names = self.mdp.action_names or tuple(f"action {a}" for a in range(self.mdp.actions))
        seen = sorted({arrow.action for arrow in drawn if arrow.action is not None})
        colours = {a: style.PALETTE[a % len(style.PALETTE)] for a in seen}
        handles = [Line2D([], [], color=colours[a], label=style.plain(names[a])) for a in seen]
        if any(arrow.action is None for arrow in drawn):
            handles.append(Line2D([], [], color=_GREY, label="any action" if seen else "some action"))
        handles += [self.notes[note] for note in sorted(self.notes, reverse=True)]
        columns = 3 if self.figure.get_figwidth() < 4 else 6
        self.figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), columns))


def _in_the_way(start: np.ndarray, end: np.ndarray, other: np.ndarray) -> bool:
    along = end - start
    share = np.clip(np.dot(other - start, along) / np.dot(along, along), 0, 1)
    return bool(np.linalg.norm(start + share * along - other) < 1.2 * _RADIUS)


def _colour(arrow: Arrow) -> str:
    return _GREY if arrow.action is None else style.PALETTE[arrow.action % len(style.PALETTE)]


def _queue_layout(mdp: FiniteMDP) -> np.ndarray:
    """How many are inside from left to right, and someone at the door in the upper row."""
    column, row = np.arange(mdp.states) % (mdp.states // 2), np.arange(mdp.states) // (mdp.states // 2)
    return np.stack([2.0 * column, 2.4 * row], axis=-1)


def _tree_layout(waiting: int) -> np.ndarray:
    """Waiting states in a column, beside each its binary tree of two levels, and the two ends on the right."""
    heights = [2.6 * ((waiting - 1) / 2 - entry) for entry in range(waiting)]
    trees = [place for y in heights for place in ((1.8, y), (3.6, y + 0.65), (3.6, y - 0.65))]
    return np.array([*((0.0, y) for y in heights), *trees, (6.4, 1.3), (6.4, -1.3)])


def gallery() -> dict[str, tuple[FiniteMDP, dict]]:
    """The instances in docs/environments.md by file name, with the options of `draw`."""
    from eluder import environments as e

    queue, windy = e.queue(capacity=3), e.deep_sea(4, windy=True)
    return {
        "riverswim": (e.riverswim(), {}),
        "riverswim-ayoub": (e.riverswim(variant="ayoub"), {}),
        "riverswim-osband": (e.riverswim(states=6, variant="osband"), {}),
        "deep-sea": (e.deep_sea(5), {"hide": ["end"]}),
        "deep-sea-windy": (windy, {"hide": ["end"], "layout": 1.5 * positions(windy)}),
        "lower-bound": (e.lower_bound(), {"layout": np.array([[0.0, 0.0], [2.4, -0.9], [2.4, 0.9]])}),
        "two-state": (e.two_state(), {"layout": np.array([[0.0, 0.0], [2.6, 0.0]])}),
        "hard-tree": (e.hard_tree(depth=2, horizon=10), {"layout": _tree_layout(2)}),
        "wide-tree": (e.wide_tree(), {}),
        "random-mixture": (e.random_mixture(states=5, actions=2, successors=2), {}),
        "garnet": (e.garnet(states=5, actions=2, successors=2), {}),
        "grid-world": (e.grid_world("maze"), {"hide": ["end"], "bundle": True, "labels": False}),
        "queue": (queue, {"layout": _queue_layout(queue), "actions": [0, 3], "labels": False}),
        "inventory": (e.inventory(capacity=4), {"layout": "line", "actions": [0, 2], "labels": False}),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m eluder.report.graph", description="Draws every environment.")
    parser.add_argument("outdir", type=Path, help="the folder to write <name>.svg into")
    parser.add_argument("--png", action="store_true", help="PNG files too")
    parser.add_argument("--only", metavar="NAME", choices=list(gallery()), help="one picture instead of all")
    options = parser.parse_args(arguments)
    for name, (mdp, how) in gallery().items():
        if options.only not in (None, name):
            continue
        written = _save(draw(mdp, **how), options.outdir / name, (".svg", ".png") if options.png else (".svg",))
        print(*written)
    return 0


@style.styled
def _save(figure: Figure, path: Path, suffixes: Sequence[str]) -> list[Path]:
    return style.save(figure, path, suffixes)


if __name__ == "__main__":
    raise SystemExit(main())
