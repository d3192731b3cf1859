"""What the methods that call an oracle share: which problems to pose, in which batches, and how calls are counted."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.oracles.base import CONVERGED, Oracle
from eluder.regression import gram
from eluder.uncertainty.base import Estimate, Setting, Uncertainty, Value


class Question(NamedTuple):
    """D at one point z = (s, a, V), given one data set."""

    differences: GeneralModel  # F − F
    moments: gram.PairMoments  # of the data, with targets 0
    pair: Int[Array, ""]
    at_slots: Float[Array, " slots"]  # u = V at the successors
    largest: Float[Array, ""]  # s: a bound on |g(z)| over F − F
    ridge: Float[Array, ""]  # λ


class Member(NamedTuple):
    """A g in F − F, as the oracle found it."""

    theta: Float[Array, " dim"]
    value: Float[Array, ""]  # g(z) ≥ 0
    spread: Float[Array, ""]  # ρ = Σ_i w_i g(z_i)²
    failed: Int[Array, ""]  # 1 if the oracle did not converge

    def ratio(self, ridge: Float[Array, ""]) -> Float[Array, ""]:
        """g(z)/√(ρ + λ): never above D, whatever g is (errata 13)."""
        return self.value / jnp.sqrt(self.spread + ridge)


class Found(NamedTuple):
    upper: Float[Array, ""]
    raw: Float[Array, ""]
    calls: Int[Array, ""]
    failures: Int[Array, ""]
    memory: Any  # where the next search may start


def ask(oracle: Oracle, question: Question, weight: Float[Array, ""], start: Float[Array, " dim"]) -> Member:
    """argmin over g in F − F of Σ_i w_i g(z_i)² + weight · (g(z) − T)², with T = 2s outside the range (errata 14)."""
    moments = gram.with_point(question.moments, question.pair, question.at_slots, 2 * question.largest, weight)
    fit = oracle.solve(question.differences, moments, start)
    kernel = question.differences.slots_of(fit.theta)
    value = jnp.sum(kernel[question.pair] * question.at_slots)
    spread = jnp.maximum(gram.spread(question.moments, kernel), 0.0)
    return Member(fit.theta, jnp.maximum(value, 0.0), spread, (fit.code != CONVERGED).astype(jnp.int32))


class Search(Uncertainty):
    """Computes D by oracle calls alone. Mixtures are asked in their own coordinates, where statistics are d × d."""

    oracle: eqx.AbstractVar[Oracle | None]  # None: the class's own

    @abc.abstractmethod
    def search(self, oracle: Oracle, question: Question, memory: Any) -> Found:
        """D at one point."""

    @abc.abstractmethod
    def first_memory(self, differences: GeneralModel) -> Any:
        """The memory of a search that nothing went before."""

    def check(self, model: GeneralModel) -> None:
        """Suits every class; its guarantee needs a convex one."""

    def summarise(self, problem: Setting, moments: gram.Moments, estimate: Estimate) -> gram.Moments:
        del estimate
        if isinstance(problem.model, Mixture):
            moments = gram.in_coordinates(moments, problem.model.pair_features())[None]
        # Data of F − F have targets 0.
        return moments.at[:, -1].set(0.0).at[:, :, -1].set(0.0)

    def add(self, problem: Setting, summary: gram.Moments, pair, at_slots, weight) -> gram.Moments:
        pair, at_slots = _in_coordinates(problem, pair, at_slots)
        return gram.add(summary, pair, at_slots, jnp.zeros(at_slots.shape[1:]), weight)

    def at(self, problem: Setting, summary: gram.Moments, pair, at_slots) -> Value:
        pair, at_slots = _in_coordinates(problem, pair, at_slots)
        answer = self._answer(problem)
        over_levels = jax.vmap(lambda m, p, u: answer(m, p, u, None), in_axes=(-1, None, -1), out_axes=-1)
        found = jax.vmap(over_levels, in_axes=-1, out_axes=-1)(summary, pair, at_slots)
        return Value(found.upper, found.raw, found.calls, found.failures)

    def everywhere(self, problem: Setting, summary, at_slots, memory):
        slots, states, actions, paths = at_slots.shape
        pairs = jnp.arange(states * actions, dtype=jnp.int32)
        by_pair = at_slots.reshape(slots, states * actions, paths)

        def one_path(moments, at_slots, memory):
            pair, at_slots = _in_coordinates(problem, pairs, at_slots[:, None])
            return jax.vmap(self._answer(problem), in_axes=(None, 0, -1, -1), out_axes=-1)(
                moments, pair, at_slots[:, 0], memory
            )

        found = jax.vmap(one_path, in_axes=-1, out_axes=-1)(summary, by_pair, memory)
        value = Value(found.upper, found.raw, found.calls, found.failures)
        return jax.tree.map(lambda leaf: leaf.reshape(states, actions, paths), value), found.memory

    def memory(self, problem: Setting, paths: int):
        states, actions, _ = problem.model.shape
        first = self.first_memory(_asked(problem).differences())
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf[..., None, None], (*leaf.shape, states * actions, paths)), first
        )

    def _answer(self, problem: Setting):
        oracle = problem.model.default_oracle() if self.oracle is None else self.oracle
        differences = _asked(problem).differences()

        def answer(moments, pair, at_slots, memory):
            memory = self.first_memory(differences) if memory is None else memory
            largest = differences.supremum(pair, at_slots)
            ridge = jnp.asarray(problem.ridge, dtype=float)
            return self.search(oracle, Question(differences, moments, pair, at_slots, largest, ridge), memory)

        return answer


def _asked(problem: Setting) -> GeneralModel:
    model = problem.model
    return model.in_coordinates() if isinstance(model, Mixture) else model


def _in_coordinates(problem: Setting, pair: Int[Array, " paths"], at_slots: Float[Array, "slots levels paths"]):
    """A point as the summary has it: ψ at the one pair of a mixture in its coordinates."""
    if not isinstance(problem.model, Mixture):
        return pair, at_slots
    features = jnp.moveaxis(problem.model.pair_features()[pair], 0, -1)  # slots dim paths
    return jnp.zeros_like(pair), jnp.sum(features[:, :, None] * at_slots[:, None], axis=0)
