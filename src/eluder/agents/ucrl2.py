"""UCRL2 (Jaksch, Ortner & Auer 2010) for a finite horizon: the best kernel within an L1 ball around the empirical one.

The ball's radius is √(4S·ln(2SA(t + 1)/δ)/n) after t steps, as in Osband's finite-horizon version, and every episode
is planned anew. Rewards are at most 1 a step.
"""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import dot
from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Estimate
from eluder.agents.base import Problem


class UCRL2(CountingAgent):
    """UCRL2 with known rewards. The multiplier is a factor on the radius of the L1 ball."""

    per_step: ClassVar[bool] = True
    multiplier: float = fields.multiplier()
    delta: float = fields.delta()

    def backup(self, plan: Estimate, problem: Problem, step, next_values, next_extras):
        steps = plan.episode.astype(float) * problem.horizon
        log = jnp.log(2 * problem.states * problem.actions * (steps + 1) / self.delta)
        radius = self.multiplier * jnp.sqrt(4 * problem.states * log / plan.n)
        at_outcomes = self.at_outcomes(next_values)
        if self.support is not None:
            at_outcomes = jnp.where(self.support.possible > 0, at_outcomes, -1.0)  # below every value: never chosen
        best = optimistic_mean(plan.kernel, at_outcomes, radius)
        return problem.reward(step) + jnp.where(plan.visits > 0, best, jnp.max(at_outcomes, axis=0)), None


def optimistic_mean(
    kernel: Float[Array, "outcomes states actions paths"],
    values: Float[Array, "outcomes #states #actions paths"],
    radius: Float[Array, "states actions paths"],
) -> Float[Array, "states actions paths"]:
    """max ⟨p, V⟩ over distributions p with ‖p − P̂‖₁ ≤ radius.

    The maximiser moves radius/2 to the best outcome and takes it from the worst ones. With outcomes in falling order
    of value its cumulative sums are therefore those of P̂ plus radius/2, cut off at 1.
    """
    order = jnp.argsort(-values, axis=0)
    values = jnp.take_along_axis(values, order, axis=0)
    kernel = jnp.take_along_axis(kernel, jnp.broadcast_to(order, kernel.shape), axis=0)
    reached = jnp.minimum(jnp.cumsum(kernel, axis=0) + radius / 2, 1)
    # Σ p_j V_j by parts, with p_j the increments of `reached`; whatever mass rounding leaves over stays with the last.
    return values[-1] + dot(reached[:-1], values[:-1] - values[1:]) if len(values) > 1 else values[0]
