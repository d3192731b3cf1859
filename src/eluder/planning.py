"""Optimistic backward induction, with the exact value of the policy it yields."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from eluder import _random
from eluder._arrays import dot, set_row
from eluder.agents.base import Agent, Plan, Problem, Whole
from eluder.mdp import FiniteMDP

# With more actions than this, choosing among them is left to array operations instead of being written out.
_UNROLL = 16


class Truth(eqx.Module):
    """The MDP as the runner sees it, in its own reward units, laid out for batched loops."""

    successors: Int[Array, "slots states actions"]
    probs: Float[Array, "slots states actions 1"]
    cumulative: Float[Array, "states*actions slots"]
    rewards: Float[Array, "steps states actions 1"]
    start_cumulative: Float[Array, " states"]
    optimal_values: Float[Array, " states"]  # V*₁(s)
    reward_scale: Float[Array, ""]

    @classmethod
    def of(cls, mdp: FiniteMDP) -> Truth:
        # Laid out by NumPy: each operation of JAX outside a compiled program would be compiled by itself.
        successors, probs, start = (np.asarray(array) for array in (mdp.successors, mdp.probs, mdp.start))
        return cls(
            successors=jnp.asarray(np.moveaxis(successors, -1, 0)),
            probs=jnp.asarray(np.moveaxis(probs, -1, 0)[..., None]),
            cumulative=jnp.asarray(_cumulative(probs).reshape(-1, mdp.slots)),
            rewards=jnp.asarray(np.asarray(mdp.rewards)[..., None]),
            start_cumulative=jnp.asarray(_cumulative(start)),
            optimal_values=jnp.asarray(np.asarray(mdp.solve().values)[0]),
            reward_scale=jnp.asarray(mdp.reward_scale),
        )

    def policy_backup(
        self, step: Int[Array, ""], next_values: Float[Array, "states paths"]
    ) -> Float[Array, "states actions paths"]:
        """Q^π_h from V^π_{h+1}."""
        reward = self.rewards[jnp.minimum(step, self.rewards.shape[0] - 1)]
        return reward + dot(self.probs, next_values[self.successors])


class Planned(NamedTuple):
    """The plan of one episode on every path."""

    values: Float[Array, "max_horizon+1 states paths"]  # V_{k,h}; row `horizon` is zero
    policy: Int[Array, "max_horizon states paths"]
    policy_value: Float[Array, "states paths"]  # V^π₁, exact, in the MDP's units
    q_values: Float[Array, "max_horizon states actions paths"] | None = None  # for agents that ask for them
    extras: Any = None  # the agent's extras at the first step


def plan_episode(agent: Agent, plan: Plan, problem: Problem, truth: Truth, key: UInt32[Array, "2 paths"]) -> Planned:
    """Algorithm 1, lines 3 to 7, and the policy's exact value along the way."""
    states, paths = problem.states, key.shape[-1]
    key = agent.tie_key(plan, key)
    zero = jnp.zeros((states, paths))

    def backup(count, carry):
        planned, extras = carry
        step = problem.horizon - 1 - count
        next_values = planned.values[step + 1]
        q_values, q_extras = agent.backup(plan, problem, step, next_values, extras)
        values, action = uniform_argmax(q_values, _random.tie_words(key, step, states))
        followed = truth.policy_backup(step, planned.policy_value)
        planned = Planned(
            values=set_row(planned.values, step, values),
            policy=set_row(planned.policy, step, action),
            policy_value=at_action(followed, action),
            q_values=None if planned.q_values is None else planned.q_values.at[step].set(q_values),
        )
        return planned, _hand_on(q_extras, action)

    empty = Planned(
        values=jnp.zeros((problem.max_horizon + 1, states, paths)),
        policy=jnp.zeros((problem.max_horizon, states, paths), dtype=jnp.int32),
        policy_value=zero,
        q_values=jnp.zeros((problem.max_horizon, states, problem.actions, paths)) if agent.keeps_q_values else None,
    )
    planned, extras = jax.lax.fori_loop(0, problem.horizon, backup, (empty, agent.extras(problem, paths)))
    return planned._replace(extras=extras)


def uniform_argmax(
    q_values: Float[Array, "states actions paths"], words: UInt32[Array, "states paths"]
) -> tuple[Float[Array, "states paths"], Int[Array, "states paths"]]:
    """max and argmax over actions, ties broken uniformly by one random word each (errata 11).

    Actions are met one by one, and the c-th of c tied ones replaces the choice with chance 1/c. Q values are compared
    with each other only, never with a maximum found before: a compiler may compute a value twice and round it in two
    ways.
    """

    def meet(action, q_value, carry):
        best, choice, tied = carry
        better, tie = q_value > best, q_value == best
        tied = jnp.where(better, 1.0, jnp.where(tie, tied + 1.0, tied))
        digit = jnp.floor(_random.tie_word(words, action).astype(best.dtype) * 2.0**-32 * tied)
        take = better | (tie & (digit == tied - 1))
        choice = jnp.where(take, jnp.asarray(action, jnp.int32), choice)
        return jnp.where(better, q_value, best), choice, tied

    first = q_values[:, 0]
    carry = (first, jnp.zeros(first.shape, jnp.int32), jnp.ones_like(first))
    if q_values.shape[1] > _UNROLL:
        by_action = jnp.moveaxis(q_values, 1, 0)
        best, choice, _ = jax.lax.fori_loop(
            1, q_values.shape[1], lambda action, carry: meet(action, by_action[action], carry), carry
        )
        return best, choice
    for action in range(1, q_values.shape[1]):
        carry = meet(action, q_values[:, action], carry)
    return carry[0], carry[1]


def at_action(
    table: Float[Array, "states actions paths"], action: Int[Array, "states paths"]
) -> Float[Array, "states paths"]:
    """table[s, action[s, p], p]."""
    if table.shape[1] > _UNROLL:
        return jnp.take_along_axis(table, action[:, None], axis=1, mode="promise_in_bounds")[:, 0]
    result = table[:, 0]
    for a in range(1, table.shape[1]):
        result = jnp.where(action == a, table[:, a], result)
    return result


def _hand_on(extras: Any, action: Int[Array, "states paths"]) -> Any:
    """An agent's extras at the action chosen, and as they are where it says so."""

    def one(leaf):
        return leaf if isinstance(leaf, Whole) else at_action(leaf, action)

    return jax.tree.map(one, extras, is_leaf=lambda leaf: isinstance(leaf, Whole))


def _cumulative(probs: Float[np.ndarray, "... slots"]) -> Float[np.ndarray, "... slots"]:
    """Cumulative sums in which the last slot with positive probability ends the search, whatever the rounding."""
    last = probs.shape[-1] - 1 - np.argmax(probs[..., ::-1] > 0, axis=-1)
    beyond = np.arange(probs.shape[-1]) >= last[..., None]
    return np.where(beyond, 2.0, np.cumsum(probs, axis=-1))
