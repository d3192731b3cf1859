"""D_F of linear classes with ‖θ‖ ≤ B, in closed form (errata 7)."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import dot
from eluder._linalg import inverse_root
from eluder.uncertainty.base import InCoordinates, Setting, Value, exact

Root = Float[Array, "dim dim ..."]


class Elliptical(InCoordinates):
    """D(ψ) = ‖ψ‖_{Σ⁻¹} with Σ = G + λ/(4B²)·I, exactly.

    Differences of a ball of radius B fill one of radius 2B; for every direction the supremum is at its boundary, where
    λ = λ‖Δ‖²/(4B²). What is kept is a root of Σ⁻¹, as in `LinearRegression`.
    """

    def start(self, problem: Setting, gram_matrix: Float[Array, "dim dim ..."]) -> Root:
        return root_of(gram_matrix, problem.ridge / (4 * problem.model.bound**2))

    def grow(self, core: Root, psi: Float[Array, "dim ..."], weight: Float[Array, "..."]) -> Root:
        return add_to_root(core, psi, weight)

    def measure(self, problem: Setting, core: Root, psi: Float[Array, "dim ..."]) -> Value:
        del problem
        return exact(norm(core, psi))


def root_of(gram_matrix: Float[Array, "dim dim ..."], ridge: float | Float[Array, ""]) -> Root:
    """R with R Rᵀ = (G + ridge·I)⁻¹."""
    dim = gram_matrix.shape[0]
    identity = jnp.eye(dim).reshape(dim, dim, *(1,) * (gram_matrix.ndim - 2))
    return inverse_root(gram_matrix + ridge * identity)


def norm(root: Root, psi: Float[Array, "dim ..."]) -> Float[Array, "..."]:
    """‖ψ‖_{Σ⁻¹} = ‖Rᵀψ‖."""
    white = dot(root, psi[:, None])
    return jnp.sqrt(dot(white, white))


def add_to_root(root: Root, psi: Float[Array, "dim ..."], weight: Float[Array, "..."]) -> Root:
    """Potter's update: the root after weight · ψψᵀ is added to Σ."""
    white = dot(root, psi[:, None])  # Rᵀψ
    gain = dot(jnp.swapaxes(root, 0, 1), white[:, None])  # Σ⁻¹ψ
    variance = 1 / weight
    total = variance + dot(white, white)
    return root - gain[:, None] * (white / (total + jnp.sqrt(variance * total)))[None]
