"""Grid worlds in which a step may slip sideways."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from eluder.environments._common import at_least, chance
from eluder.mdp import FiniteMDP

WALL, FREE, START, GOAL, PIT = "#.SGX"
MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}  # clockwise

MAPS = {
    "four-rooms": "S...#....\n....#....\n.........\n....#....\n##.###.##\n....#....\n....#....\n.........\n....#...G",
    "bridge": "#XXXX#\nS....G\n#XXXX#",
    "maze": "S.#...\n..#.#.\n.##.#.\n....#.\n.##.#.\n..#..G",
}

Cell = tuple[int, int]


def grid_world(
    map: str | Iterable[str] | None = None,
    rows: int = 4,
    columns: int = 4,
    walls: Iterable[Cell] = (),
    start: Cell = (0, 0),
    goal: Cell | None = None,
    slip: float = 0.2,
    horizon: int = 20,
) -> FiniteMDP:
    """A walk to a goal. Actions 0 to 3 go up, right, down and left; into a wall or off the edge one stays.

    With chance `slip` a step goes sideways instead, half of it to the left of the direction meant and half to its
    right. Any action in a goal pays 1 and ends the walk in an absorbing state, so totals are at most 1 and
    V* is the best chance of standing in a goal by the last step. A pit ends the walk and pays nothing.

    Give the grid as a text `map`, one line (or one string) per row, with "#" for a wall, "." free, "S" a start (one
    of them at random), "G" a goal and "X" a pit; or the name of one ("four-rooms", "bridge", "maze"). Or give
    `rows`, `columns`, `walls`, `start` and `goal` as (row, column) from (0, 0); the goal is the far corner by default.

    As a linear mixture, d = 3: the chances of straight on, left and right.
    """
    slip = chance(slip, "slip")
    lines = _drawn(rows, columns, walls, start, goal) if map is None else _lines(map)
    cells = [(r, c) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark != WALL]
    number = {cell: s for s, cell in enumerate(cells)}
    end = len(cells)
    moves = list(MOVES.values())
    successors = np.full((end + 1, 4, 3), end)
    features = np.zeros((end + 1, 4, 3, 3))
    rewards = np.zeros((end + 1, 4))
    features[end, :, 0] = 1
    for s, (r, c) in enumerate(cells):
        if lines[r][c] in (GOAL, PIT):
            features[s, :, 0] = 1
            rewards[s] = float(lines[r][c] == GOAL)
            continue
        for action in range(4):
            for slot, turn in enumerate((0, -1, 1)):  # straight on, to the left, to the right
                step = moves[(action + turn) % 4]
                successors[s, action, slot] = number.get((r + step[0], c + step[1]), s)
                features[s, action, slot, slot] = 1
    starts = np.array([lines[r][c] == START for r, c in cells] + [False], dtype=float)
    names = [f"{r},{c}" for r, c in cells]
    label = map if isinstance(map, str) and map in MAPS else f"{len(lines)}x{max(len(line) for line in lines)}"
    return FiniteMDP(
        successors,
        features @ np.array([1 - slip, slip / 2, slip / 2]),
        rewards,
        horizon=horizon,
        start=starts / starts.sum(),
        features=features,
        reward_scale=1.0,
        name=f"grid-world-{label}",
        state_names=[*names, "end"],
        action_names=list(MOVES),
    )


def _lines(map: str | Iterable[str]) -> list[str]:
    text = MAPS.get(map, map) if isinstance(map, str) else map
    lines = text.strip("\n").splitlines() if isinstance(text, str) else [str(line) for line in text]
    for r, line in enumerate(lines):
        for c, mark in enumerate(line):
            if mark not in (WALL, FREE, START, GOAL, PIT):
                raise ValueError(
                    f"map holds {mark!r} in row {r}, column {c}: use '#' wall, '.' free, 'S' start, 'G' goal, 'X' pit, "
                    f"or one of the named maps {', '.join(MAPS)}."
                )
    for mark, what in ((START, "start"), (GOAL, "goal")):
        if not any(mark in line for line in lines):
            raise ValueError(f"map has no {what}: mark one cell with {mark!r}.")
    return lines


def _drawn(rows: int, columns: int, walls: Iterable[Cell], start: Cell, goal: Cell | None) -> list[str]:
    """The text map of a rectangular grid."""
    rows, columns = at_least(rows, 1, "rows"), at_least(columns, 1, "columns")
    goal = (rows - 1, columns - 1) if goal is None else goal
    picture = [[FREE] * columns for _ in range(rows)]
    marks = [(tuple(cell), WALL, "walls") for cell in walls] + [(start, START, "start"), (goal, GOAL, "goal")]
    for cell, mark, what in marks:
        if len(cell) != 2 or not (0 <= cell[0] < rows and 0 <= cell[1] < columns):
            raise ValueError(f"{what} names the cell {tuple(cell)}, which is not in a grid of {rows} × {columns}.")
        if picture[cell[0]][cell[1]] != FREE:
            raise ValueError(f"{what} names the cell {tuple(cell)}, which is taken already.")
        picture[cell[0]][cell[1]] = mark
    return ["".join(row) for row in picture]
