"""D_F of smooth classes by their tangent at the estimate (Gauss–Newton): an approximation."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import dot
from eluder._linalg import quadratic
from eluder.models.general import GeneralModel, value_range
from eluder.models.mixture import Mixture
from eluder.regression import gram
from eluder.uncertainty.base import Estimate, Setting, Uncertainty, at_pair, exact
from eluder.uncertainty.elliptical import add_to_root, norm, root_of


class Tangent(NamedTuple):
    """The class as a linear one around its estimate."""

    jacobian: Float[Array, "pairs slots dim ..."]  # ∂p(s, a)/∂θ at θ̂
    root: Float[Array, "dim dim ..."]  # of (Σ_i w_i ψ_i ψ_iᵀ + λ/(4B²)·I)⁻¹ with ψ = (∂p/∂θ)ᵀu


class Linearised(Uncertainty):
    """The closed form of the tangent class {p_θ̂ + J(θ − θ̂)}, capped at sup|g|/√λ.

    Exact for linear classes. For MNL and networks it is an approximation with no guarantee: it is close when the data
    pin the estimate down, so that the members that matter differ little. A network has more parameters than p has
    entries; its tangent is then written in as many coordinates as p has entries, which changes nothing.
    """

    def check(self, model: GeneralModel) -> None:
        """Suits every class."""

    def summarise(self, problem: Setting, moments: gram.Moments, estimate: Estimate) -> Tangent:
        def one(moments: gram.PairMoments, theta: Float[Array, " dim"]) -> Tangent:
            jacobian = jax.jacobian(problem.model.slots_of)(theta)
            jacobian = _few_coordinates(jacobian)
            matrix = gram.in_coordinates(moments, jacobian)[:-1, :-1]
            return Tangent(jacobian, root_of(matrix, problem.ridge / (4 * problem.model.bound**2)))

        over_levels = jax.vmap(one, in_axes=-1, out_axes=-1)
        return jax.vmap(over_levels, in_axes=-1, out_axes=-1)(moments, estimate.theta)

    def add(self, problem: Setting, summary: Tangent, pair, at_slots, weight) -> Tangent:
        del problem
        psi = dot(at_pair(summary.jacobian, pair), at_slots[:, None])
        return summary._replace(root=add_to_root(summary.root, psi, weight))

    def at(self, problem: Setting, summary: Tangent, pair, at_slots):
        psi = dot(at_pair(summary.jacobian, pair), at_slots[:, None])
        possible = jnp.moveaxis(problem.model.possible().reshape(-1, problem.model.shape[2])[pair], 0, -1)
        return self._capped(problem, norm(summary.root, psi), possible[:, None], at_slots)

    def for_planning(self, problem: Setting, summary: Tangent) -> Float[Array, "slots slots states actions paths"]:
        """J Σ⁻¹ Jᵀ by pair: planning then needs no more than uᵀ(·)u, however many parameters there are."""
        states, actions, slots = problem.model.shape
        white = jnp.sum(summary.jacobian[:, :, :, None] * summary.root, axis=2)  # J R: pairs slots dim paths
        blocks = jnp.sum(white[:, :, None] * white[:, None], axis=3)
        return jnp.moveaxis(blocks.reshape(states, actions, slots, slots, -1), (0, 1), (2, 3))

    def everywhere(self, problem: Setting, summary, at_slots, memory):
        possible = jnp.moveaxis(problem.model.possible(), 2, 0)[..., None]
        square = jnp.maximum(quadratic(summary, at_slots), 0.0)
        return self._capped(problem, jnp.sqrt(square), possible, at_slots), memory

    @staticmethod
    def _capped(problem: Setting, size, possible, at_slots):
        if isinstance(problem.model, Mixture):  # the closed form keeps to the bound by itself
            return exact(size)
        # Two distributions differ by at most the range of u.
        largest = value_range(possible, at_slots) / jnp.sqrt(jnp.asarray(problem.ridge))
        return exact(jnp.minimum(size, largest))


def _few_coordinates(jacobian: Float[Array, "pairs slots dim"]) -> Float[Array, "pairs slots rank"]:
    """J in at most pairs · slots coordinates, by a rotation of θ: J Jᵀ, which is all that matters, stays the same."""
    pairs, slots, dim = jacobian.shape
    if dim <= pairs * slots:
        return jacobian
    flat = jacobian.reshape(pairs * slots, dim)
    eigenvalues, vectors = jnp.linalg.eigh(jnp.sum(flat[:, None] * flat[None], axis=-1))
    return (vectors * jnp.sqrt(jnp.maximum(eigenvalues, 0.0))).reshape(pairs, slots, pairs * slots)
