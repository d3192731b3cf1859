"""Classes without closed forms: one method takes parameters to the chances of the successor slots.

A class F is the set {p_θ : ‖θ‖ ≤ bound} (or whatever set its oracle searches); with it comes the class of its
differences F − F, over which the uncertainty D_F is a supremum. Differences of most classes are again a class
of the same sort, so the oracle that solves one solves the other.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eluder import _validate as validate
from eluder.mdp import FiniteMDP
from eluder.models.base import Model, check_shapes, merge_slots
from eluder.regression import gram

if TYPE_CHECKING:
    from eluder.oracles import Oracle
    from eluder.regression import Regression
    from eluder.uncertainty import Uncertainty


# The weight of data that leave no doubt.
_CERTAIN = 1e8


class GeneralModel(Model):
    """A class of transition models p_θ. To bring your own, give `successors`, `bound`, `start` and `probabilities`."""

    successors: eqx.AbstractVar[Int[Array, "states actions slots"]]  # the state behind each slot
    bound: eqx.AbstractVar[float]  # B: the class holds the θ with ‖θ‖ ≤ B (errata 8)

    @abc.abstractmethod
    def probabilities(self, theta: Float[Array, " dim"]) -> Float[Array, "states actions slots"]:
        """p_θ(s, a): the chances of the slots of every pair."""

    @abc.abstractmethod
    def start(self) -> Float[Array, " dim"]:
        """The θ that stands for the class while there are no data."""

    @property
    def dim(self) -> int:
        """The number of parameters."""
        return jax.eval_shape(self.start).shape[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(states, actions, slots)."""
        states, actions, slots = self.successors.shape
        return states, actions, slots

    def possible(self) -> Float[Array, "states actions slots"]:
        """1 where the class may put mass, 0 where it never does; everywhere unless overridden."""
        return jnp.ones(self.shape)

    def slots_of(self, theta: Float[Array, " dim"]) -> Float[Array, "pairs slots"]:
        """p_θ with the pairs s·A + a on one axis."""
        states, actions, slots = self.shape
        return self.probabilities(theta).reshape(states * actions, slots)

    def differences(self) -> GeneralModel:
        """The class F − F."""
        return Differences(self)

    def supremum(self, pair: Int[Array, ""], at_slots: Float[Array, " slots"]) -> Float[Array, ""]:
        """A bound on |f(s, a, V)| over the class, u = V at the slots."""
        return jnp.max(jnp.abs(at_slots) * self.possible().reshape(-1, self.shape[2])[pair])

    def project(self, theta: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The closest parameters within the bound."""
        square = jnp.sum(theta**2)
        outside = square > self.bound**2
        # Chosen before the root is taken: its derivative at 0 is not finite.
        return theta * jnp.where(outside, self.bound / jnp.sqrt(jnp.where(outside, square, 1.0)), 1.0)

    def default_oracle(self) -> Oracle:
        """The oracle an agent uses unless it is given another."""
        from eluder.oracles import LevenbergMarquardt  # oracles build on this module

        return LevenbergMarquardt()

    def default_uncertainty(self) -> Uncertainty:
        """How an agent computes D_F unless told otherwise."""
        from eluder.uncertainty import Linearised  # as above

        return Linearised()

    def regression(
        self,
        ridge: float | Float[Array, ""],
        oracle: Oracle | None = None,
        uncertainty: Uncertainty | None = None,
    ) -> Regression:
        from eluder.regression.oracle import OracleRegression  # as above

        oracle = self.default_oracle() if oracle is None else oracle
        uncertainty = self.default_uncertainty() if uncertainty is None else uncertainty
        return OracleRegression(self, ridge, oracle, uncertainty)

    def misfit(self, mdp: FiniteMDP) -> float:
        """max |P − p_θ| at the θ that least squares on the true kernel itself finds."""
        check_shapes(self.shape[:2], mdp, type(self).__name__)
        self.check()
        fit = eqx.filter_jit(self._closest)(truth_as_data(mdp, self.successors))
        return distance(mdp, self.successors, np.asarray(fit))

    def _closest(self, moments: gram.PairMoments) -> Float[Array, "pairs slots"]:
        from eluder.oracles import LevenbergMarquardt  # as above

        # With weights this large, what the oracle adds to the loss does not show.
        oracle = LevenbergMarquardt(tolerance=1e-10, max_steps=1000)
        return self.slots_of(oracle.solve(self, _CERTAIN * moments, self.start()).theta)

    def check(self) -> None:
        """An error in one sentence if p_θ is no kernel at the start or at two random θ within the bound."""
        name = type(self).__name__
        start = validate.finite(self.start(), f"The start of {name}")
        if start.ndim != 1:
            raise ValueError(f"The start of {name} must be a vector of parameters, but has the shape {start.shape}.")
        rng = np.random.default_rng(0)
        scale = min(1.0, float(self.bound)) / np.sqrt(start.size)
        trials = [start, *(start + scale * rng.standard_normal((2, start.size)))]
        for theta in trials:
            probs = np.asarray(self.probabilities(self.project(jnp.asarray(theta))))
            if probs.shape != self.shape:
                raise ValueError(
                    f"{name}.probabilities must return the shape (states, actions, slots) = {self.shape}, "
                    f"but returns {probs.shape}."
                )
            if not np.all(np.isfinite(probs)):
                s, a, n = (int(i) for i in np.argwhere(~np.isfinite(probs))[0])
                raise ValueError(
                    f"{name} gives {probs[s, a, n]} as the chance of slot {n} of state {s} and action {a}: "
                    "its logits or probabilities must be finite numbers."
                )
            validate.distributions(np.maximum(probs, np.where(probs > -1e-12, 0.0, probs)), f"{name}.probabilities")


class Differences(GeneralModel):
    """F − F of any class, as pairs of parameters (θ₁, θ₂): p_θ₁ − p_θ₂."""

    base: GeneralModel
    successors: Int[Array, "states actions slots"]
    bound: float

    def __init__(self, base: GeneralModel):
        self.base = base
        self.successors = base.successors
        self.bound = base.bound

    def probabilities(self, theta: Float[Array, " twice_dim"]) -> Float[Array, "states actions slots"]:
        first, second = jnp.split(theta, 2)
        return self.base.probabilities(first) - self.base.probabilities(second)

    def start(self) -> Float[Array, " twice_dim"]:
        return jnp.concatenate([self.base.start()] * 2)

    def supremum(self, pair: Int[Array, ""], at_slots: Float[Array, " slots"]) -> Float[Array, ""]:
        """Two distributions differ by at most the range of u."""
        return value_range(self.base.possible().reshape(-1, self.shape[2])[pair], at_slots)

    def project(self, theta: Float[Array, " twice_dim"]) -> Float[Array, " twice_dim"]:
        return jnp.concatenate([self.base.project(half) for half in jnp.split(theta, 2)])


def positive(value: float, name: str) -> float:
    """A positive number, checked."""
    if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, but is {value!r}.")
    return float(value)


def value_range(possible: Float[Array, "slots ..."], at_slots: Float[Array, "slots ..."]) -> Float[Array, "..."]:
    """max u − min u over the slots that can happen."""
    high = jnp.max(jnp.where(possible > 0, at_slots, -jnp.inf), axis=0)
    low = jnp.min(jnp.where(possible > 0, at_slots, jnp.inf), axis=0)
    return high - low


def truth_as_data(mdp: FiniteMDP, successors: Int[Array, "states actions slots"]) -> gram.PairMoments:
    """Statistics whose loss is Σ (P_θ(s'|s, a) − P(s'|s, a))² over the states that the class can reach.

    They are those of the data set with one point for each (s, a, s'), V the indicator of s' and y = P(s'|s, a).
    """
    behind = np.asarray(successors)
    states, actions, slots = behind.shape
    true = np.take_along_axis(np.asarray(mdp.dense_kernel()), behind, axis=-1)
    same = behind[..., :, None] == behind[..., None, :]
    moments = np.zeros((states, actions, slots + 1, slots + 1))
    moments[..., :slots, :slots] = same
    moments[..., :slots, slots] = moments[..., slots, :slots] = true
    # Slots that lead to the same state count its probability once.
    first = ~np.any(same & np.tri(slots, k=-1, dtype=bool), axis=-1)
    moments[..., slots, slots] = (true**2 * first).sum(axis=-1)
    return jnp.asarray(moments.reshape(states * actions, slots + 1, slots + 1))


def distance(mdp: FiniteMDP, successors: Int[Array, "states actions slots"], kernel: np.ndarray) -> float:
    """max |P(s'|s, a) − P̂(s'|s, a)| for a kernel given by slots."""
    own = np.stack([kernel.reshape(np.shape(successors)), np.zeros(np.shape(successors))], axis=-1)
    true = np.stack([np.zeros(mdp.probs.shape), np.asarray(mdp.probs)], axis=-1)
    both = np.concatenate([successors, mdp.successors], axis=-1)
    _, rows = merge_slots(both, np.concatenate([own, true], axis=2), mdp.states)
    return float(np.abs(rows[:, 0] - rows[:, 1]).max())
