"""Weighted least squares and D_F in closed form, one rank-one update per data point.

With ridge λ the estimate and the uncertainty of a linear class are

    θ̂ = Σ⁻¹ Σ_i w_i y_i φ_i,     D(φ) = ‖φ‖_{Σ⁻¹},     Σ = λI + Σ_i w_i φ_i φ_iᵀ,     w = 1/σ̄².

What is stored is a root R with Σ⁻¹ = R Rᵀ, and the estimate in the root's coordinates: z with θ̂ = R z. A point
is then asked for through its whitened features alone, f = Rᵀφ: its prediction is ⟨z, f⟩, its uncertainty ‖f‖.
Potter's update of the root keeps D free of negative squares for ever, and loses half the digits to
ill-conditioning that an update of Σ⁻¹ itself would lose: weights reach 1/σ²_min = 10⁴ beside a ridge of 10⁻³. No
system is ever solved and a step costs O(d²), at episode 10 as at episode 10⁶.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder._arrays import dot, pick
from eluder.models.base import LinearModel
from eluder.regression.base import Regression


class Weighted(NamedTuple):
    """All that is kept of a weighted data set D_{k,m}, at every moment level m."""

    root: Float[Array, "blocks dim dim levels paths"]  # R, with Σ⁻¹ = R Rᵀ
    whitened: Float[Array, "blocks dim levels paths"]  # z, with θ̂ = R z

    @property
    def theta(self) -> Float[Array, "blocks dim levels paths"]:
        """The estimate θ̂ itself."""
        return dot(jnp.moveaxis(self.root, 2, 0), jnp.moveaxis(self.whitened, 1, 0)[:, :, None])


class Planner(NamedTuple):
    """Moment level 0 as a table over pairs (s, a); the pair axes have length 1 when all share one block."""

    root: Float[Array, "dim dim s a paths"]
    whitened: Float[Array, "dim s a paths"]


class Point(NamedTuple):
    """Where a model is asked or data are added: z_{k,h,m} = (s, a, V^(2^m)) for every level m."""

    features: Float[Array, "dim levels paths"]
    block: Int[Array, " paths"] | None  # None when there is one block


class LinearRegression(Regression):
    """Weighted ridge regression over a linear class, all moment levels at once."""

    model: LinearModel
    ridge: float | Float[Array, ""]

    def init(self, levels: int, paths: int) -> Weighted:
        """The empty data set."""
        blocks, dim = self.model.block_shape[0] * self.model.block_shape[1], self.model.dim
        root = jnp.eye(dim)[:, :, None, None] / jnp.sqrt(jnp.asarray(self.ridge, dtype=float))
        return Weighted(
            root=jnp.broadcast_to(root, (blocks, dim, dim, levels, paths)),
            whitened=jnp.zeros((blocks, dim, levels, paths)),
        )

    def planner(self, data: Weighted) -> Planner:
        """What planning reads of the data: moment level 0, laid out over pairs once per episode."""
        shape = self.model.block_shape
        return Planner(_by_pair(data.root[..., 0, :], shape), _by_pair(data.whitened[..., 0, :], shape))

    def everywhere(
        self, planner: Planner, values: Float[Array, "states paths"]
    ) -> tuple[Float[Array, "states actions paths"], Float[Array, "states actions paths"]]:
        """f̂(s, a, V) and D(s, a, V) at every pair, at moment level 0."""
        if jax.default_backend() == "gpu":
            from eluder.kernels import fused_sweep  # reads the features of a large mixture once

            if fused_sweep.fits(self.model, values):
                root, whitened = planner.root[:, :, 0, 0], planner.whitened[:, 0, 0]
                return fused_sweep.everywhere(self.model, root, whitened, values)
        white = dot(planner.root, self.model.embed(values)[:, None])
        return dot(planner.whitened, white), _norm(white)

    def point(
        self,
        state: Int[Array, " paths"],
        action: Int[Array, " paths"],
        values: Float[Array, "states paths"],
        levels: int,
    ) -> Point:
        """z_{k,h,m} at every level."""
        features = self.model.embed_at(state, action, values, levels)
        one_block = self.model.block_shape == (1, 1)
        return Point(features, None if one_block else state * self.model.block_shape[1] + action)

    def predict(self, data: Weighted, at: Point) -> Float[Array, "levels paths"]:
        """f̂_m(z_m) at every level."""
        return dot(_block(data.whitened, at), _whiten(data, at))

    def uncertainty(self, data: Weighted, at: Point) -> Float[Array, "levels paths"]:
        """D_F(z_m; D_m) at every level."""
        return _norm(_whiten(data, at))

    def add(
        self,
        data: Weighted,
        at: Point,
        target: Float[Array, "levels paths"],
        variance: Float[Array, "levels paths"],
    ) -> Weighted:
        """The data set with (z_m, y_m) added at weight 1/σ̄²_m."""
        root, estimate = _block(data.root, at), _block(data.whitened, at)
        white = dot(root, at.features[:, None])
        total = variance + dot(white, white)  # σ̄² + D²
        cross = jnp.sqrt(variance * total)
        shrink = 1 / (total + cross)
        # R ← R(I − κ f fᵀ), and z ← Rᵀ Σ_i w_i y_i φ_i with the new R and the new point.
        gain = dot(jnp.swapaxes(root, 0, 1), white[:, None])
        root = root - gain[:, None] * (white * shrink)[None]
        estimate = estimate + white * (target / cross - shrink * dot(estimate, white))
        return Weighted(_put(data.root, at, root), _put(data.whitened, at, estimate))

    def fit(self, data: Weighted) -> Weighted:
        return data  # `add` keeps the estimate up to date


def _whiten(data: Weighted, at: Point) -> Float[Array, "dim levels paths"]:
    """f = Rᵀφ."""
    return dot(_block(data.root, at), at.features[:, None])


def _norm(vector: Float[Array, "dim ..."]) -> Float[Array, "..."]:
    return jnp.sqrt(dot(vector, vector))


def _by_pair(table: Float[Array, "blocks ... paths"], shape: tuple[int, int]) -> Float[Array, "... s a paths"]:
    """Blocks as a table over pairs, after the parameter axes, so that it broadcasts with φ at every pair."""
    return jnp.moveaxis(table.reshape(*shape, *table.shape[1:]), (0, 1), (-3, -2))


def _block(table: Float[Array, "blocks ... paths"], at: Point) -> Float[Array, "... paths"]:
    return table[0] if at.block is None else pick(table, at.block)


def _put(
    table: Float[Array, "blocks ... paths"], at: Point, block: Float[Array, "... paths"]
) -> Float[Array, "blocks ... paths"]:
    if at.block is None:
        return block[None]
    paths = jnp.arange(table.shape[-1], dtype=at.block.dtype)
    by_path = jnp.moveaxis(block, -1, 0)
    return table.at[at.block, ..., paths].set(by_path, mode="promise_in_bounds", unique_indices=True)
