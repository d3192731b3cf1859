"""What a run records beside regret, on request: one value per path and episode, or a whole trace.

A recorder sees every step of an episode and every plan. It is compiled into the run; a run without it does
not pay for it.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from eluder.agents.base import Plan, Problem, Transition
from eluder.mdp import FiniteMDP
from eluder.planning import Planned


class Episode(NamedTuple):
    """A finished episode, on every path."""

    number: Int[Array, ""]  # k, counted from 0
    plan: Plan  # what the agent read in this episode, as returned by its `begin`
    planned: Planned  # V_{k,h}, the policy, and the policy's exact value
    start: Int[Array, " paths"]  # s₁


class Recorder(eqx.Module):
    """Records numbers of every episode. Arrays carry the path axis last."""

    def begin(self, problem: Problem, transition: Transition, info: dict[str, Array]) -> Any:
        """What is carried through the steps of an episode; nothing unless overridden.

        `transition` and `info` are what `step` will be given, as shapes and types only.
        """
        del problem, transition, info
        return None

    def step(self, carry: Any, transition: Transition, info: dict[str, Array]) -> Any:
        """After each step; `info` are the diagnostics that the agent's `observe` returned."""
        del transition, info
        return carry

    @abc.abstractmethod
    def finish(self, carry: Any, episode: Episode) -> dict[str, Array]:
        """The episode's numbers by name, each of shape (..., paths)."""


class Trace(Recorder):
    """Everything an episode did: its plan, its path and the agent's diagnostics at each step.

    Records `values` (horizon + 1, states), `policy` (horizon, states), `state`, `action` and `next_state` (horizon,),
    and whatever the agent's `observe` returns, each with the step as its first axis. Meant for few paths and episodes.
    """

    horizon: int = eqx.field(static=True)

    def __init__(self, environment: FiniteMDP):
        self.horizon = environment.horizon

    def begin(self, problem: Problem, transition: Transition, info):
        return jax.tree.map(
            lambda leaf: jnp.zeros((problem.max_horizon, *leaf.shape), leaf.dtype), self._seen(transition, info)
        )

    def step(self, carry, transition: Transition, info):
        seen = self._seen(transition, info)
        return jax.tree.map(lambda buffer, leaf: buffer.at[transition.step].set(leaf), carry, seen)

    @staticmethod
    def _seen(transition: Transition, info: dict[str, Array]) -> dict[str, Array]:
        return {name: getattr(transition, name) for name in ("state", "action", "next_state")} | info

    def finish(self, carry, episode: Episode):
        steps = jax.tree.map(lambda buffer: buffer[: self.horizon], carry)
        values, policy = episode.planned.values, episode.planned.policy
        return {"values": values[: self.horizon + 1], "policy": policy[: self.horizon], **steps}
