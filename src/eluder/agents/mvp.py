"""MVP (Zhang, Ji & Du 2021): a monotone bonus on estimates that are refreshed when a count reaches a power of two.

b = c₁√(Var_P̂(V)·ln(1/δ')/n) + c₃ln(1/δ')/n with c₁ = 460/9, c₃ = 544/9 and δ' = δ/(200SAH²K²), the constants of the
2023 version (Zhang, Chen, Lee & Du); totals of reward are at most 1. Rewards are known here, so the paper's c₂ term for
their estimation is left out (see `eluder.agents.UnknownRewards`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Counts, Estimate
from eluder.agents.base import Problem, Transition

_VARIANCE, _RANGE = 460 / 9, 544 / 9  # c₁, c₃


class State(NamedTuple):
    counts: Counts
    refreshed: Counts  # the counts as of the last time that n(s, a) reached a power of two


class MVP(CountingAgent):
    """MVP on time-homogeneous counts n(s, a)."""

    multiplier: float = fields.multiplier()
    episodes: float = fields.episodes()
    delta: float = fields.delta()

    def init(self, problem: Problem, paths: int) -> State:
        counts = self.no_counts(problem, paths)
        return State(counts, counts)

    def begin(self, state: State, problem: Problem, episode, keys) -> Estimate:
        return self.estimate(state.refreshed, episode)

    def backup(self, plan: Estimate, problem: Problem, step, next_values, next_extras):
        H, pairs = problem.horizon.astype(float), problem.states * problem.actions
        log = jnp.log(200 * pairs * H**2 * self.episodes**2 / self.delta)  # ln(1/δ')
        mean, variance = self.moments(plan, next_values)
        bonus = _VARIANCE * jnp.sqrt(variance * log / plan.n) + _RANGE * log / plan.n
        q_values = jnp.minimum(problem.reward(step) + mean + self.multiplier * bonus, 1)
        return jnp.where(plan.visits > 0, q_values, 1), None

    def observe(self, state: State, plan, problem: Problem, transition: Transition):
        counts = self.count(state.counts, transition)
        at = (transition.state, transition.action, jnp.arange(transition.state.shape[0], dtype=jnp.int32))
        n = counts.visits[at]
        whole = n.astype(jnp.int32)
        due = (whole & (whole - 1)) == 0  # a power of two
        visits, outcomes = state.refreshed
        visits = visits.at[at].set(jnp.where(due, n, visits[at]))
        row = (slice(None), *at)
        outcomes = outcomes.at[row].set(jnp.where(due, counts.outcomes[row], outcomes[row]))
        return State(counts, Counts(visits, outcomes)), {}
