"""Where the states of a graph go: positions of shape (S, 2), one unit apart, x to the right and y up."""

from __future__ import annotations

import re

import numpy as np

from eluder.mdp import FiniteMDP

_CELL = re.compile(r"(\d+),(\d+)")


def positions(mdp: FiniteMDP, layout: str | np.ndarray = "auto") -> np.ndarray:
    """Positions by a layout's name ("line", "grid", "layers", "circle"), the one that fits, or given ones."""
    if isinstance(layout, np.ndarray):
        if layout.shape != (mdp.states, 2):
            raise ValueError(f"Positions must have the shape ({mdp.states}, 2), but have {layout.shape}.")
        return layout.astype(float)
    if layout == "auto":
        layout = fitting(mdp)
    if layout not in _LAYOUTS:
        raise ValueError(f"layout must be 'auto' or one of {', '.join(map(repr, _LAYOUTS))}, but is {layout!r}.")
    return _LAYOUTS[layout](mdp)


def fitting(mdp: FiniteMDP) -> str:
    """The layout for an MDP: cells in a grid, neighbours in a line, a way forward in layers, anything in a circle."""
    if mdp.state_names and sum(bool(_CELL.fullmatch(name)) for name in mdp.state_names) >= mdp.states - 1:
        return "grid"
    source, target = edges(mdp)
    if np.all(np.abs(source - target) <= 1):
        return "line"
    depth = depths(mdp)
    return "layers" if np.all((depth[source] < depth[target]) | (source == target)) else "circle"


def edges(mdp: FiniteMDP) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of all transitions that can happen, each once."""
    possible = np.asarray(mdp.probs) > 0
    source = np.broadcast_to(np.arange(mdp.states)[:, None, None], possible.shape)[possible]
    pairs = np.unique(np.stack([source, np.asarray(mdp.successors)[possible]]), axis=1)
    return pairs[0], pairs[1]


def depths(mdp: FiniteMDP) -> np.ndarray:
    """The longest way to each state from the start without going round in circles, at most S."""
    source, target = edges(mdp)
    forward = source != target
    depth = np.zeros(mdp.states, dtype=int)
    for _ in range(mdp.states):
        deeper = depth.copy()
        np.maximum.at(deeper, target[forward], depth[source[forward]] + 1)
        if (deeper == depth).all():
            break
        depth = deeper
    return depth


def line(mdp: FiniteMDP) -> np.ndarray:
    return np.stack([1.6 * np.arange(mdp.states), np.zeros(mdp.states)], axis=-1)


def circle(mdp: FiniteMDP) -> np.ndarray:
    angles = np.pi / 2 - 2 * np.pi * np.arange(mdp.states) / mdp.states
    apart = 2.5 if mdp.states <= 7 else 1.6  # few nodes leave room for labels between them
    radius = max(1.2, apart * mdp.states / (2 * np.pi))
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def grid(mdp: FiniteMDP) -> np.ndarray:
    """Cells named "row,column" in their places, any other state below the last row."""
    cells = [_CELL.fullmatch(name) for name in mdp.state_names or ()]
    places = [(float(cell[2]), -float(cell[1])) if cell else (np.nan, np.nan) for cell in cells]
    result = 1.4 * np.array(places)
    outside = np.isnan(result[:, 0])
    result[outside] = np.nanmean(result[:, 0]), np.nanmin(result[:, 1]) - 1.2
    return result


def layers(mdp: FiniteMDP) -> np.ndarray:
    """States by depth from left to right, each layer in the order of the middles of its predecessors."""
    depth = depths(mdp)
    source, target = edges(mdp)
    height = np.zeros(mdp.states)
    widest = np.bincount(depth).max()
    for layer in range(depth.max() + 1):
        members = np.flatnonzero(depth == layer)
        middles = [np.mean(height[source[(target == s) & (source != s)]]) if layer else 0.0 for s in members]
        ordered = members[np.lexsort((members, -np.array(middles)))]
        spread = (widest - 1) / max(len(members) - 1, 1) if len(members) > 2 else (widest - 1) / 2
        height[ordered] = spread * ((len(members) - 1) / 2 - np.arange(len(members)))
    return np.stack([1.8 * depth, height], axis=-1)


_LAYOUTS = {"line": line, "grid": grid, "layers": layers, "circle": circle}
