"""D_F of a finite class, by trying all pairs of its members."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder.models.finite import Finite
from eluder.models.general import GeneralModel
from eluder.uncertainty.base import InCoordinates, Setting, Value, exact

Spreads = Float[Array, "kernels kernels ..."]


class Enumeration(InCoordinates):
    """max over i, j of |ψ_i − ψ_j| / √(spread_ij + λ): exact, O(K²) an evaluation and an update.

    What is kept are the spreads Σ_n w_n (f_i(z_n) − f_j(z_n))² of all pairs.
    """

    def check(self, model: GeneralModel) -> None:
        if not isinstance(model, Finite):
            raise TypeError(
                f"Enumeration is for the class Finite, but this one is {type(model).__name__}: it has infinitely "
                "many members."
            )

    def start(self, problem: Setting, gram_matrix: Float[Array, "kernels kernels ..."]) -> Spreads:
        del problem
        own = jnp.stack([gram_matrix[i, i] for i in range(gram_matrix.shape[0])])
        return jnp.maximum(own[:, None] + own[None] - 2 * gram_matrix, 0.0)

    def grow(self, core: Spreads, psi: Float[Array, "kernels ..."], weight: Float[Array, "..."]) -> Spreads:
        return core + weight * (psi[:, None] - psi[None]) ** 2

    def measure(self, problem: Setting, core: Spreads, psi: Float[Array, "kernels ..."]) -> Value:
        ratio = (psi[:, None] - psi[None]) ** 2 / (core + problem.ridge)
        return exact(jnp.sqrt(jnp.max(ratio, axis=(0, 1))))
