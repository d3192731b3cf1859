"""What tabular agents share: counts n(s, a) and n(s, a, s'), and the empirical kernel P̂ with its moments.

Outcomes of a pair are all states, or the known successors of the pair (`Support`), which is what lets S grow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eluder._arrays import look_up
from eluder.agents.base import Agent, Problem, Transition
from eluder.mdp import FiniteMDP


class Support(eqx.Module):
    """Which states may follow each pair, when that is known."""

    successors: Int[Array, "outcomes states actions"]  # distinct; unused slots repeat the first
    possible: Float[Array, "outcomes states actions 1"]  # 1 where a slot is used

    def __init__(self, environment: FiniteMDP):
        dense = np.asarray(environment.dense_kernel()) > 0
        outcomes = int(dense.sum(axis=-1).max())
        order = np.argsort(~dense, axis=-1, kind="stable")[..., :outcomes]
        used = np.take_along_axis(dense, order, axis=-1)
        order = np.where(used, order, order[..., :1])
        self.successors = jnp.asarray(np.moveaxis(order, -1, 0), dtype=jnp.int32)
        self.possible = jnp.asarray(np.moveaxis(used, -1, 0)[..., None], dtype=float)


class Counts(NamedTuple):
    """All that a tabular agent keeps of its data."""

    visits: Float[Array, "states actions paths"]  # n(s, a)
    outcomes: Float[Array, "outcomes states actions paths"]  # n(s, a, s')


class Estimate(NamedTuple):
    """The empirical model, frozen for an episode."""

    visits: Float[Array, "states actions paths"]
    kernel: Float[Array, "outcomes states actions paths"]  # P̂(s'|s, a); zero where n = 0
    episode: Int[Array, ""]  # k, counted from 0

    @property
    def n(self) -> Float[Array, "states actions paths"]:
        """n(s, a), at least 1 so that it can be divided by."""
        return jnp.maximum(self.visits, 1)


class CountingAgent(Agent):
    """A tabular agent. A subclass gives `backup`, and what else it keeps beside the counts."""

    support: Support | None = eqx.field(default=None, kw_only=True)

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        del allow_misspecified
        if self.support is not None and not _covers(self.support, mdp):
            raise ValueError(
                f"This agent's support belongs to another problem than {mdp.name!r}: pass Support({mdp.name!r})."
            )
        return 0.0

    def init(self, problem: Problem, paths: int) -> Any:
        return self.no_counts(problem, paths)

    def no_counts(self, problem: Problem, paths: int) -> Counts:
        pairs = (problem.states, problem.actions, paths)
        outcomes = problem.states if self.support is None else self.support.successors.shape[0]
        return Counts(jnp.zeros(pairs), jnp.zeros((outcomes, *pairs)))

    def begin(self, state, problem: Problem, episode, keys) -> Any:
        del problem, keys
        return self.estimate(state, episode)

    def estimate(self, counts: Counts, episode: Int[Array, ""]) -> Estimate:
        return Estimate(counts.visits, counts.outcomes / jnp.maximum(counts.visits, 1), episode)

    def observe(self, state, plan, problem: Problem, transition: Transition) -> tuple[Any, dict[str, Array]]:
        del plan, problem
        return self.count(state, transition), {}

    def count(self, counts: Counts, transition: Transition) -> Counts:
        """The counts with one more transition on every path."""
        _, s, a, _, outcome, _ = transition
        if self.support is not None:
            pair = s * counts.visits.shape[1] + a
            successors = look_up(self.support.successors.reshape(len(self.support.successors), -1).T, pair)
            outcome = jnp.argmax(successors == outcome, axis=0).astype(jnp.int32)
        path = jnp.arange(s.shape[0], dtype=jnp.int32)
        once = {"mode": "promise_in_bounds", "unique_indices": True}
        return Counts(
            counts.visits.at[s, a, path].add(1.0, **once),
            counts.outcomes.at[outcome, s, a, path].add(1.0, **once),
        )

    def at_outcomes(self, values: Float[Array, "states paths"]) -> Float[Array, "outcomes #states #actions paths"]:
        """V(s') for each outcome of each pair."""
        return values[:, None, None] if self.support is None else values[self.support.successors]

    def mean(self, estimate: Estimate, values: Float[Array, "states paths"]) -> Float[Array, "states actions paths"]:
        """[P̂V](s, a)."""
        return expect(estimate.kernel, self.at_outcomes(values))

    def moments(
        self, estimate: Estimate, values: Float[Array, "states paths"]
    ) -> tuple[Float[Array, "states actions paths"], Float[Array, "states actions paths"]]:
        """[P̂V](s, a) and Var_P̂(V)(s, a)."""
        at_outcomes = self.at_outcomes(values)
        mean = expect(estimate.kernel, at_outcomes)
        # Centred first: P̂V² − (P̂V)² would lose small variances to rounding.
        return mean, expect(estimate.kernel, at_outcomes, less=mean)


def expect(
    kernel: Float[Array, "outcomes states actions paths"],
    values: Float[Array, "outcomes #states #actions paths"],
    less: Float[Array, "states actions paths"] | None = None,
) -> Float[Array, "states actions paths"]:
    """Σ_y p(y)·V(y) at every pair, or Σ_y p(y)·(V(y) − m)² for a given m.

    Written as a loop and not as one expression: the compiler would compute that anew for each of its readers.
    """

    def term(y):
        return kernel[y] * (values[y] if less is None else (values[y] - less) ** 2)

    return jax.lax.fori_loop(1, len(kernel), lambda y, total: total + term(y), term(0))


def steps_in_total(problem: Problem, episodes: Float[Array, ""] | float) -> Float[Array, ""]:
    """T = KH."""
    return episodes * problem.horizon.astype(float)


def _covers(support: Support, mdp: FiniteMDP) -> bool:
    own = support.successors.shape[1:]
    if own != (mdp.states, mdp.actions):
        return False
    dense = np.zeros((mdp.states, mdp.actions, mdp.states), dtype=bool)
    s, a = np.indices(own)
    np.logical_or.at(dense, (s, a, np.asarray(support.successors)), np.asarray(support.possible[..., 0]) > 0)
    return bool(np.all(dense | (np.asarray(mdp.dense_kernel()) == 0)))
