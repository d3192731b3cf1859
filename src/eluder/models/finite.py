"""A finite list of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate
from eluder.models.mixture import Mixture, checked_slots

if TYPE_CHECKING:
    from eluder.oracles import Oracle
    from eluder.uncertainty import Uncertainty


class Finite(Mixture):
    """K known kernels, one of which is the truth. θ is one-hot: the corners of the simplex over the list."""

    successors: Int[Array, "states actions slots"]
    features: Float[Array, "states actions slots kernels"]
    bound: float

    def __init__(self, successors: ArrayLike, kernels: ArrayLike):
        """
        **Arguments:**

        - `successors`: the state behind each slot, of shape (S, A, N).
        - `kernels`: the chances of the slots, of shape (K, S, A, N).
        """
        kernels = validate.finite(kernels, "kernels")
        if kernels.ndim != 4 or 0 in kernels.shape:
            raise ValueError(
                f"kernels must have the shape (kernels, states, actions, slots), but have {kernels.shape}."
            )
        validate.distributions(kernels, "kernels")
        self.successors, self.features = checked_slots(successors, np.moveaxis(kernels, 0, -1))
        self.bound = 1.0

    def start(self) -> Float[Array, " dim"]:
        return jnp.eye(1, self.dim)[0]

    def differences(self) -> Finite:
        """All K² differences, that of i and j at i·K + j."""
        minus = self.features[..., :, None] - self.features[..., None, :]
        return eqx.tree_at(lambda model: model.features, self, minus.reshape(*self.features.shape[:3], -1))

    def largest(self, psi: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.max(jnp.abs(psi))

    def project(self, theta: Float[Array, " dim"]) -> Float[Array, " dim"]:
        return jnp.where(jnp.arange(self.dim) == jnp.argmax(theta), 1.0, 0.0)

    def default_oracle(self) -> Oracle:
        from eluder.oracles import Enumeration  # oracles build on models

        return Enumeration()

    def default_uncertainty(self) -> Uncertainty:
        from eluder.uncertainty import Enumeration  # as above

        return Enumeration()
