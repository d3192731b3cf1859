"""Weighted value-targeted regression over any class: Gram statistics, an oracle and a way to compute D_F.

The estimate is the oracle's minimiser over the class. Unlike the printed f̂ = 0, the first one is a member of the class
(its `start`): D_F bounds the distance between members, so optimism needs f̂ in F.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eluder._arrays import dot, look_up, pick, repeated_squares
from eluder.mdp import FiniteMDP
from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.oracles.base import CONVERGED, Oracle
from eluder.regression import gram
from eluder.regression.base import Regression
from eluder.uncertainty.base import Estimate, Setting, Uncertainty, Value


class Effort(NamedTuple):
    """What oracles were asked to do, by path."""

    calls: Int[Array, " paths"]
    failures: Int[Array, " paths"]  # calls that did not converge

    @classmethod
    def none(cls, paths: int) -> Effort:
        return cls(jnp.zeros(paths, dtype=jnp.int32), jnp.zeros(paths, dtype=jnp.int32))

    def plus(self, value: Value) -> Effort:
        """With the effort behind values of D, added up over all axes but that of paths."""
        axes = tuple(range(value.calls.ndim - 1))
        calls = jnp.sum(value.calls, axis=axes, dtype=jnp.int32)
        return Effort(self.calls + calls, self.failures + jnp.sum(value.failures, axis=axes, dtype=jnp.int32))


class Data(NamedTuple):
    """A weighted data set at every moment level, and what was made of it."""

    moments: gram.Moments
    estimate: Estimate  # of the data up to the start of the episode
    summary: Any  # what D_F needs, up to date
    effort: Effort


class Planner(NamedTuple):
    kernel: Float[Array, "slots states actions paths"]  # p̂ at moment level 0
    summary: Any


class Memory(NamedTuple):
    """What is carried along the steps of planning."""

    search: Any
    effort: Effort


class Point(NamedTuple):
    """z_{k,h,m} = (s, a, V^(2^m)) for every level m."""

    pair: Int[Array, " paths"]  # s·A + a
    at_slots: Float[Array, "slots levels paths"]  # V^(2^m) at the successors


class OracleRegression(Regression):
    """Regression over a class by an oracle, all moment levels at once."""

    model: GeneralModel
    ridge: float | Float[Array, ""]
    oracle: Oracle
    method: Uncertainty

    @property
    def _setting(self) -> Setting:
        return Setting(self.model, self.ridge)

    @property
    def one_thread(self) -> bool:
        """XLA's own thread pool, which matrix products in solvers use, deadlocks when two such programs share it."""
        return not isinstance(self.model, Mixture)

    def check(self, mdp: FiniteMDP) -> None:
        """Raises if the oracle or the uncertainty does not suit the class, before a long run finds out."""
        if not isinstance(self.oracle, Oracle):
            raise TypeError(f"oracle must be one of eluder.oracles, but is {type(self.oracle).__name__}.")
        if not isinstance(self.method, Uncertainty):
            raise TypeError(f"uncertainty must be one of eluder.uncertainty, but is {type(self.method).__name__}.")
        self.model.check()
        self.method.check(self.model)
        states, actions, slots = self.model.shape
        moments = gram.empty(states * actions, slots, 1, 1)[..., 0, 0]
        at_slots = jnp.linspace(0.0, 1.0, slots)
        trial = gram.with_point(moments, jnp.asarray(0), at_slots, jnp.asarray(0.5), jnp.asarray(1.0))
        name = type(self.oracle).__name__
        try:
            fit = self.oracle.solve(self.model, trial, self.model.start())
        except ImportError:
            raise
        except Exception as error:
            raise ValueError(
                f"The oracle {name} fails on {type(self.model).__name__} for {mdp.name!r}: {error}"
            ) from error
        if fit.theta.shape != (self.model.dim,):
            raise ValueError(
                f"The oracle {name} must return parameters of shape ({self.model.dim},), but returns {fit.theta.shape}."
            )

    def init(self, levels: int, paths: int) -> Data:
        """The empty data set, and the class's start as its estimate."""
        states, actions, slots = self.model.shape
        theta = self.model.start()
        kernel = self.model.slots_of(theta)
        moments = gram.empty(states * actions, slots, levels, paths)
        estimate = Estimate(_repeated(theta, levels, paths), _repeated(kernel, levels, paths))
        summary = self.method.summarise(self._setting, moments, estimate)
        return Data(moments, estimate, summary, Effort.none(paths))

    def planner(self, data: Data) -> Planner:
        states, actions, slots = self.model.shape
        kernel = jnp.moveaxis(data.estimate.kernel[:, :, 0], 0, 1).reshape(slots, states, actions, -1)
        level_0 = jax.tree.map(lambda leaf: leaf[..., 0, :], data.summary)
        return Planner(kernel, self.method.for_planning(self._setting, level_0))

    def everywhere(self, planner: Planner, values: Float[Array, "states paths"]):
        mean, uncertainty, _ = self.everywhere_from(planner, values, self.memory(values.shape[-1]))
        return mean, uncertainty

    def memory(self, paths: int) -> Memory:
        return Memory(self.method.memory(self._setting, paths), Effort.none(paths))

    def everywhere_from(self, planner: Planner, values: Float[Array, "states paths"], memory: Memory):
        at_slots = values[jnp.moveaxis(self.model.successors, 2, 0)]
        value, search = self.method.everywhere(self._setting, planner.summary, at_slots, memory.search)
        return dot(planner.kernel, at_slots), value.upper, Memory(search, memory.effort.plus(value))

    def after_planning(self, data: Data, memory: Memory) -> Data:
        effort = jax.tree.map(jnp.add, data.effort, memory.effort)
        return data._replace(effort=effort)

    def point(
        self,
        state: Int[Array, " paths"],
        action: Int[Array, " paths"],
        values: Float[Array, "states paths"],
        levels: int,
    ) -> Point:
        _, actions, slots = self.model.shape
        pair = state * actions + action
        successors = look_up(self.model.successors.reshape(-1, slots), pair)
        at_slots = jnp.take_along_axis(values, successors, axis=0, mode="promise_in_bounds")
        return Point(pair, repeated_squares(at_slots, levels))

    def predict(self, data: Data, at: Point) -> Float[Array, "levels paths"]:
        return dot(pick(data.estimate.kernel, at.pair), at.at_slots)

    def uncertainty(self, data: Data, at: Point) -> Float[Array, "levels paths"]:
        return self.value(data, at).upper

    def value(self, data: Data, at: Point) -> Value:
        """D_F(z_m; D_m) with all that is known of it: both ends, and what it cost."""
        return self.method.at(self._setting, data.summary, at.pair, at.at_slots)

    def add(
        self,
        data: Data,
        at: Point,
        target: Float[Array, "levels paths"],
        variance: Float[Array, "levels paths"],
    ) -> Data:
        weight = 1 / variance
        return data._replace(
            moments=gram.add(data.moments, at.pair, at.at_slots, target, weight),
            summary=self.method.add(self._setting, data.summary, at.pair, at.at_slots, weight),
        )

    def fit(self, data: Data) -> Data:
        """Algorithm 1, line 16: one oracle call per level, from the last estimate on; D_F's summary made afresh."""

        def one(moments, theta):
            fit = self.oracle.solve(self.model, moments, theta)
            return fit.theta, self.model.slots_of(fit.theta), (fit.code != CONVERGED).astype(jnp.int32)

        def one_path(arguments):
            moments, theta = arguments
            theta, kernel, failed = jax.vmap(one, in_axes=-1, out_axes=-1)(moments, theta)
            estimate = Estimate(theta, kernel)
            summary = self.method.summarise(self._setting, moments[..., None], _with_one_path(estimate))
            return estimate, jax.tree.map(lambda leaf: leaf[..., 0], summary), failed

        # Path by path: solvers' sums then do not depend on the batch, and no path waits for the slowest.
        by_path = jax.lax.map(one_path, jax.tree.map(_path_first, (data.moments, data.estimate.theta)))
        estimate, summary, failed = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), by_path)
        effort = Effort(
            data.effort.calls + np.int32(failed.shape[0]),
            data.effort.failures + jnp.sum(failed, axis=0, dtype=jnp.int32),
        )
        return Data(data.moments, estimate, summary, effort)

    def report(self, data: Data) -> dict[str, Array]:
        return {"oracle_calls": data.effort.calls, "oracle_failures": data.effort.failures}


def _path_first(leaf: Array) -> Array:
    return jnp.moveaxis(leaf, -1, 0)


def _with_one_path(tree: Estimate) -> Estimate:
    return jax.tree.map(lambda leaf: leaf[..., None], tree)


def _repeated(leaf: Array, levels: int, paths: int) -> Array:
    return jnp.broadcast_to(leaf[..., None, None], (*leaf.shape, levels, paths))
