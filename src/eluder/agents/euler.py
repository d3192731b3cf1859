"""EULER (Zanette & Brunskill 2019): bonuses that adapt to the variance of the next value, with values from both sides.

With ℓ = ln(4SAT/δ'), φ(V) = √(2Var_P̂(V)ℓ/n) + Hℓ/(3(n − 1)) and J = Hℓ/3, B_v = √(2ℓ), B_p = H·B_v, the bonus is
b(V) = φ(V) + [(4J + B_p)/√n + B_v·√(P̂(V̄ − V̲)²)]/√n. Rewards are at most 1 a step, and known: the paper's own
bonus b_r for unknown ones is `eluder.agents.UnknownRewards`.
"""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Estimate, expect, steps_in_total
from eluder.agents.base import Problem

_EVENTS = 7  # δ' = δ/7: the number of concentration events in the paper's proof


class EULER(CountingAgent):
    """EULER on time-homogeneous counts n(s, a)."""

    per_step: ClassVar[bool] = True
    multiplier: float = fields.multiplier()
    episodes: float = fields.episodes()
    delta: float = fields.delta()

    def extras(self, problem: Problem, paths: int) -> Float[Array, "states paths"]:
        """V̲ at the horizon."""
        return jnp.zeros((problem.states, paths))

    def backup(self, plan: Estimate, problem: Problem, step, next_values, next_extras):
        """Q̄_h, and Q̲_h as the extra: V̲_h is its value at the action that Q̄_h chooses."""
        pairs = problem.states * problem.actions
        log = jnp.log(4 * pairs * steps_in_total(problem, self.episodes) * _EVENTS / self.delta)
        n, H = plan.n, problem.horizon.astype(float)
        upper, lower = next_values, next_extras
        scale = jnp.sqrt(2 * log)  # B_v
        apart = jnp.sqrt(expect(plan.kernel, self.at_outcomes((upper - lower) ** 2)))
        correction = ((4 * H * log / 3 + H * scale) / jnp.sqrt(n) + scale * apart) / jnp.sqrt(n)

        def mean_and_bonus(values):
            mean, variance = self.moments(plan, values)
            phi = jnp.sqrt(2 * variance * log / n) + H * log / (3 * jnp.maximum(n - 1, 1))
            return mean, self.multiplier * (phi + correction)

        reward, left, tried = problem.reward(step), problem.ceiling(step), plan.visits > 0
        mean, bonus = mean_and_bonus(upper)
        above = jnp.where(tried, jnp.minimum(reward + mean + bonus, left), left)
        mean, bonus = mean_and_bonus(lower)
        below = jnp.where(tried, jnp.maximum(reward + mean - bonus, 0), 0)
        return above, below
