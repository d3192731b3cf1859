"""Linear mixtures: P(s'|s, a) = ⟨φ(s'|s, a), θ⟩ with known features φ and one unknown θ."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate
from eluder._arrays import dot, look_up, repeated_squares
from eluder.mdp import FiniteMDP
from eluder.models.base import LinearModel, check_shapes, merge_slots


class LinearMixture(LinearModel):
    """The class {⟨φ(s'|s, a), θ⟩ : ‖θ‖ ≤ bound} (the paper's Assumption 2)."""

    successors: Int[Array, "states actions slots"]
    features_by_slot: Float[Array, "slots dim states actions"]  # the order in which planning reads them
    bound: float = eqx.field(static=True)

    def __init__(self, successors: ArrayLike, features: ArrayLike, bound: float = 1.0):
        """
        **Arguments:**

        - `successors`: the state behind each slot, of shape (S, A, N).
        - `features`: φ(successors[s, a, n] | s, a), of shape (S, A, N, d).
        - `bound`: B, a bound on the norm of θ. The theory uses it; the agent does not.
        """
        successors = validate.whole_numbers(successors, "successors")
        if successors.ndim != 3 or not (successors.min() >= 0 and successors.max() < successors.shape[0]):
            raise ValueError("successors must have the shape (states, actions, slots) and name states.")
        if not (np.isfinite(bound) and bound > 0):
            raise ValueError(f"bound must be a positive number, but is {bound!r}.")
        self.successors = jnp.asarray(successors, dtype=jnp.int32)
        by_slot = np.moveaxis(validate.slot_features(features, successors.shape), (2, 3), (0, 1))
        self.features_by_slot = jnp.asarray(by_slot)
        self.bound = float(bound)

    @classmethod
    def from_dense(cls, features: ArrayLike, bound: float = 1.0) -> LinearMixture:
        """From features φ[s, a, s', :] of shape (S, A, S, d); slots in which all of them are zero are dropped."""
        dense = validate.finite(features, "features")
        if dense.ndim != 4 or dense.shape[0] != dense.shape[2]:
            raise ValueError(f"Dense features must have the shape (S, A, S, d), but have {dense.shape}.")
        empty = ~dense.any(axis=-1)
        slots = max(1, int((~empty).sum(axis=-1).max()))
        successors = np.argsort(empty, axis=-1, kind="stable")[..., :slots]
        return cls(successors, np.take_along_axis(dense, successors[..., None], axis=2), bound)

    @property
    def features(self) -> Float[Array, "states actions slots dim"]:
        """φ(successors[s, a, n] | s, a)."""
        return jnp.moveaxis(self.features_by_slot, (0, 1), (2, 3))

    @property
    def dim(self) -> int:
        return self.features_by_slot.shape[1]

    @property
    def block_shape(self) -> tuple[int, int]:
        return (1, 1)

    def embed(self, values: Float[Array, "states paths"]) -> Float[Array, "dim states actions paths"]:
        at_slots = values[jnp.moveaxis(self.successors, 2, 0)]
        return dot(self.features_by_slot[..., None], at_slots[:, None])

    def embed_at(
        self,
        state: Int[Array, " paths"],
        action: Int[Array, " paths"],
        values: Float[Array, "states paths"],
        levels: int,
    ) -> Float[Array, "dim levels paths"]:
        slots, dim, states, actions = self.features_by_slot.shape
        pair = state * actions + action
        successors = look_up(self.successors.reshape(states * actions, slots), pair)
        features = self.features_by_slot.reshape(slots, dim, states * actions)[..., pair]
        powers = repeated_squares(jnp.take_along_axis(values, successors, axis=0, mode="promise_in_bounds"), levels)
        return dot(features[:, :, None], powers[:, None])

    def fit(self, mdp: FiniteMDP) -> Float[np.ndarray, " dim"]:
        """The θ whose kernel is closest to the MDP's, by least squares."""
        return self._fit(mdp)[0]

    def misfit(self, mdp: FiniteMDP) -> float:
        return self._fit(mdp)[1]

    def _fit(self, mdp: FiniteMDP) -> tuple[np.ndarray, float]:
        check_shapes(self.successors.shape[:2], mdp, "LinearMixture")
        # One least-squares row per (s, a, s') that either side can reach: (features | true probability).
        own = np.concatenate([np.asarray(self.features), np.zeros((*self.successors.shape, 1))], axis=-1)
        true = np.zeros((*mdp.successors.shape, self.dim + 1))
        true[..., -1] = mdp.probs
        successors = np.concatenate([self.successors, mdp.successors], axis=-1)
        _, rows = merge_slots(successors, np.concatenate([own, true], axis=2), mdp.states)
        theta = np.linalg.lstsq(rows[:, :-1], rows[:, -1])[0]
        return theta, float(np.abs(rows[:, :-1] @ theta - rows[:, -1]).max())
