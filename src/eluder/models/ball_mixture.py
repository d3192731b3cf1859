"""Linear mixtures with ‖θ‖ ≤ B, by oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from eluder._arrays import dot
from eluder.models.general import positive
from eluder.models.mixture import Mixture, checked_slots

if TYPE_CHECKING:
    from eluder.oracles import Oracle
    from eluder.uncertainty import Uncertainty


class BallMixture(Mixture):
    """The linear mixtures with ‖θ‖ ≤ bound: estimates stay in the ball, and D has the ridge λ/(4B²) (errata 7).

    `LinearMixture` is the closed form of the paper's experiments, in which the ridge itself stands for the bound.
    Members need not be kernels: as in the paper, only the truth has to be one.
    """

    successors: Int[Array, "states actions slots"]
    features: Float[Array, "states actions slots dim"]
    bound: float

    def __init__(self, successors: ArrayLike, features: ArrayLike, bound: float = 1.0):
        self.successors, self.features = checked_slots(successors, features)
        self.bound = positive(bound, "bound")

    def start(self) -> Float[Array, " dim"]:
        return jnp.zeros(self.dim)

    def differences(self) -> BallMixture:
        """Differences of a ball of radius B fill one of radius 2B."""
        return eqx.tree_at(lambda model: model.bound, self, 2 * self.bound)

    def largest(self, psi: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.bound * jnp.sqrt(dot(psi, psi))

    def check(self) -> None:
        """Nothing to check: members may be any ⟨φ, θ⟩."""

    def default_oracle(self) -> Oracle:
        from eluder.oracles import BallLeastSquares  # oracles build on models

        return BallLeastSquares()

    def default_uncertainty(self) -> Uncertainty:
        from eluder.uncertainty import Elliptical  # as above

        return Elliptical()
