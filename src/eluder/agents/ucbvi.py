"""UCBVI (Azar, Osband & Munos 2017): value iteration on the empirical kernel with a bonus, in three forms of the bonus.

Q_{k,h} = min(Q_{k−1,h}, H, r + P̂V_{k,h+1} + b), and H where a pair was never tried. Rewards are at most 1 a step.
"""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Counts, Estimate, expect, steps_in_total
from eluder.agents.base import Problem, Transition


class State(NamedTuple):
    counts: Counts
    previous: Float[Array, "max_horizon states actions paths"]  # Q_{k−1,h}; H before the first episode
    by_step: Float[Array, "max_horizon+1 states paths"] | None = None  # N'_{k,h}(y), for the form that asks for it


class Plan(NamedTuple):
    estimate: Estimate
    previous: Float[Array, "max_horizon states actions paths"]
    by_step: Float[Array, "max_horizon+1 states paths"] | None


class UCBVI(CountingAgent):
    """What the forms share; they differ in `bonus`."""

    per_step: ClassVar[bool] = True
    keeps_q_values: ClassVar[bool] = True
    multiplier: float = fields.multiplier()
    episodes: float = fields.episodes()
    delta: float = fields.delta()

    @abc.abstractmethod
    def bonus(self, plan: Plan, problem: Problem, step, next_values) -> Float[Array, "states actions paths"]:
        """b_{k,h}(s, a) at multiplier 1, for pairs that were tried."""

    def log_term(self, problem: Problem) -> Float[Array, ""]:
        """L = ln(5SAT/δ)."""
        return jnp.log(5.0 * problem.states * problem.actions * steps_in_total(problem, self.episodes) / self.delta)

    def init(self, problem: Problem, paths: int) -> State:
        table = (problem.max_horizon, problem.states, problem.actions, paths)
        return State(self.no_counts(problem, paths), jnp.broadcast_to(problem.ceiling(jnp.asarray(0)), table))

    def begin(self, state: State, problem: Problem, episode, keys) -> Plan:
        return Plan(self.estimate(state.counts, episode), state.previous, state.by_step)

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        bonus = self.multiplier * self.bonus(plan, problem, step, next_values)
        q_values = problem.reward(step) + self.mean(plan.estimate, next_values) + bonus
        q_values = jnp.where(plan.estimate.visits > 0, q_values, jnp.inf)
        return jnp.minimum(plan.previous[step], q_values), None  # Q_0 = H is the cap

    def planned(self, state: State, planned) -> State:
        return state._replace(previous=planned.q_values)

    def observe(self, state: State, plan: Plan, problem: Problem, transition: Transition):
        return state._replace(counts=self.count(state.counts, transition)), {}


class UCBVICH(UCBVI):
    """UCBVI with the Chernoff–Hoeffding bonus 7HL/√n."""

    @property
    def label(self) -> str:
        return "UCBVI-CH"

    def bonus(self, plan: Plan, problem: Problem, step, next_values):
        return 7 * problem.horizon * self.log_term(problem) / jnp.sqrt(plan.estimate.n)


class UCBVIBF(UCBVI):
    """UCBVI with the Bernstein–Freedman bonus."""

    @property
    def label(self) -> str:
        return "UCBVI-BF"

    def init(self, problem: Problem, paths: int) -> State:
        return (
            super().init(problem, paths)._replace(by_step=jnp.zeros((problem.max_horizon + 1, problem.states, paths)))
        )

    def bonus(self, plan: Plan, problem: Problem, step, next_values):
        n, H, L = plan.estimate.n, problem.horizon.astype(float), self.log_term(problem)
        _, variance = self.moments(plan.estimate, next_values)
        # How far V_{k,h+1}(y) may still be above V*_{h+1}(y): little where y was often the state of step h + 1.
        assert plan.by_step is not None
        n_next = plan.by_step[step + 1]
        spread = 100.0**2 * H**3 * problem.states**2 * problem.actions * L**2 / jnp.maximum(n_next, 1)
        spread = jnp.where(n_next > 0, jnp.minimum(spread, H**2), H**2)
        later = expect(plan.estimate.kernel, self.at_outcomes(spread))
        return jnp.sqrt(8 * L * variance / n) + 14 * H * L / (3 * n) + jnp.sqrt(8 * later / n)

    def observe(self, state: State, plan: Plan, problem: Problem, transition: Transition):
        state, info = super().observe(state, plan, problem, transition)
        assert state.by_step is not None
        path = jnp.arange(transition.state.shape[0], dtype=jnp.int32)
        return state._replace(by_step=state.by_step.at[transition.step, transition.state, path].add(1.0)), info


class UCBVISimplified(CountingAgent):
    """The rule that rlberry runs under the name of UCBVI: a bonus min(c/√n + (H − h)/n, H − h), h counted from 0.

    It has no previous Q, and its multiplier is c.
    """

    per_step: ClassVar[bool] = True
    multiplier: float = fields.multiplier()

    @property
    def label(self) -> str:
        return "UCBVI-simplified"

    def backup(self, plan: Estimate, problem: Problem, step, next_values, next_extras):
        n, left = plan.n, problem.ceiling(step)
        bonus = jnp.minimum(self.multiplier / jnp.sqrt(n) + left / n, left)
        q_values = problem.reward(step) + self.mean(plan, next_values) + bonus
        return jnp.where(plan.visits > 0, jnp.minimum(q_values, problem.horizon.astype(float)), left), None
