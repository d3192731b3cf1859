"""What UCRL-WVTR asks of a model class, at all moment levels at once.

A regression holds a weighted data set per level (`Data`, a pytree whose arrays end in the path axis) and
answers two questions about it: the estimate f̂ and the uncertainty D_F. Estimates may lag behind the data until
`fit` is called at the end of an episode; episodes read both at their start.
"""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int

from eluder.mdp import FiniteMDP

Data = Any
Point = Any
Planner = Any
Memory = Any


class Regression(eqx.Module):
    """Weighted value-targeted regression over a model class."""

    @abc.abstractmethod
    def init(self, levels: int, paths: int) -> Data:
        """The empty data set, f̂ = 0 (Algorithm 1, line 1)."""

    @abc.abstractmethod
    def planner(self, data: Data) -> Planner:
        """What planning reads of the data, made once per episode."""

    @abc.abstractmethod
    def everywhere(
        self, planner: Planner, values: Float[Array, "states paths"]
    ) -> tuple[Float[Array, "states actions paths"], Float[Array, "states actions paths"]]:
        """f̂(s, a, V) and D_F(s, a, V) at every pair, at moment level 0."""

    @abc.abstractmethod
    def point(
        self,
        state: Int[Array, " paths"],
        action: Int[Array, " paths"],
        values: Float[Array, "states paths"],
        levels: int,
    ) -> Point:
        """z_{k,h,m} = (s, a, V^(2^m)) at every level."""

    @abc.abstractmethod
    def predict(self, data: Data, at: Point) -> Float[Array, "levels paths"]:
        """f̂_m(z_m)."""

    @abc.abstractmethod
    def uncertainty(self, data: Data, at: Point) -> Float[Array, "levels paths"]:
        """D_F(z_m; D_m)."""

    @abc.abstractmethod
    def add(
        self,
        data: Data,
        at: Point,
        target: Float[Array, "levels paths"],
        variance: Float[Array, "levels paths"],
    ) -> Data:
        """The data set with (z_m, y_m) added at weight 1/σ̄²_m."""

    @abc.abstractmethod
    def fit(self, data: Data) -> Data:
        """The data set with its estimates brought up to date."""

    @property
    def one_thread(self) -> bool:
        """Whether its programs must not run in several threads at once on a CPU."""
        return False

    def check(self, mdp: FiniteMDP) -> None:
        """Raises when the parts of the regression do not fit together; nothing to check unless overridden."""
        del mdp

    def memory(self, paths: int) -> Memory:
        """What is carried along the steps of planning, at the horizon; nothing unless overridden."""
        del paths
        return None

    def everywhere_from(
        self, planner: Planner, values: Float[Array, "states paths"], memory: Memory
    ) -> tuple[Float[Array, "states actions paths"], Float[Array, "states actions paths"], Memory]:
        """`everywhere`, for methods that start from what the step of planning before has found."""
        return *self.everywhere(planner, values), memory

    def after_planning(self, data: Data, memory: Memory) -> Data:
        """The data set after an episode was planned; `memory` is that of the first step."""
        del memory
        return data

    def report(self, data: Data) -> dict[str, Array]:
        """Numbers on the run as a whole, by path: see `Agent.report`."""
        del data
        return {}
