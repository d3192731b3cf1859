"""Agents that do not learn: the two ends of every regret scale."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder.agents.base import Agent, Problem
from eluder.mdp import FiniteMDP


class Random(Agent):
    """Acts uniformly at random: every Q value ties, and ties are broken uniformly (errata 11)."""

    def init(self, problem: Problem, paths: int):
        del problem, paths
        return None

    def backup(self, plan, problem: Problem, step, next_values, next_extras):
        del plan, step, next_extras
        return jnp.zeros((problem.states, problem.actions, next_values.shape[-1])), None


class Optimal(Agent):
    """Knows the MDP and acts optimally: a control whose regret must be zero."""

    q_values: Float[Array, "horizon states actions"]

    def __init__(self, environment: FiniteMDP):
        self.q_values = environment.solve().q_values

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        del allow_misspecified
        if self.q_values.shape != (mdp.horizon, mdp.states, mdp.actions):
            raise ValueError(
                f"This Optimal agent solves another problem: build it with Optimal(environment) for {mdp.name!r}."
            )
        return 0.0

    def init(self, problem: Problem, paths: int):
        del problem, paths
        return None

    def backup(self, plan, problem: Problem, step, next_values, next_extras):
        del plan, problem, next_extras
        return jnp.broadcast_to(self.q_values[step][..., None], (*self.q_values.shape[1:], next_values.shape[-1])), None
