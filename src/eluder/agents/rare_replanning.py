"""Rare replanning for UCRL-WVTR: the policy is kept until the determinant of Σ at moment level 0 has doubled.

A path then plans O(d·log T) times instead of K times. Weights and regression go on as in Algorithm 1, with the kept
values. A data point multiplies the determinant by 1 + D²/σ̄², which has a meaning in every class, linear or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

from eluder.agents.base import Problem, Transition
from eluder.agents.wrapper import Wrapper

_DOUBLED = 0.6931471805599453  # log 2


class Kept(NamedTuple):
    """What the policy was planned from, by path."""

    plan: Any
    key: UInt32[Array, "2 paths"]  # which broke its ties
    log_det: Float[Array, " paths"]  # of Σ at that time
    plans: Float[Array, " paths"]  # how many were made so far


class State(NamedTuple):
    inner: Any
    kept: Kept
    log_det: Float[Array, " paths"]  # log det Σ − d·log λ


class Plan(NamedTuple):
    inner: Any  # up to date: what the weights are made from
    kept: Kept


class RareReplanning(Wrapper):
    """`RareReplanning(UCRLWVTR(model))` replans when a determinant has doubled."""

    @property
    def label(self) -> str:
        return f"{self.agent.label}, rare replanning"

    def init(self, problem: Problem, paths: int) -> State:
        inner = self.agent.init(problem, paths)
        keys = jax.random.split(jax.random.key(0), paths)
        shapes = jax.eval_shape(lambda: self.agent.begin(inner, problem, jnp.asarray(0), keys))
        plan = jax.tree.map(lambda leaf: jnp.zeros(jnp.broadcast_shapes(leaf.shape, (paths,)), leaf.dtype), shapes)
        key = jnp.zeros((2, paths), dtype=jnp.uint32)
        never = jnp.full(paths, -jnp.inf)
        return State(inner, Kept(plan, key, never, jnp.zeros(paths)), jnp.zeros(paths))

    def begin(self, state: State, problem: Problem, episode, keys) -> Plan:
        inner, kept = self.agent.begin(state.inner, problem, episode, keys), state.kept
        fresh = Kept(inner, jax.random.key_data(keys).T, state.log_det, kept.plans + 1)
        doubled = state.log_det - kept.log_det >= _DOUBLED
        return Plan(inner, jax.tree.map(lambda new, old: jnp.where(doubled, new, old), fresh, kept))

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        return self.agent.backup(plan.kept.plan, problem, step, next_values, next_extras)

    def tie_key(self, plan: Plan, key):
        """The kept policy's own: another would break its ties anew and change it."""
        return plan.kept.key

    def observe(self, state: State, plan: Plan, problem: Problem, transition: Transition):
        inner, info = self.agent.observe(state.inner, plan.inner, problem, transition)
        if not {"so_far", "weights"} <= info.keys():
            raise TypeError(f"Rare replanning needs an agent of the UCRL-WVTR family, but got {self.agent.label}.")
        growth = jnp.log1p(info["so_far"][0] ** 2 / info["weights"][0])
        return State(inner, state.kept, state.log_det + growth), info

    def finish(self, state: State, plan: Plan, problem: Problem, episode) -> State:
        return super().finish(state, plan, problem, episode)._replace(kept=plan.kept)

    def report(self, state: State) -> dict[str, Array]:
        return {**super().report(state), "plans": state.kept.plans}
