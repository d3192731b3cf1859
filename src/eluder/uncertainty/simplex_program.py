"""D_F of simplex mixtures, as one small convex program.

Differences of two mixtures are the Δ with ΣΔ = 0 and ‖Δ‖₁ ≤ 2. The ratio grows along every ray, so the supremum is
at the boundary and λ may be written as λ‖Δ‖₁²/4, which makes the ratio homogeneous:

    D² = max over ΣΔ = 0 of  ⟨ψ, Δ⟩² / (ΔᵀGΔ + λ‖Δ‖₁²/4)  =  max over ΣΔ = 0 of  2⟨ψ, Δ⟩ − ΔᵀGΔ − λ‖Δ‖₁²/4,

as λ/(4B²) does for the ball (errata 7). With Δ = a − b and a, b ≥ 0 this is a quadratic program. Any Δ with ΣΔ = 0
gives a lower bound on D, and by duality any Δ at all an upper bound, D² ≤ ΔᵀGΔ + range(ψ − GΔ)²/λ: the method knows
how close it is, whatever rounding did to its steps.
"""

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
from eluder.models.simplex_mixture import SimplexMixture
from eluder.uncertainty.base import InCoordinates, Setting, Value

_TINY = float(np.finfo(float).tiny)


class SimplexProgram(InCoordinates):
    """Exact up to a certified `tolerance` (relative, on D²); the upper end is what the agent uses.

    Interior-point methods gain nothing from a warm start, so none is kept along the steps of planning.
    """

    tolerance: float = eqx.field(static=True, default=1e-5)
    max_steps: int = eqx.field(static=True, default=30)

    def check(self, model: GeneralModel) -> None:
        if not isinstance(model, SimplexMixture):
            raise TypeError(f"SimplexProgram is for the class SimplexMixture, but this one is {type(model).__name__}.")

    def start(self, problem: Setting, gram_matrix: Float[Array, "dim dim ..."]) -> Float[Array, "dim dim ..."]:
        del problem
        return gram_matrix

    def grow(self, core: Float[Array, "dim dim ..."], psi, weight) -> Float[Array, "dim dim ..."]:
        return core + weight * psi[:, None] * psi[None]

    def measure(self, problem: Setting, core: Float[Array, "dim dim ..."], psi: Float[Array, "dim ..."]) -> Value:
        ridge, dim = problem.ridge, psi.shape[0]
        core = jnp.broadcast_to(core, (dim, *jnp.broadcast_shapes(core.shape[1:], psi.shape)))
        psi = jnp.broadcast_to(psi, core.shape[1:])
        # In units of the range of ψ: D is proportional to it, and indifferent to constants.
        lowest, highest = jnp.min(psi, axis=0), jnp.max(psi, axis=0)
        unit = highest - lowest
        psi = (psi - lowest) / jnp.maximum(unit, _TINY)
        program = interior_point.Program(
            hessian=jnp.concatenate(
                [jnp.concatenate([core, -core], axis=1), jnp.concatenate([-core, core], axis=1)], axis=0
            )
            + ridge / 4,
            linear=jnp.concatenate([psi, -psi]),
            sums=np.concatenate([np.ones(dim), -np.ones(dim)])[None],
            totals=np.zeros(1),
        )

        def bounds(difference: Float[Array, "dim ..."]) -> tuple[Array, Array]:
            difference = difference - jnp.mean(difference, axis=0)
            image = multiply(core, difference)
            spread = dot(difference, image)
            size = jnp.sum(jnp.abs(difference), axis=0)
            lower = dot(psi, difference) ** 2 / jnp.maximum(spread + ridge * size**2 / 4, _TINY)
            rest = psi - image
            return lower, spread + (jnp.max(rest, axis=0) - jnp.min(rest, axis=0)) ** 2 / ridge

        def unfinished(carry):
            _, lower, upper, going, count = carry
            del lower, upper
            return jnp.any(going) & (count < self.max_steps)

        def improve(carry):
            at, lower, upper, going, count = carry
            following = interior_point.step(program, at)
            usable = interior_point.is_finite(following) & going
            new_lower, new_upper = bounds(following.x[:dim] - following.x[dim:])
            # Where a problem is done its numbers stay: they must not depend on what else is in the batch.
            lower = jnp.where(usable, jnp.maximum(lower, new_lower), lower)
            upper = jnp.where(usable, jnp.minimum(upper, new_upper), upper)
            at = jax.tree.map(lambda new, old: jnp.where(usable, new, old), following, at)
            return at, lower, upper, usable & (upper - lower > self.tolerance * upper), count + 1

        # Without data the answer is range(ψ)²/λ, reached by any size of Δ: begin at that solution's.
        first = interior_point.start(program, jnp.broadcast_to(1 / (ridge * dim**2), program.linear.shape))
        constant = unit <= 0
        carry = (first, jnp.zeros(unit.shape), jnp.full(unit.shape, 1 / ridge), ~constant, jnp.asarray(0))
        _, lower, upper, _, _ = jax.lax.while_loop(unfinished, improve, carry)
        none = jnp.zeros(unit.shape, dtype=jnp.int32)
        raw = jnp.sqrt(jnp.minimum(lower, upper)) * unit
        return Value(jnp.sqrt(upper) * unit, raw, none, none)
