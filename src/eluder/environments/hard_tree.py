"""The tree of the tabular lower bounds (Domingues, Ménard, Kaufmann & Valko 2021)."""

from __future__ import annotations

import numpy as np

from eluder import _validate as validate
from eluder.environments._common import at_least, chance
from eluder.mdp import FiniteMDP

WAIT = 0


def hard_tree(
    depth: int = 3, actions: int = 2, waiting: int = 2, horizon: int = 12, epsilon: float = 0.25, seed: int = 0
) -> FiniteMDP:
    """Wait for a while, walk down a tree, and toss a coin that is better at one moment, leaf and action.

    An episode starts in a waiting state. Action 0 waits, at most until step `waiting` = H̄; any other action enters
    an `actions`-ary tree of `depth` levels, in which action a leads to child a. Each action of a leaf leads to the
    good or the bad state with chance 1/2, and with 1/2 + ε to the good one for the one (step, leaf, action)
    drawn from `seed`. Both absorb. From step H̄ + depth + 1 on the good state pays 1, so that waiting costs
    nothing, totals are at most H − H̄ − depth, and V* = (H − H̄ − depth)·(1/2 + ε).

    A kernel that changes with the step becomes homogeneous here by keeping the time of entry in the state:
    S = H̄·(1 + nodes) + 2. (The published tree also lets one enter a step later, which is never better.)

    As a linear mixture, d = 2 + H̄·leaves·actions: the unknown weights (1/2, 1/2 − ε, and ε on one coordinate of
    the rest) mix "every leaf turns out good", "every leaf turns out bad" and, per (entry, leaf, action),
    "bad except here".
    """
    depth = validate.positive_integer(depth, "depth")
    actions = at_least(actions, 2, "actions")
    waiting = validate.positive_integer(waiting, "waiting")
    horizon = at_least(horizon, waiting + depth + 1, "horizon")
    epsilon = chance(epsilon, "epsilon", high=0.5)
    nodes = (actions**depth - 1) // (actions - 1)
    leaves = actions ** (depth - 1)
    first_leaf = nodes - leaves
    states = waiting * (1 + nodes) + 2
    good, bad = states - 2, states - 1

    def tree(entry: int, node: int) -> int:
        return waiting + entry * nodes + node

    successors = np.zeros((states, actions, 2), dtype=int)
    features = np.zeros((states, actions, 2, 2 + waiting * leaves * actions))
    # Whatever the weights, these steps are certain: slot 0 has a 1 on every coordinate.
    features[:, :, 0] = 1
    pair = 2
    for entry in range(waiting):
        successors[entry] = tree(entry, 0)
        if entry + 1 < waiting:
            successors[entry, WAIT] = entry + 1
        for node in range(first_leaf):
            for action in range(actions):
                successors[tree(entry, node), action] = tree(entry, actions * node + 1 + action)
        for leaf in range(first_leaf, nodes):
            for action in range(actions):
                at = tree(entry, leaf), action
                successors[at] = good, bad
                features[at][0] = 0
                features[at][0, [0, pair]] = 1
                features[at][1] = 1 - features[at][0]
                pair += 1
    successors[good], successors[bad] = good, bad

    theta = np.zeros(pair)
    theta[:2] = 0.5, 0.5 - epsilon
    theta[2 + np.random.default_rng(seed).integers(pair - 2)] = epsilon
    rewards = np.zeros((horizon, states, actions))
    rewards[waiting + depth :, good] = 1
    names = [f"wait {h + 1}" for h in range(waiting)]
    names += [f"{h + 1}.{node + 1}" for h in range(waiting) for node in range(nodes)]
    return FiniteMDP(
        successors,
        features @ theta,
        rewards,
        horizon=horizon,
        features=features,
        reward_scale=float(horizon - waiting - depth),
        name=f"hard-tree-{depth}-{actions}-{waiting}",
        state_names=[*names, "good", "bad"],
    )
