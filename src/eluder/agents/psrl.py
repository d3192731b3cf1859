"""PSRL (Osband, Russo & Van Roy 2013): each episode acts optimally in one kernel drawn from the posterior.

Rows of the kernel have Dirichlet(1) priors, so a row of the posterior is a vector of Gamma(1 + n(s, a, s')) numbers
over its sum.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, UInt32

from eluder import _random
from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Counts, expect
from eluder.agents.base import Problem


class Plan(NamedTuple):
    kernel: Float[Array, "outcomes states actions paths"]


class PSRL(CountingAgent):
    """PSRL. The multiplier widens the posterior: its concentrations are divided by the multiplier's square."""

    multiplier: float = fields.number("multiplier", 1.0)

    def begin(self, state: Counts, problem: Problem, episode, keys) -> Plan:
        concentration = (1 + state.outcomes) / self.multiplier**2
        weights = gamma(jax.random.key_data(keys).T, concentration)
        if self.support is not None:
            weights = weights * self.support.possible
        return Plan(weights / jnp.sum(weights, axis=0))

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        return problem.reward(step) + expect(plan.kernel, self.at_outcomes(next_values)), None


def gamma(key: UInt32[Array, "2 paths"], shape: Float[Array, "*axes paths"]) -> Float[Array, "*axes paths"]:
    """One Gamma(shape) number for each entry, by rejection (Marsaglia & Tsang 2000).

    All entries are drawn at once, and again until the last is accepted. An entry's number depends on its path's key and
    its own place alone.
    """
    size = shape[..., 0].size
    place = jnp.arange(size, dtype=jnp.uint32).reshape(*shape.shape[:-1], 1)
    lifted = jnp.where(shape < 1, shape + 1, shape)
    d = lifted - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def uniform(number):
        return _random.uniform(key, number, place) + 2.0**-54  # inside (0, 1)

    def draw(carry):
        attempt, accepted, value = carry
        x = ndtri(uniform(2 * attempt))
        v = (1 + c * x) ** 3
        bound = x**2 / 2 + d - d * v + d * jnp.log(jnp.where(v > 0, v, 1))
        good = (v > 0) & (jnp.log(uniform(2 * attempt + 1)) < bound)
        value = jnp.where(good & ~accepted, d * v, value)
        return attempt + 1, accepted | good, value

    first = (jnp.asarray(0), jnp.zeros(shape.shape, dtype=bool), jnp.ones(shape.shape))
    attempts, _, value = jax.lax.while_loop(lambda carry: ~jnp.all(carry[1]), draw, first)
    del attempts  # it differs between batches: nothing may depend on it
    lift = uniform(jnp.asarray(2**31)) ** (1 / shape)  # Gamma(a) = Gamma(a + 1) · U^(1/a)
    return jnp.where(shape < 1, value * lift, value)
