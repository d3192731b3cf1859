"""RiverSwim: a chain in which the good end is upstream (Strehl & Littman 2008)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eluder.environments._common import at_least, chance, choice
from eluder.mdp import FiniteMDP

LEFT, RIGHT = 0, 1


class _Current(NamedTuple):
    """What swimming right does: chances of (right, stay, left) inside the river, and at its two ends."""

    interior: tuple[float, float, float]
    first_right: float  # from the first state, else it stays
    last_stay: float  # in the last state, else it drifts one back


_VARIANTS = {
    "paper": _Current((0.9, 0.05, 0.05), 0.9, 0.9),  # the river of the paper's figures (errata 3)
    "ayoub": _Current((0.3, 0.6, 0.1), 0.7, 0.9),  # Ayoub et al. 2020, played with H = 4 · states
    "osband": _Current((0.35, 0.6, 0.05), 0.6, 0.6),  # Osband et al., played with 6 states and H = 20
}


def riverswim(states: int = 5, horizon: int = 20, left_reward: float = 0.005, variant: str = "paper") -> FiniteMDP:
    """A river of `states` states. Action 0 swims left and always succeeds, action 1 swims right.

    Swimming right in the last state pays 1, swimming left in the first pays `left_reward`
    (0.005 as in the paper's figures; its text says 0.05, errata 2). Episodes start in the first state.

    `variant` is "paper", "ayoub" or "osband" (errata 3). All come with linear-mixture features: the
    paper's river with d = 3 (the chances of right, stay and left), the other two with d = 7, since the
    chances at their ends do not follow from those of their interior.
    """
    states = at_least(states, 2, "states")
    left_reward = chance(left_reward, "left_reward")
    current = _VARIANTS[choice(variant, _VARIANTS, "variant")]
    features, theta = _features(states, current)
    successors = np.empty((states, 2, 3), dtype=int)
    for s in range(states):
        back, ahead = max(s - 1, 0), min(s + 1, states - 1)
        successors[s] = (back, s, ahead)
    rewards = np.zeros((states, 2))
    rewards[0, LEFT] = left_reward
    rewards[-1, RIGHT] = 1.0
    return FiniteMDP(
        successors,
        features @ theta,
        rewards,
        horizon=horizon,
        features=features,
        name=f"riverswim-{states}" if variant == "paper" else f"riverswim-{states}-{variant}",
        action_names=("left", "right"),
    )


def _features(states: int, current: _Current) -> tuple[np.ndarray, np.ndarray]:
    """φ(s'|s, a) by slot, of shape (states, 2, 3, d), and θ with probs = φ·θ.

    Slots are (s − 1, s, s + 1), cut off at the ends of the river.
    """
    right, stay, left = current.interior
    theta = [right, stay, left]
    ends_follow = current.first_right == right and current.last_stay == right
    if not ends_follow:  # one coordinate more for each end's own two chances
        theta += [current.first_right, 1 - current.first_right, current.last_stay, 1 - current.last_stay]
    features = np.zeros((states, 2, 3, len(theta)))
    back, here, ahead = 0, 1, 2
    # Swimming left is certain, whatever θ: the interior's three chances sum to one.
    features[:, LEFT, back, :3] = 1
    for s in range(1, states - 1):
        features[s, RIGHT, [ahead, here, back], [0, 1, 2]] = 1
    if ends_follow:
        features[0, RIGHT, ahead, 0] = features[0, RIGHT, here, [1, 2]] = 1
        features[-1, RIGHT, here, 0] = features[-1, RIGHT, back, [1, 2]] = 1
    else:
        features[0, RIGHT, ahead, 3] = features[0, RIGHT, here, 4] = 1
        features[-1, RIGHT, here, 5] = features[-1, RIGHT, back, 6] = 1
    return features, np.array(theta)
