"""DeepSea: one long dive in which every wrong move loses the treasure (Osband et al., bsuite)."""

from __future__ import annotations

import numpy as np

from eluder.environments._common import at_least, chance
from eluder.mdp import FiniteMDP


def deep_sea(size: int = 10, windy: bool = False, move_cost: float = 0.01, seed: int | None = 0) -> FiniteMDP:
    """A dive through `size` rows, H = `size`: each step goes one row down and one column left or right.

    Going right costs `move_cost`/size, and going right in the bottom right corner pays 1. Which of the two
    actions goes right is drawn for each cell from `seed` (None: always action 1). With `windy`, a move to the
    right is blown off course with chance 1/size: the diver sinks straight down.

    Costs are shifted by move_cost/size a step, so that going left pays that and going right pays nothing; the
    total reward is at most 1. The optimum before the shift, `original_value`, is 1 − move_cost without wind.
    With wind and q = 1 − 1/size it is q^(size−1) − move_cost·(1 − q^size): once blown off course one stops
    paying for a treasure out of reach. (The q^(size−1) − move_cost of bsuite is the value of always going right.)

    States are the cells that can be reached, (row, column) with column ≤ row, and an end below the last row.
    """
    size = at_least(size, 2, "size")
    move_cost = chance(move_cost, "move_cost")
    rows, columns = np.tril_indices(size)
    cells = rows.size
    end = cells

    def cell(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return np.where(row < size, row * (row + 1) // 2 + column, end)

    swapped = np.zeros(cells, dtype=bool) if seed is None else np.random.default_rng(seed).random(cells) < 0.5
    right, left = np.where(swapped, 0, 1), np.where(swapped, 1, 0)
    every = np.arange(cells)
    successors = np.full((cells + 1, 2, 2), end)
    probs = np.zeros((cells + 1, 2, 2))
    probs[..., 0] = 1
    successors[every, right, 0] = cell(rows + 1, columns + 1)
    successors[every, left] = cell(rows + 1, np.maximum(columns - 1, 0))[:, None]
    # Slot 1 of a move to the right is the wind: same column, one row down.
    successors[every, right, 1] = cell(rows + 1, columns)
    probs[every, right] = (1 - 1 / size, 1 / size) if windy else (1, 0)
    offset = move_cost / size
    # The end is never visited within the H = size steps, so the shift may spare it: totals stay at most 1.
    rewards = np.zeros((cells + 1, 2))
    rewards[every, left] = offset
    corner = cells - 1
    rewards[corner, right[corner]] = 1
    names = [f"{row},{column}" for row, column in zip(rows, columns, strict=True)]
    return FiniteMDP(
        successors,
        probs,
        rewards,
        horizon=size,
        reward_scale=1.0,
        reward_offset=offset,
        name=f"deep-sea-{size}" + "-windy" * windy,
        state_names=[*names, "end"],
    )
