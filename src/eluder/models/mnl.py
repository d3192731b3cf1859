"""Multinomial logits: P_θ(s'|s, a) ∝ exp⟨φ(s, a, s'), θ⟩ over the states that (s, a) can reach."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from eluder._arrays import dot
from eluder.mdp import FiniteMDP
from eluder.models.general import GeneralModel, positive
from eluder.models.mixture import checked_slots


class MNL(GeneralModel):
    """Softmax over the successor slots of φ(s, a, s')ᵀθ, for ‖θ‖ ≤ bound. Not convex: see `Linearised` for its D_F."""

    successors: Int[Array, "states actions slots"]
    features: Float[Array, "states actions slots dim"]
    reachable: Float[Array, "states actions slots"]
    bound: float

    def __init__(
        self, successors: ArrayLike, features: ArrayLike, reachable: ArrayLike | None = None, bound: float = 5.0
    ):
        """
        **Arguments:**

        - `successors`: the state behind each slot, of shape (S, A, N).
        - `features`: φ(s, a, s') by slot, of shape (S, A, N, d).
        - `reachable`: true where a slot can happen, of shape (S, A, N); everywhere by default. A softmax cannot give a
          reachable slot the probability zero.
        - `bound`: B, the largest norm of θ.
        """
        self.successors, self.features = checked_slots(successors, features)
        self.reachable = checked_support(reachable, self.successors.shape)
        self.bound = positive(bound, "bound")

    @classmethod
    def one_hot(cls, environment: FiniteMDP, bound: float = 20.0) -> MNL:
        """One logit of its own for each slot that can happen: every kernel with the environment's support."""
        reachable = np.asarray(environment.probs > 0)
        features = np.eye(reachable.size).reshape(*reachable.shape, -1)[..., reachable.ravel()]
        return cls(environment.successors, features, reachable, bound)

    def probabilities(self, theta: Float[Array, " dim"]) -> Float[Array, "states actions slots"]:
        logits = dot(jnp.moveaxis(self.features, -1, 0), theta.reshape(-1, 1, 1, 1))
        return softmax(logits, self.reachable)

    def start(self) -> Float[Array, " dim"]:
        return jnp.zeros(self.features.shape[-1])

    def possible(self) -> Float[Array, "states actions slots"]:
        return self.reachable


def softmax(
    logits: Float[Array, "states actions slots"], reachable: Float[Array, "states actions slots"]
) -> Float[Array, "states actions slots"]:
    """The chances of the slots that can happen; exactly zero for the others."""
    # −∞ would make the derivative 0 · ∞.
    masked = jnp.where(reachable > 0, logits, -1e30)
    return jax.nn.softmax(masked, axis=-1) * reachable


def checked_support(reachable: ArrayLike | None, shape: tuple[int, ...]) -> Float[Array, "states actions slots"]:
    """The slots that can happen as ones and zeros, after a check that each pair has one."""
    if reachable is None:
        return jnp.ones(shape)
    mask = np.asarray(reachable).astype(bool)
    if mask.shape != shape:
        raise ValueError(f"reachable must have the shape (states, actions, slots) = {shape}, but has {mask.shape}.")
    if not mask.any(axis=-1).all():
        s, a = (int(i) for i in np.argwhere(~mask.any(axis=-1))[0])
        raise ValueError(f"Each pair must reach some state, but no slot of state {s} and action {a} is reachable.")
    return jnp.asarray(mask, dtype=float)
