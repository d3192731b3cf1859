"""Random problems: Garnets for the tabular class, and linear mixtures of a chosen dimension."""

from __future__ import annotations

import numpy as np

from eluder import _validate as validate
from eluder.environments._common import chance, tight_scale
from eluder.mdp import FiniteMDP


def garnet(
    states: int = 10, actions: int = 3, successors: int = 3, horizon: int = 20, rewarding: float = 0.2, seed: int = 0
) -> FiniteMDP:
    """A Garnet (Archibald, McKinnon & Thomas 1995): a random tabular MDP.

    Each pair (s, a) leads to `successors` different states, drawn uniformly, with the lengths of the pieces of
    [0, 1] cut at uniform points as their chances. A share `rewarding` of the states (at least one) pay a reward
    drawn uniformly from [0, 1], whatever the action. Episodes start in state 0.
    """
    rng, shape = _shape(states, actions, successors, seed)
    # Normalised exponentials are distributed as the pieces between sorted uniform cuts.
    lengths = rng.standard_exponential(shape)
    probs = lengths / lengths.sum(axis=-1, keepdims=True)
    where = distinct(rng, shape, states)
    rewards = _rewards(rng, states, actions, rewarding)
    return FiniteMDP(
        where,
        probs,
        rewards,
        horizon=horizon,
        reward_scale=tight_scale(where, probs, rewards, validate.positive_integer(horizon, "horizon")),
        name=f"garnet-{states}-{actions}-{successors}-{seed}",
    )


def random_mixture(
    dim: int = 4,
    states: int = 10,
    actions: int = 3,
    successors: int = 3,
    horizon: int = 20,
    rewarding: float = 0.2,
    seed: int = 0,
) -> FiniteMDP:
    """A random linear mixture: P = Σ_i θ_i P_i with `dim` known random kernels P_i and hidden weights θ.

    Each pair (s, a) leads to `successors` different states; every P_i has chances there drawn uniformly from the
    simplex, and so is θ, hence ‖θ‖ ≤ 1. Rewards as in `garnet`. S may be large: nothing of size S² is made.
    """
    dim = validate.positive_integer(dim, "dim")
    rng, shape = _shape(states, actions, successors, seed)
    theta = rng.dirichlet(np.ones(dim))
    kernels = rng.standard_exponential((*shape, dim))
    features = kernels / kernels.sum(axis=2, keepdims=True)
    probs = features @ theta
    where = distinct(rng, shape, states)
    rewards = _rewards(rng, states, actions, rewarding)
    return FiniteMDP(
        where,
        probs,
        rewards,
        horizon=horizon,
        features=features,
        reward_scale=tight_scale(where, probs, rewards, validate.positive_integer(horizon, "horizon")),
        name=f"random-mixture-{dim}-{states}-{actions}-{successors}-{seed}",
    )


def distinct(rng: np.random.Generator, shape: tuple[int, int, int], states: int) -> np.ndarray:
    """`shape[-1]` different states for each pair, uniformly: Floyd's sampling, on all pairs at once."""
    chosen = np.empty(shape, dtype=np.int64)
    for slot, top in enumerate(range(states - shape[-1], states)):
        drawn = rng.integers(0, top + 1, size=shape[:2])
        taken = (chosen[..., :slot] == drawn[..., None]).any(axis=-1)
        chosen[..., slot] = np.where(taken, top, drawn)
    return np.sort(chosen, axis=-1)


def _rewards(rng: np.random.Generator, states: int, actions: int, rewarding: float) -> np.ndarray:
    paying = rng.permutation(states)[: max(1, round(chance(rewarding, "rewarding") * states))]
    rewards = np.zeros((states, actions))
    rewards[paying] = rng.random((paying.size, 1))
    return rewards


def _shape(states: int, actions: int, successors: int, seed: int) -> tuple[np.random.Generator, tuple[int, int, int]]:
    states = validate.positive_integer(states, "states")
    actions = validate.positive_integer(actions, "actions")
    if validate.positive_integer(successors, "successors") > states:
        raise ValueError(f"successors must be at most the number of states, {states}, but is {successors}.")
    return np.random.default_rng(seed), (states, actions, int(successors))
