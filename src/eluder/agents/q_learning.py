"""Optimistic Q-learning (Jin, Allen-Zhu, Bubeck & Jordan 2018), with its Hoeffding and its Bernstein bonus.

Model-free: Q_h(s, a) ← (1 − α_t) Q_h(s, a) + α_t (r + V_{h+1}(s') + b_t) with α_t = (H + 1)/(H + t), where t counts the
visits of (h, s, a), and V_h = min(H, max_a Q_h). Rewards are at most 1 a step. The paper leaves its constants c
unspecified; here they are the multiplier.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import pick
from eluder.agents import _fields as fields
from eluder.agents._counting import steps_in_total
from eluder.agents.base import Agent, Problem, Transition


class State(NamedTuple):
    q_values: Float[Array, "max_horizon states actions paths"]
    visits: Float[Array, "max_horizon states actions paths"]
    targets: Any  # what the bonus keeps of the targets V_{h+1}(s')


class QLearning(Agent):
    """What both forms share; they differ in `bonus`."""

    per_step: ClassVar[bool] = True
    multiplier: float = fields.multiplier()
    episodes: float = fields.episodes()
    delta: float = fields.delta()

    @abc.abstractmethod
    def bonus(self, kept, problem: Problem, at: tuple, t, rate, target) -> tuple[Float[Array, " paths"], Any]:
        """b_t on the t-th visit of the entry `at` = (h, s, a, path), and what is kept for the next."""

    def no_targets(self, table: tuple[int, ...]) -> Any:
        """What the bonus keeps before the first episode."""
        del table
        return None

    def log_term(self, problem: Problem) -> Float[Array, ""]:
        """ι = ln(SAT/δ)."""
        return jnp.log(problem.states * problem.actions * steps_in_total(problem, self.episodes) / self.delta)

    def init(self, problem: Problem, paths: int) -> State:
        table = (problem.max_horizon, problem.states, problem.actions, paths)
        optimistic = jnp.broadcast_to(problem.horizon.astype(float), table)
        return State(optimistic, jnp.zeros(table), self.no_targets(table))

    def backup(self, plan: State, problem: Problem, step, next_values, next_extras):
        return plan.q_values[step], None

    def observe(self, state: State, plan, problem: Problem, transition: Transition):
        h, s, a, reward, next_state, next_values = transition
        H = problem.horizon.astype(float)
        path = jnp.arange(s.shape[0], dtype=jnp.int32)
        at = (h, s, a, path)
        t = state.visits[at] + 1
        rate = (H + 1) / (H + t)  # α_t
        # V_{h+1} was planned at the episode's start; step h + 1 has not been updated since.
        target = jnp.minimum(pick(next_values, next_state), H)
        bonus, targets = self.bonus(state.targets, problem, at, t, rate, target)
        updated = (1 - rate) * state.q_values[at] + rate * (reward + target + self.multiplier * bonus)
        return State(state.q_values.at[at].set(updated), state.visits.at[at].set(t), targets), {}


class QLearningHoeffding(QLearning):
    """Optimistic Q-learning with b_t = √(H³ι/t) (UCB-H)."""

    @property
    def label(self) -> str:
        return "Q-learning (Hoeffding)"

    def bonus(self, kept, problem: Problem, at, t, rate, target):
        return jnp.sqrt(problem.horizon.astype(float) ** 3 * self.log_term(problem) / t), kept


class Targets(NamedTuple):
    """Sums over the targets of an entry (h, s, a), and its last β."""

    sum: Float[Array, "max_horizon states actions paths"]
    squares: Float[Array, "max_horizon states actions paths"]
    beta: Float[Array, "max_horizon states actions paths"]


class QLearningBernstein(QLearning):
    """Optimistic Q-learning with the running variance W_t of the targets in its bonus (UCB-B).

    β_t = min(√(H(W_t + H)ι/t) + √(H⁷SA)·ι/t, √(H³ι/t)) and b_t = (β_t − (1 − α_t) β_{t−1}) / (2α_t).
    """

    @property
    def label(self) -> str:
        return "Q-learning (Bernstein)"

    def no_targets(self, table):
        return Targets(jnp.zeros(table), jnp.zeros(table), jnp.zeros(table))

    def bonus(self, kept: Targets, problem: Problem, at, t, rate, target):
        H, iota = problem.horizon.astype(float), self.log_term(problem)
        total, squares = kept.sum[at] + target, kept.squares[at] + target**2
        variance = jnp.maximum(squares / t - (total / t) ** 2, 0)  # W_t; rounding may go below zero
        fine = jnp.sqrt(H * (variance + H) * iota / t) + jnp.sqrt(H**7 * problem.states * problem.actions) * iota / t
        beta = jnp.minimum(fine, jnp.sqrt(H**3 * iota / t))
        bonus = (beta - (1 - rate) * kept.beta[at]) / (2 * rate)
        kept = Targets(kept.sum.at[at].set(total), kept.squares.at[at].set(squares), kept.beta.at[at].set(beta))
        return bonus, kept
