"""What it takes to compute the uncertainty of a class F,

    D_F(z; D)² = sup over g in F − F of   g(z)² / (Σ_i w_i g(z_i)² + λ),

from Gram statistics. A method condenses the statistics once an episode into a `Summary` of its own, adds the episode's
own points to that summary, and answers at one pair per path or at all pairs of every path. Arrays carry the
path axis last; those of a summary end in (levels, paths), or in (paths,) when planning reads moment level 0.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder._arrays import dot, look_up, pick
from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.regression import gram

Summary = Any
Memory = Any


class Value(NamedTuple):
    """D_F, by path (and pair, or level)."""

    upper: Float[Array, "..."]  # what the bonus, E and σ̄ use: never below D where the method has a guarantee
    raw: Float[Array, "..."]  # the ratio of a member of F − F that was found: never above D (errata 15)
    calls: Int[Array, "..."]  # of the oracle
    failures: Int[Array, "..."]  # of the oracle to converge


def exact(value: Float[Array, "..."]) -> Value:
    """A value that needed no oracle and no inflation."""
    none = jnp.zeros(value.shape, dtype=jnp.int32)
    return Value(value, value, none, none)


class Estimate(NamedTuple):
    """A regression's estimate, which some methods look around."""

    theta: Float[Array, "dim levels paths"]
    kernel: Float[Array, "pairs slots levels paths"]


class Uncertainty(eqx.Module):
    """A way to compute D_F."""

    @abc.abstractmethod
    def check(self, model: GeneralModel) -> None:
        """An error in one sentence if this method does not suit the class."""

    @abc.abstractmethod
    def summarise(self, problem: Setting, moments: gram.Moments, estimate: Estimate) -> Summary:
        """What the method needs of the data, at every level and path."""

    @abc.abstractmethod
    def add(
        self,
        problem: Setting,
        summary: Summary,
        pair: Int[Array, " paths"],
        at_slots: Float[Array, "slots levels paths"],
        weight: Float[Array, "levels paths"],
    ) -> Summary:
        """The summary with one more data point per level and path."""

    @abc.abstractmethod
    def at(
        self,
        problem: Setting,
        summary: Summary,
        pair: Int[Array, " paths"],
        at_slots: Float[Array, "slots levels paths"],
    ) -> Value:
        """D at one pair per path, at every level."""

    @abc.abstractmethod
    def everywhere(
        self, problem: Setting, summary: Summary, at_slots: Float[Array, "slots states actions paths"], memory: Memory
    ) -> tuple[Value, Memory]:
        """D at every pair, from what `for_planning` made; `memory` comes from the step of planning before."""

    def for_planning(self, problem: Setting, summary: Summary) -> Summary:
        """What `everywhere` reads, made once an episode of the summary of moment level 0; that itself by default."""
        del problem
        return summary

    def memory(self, problem: Setting, paths: int) -> Memory:
        """What is remembered along the steps of planning, to start the next search from; nothing unless overridden."""
        del problem, paths
        return None


class Setting(eqx.Module):
    """The class and λ: what D_F depends on beside the data."""

    model: GeneralModel
    ridge: float | Float[Array, ""]


class InCoordinates(Uncertainty):
    """Methods for classes (or their tangents) with f = ⟨θ, ψ(s, a, V)⟩, ψ = Φ(s, a)ᵀu.

    They differ in the `core` they keep of the Gram matrix G = Σ_i w_i ψ_i ψ_iᵀ, and in how D is read off it. Cores
    have short axes first; the axes after them broadcast with those of ψ.
    """

    @abc.abstractmethod
    def start(self, problem: Setting, gram_matrix: Float[Array, "dim dim ..."]) -> Any:
        """The core of a Gram matrix."""

    @abc.abstractmethod
    def grow(self, core: Any, psi: Float[Array, "dim ..."], weight: Float[Array, "..."]) -> Any:
        """The core with weight · ψψᵀ added to the Gram matrix."""

    @abc.abstractmethod
    def measure(self, problem: Setting, core: Any, psi: Float[Array, "dim ..."]) -> Value:
        """D at ψ."""

    def check(self, model: GeneralModel) -> None:
        if not isinstance(model, Mixture):
            raise TypeError(
                f"{type(self).__name__} is for classes that are linear in their parameters, which "
                f"{type(model).__name__} is not: use Linearised or OracleSearch."
            )

    def summarise(self, problem: Setting, moments: gram.Moments, estimate: Estimate):
        del estimate
        features = _mixture(problem).pair_features()
        return self.start(problem, gram.in_coordinates(moments, features)[:-1, :-1])

    def add(self, problem: Setting, summary, pair, at_slots, weight):
        return self.grow(summary, self._psi(problem, pair, at_slots), weight)

    def at(self, problem: Setting, summary, pair, at_slots) -> Value:
        return self.measure(problem, summary, self._psi(problem, pair, at_slots))

    def everywhere(self, problem: Setting, summary, at_slots, memory):
        features = jnp.moveaxis(_mixture(problem).features, (2, 3), (0, 1))[..., None]  # slots dim states actions 1
        psi = dot(features, at_slots[:, None])
        over_pairs = jax.tree.map(lambda leaf: leaf[..., None, None, :], summary)
        return self.measure(problem, over_pairs, psi), memory

    def _psi(self, problem: Setting, pair, at_slots: Float[Array, "slots levels paths"]):
        features = look_up(_mixture(problem).pair_features(), pair)  # slots dim paths
        return dot(features[:, :, None], at_slots[:, None])


def _mixture(problem: Setting) -> Mixture:
    assert isinstance(problem.model, Mixture)  # `check` has said so in words
    return problem.model


def at_pair(table: Float[Array, "pairs ... paths"], pair: Int[Array, " paths"]) -> Float[Array, "... paths"]:
    """A table's rows at one pair per path."""
    return pick(table, pair)
