"""Least squares on the simplex, and on products of simplices."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eluder import _interior_point as interior_point
from eluder._arrays import dot
from eluder._linalg import multiply
from eluder.models.general import GeneralModel
from eluder.models.simplex_mixture import OnSimplices
from eluder.oracles.base import Fit, Oracle, of_kind, outcome
from eluder.oracles.linear import normal_equations
from eluder.regression import gram


class SimplexLeastSquares(Oracle):
    """argmin of the loss over θ ≥ 0 with Σθ = 1, by an interior-point method.

    It stops on the Frank–Wolfe gap ∇ᵀθ − min_i ∇_i, which bounds how far the loss is above its minimum. `tolerance` is
    relative to the scale of the loss.
    """

    tolerance: float = eqx.field(static=True, default=1e-14)
    max_steps: int = eqx.field(static=True, default=40)

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        model = of_kind(model, OnSimplices, self, "the class's own oracle")
        matrix, vector = normal_equations(model, moments)
        scale = jnp.maximum(jnp.maximum(jnp.max(jnp.abs(matrix)), jnp.max(jnp.abs(vector))), jnp.finfo(float).tiny)
        sums = np.kron(np.eye(model.groups), np.ones(model.dim // model.groups))
        program = interior_point.Program(matrix / scale, vector / scale, sums, np.ones(model.groups))

        def gap(theta):
            gradient = multiply(program.hessian, theta) - program.linear
            lowest = jnp.sum(jnp.min(gradient.reshape(model.groups, -1), axis=1))
            return dot(gradient, theta) - lowest

        def unfinished(carry):
            _, _, best_gap, count, stuck = carry
            return (best_gap > self.tolerance) & (count < self.max_steps) & ~stuck

        def improve(carry):
            at, best, best_gap, count, _ = carry
            following = interior_point.step(program, at)
            usable = interior_point.is_finite(following)
            theta = model.project(following.x)
            new_gap = jnp.where(usable, gap(theta), jnp.inf)
            best = jnp.where(new_gap < best_gap, theta, best)
            at = jax.tree.map(lambda new, old: jnp.where(usable, new, old), following, at)
            return at, best, jnp.minimum(new_gap, best_gap), count + 1, ~usable

        first = model.start()
        begin = interior_point.start(program, first)
        carry = (begin, first, gap(first), jnp.asarray(0), jnp.asarray(False))
        _, best, best_gap, _, _ = jax.lax.while_loop(unfinished, improve, carry)
        # Rounding may stop it short of the tolerance; what counts is a gap that no data could tell from zero.
        return outcome(best, best_gap <= max(self.tolerance, 1e-10), start)
