"""The two-state problem behind the lower bound of Jaksch, Ortner & Auer (2010)."""

from __future__ import annotations

import numpy as np

from eluder.environments._common import at_least, chance
from eluder.mdp import FiniteMDP


def two_state(
    actions: int = 3, horizon: int = 20, delta: float = 0.2, epsilon: float = 0.1, best_action: int = 0
) -> FiniteMDP:
    """A poor state that pays 0 and a rich one that pays 1 a step; an episode starts in the poor one.

    Every action changes state with chance δ = `delta`, but `best_action` leaves the poor state with chance δ + ε.
    With π = (δ+ε)/(2δ+ε) and ρ = 1 − 2δ − ε, V* = π·(H − (1 − ρ^H)/(1 − ρ)).

    As a linear mixture, d = actions + 2: the unknown weights (δ, 1 − δ − ε, and ε on one action of all) mix the
    kernels "change state", "stay" and, per action, "stay, but that action leaves the poor state".
    """
    actions = at_least(actions, 1, "actions")
    delta = chance(delta, "delta")
    epsilon = chance(epsilon, "epsilon", high=1 - delta)
    if not isinstance(best_action, int) or not 0 <= best_action < actions:
        raise ValueError(f"best_action must be an action from 0 to {actions - 1}, but is {best_action!r}.")
    poor, rich = 0, 1
    change, stay, only = 0, 1, 2  # coordinates; only + a belongs to action a
    theta = np.zeros(actions + 2)
    theta[[change, stay, only + best_action]] = delta, 1 - delta - epsilon, epsilon
    features = np.zeros((2, actions, 2, actions + 2))  # slot n leads to state n
    features[poor, :, rich, change] = features[rich, :, poor, change] = 1
    features[poor, :, poor, stay] = features[rich, :, rich, stay] = 1
    features[poor, :, poor, only:] = 1 - np.eye(actions)
    features[poor, :, rich, only:] = np.eye(actions)
    features[rich, :, rich, only:] = 1
    rewards = np.zeros((2, actions))
    rewards[rich] = 1
    return FiniteMDP(
        np.broadcast_to([poor, rich], (2, actions, 2)),
        features @ theta,
        rewards,
        horizon=horizon,
        features=features,
        name=f"two-state-{actions}",
        state_names=("poor", "rich"),
    )
