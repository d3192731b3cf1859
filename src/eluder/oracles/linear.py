"""Oracles in closed form, or nearly: ridge, least squares in a ball, and enumeration."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import dot
from eluder._linalg import cholesky, cholesky_solve
from eluder.models.ball_mixture import BallMixture
from eluder.models.finite import Finite
from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.oracles.base import CONVERGED, Fit, Oracle, of_kind, outcome
from eluder.regression import gram

# Newton steps on the secular equation: it is convex and increasing there, so they never overshoot.
_SECULAR_STEPS = 12
_TINY = 1e-200


def normal_equations(model: Mixture, moments: gram.PairMoments) -> tuple[Float[Array, "dim dim"], Float[Array, " dim"]]:
    """G and b of the loss θᵀGθ − 2bᵀθ + c."""
    in_theta = gram.in_coordinates(moments, model.pair_features())
    return in_theta[:-1, :-1], in_theta[:-1, -1]


class Ridge(Oracle):
    """θ̂ = (G + ridge·I)⁻¹ b: linear classes, without regard to their bound."""

    ridge: float = 1e-3

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        model = of_kind(model, Mixture, self, "LevenbergMarquardt")
        matrix, vector = normal_equations(model, moments)
        lower = cholesky(matrix + self.ridge * jnp.eye(model.dim))
        return outcome(cholesky_solve(lower, vector), jnp.asarray(True), start)


class BallLeastSquares(Oracle):
    """The least squares solution with ‖θ‖ ≤ B: ridge with the multiplier that meets the bound.

    With G = QΛQᵀ the solution at multiplier μ has the norm ‖(Λ + μ)⁻¹Qᵀb‖, and 1/norm is concave and increasing in
    μ: Newton's method on 1/norm = 1/B from the left of the root increases towards it (Moré & Sorensen 1983).
    """

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        model = of_kind(model, BallMixture, self, "the class's own oracle")
        matrix, vector = normal_equations(model, moments)
        eigenvalues, vectors = jnp.linalg.eigh(matrix)
        eigenvalues = jnp.maximum(eigenvalues, 0.0)
        target = dot(vectors, vector[:, None])  # Qᵀb
        # What rounding leaves of a zero coordinate says nothing about the data.
        noise = jnp.finfo(float).eps * model.dim * jnp.max(jnp.abs(target))
        target = jnp.where(jnp.abs(target) > noise, target, 0.0)

        def at(mu):
            return jnp.where(target == 0, 0.0, target / jnp.maximum(eigenvalues + mu, _TINY))

        def newton(mu, _):
            theta = at(mu)
            square = dot(theta, theta)
            steepness = dot(theta, theta / jnp.maximum(eigenvalues + mu, _TINY))
            move = (jnp.sqrt(square) / model.bound - 1) * square / jnp.maximum(steepness, _TINY)
            return jnp.maximum(mu + move, 0.0), None

        # Each coordinate alone needs |t_i|/(Λ_i + μ) ≤ B, so the root lies to the right of this.
        left = jnp.maximum(jnp.max(jnp.abs(target) / model.bound - eigenvalues), 0.0)
        mu, _ = jax.lax.scan(newton, left, None, length=_SECULAR_STEPS)
        theta = dot(vectors.T, at(mu)[:, None])
        return outcome(model.project(theta), jnp.asarray(True), start)


class Enumeration(Oracle):
    """The best of finitely many kernels, by trying all of them."""

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        del start
        model = of_kind(model, Finite, self, "the class's own oracle")
        in_theta = gram.in_coordinates(moments, model.pair_features())
        losses = jnp.diagonal(in_theta)[:-1] - 2 * in_theta[:-1, -1]
        theta = jnp.where(jnp.arange(model.dim) == jnp.argmin(losses), 1.0, 0.0)
        return Fit(theta, jnp.asarray(CONVERGED, dtype=jnp.int32))
