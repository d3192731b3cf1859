"""RLSVI on tables (Osband, Van Roy & Wen 2016): value iteration on targets perturbed by Gaussian noise.

As analysed by Russo (2019): Q_h = r + [n/(n + 1)]·P̂V_{h+1} + w with w ~ N(0, β_k/(n + 1)), drawn anew for every episode
and (h, s, a), and β_k = ½SH³log(2HSAk). Rewards are at most 1 a step, and known ones are not shrunk.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, UInt32

from eluder import _random
from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Counts, Estimate
from eluder.agents.base import Problem


class Plan(NamedTuple):
    estimate: Estimate
    key: UInt32[Array, "2 paths"]


class RLSVI(CountingAgent):
    """RLSVI on tables. The multiplier is a factor on the standard deviation of the noise."""

    per_step: ClassVar[bool] = True
    multiplier: float = fields.multiplier()

    def begin(self, state: Counts, problem: Problem, episode, keys) -> Plan:
        return Plan(self.estimate(state, episode), jax.random.key_data(keys).T)

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        S, A, H = problem.states, problem.actions, problem.horizon.astype(float)
        visits, k = plan.estimate.visits, plan.estimate.episode + 1.0
        beta = S * H**3 * jnp.log(2 * H * S * A * k) / 2
        place = jnp.arange(S * A, dtype=jnp.uint32).reshape(S, A, 1)
        noise = ndtri(_random.uniform(plan.key, step, place) + 2.0**-54)
        shrunk = self.mean(plan.estimate, next_values) * visits / (visits + 1)
        return problem.reward(step) + shrunk + self.multiplier * jnp.sqrt(beta / (visits + 1)) * noise, None
