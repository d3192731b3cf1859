"""The instance quantities of Theorem 1, exactly: Q_m, 𝒬*₀, V*₁K and 𝒬* from a run's visited pairs and the exact V*."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from eluder.mdp import FiniteMDP


class Instance(NamedTuple):
    """How hard an instance was on each path, in units in which no trajectory collects more than 1."""

    Q: Float[np.ndarray, "paths levels"]  # Q_m = Σ_k Σ_h 𝕍[(V*_{h+1})^(2^m)](s_h, a_h)
    value: Float[np.ndarray, " paths"]  # V*₁K = Σ_k V*₁(s₁)

    @property
    def max_Q(self) -> Float[np.ndarray, " paths"]:
        """𝒬*₀ = max_m Q_m."""
        return self.Q.max(axis=-1)

    @property
    def complexity(self) -> Float[np.ndarray, " paths"]:
        """𝒬* = min(𝒬*₀, V*₁K)."""
        return np.minimum(self.max_Q, self.value)


def optimal_variances(mdp: FiniteMDP, levels: int) -> Float[Array, "horizon states actions levels"]:
    """𝕍[(V*_{h+1})^(2^m)](s, a) for m = 0 … levels − 1, with rewards scaled to a total of at most 1."""
    powers = [jnp.clip(mdp.solve().values[1:] / mdp.reward_scale, 0, 1)]
    for _ in range(levels - 1):
        powers.append(powers[-1] ** 2)
    return jnp.stack([jax.vmap(mdp.variance)(power) for power in powers], axis=-1)


def instance(
    mdp: FiniteMDP,
    states: Int[ArrayLike, "paths episodes horizon"],
    actions: Int[ArrayLike, "paths episodes horizon"],
    levels: int = 1,
) -> Instance:
    """The quantities of the paths that visited these pairs (as `eluder.recording.Trace` records them).

    Long runs sum them on the way instead: see `eluder.diagnostics.InstanceQuantities`.
    """
    states, actions = np.asarray(states), np.asarray(actions)
    table = np.asarray(optimal_variances(mdp, levels))
    visited = table[np.arange(mdp.horizon), states, actions]  # paths episodes horizon levels
    first = np.asarray(mdp.solve().values[0]) / mdp.reward_scale
    return Instance(Q=visited.sum(axis=(1, 2)), value=first[states[..., 0]].sum(axis=1))


def worst_variance(mdp: FiniteMDP) -> float:
    """The most that one episode can add to Q₀, whatever happens: K times it bounds Q₀ in advance."""
    table = np.asarray(optimal_variances(mdp, 1))[..., 0]
    successors, never = np.asarray(mdp.successors), np.asarray(mdp.probs) == 0
    ahead = np.zeros(mdp.states)
    for step in reversed(range(mdp.horizon)):
        ahead = (table[step] + np.where(never, -np.inf, ahead[successors]).max(axis=-1)).max(axis=-1)
    return float(ahead.max())
