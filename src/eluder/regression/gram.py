"""Weighted Gram statistics: all that any class of transition models needs of its data.

A model gives p(s, a), the chances of the successor slots of (s, a), and f(s, a, V) = ⟨p(s, a), u⟩ with u = V at the
successors is *linear in p*, whatever the class. So for data (s_i, a_i, u_i, y_i) with weights w_i

    Σ_i w_i (f(z_i) − y_i)²  =  Σ_{s,a} qᵀ B q   with   q = (p(s, a), −1),   B = Σ_i w_i (u_i, y_i)(u_i, y_i)ᵀ at (s, a)

and Σ_i w_i g(z_i)² is the same sum with q = (Δp, 0) for a difference g of two members. One (N + 1) × (N + 1) matrix B
per pair and moment level replaces the history: nothing is approximated, a step costs O(N²), and neither time nor memory
grows with the number of episodes.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder._arrays import pick

Moments = Float[Array, "pairs slots+1 slots+1 levels paths"]
PairMoments = Float[Array, "pairs slots+1 slots+1"]  # one level of one path


def empty(pairs: int, slots: int, levels: int, paths: int) -> Moments:
    """The statistics of no data."""
    return jnp.zeros((pairs, slots + 1, slots + 1, levels, paths))


def add(
    moments: Moments,
    pair: Int[Array, " paths"],
    at_slots: Float[Array, "slots levels paths"],
    target: Float[Array, "levels paths"],
    weight: Float[Array, "levels paths"],
) -> Moments:
    """One more data point per path and level, at the pair s·A + a: u `at_slots` and its target y."""
    row = jnp.concatenate([at_slots, target[None]])
    block = pick(moments, pair) + row[:, None] * (row * weight)[None]
    paths = jnp.arange(moments.shape[-1], dtype=pair.dtype)
    by_path = jnp.moveaxis(block, -1, 0)
    return moments.at[pair, ..., paths].set(by_path, mode="promise_in_bounds", unique_indices=True)


def loss(moments: PairMoments, kernel: Float[Array, "pairs slots"]) -> Float[Array, ""]:
    """Σ_i w_i (f(z_i) − y_i)² of a kernel p."""
    return _sum_of_squares(moments, _against_targets(kernel))


def spread(moments: PairMoments, difference: Float[Array, "pairs slots"]) -> Float[Array, ""]:
    """Σ_i w_i g(z_i)² of a difference of kernels."""
    return _sum_of_squares(moments[:, :-1, :-1], difference)


def with_point(
    moments: PairMoments,
    pair: Int[Array, ""],
    at_slots: Float[Array, " slots"],
    target: Float[Array, ""],
    weight: Float[Array, ""],
) -> PairMoments:
    """One more data point, for one level of one path."""
    row = jnp.append(at_slots, target)
    here = (jnp.arange(moments.shape[0]) == pair)[:, None, None]
    return moments + jnp.where(here, weight * row[:, None] * row[None], 0.0)


def residuals(
    moments: PairMoments, kernel: Float[Array, "pairs slots"], roots: Float[Array, "pairs n n"] | None = None
):
    """Numbers whose squares sum to the loss, for solvers that ask for residuals; `roots` as from `square_roots`."""
    roots = square_roots(moments) if roots is None else roots
    return jnp.sum(roots * _against_targets(kernel)[:, :, None], axis=1)


def square_roots(moments: PairMoments) -> Float[Array, "pairs slots+1 slots+1"]:
    """R with B = R Rᵀ for each pair; B is often singular, so by its eigenvalues."""
    eigenvalues, vectors = jnp.linalg.eigh(moments)
    return vectors * jnp.sqrt(jnp.maximum(eigenvalues, 0.0))[:, None, :]


def in_coordinates(
    moments: Float[Array, "pairs slots+1 slots+1 *batch"], features: Float[Array, "pairs slots dim"]
) -> Float[Array, "dim+1 dim+1 *batch"]:
    """The statistics of a class p(s, a) = Φ(s, a) θ in its own coordinates: Σ_{s,a} Φ̃ᵀBΦ̃ with Φ̃ = diag(Φ, 1)."""
    pairs, slots, dim = features.shape
    bordered = jnp.zeros((pairs, slots + 1, dim + 1)).at[:, :slots, :dim].set(features).at[:, slots, dim].set(1.0)
    bordered = bordered.reshape(*bordered.shape, *(1,) * (moments.ndim - 3))
    # Sums over slots, then over pairs: fixed orders of addition, and no large intermediate.
    half = jnp.sum(bordered[:, :, :, None] * moments[:, :, None], axis=1)  # Φ̃ᵀB: pairs dim+1 slots+1
    return jnp.sum(half[:, :, :, None] * bordered[:, None], axis=(0, 2))


def _against_targets(kernel: Float[Array, "pairs slots"]) -> Float[Array, "pairs slots+1"]:
    return jnp.concatenate([kernel, -jnp.ones_like(kernel[:, :1])], axis=1)


def _sum_of_squares(moments: Float[Array, "pairs n n"], q: Float[Array, "pairs n"]) -> Float[Array, ""]:
    return jnp.sum(moments * q[:, :, None] * q[:, None, :])
