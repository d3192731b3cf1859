"""A wide tree: much to learn about where one lands, and nothing of it matters (after Ayoub et al. 2020)."""

from __future__ import annotations

import numpy as np

from eluder.environments._common import at_least, chance
from eluder.mdp import FiniteMDP


def wide_tree(leaves: int = 8, success: float = 1.0) -> FiniteMDP:
    """Two steps: the root's action picks the rich or the poor middle state, then one falls onto a random leaf.

    Action 0 of the root reaches the rich middle state with chance `success`, else the poor one; action 1 the other
    way round. Acting in the rich state pays 1, then either action of a middle state leads to one of its own half
    of the `leaves`, uniformly. H = 2, so the leaves are worth nothing: an agent that regresses on values
    has one number to learn, one that estimates the whole kernel has all the leaves'. V* = max(success, 1 − success).

    As a linear mixture, d = 2 (success and its complement): the chances of the leaves are taken as known.
    """
    leaves = at_least(leaves, 2, "leaves")
    if leaves % 2:
        raise ValueError(f"leaves must be even, half for each middle state, but is {leaves}.")
    success = chance(success, "success")
    half = leaves // 2
    root, rich, poor, first = 0, 1, 2, 3
    states, slots = 3 + leaves, max(half, 2)
    successors = np.broadcast_to(np.arange(states)[:, None, None], (states, 2, slots)).copy()
    features = np.zeros((states, 2, slots, 2))
    features[first:, :, 0] = 1  # leaves keep what falls on them
    successors[root, :, :2] = rich, poor
    features[root, 0, :2] = np.eye(2)
    features[root, 1, :2] = np.eye(2)[::-1]
    for middle, offset in ((rich, 0), (poor, half)):
        successors[middle, :, :half] = first + offset + np.arange(half)
        features[middle, :, :half] = 1 / half
    rewards = np.zeros((states, 2))
    rewards[rich] = 1
    return FiniteMDP(
        successors,
        features @ np.array([success, 1 - success]),
        rewards,
        horizon=2,
        features=features,
        reward_scale=1.0,
        name=f"wide-tree-{leaves}",
        state_names=["root", "rich", "poor", *(f"leaf {i + 1}" for i in range(leaves))],
    )
