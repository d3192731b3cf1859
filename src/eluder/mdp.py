"""Finite-horizon MDPs in successor-slot form, and their exact solutions.

A pair (s, a) lists the `N` states it can lead to, `successors[s, a, :]`, beside their chances,
`probs[s, a, :]`. N is small in every problem of the field, so this form lets the number of states grow
where a dense S × A × S kernel would not. Slots that are not needed carry probability zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate


class Solution(NamedTuple):
    """The exact optimum of an MDP, in the MDP's own reward units."""

    values: Float[Array, "horizon+1 states"]  # V*_h(s); the last row is zero
    q_values: Float[Array, "horizon states actions"]  # Q*_h(s, a)
    policy: Int[Array, "horizon states"]  # a maximiser of Q*_h(s, ·), the first one


class FiniteMDP(eqx.Module):
    """A time-homogeneous episodic MDP with known rewards.

    Build one with `FiniteMDP(...)` from successor slots, or with `FiniteMDP.from_dense` from an array
    `P[s, a, s']`. Rewards stay in the MDP's own units; `reward_scale` bounds the total reward of any
    trajectory, and agents see rewards divided by it (the paper assumes totals of at most 1, errata 1).
    """

    successors: Int[Array, "states actions slots"]
    probs: Float[Array, "states actions slots"]
    rewards: Float[Array, "steps states actions"]  # steps is 1 (stationary) or the horizon
    start: Float[Array, " states"]
    features: Float[Array, "states actions slots dim"] | None
    reward_scale: float
    reward_offset: float  # what was added to the reward of every step so that none is negative
    horizon: int = eqx.field(static=True)
    name: str = eqx.field(static=True)
    state_names: tuple[str, ...] | None = eqx.field(static=True)
    action_names: tuple[str, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        successors: ArrayLike,
        probs: ArrayLike,
        rewards: ArrayLike,
        *,
        horizon: int,
        start: ArrayLike | int = 0,
        reward_scale: float | None = None,
        features: ArrayLike | None = None,
        name: str = "mdp",
        reward_offset: float = 0.0,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ):
        """
        **Arguments:**

        - `successors`: whole numbers of shape (S, A, N), the states each pair can lead to.
        - `probs`: shape (S, A, N), their chances; each row sums to one.
        - `rewards`: shape (S, A), or (H, S, A) when they change with the step. Not negative.
        - `horizon`: the number of steps H of an episode.
        - `start`: the first state, or a distribution over states of shape (S,).
        - `reward_scale`: a bound on the total reward of any trajectory; H · max r by default.
        - `features`: shape (S, A, N, d): known features φ(s'|s, a) of a linear mixture, by slot.
        - `reward_offset`: what you added to the reward of every step to make it non-negative. It changes no
          regret; `original_value` takes it off again.
        - `state_names`, `action_names`: what pictures and tables call them; their numbers by default.
        """
        horizon = validate.positive_integer(horizon, "horizon")
        successors, probs = validate.kernel(successors, probs)
        states, actions, _ = successors.shape
        rewards = validate.rewards(rewards, horizon, states, actions)
        self.successors = jnp.asarray(successors, dtype=jnp.int32)
        self.probs = jnp.asarray(probs)
        self.rewards = jnp.asarray(rewards)
        self.start = jnp.asarray(validate.start(start, states))
        self.horizon = horizon
        self.features = None
        if features is not None:
            self.features = jnp.asarray(validate.slot_features(features, successors.shape))
        self.name = str(name)
        self.reward_scale = validate.reward_scale(reward_scale, successors, probs, rewards, horizon)
        self.reward_offset = float(validate.finite(reward_offset, "reward_offset"))
        self.state_names = validate.names(state_names, states, "state_names")
        self.action_names = validate.names(action_names, actions, "action_names")

    @classmethod
    def from_dense(
        cls,
        kernel: ArrayLike,
        rewards: ArrayLike,
        *,
        horizon: int,
        start: ArrayLike | int = 0,
        reward_scale: float | None = None,
        name: str = "mdp",
        **options: Any,
    ) -> FiniteMDP:
        """An MDP from a dense kernel `P[s, a, s']` of shape (S, A, S); `options` are those of `FiniteMDP`."""
        successors, probs = validate.slots_from_dense(kernel)
        options |= {"horizon": horizon, "start": start, "reward_scale": reward_scale, "name": name}
        return cls(successors, probs, rewards, **options)

    @property
    def states(self) -> int:
        """The number of states S."""
        return self.successors.shape[0]

    @property
    def actions(self) -> int:
        """The number of actions A."""
        return self.successors.shape[1]

    @property
    def slots(self) -> int:
        """The number of successor slots N of a pair (s, a)."""
        return self.successors.shape[2]

    def __repr__(self) -> str:
        return (
            f"FiniteMDP({self.name!r}, states={self.states}, actions={self.actions}, slots={self.slots}, "
            f"horizon={self.horizon}, reward_scale={self.reward_scale:g})"
        )

    def _repr_html_(self) -> str | None:
        """What a notebook shows: a table and the graph; the text above where figures cannot be drawn."""
        try:
            from eluder.report.jupyter import mdp_html
        except ModuleNotFoundError:
            return None
        return mdp_html(self)

    def dense_kernel(self) -> Float[np.ndarray, "states actions states"]:
        """P[s, a, s'] as a dense array, to look at or to hand to another library."""
        kernel = np.zeros((self.states, self.actions, self.states))
        s, a = np.indices((self.states, self.actions))[..., None]
        np.add.at(kernel, (s, a, np.asarray(self.successors)), np.asarray(self.probs))
        return kernel

    def normalised(self) -> FiniteMDP:
        """The same MDP with rewards divided by `reward_scale`: no trajectory collects more than 1."""
        scaled = (self.rewards / self.reward_scale, self.reward_offset / self.reward_scale, 1.0)
        return eqx.tree_at(lambda m: (m.rewards, m.reward_offset, m.reward_scale), self, scaled)

    def reward(self, step: Int[ArrayLike, ""]) -> Float[Array, "states actions"]:
        """r_h(s, a) at a step h counted from 0."""
        return self.rewards[jnp.minimum(step, self.rewards.shape[0] - 1)]

    def original_value(self, value: Float[ArrayLike, "..."], step: int = 0) -> Float[Array, "..."]:
        """A value V_h (h = `step`, counted from 0) in the units that rewards had before `reward_offset` was added."""
        return jnp.asarray(value) - self.reward_offset * (self.horizon - step)

    def linear_mixture(self, bound: float | None = None):
        """The linear-mixture model class over this environment's own features.

        `bound` is the class's bound on ‖θ‖; by default 1, or the norm of this environment's own θ where that is larger.
        """
        from eluder.models import LinearMixture  # models build on this module

        if self.features is None:
            raise ValueError(
                f"The environment {self.name!r} comes without linear-mixture features: pass features of shape "
                "(S, A, N, d) to FiniteMDP, or use eluder.models.Tabular(environment)."
            )
        model = LinearMixture(self.successors, self.features, 1.0 if bound is None else bound)
        if bound is None:
            norm = float(np.linalg.norm(model.fit(self)))
            model = LinearMixture(self.successors, self.features, max(1.0, norm * (1 + 1e-12)))
        return model

    def expectation(self, values: Float[ArrayLike, " states"]) -> Float[Array, "states actions"]:
        """`[ℙV](s, a)` = E[V(s') | s, a]."""
        return _expectation(self, jnp.asarray(validate.state_values(values, self.states)))

    def variance(self, values: Float[ArrayLike, " states"]) -> Float[Array, "states actions"]:
        """`[𝕍V](s, a)` = Var[V(s') | s, a]."""
        return _variance(self, jnp.asarray(validate.state_values(values, self.states)))

    def solve(self) -> Solution:
        """V*, Q* and an optimal policy, by backward induction."""
        return _solve(self)

    def evaluate(self, policy: ArrayLike) -> Float[Array, "horizon+1 states"]:
        """V^π_h(s) of a policy: whole numbers of shape (H, S), or action chances of shape (H, S, A)."""
        return _evaluate(self, self._action_chances(policy))

    def occupancy(self, policy: ArrayLike) -> Float[Array, "horizon states actions"]:
        """The chance that (s_h, a_h) = (s, a) under a policy given as in `evaluate`."""
        return _occupancy(self, self._action_chances(policy))

    def _action_chances(self, policy: ArrayLike) -> Float[Array, "horizon states actions"]:
        table = validate.policy(policy, self.horizon, self.states, self.actions)
        if table.ndim == 3:
            return jnp.asarray(table)
        return jax.nn.one_hot(jnp.asarray(table), self.actions, dtype=self.probs.dtype)


@eqx.filter_jit
def _expectation(mdp: FiniteMDP, values):
    return jnp.sum(mdp.probs * values[mdp.successors], axis=-1)


@eqx.filter_jit
def _variance(mdp: FiniteMDP, values):
    # Centred first: E[V²] − E[V]² would lose small variances to rounding.
    spread = values[mdp.successors] - _expectation(mdp, values)[..., None]
    return jnp.sum(mdp.probs * spread**2, axis=-1)


@eqx.filter_jit
def _solve(mdp: FiniteMDP) -> Solution:
    def backup(next_values, step):
        q_values = mdp.reward(step) + _expectation(mdp, next_values)
        values = jnp.max(q_values, axis=-1)
        return values, (values, q_values, jnp.argmax(q_values, axis=-1))

    last = jnp.zeros(mdp.states)
    _, (values, q_values, policy) = jax.lax.scan(backup, last, jnp.arange(mdp.horizon), reverse=True)
    return Solution(jnp.concatenate([values, last[None]]), q_values, policy)


@eqx.filter_jit
def _evaluate(mdp: FiniteMDP, chances):
    def backup(next_values, inputs):
        step, chance = inputs
        values = jnp.sum(chance * (mdp.reward(step) + _expectation(mdp, next_values)), axis=-1)
        return values, values

    last = jnp.zeros(mdp.states)
    _, values = jax.lax.scan(backup, last, (jnp.arange(mdp.horizon), chances), reverse=True)
    return jnp.concatenate([values, last[None]])


@eqx.filter_jit
def _occupancy(mdp: FiniteMDP, chances):
    def forward(at_state, chance):
        at_pair = at_state[:, None] * chance
        mass = at_pair[..., None] * mdp.probs
        return jnp.zeros(mdp.states).at[mdp.successors].add(mass), at_pair

    return jax.lax.scan(forward, mdp.start, chances)[1]


def optimal_return(mdp: FiniteMDP) -> float:
    """E[V*₁(s₁)] over the start distribution, in the MDP's own units."""
    return float(np.asarray(mdp.start) @ np.asarray(mdp.solve().values[0]))
