"""The protocol that every agent fits, and what the runner tells it.

An agent is a frozen object that holds hyper-parameters only; what it learns is a state that the runner
carries. It never loops: it gives one step of planning (`backup`) and one step of an episode (`observe`), and
the runner loops over steps h and episodes k and batches all paths. *Arrays carry the path axis last*, so that the
same expression serves one path or a hundred thousand (see `eluder._arrays`).
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree, UInt32

from eluder.mdp import FiniteMDP

if TYPE_CHECKING:
    from eluder.planning import Planned

State = Any  # an agent's own NamedTuple or Equinox module; every array ends in the path axis
Plan = Any


class Problem(eqx.Module):
    """What an agent may know of an MDP: everything but the transition kernel.

    Papers scale rewards in two ways, and this is the one place where they meet. An agent sees rewards in the units
    its paper assumes (`Agent.per_step`): the total of a trajectory is at most 1 (the MDP's rewards over its
    `reward_scale`, errata 1), or the reward of a step is at most 1 (the MDP's rewards over their maximum). Its values
    are in the same units; regret and returns are reported in the MDP's own.
    """

    rewards: Float[Array, "steps states actions #paths"]  # steps is 1 when they do not change with h
    horizon: Int[Array, ""]
    unit: Float[Array, ""]  # one of the agent's units of reward, in the MDP's own
    max_horizon: int = eqx.field(static=True)  # arrays over steps have this length; at least the horizon
    per_step: bool = eqx.field(static=True, default=False)

    @property
    def states(self) -> int:
        return self.rewards.shape[1]

    @property
    def actions(self) -> int:
        return self.rewards.shape[2]

    def reward(self, step: Int[Array, ""]) -> Float[Array, "states actions #paths"]:
        """r_h(s, a) at a step h counted from 0."""
        return self.rewards[jnp.minimum(step, self.rewards.shape[0] - 1)]

    def ceiling(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """The largest value that V_h can have, h counted from 0: 1, or the number of steps that are left."""
        return (self.horizon - step).astype(float) if self.per_step else jnp.asarray(1.0)


class Transition(NamedTuple):
    """One step of an episode on every path."""

    step: Int[Array, ""]  # h, counted from 0
    state: Int[Array, " paths"]
    action: Int[Array, " paths"]
    reward: Float[Array, " paths"]  # in the agent's units
    next_state: Int[Array, " paths"]
    next_values: Float[Array, "states paths"]  # V_{k,h+1}, as planned


class Whole(NamedTuple):
    """Extras that the runner hands on as they are, rather than at the action chosen: see `Agent.backup`."""

    value: Any


class Agent(eqx.Module):
    """Learns to act in one MDP. See `eluder.agents` for the ones that come with the library."""

    # Whether the paper assumes rewards of at most 1 a step, rather than 1 in total (see `Problem`).
    per_step: ClassVar[bool] = False
    # Whether `planned` is to be given the Q values of every step.
    keeps_q_values: ClassVar[bool] = False

    @property
    def one_thread(self) -> bool:
        """Whether its programs must not run in several threads at once on a CPU (see `OracleRegression`)."""
        return False

    @property
    def label(self) -> str:
        """The agent's name in tables and figures."""
        return type(self).__name__

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        """Raises when the agent cannot run on the MDP; returns how far its model class is from it (0: realisable)."""
        del mdp, allow_misspecified
        return 0.0

    @abc.abstractmethod
    def init(self, problem: Problem, paths: int) -> State:
        """The state before the first episode."""

    def begin(self, state: State, problem: Problem, episode: Int[Array, ""], keys: Key[Array, " paths"]) -> Plan:
        """What planning reads in this episode (counted from 0); the state itself unless overridden."""
        del problem, episode, keys
        return state

    @abc.abstractmethod
    def backup(
        self,
        plan: Plan,
        problem: Problem,
        step: Int[Array, ""],
        next_values: Float[Array, "states paths"],
        next_extras: PyTree[Float[Array, "states paths"]],
    ) -> tuple[Float[Array, "states actions paths"], PyTree[Float[Array, "states actions paths"]]]:
        """One step of planning: Q_h(s, a) from V_{h+1}(s).

        The runner takes V_h = max_a Q_h and acts by the maximiser, ties broken at random. Whatever else an agent
        propagates backwards (a lower value, say) are `extras`: returned for every (s, a), and handed on at the
        action chosen. Their value at the horizon is zero. What is wrapped in `Whole` may have any shape, and is handed
        on as it is; `planned` sees what the first step returned.
        """

    def extras(self, problem: Problem, paths: int) -> PyTree[Float[Array, "states paths"]]:
        """The extras at the horizon; none unless overridden."""
        del problem, paths
        return None

    def tie_key(self, plan: Plan, key: UInt32[Array, "2 paths"]) -> UInt32[Array, "2 paths"]:
        """The key that breaks ties between actions: the episode's own unless overridden."""
        del plan
        return key

    def planned(self, state: State, planned: Planned) -> State:
        """After planning, for an agent that remembers what it planned; `keeps_q_values` asks for the Q values too."""
        del planned
        return state

    def observe(
        self, state: State, plan: Plan, problem: Problem, transition: Transition
    ) -> tuple[State, dict[str, Array]]:
        """One step of an episode: the state after it, and diagnostics (free unless recorded)."""
        del plan, problem, transition
        return state, {}

    def finish(self, state: State, plan: Plan, problem: Problem, episode: Int[Array, ""]) -> State:
        """The end of an episode."""
        del plan, problem, episode
        return state

    def report(self, state: State) -> dict[str, Array]:
        """Numbers on the run as a whole, by path, such as how often a solver failed; none unless overridden."""
        del state
        return {}


def traced(agent: Agent) -> Agent:
    """The agent with its numbers as arrays, so that other values do not compile another program."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, float) else leaf, agent)
