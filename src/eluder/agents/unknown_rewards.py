"""Unknown rewards, for any agent: an optimistic estimate takes the place of the rewards that it would be told.

The paper's footnote: learning rewards is easier than learning transitions. Rewards here are deterministic, so one visit
tells a pair's reward, and a pair that was not visited is believed to pay the largest reward there is. With
`deterministic=False` the agent does not know that they are, and pays for it with an empirical Bernstein bonus
(EULER's b_r): √(2V̂ar(r)ℓ/n) + 7ℓ/(3(n − 1)), ℓ = ln(4SAT/δ), in units of the largest reward.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder.agents import _fields as fields
from eluder.agents._counting import steps_in_total
from eluder.agents.base import Agent, Problem, Transition
from eluder.agents.wrapper import Wrapper


class Seen(NamedTuple):
    """Sums over the rewards that a pair paid, by step where rewards change with the step."""

    visits: Float[Array, "steps states actions paths"]
    sum: Float[Array, "steps states actions paths"]
    squares: Float[Array, "steps states actions paths"]


class State(NamedTuple):
    inner: Any
    seen: Seen


class Plan(NamedTuple):
    inner: Any
    rewards: Float[Array, "steps states actions paths"]  # what the inner agent believes


class UnknownRewards(Wrapper):
    """An agent that learns the rewards too. All it is told of them is the largest one."""

    agent: Agent
    deterministic: bool = eqx.field(default=True, static=True)
    reward_multiplier: float = fields.number("reward_multiplier", 1.0, at_least=0.0)  # on the rewards' own bonus
    episodes: float = fields.episodes()
    delta: float = fields.delta()

    @property
    def label(self) -> str:
        return f"{self.agent.label}, unknown rewards"

    def init(self, problem: Problem, paths: int) -> State:
        zero = jnp.zeros((*problem.rewards.shape[:3], paths))
        return State(self.agent.init(problem, paths), Seen(zero, zero, zero))

    def begin(self, state: State, problem: Problem, episode, keys) -> Plan:
        rewards = self._optimistic(state.seen, problem)
        believed = dataclasses.replace(problem, rewards=rewards)
        return Plan(self.agent.begin(state.inner, believed, episode, keys), rewards)

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        believed = dataclasses.replace(problem, rewards=plan.rewards)
        return self.agent.backup(plan.inner, believed, step, next_values, next_extras)

    def observe(self, state: State, plan: Plan, problem: Problem, transition: Transition):
        believed = dataclasses.replace(problem, rewards=plan.rewards)
        inner, info = self.agent.observe(state.inner, plan.inner, believed, transition)
        step = jnp.minimum(transition.step, problem.rewards.shape[0] - 1)
        path = jnp.arange(transition.state.shape[0], dtype=jnp.int32)
        at, reward = (step, transition.state, transition.action, path), transition.reward
        visits, total, squares = state.seen
        seen = Seen(visits.at[at].add(1.0), total.at[at].add(reward), squares.at[at].add(reward**2))
        return State(inner, seen), info

    def _optimistic(self, seen: Seen, problem: Problem) -> Float[Array, "steps states actions paths"]:
        largest, n = jnp.max(problem.rewards), jnp.maximum(seen.visits, 1)
        mean = seen.sum / n
        if self.deterministic:
            return jnp.where(seen.visits > 0, mean, largest)
        log = jnp.log(4 * problem.states * problem.actions * steps_in_total(problem, self.episodes) / self.delta)
        variance = jnp.maximum(seen.squares / n - mean**2, 0)
        bonus = jnp.sqrt(2 * variance * log / n) + 7 * largest * log / (3 * jnp.maximum(n - 1, 1))
        return jnp.where(seen.visits > 0, jnp.minimum(mean + self.reward_multiplier * bonus, largest), largest)
