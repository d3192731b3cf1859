"""Baselines without a guarantee: greedy on the empirical kernel, and ε-greedy."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

from eluder import _random
from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Estimate
from eluder.agents.base import Problem


class Greedy(CountingAgent):
    """Acts on the empirical kernel as if it were the truth: no bonus, and no hope where nothing was tried."""

    def backup(self, plan: Estimate, problem: Problem, step, next_values, next_extras):
        return problem.reward(step) + self.mean(plan, next_values), None


class Exploring(NamedTuple):
    estimate: Estimate
    epsilon: Float[Array, ""]
    key: UInt32[Array, "2 paths"]


class EpsilonGreedy(CountingAgent):
    """Greedy, but with chance ε_k = min(1, multiplier · k^(−1/3)) a step's action is uniformly random.

    Whether step h explores in state s is drawn when the episode is planned. No (h, s) is met twice in an episode, so
    this is ε-greedy, and the policy that is played is still deterministic and its regret exact.
    """

    multiplier: float = fields.multiplier()

    @property
    def label(self) -> str:
        return "ε-greedy"

    def begin(self, state, problem: Problem, episode, keys) -> Exploring:
        epsilon = jnp.minimum(1.0, self.multiplier * (episode + 1.0) ** (-1 / 3))
        return Exploring(self.estimate(state, episode), epsilon, jax.random.key_data(keys).T)

    def backup(self, plan: Exploring, problem: Problem, step, next_values, next_extras):
        q_values = problem.reward(step) + self.mean(plan.estimate, next_values)
        words = _random.tie_words(plan.key, step, problem.states)
        explores = words.astype(float) * 2.0**-32 < plan.epsilon
        # Where a state explores all actions tie, at the same maximum, and ties are broken uniformly (errata 11).
        return jnp.where(explores[:, None], jnp.max(q_values, axis=1, keepdims=True), q_values), None
