"""Mixtures of kernels: P = Σ_i θ_i P_i with θ on the simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate
from eluder.models.mixture import Mixture, checked_slots

if TYPE_CHECKING:
    from eluder.oracles import Oracle
    from eluder.uncertainty import Uncertainty


class OnSimplices(Mixture):
    """θ in a product of simplices: `groups` equal parts, each non-negative and summing to one."""

    groups: ClassVar[int]

    def start(self) -> Float[Array, " dim"]:
        return jnp.full(self.dim, self.groups / self.dim)

    def project(self, theta: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """Onto each simplex, by clipping and scaling: enough to repair rounding."""
        parts = jnp.maximum(theta, 0.0).reshape(self.groups, -1)
        return (parts / jnp.sum(parts, axis=1, keepdims=True)).reshape(-1)

    def largest(self, psi: Float[Array, " dim"]) -> Float[Array, ""]:
        parts = psi.reshape(self.groups, -1)
        return jnp.maximum(jnp.sum(jnp.max(parts, axis=1)), -jnp.sum(jnp.min(parts, axis=1)))

    def default_oracle(self) -> Oracle:
        from eluder.oracles import SimplexLeastSquares  # oracles build on models

        return SimplexLeastSquares()

    def default_uncertainty(self) -> Uncertainty:
        from eluder.uncertainty import SimplexProgram  # as above

        return SimplexProgram()


class SimplexMixture(OnSimplices):
    """The mixtures of d known kernels, weights θ ≥ 0 with Σθ = 1: convex, so all guarantees of the appendix hold."""

    successors: Int[Array, "states actions slots"]
    features: Float[Array, "states actions slots dim"]
    bound: float

    groups: ClassVar[int] = 1

    def __init__(self, successors: ArrayLike, features: ArrayLike):
        """
        **Arguments:**

        - `successors`: the state behind each slot, of shape (S, A, N).
        - `features`: of shape (S, A, N, d): features[..., i] is the i-th kernel.
        """
        self.successors, self.features = checked_slots(successors, features)
        validate.distributions(np.moveaxis(np.asarray(self.features), -1, 0), "features (one kernel after the other)")
        self.bound = 1.0

    def differences(self) -> SimplexDifferences:
        return SimplexDifferences(self)


class SimplexDifferences(OnSimplices):
    """Differences of two mixtures: (θ₁, θ₂) on two simplices, with the features (Φ, −Φ)."""

    successors: Int[Array, "states actions slots"]
    features: Float[Array, "states actions slots twice_dim"]
    bound: float

    groups: ClassVar[int] = 2

    def __init__(self, base: SimplexMixture):
        self.successors = base.successors
        self.features = jnp.concatenate([base.features, -base.features], axis=-1)
        self.bound = base.bound
