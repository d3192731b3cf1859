"""A primal-dual interior-point step for small convex programs, many at once (Mehrotra's predictor and corrector).

    minimise ½ xᵀH x − cᵀx   subject to   E x = f,  x ≥ 0

Short axes come first and all others broadcast, as in `eluder._arrays`. The number of steps hardly depends on how
badly H is conditioned (weights reach 10⁴ beside a ridge of 10⁻³), which is why it is used here rather than a projected
gradient method. Callers own the loop, since each has its own certificate of how close it is.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eluder._arrays import dot
from eluder._linalg import cholesky, cholesky_solve, multiply

# How far of the way to the boundary a step may go.
_TO_BOUNDARY = 0.99


class Iterate(NamedTuple):
    x: Float[Array, "n ..."]  # > 0
    slack: Float[Array, "n ..."]  # > 0: the multipliers of x ≥ 0
    multiplier: Float[Array, "k ..."]  # of E x = f


class Program(NamedTuple):
    hessian: Float[Array, "n n ..."]
    linear: Float[Array, "n ..."]
    sums: Float[np.ndarray, "k n"]  # E
    totals: Float[np.ndarray, " k"]  # f


def start(program: Program, x: Float[Array, "n ..."]) -> Iterate:
    """The first iterate at a positive x."""
    gradient = multiply(program.hessian, x) - program.linear
    largest = jnp.maximum(jnp.max(jnp.abs(gradient), axis=0), jnp.finfo(float).tiny)
    k = program.sums.shape[0]
    return Iterate(x, jnp.broadcast_to(largest, x.shape), jnp.zeros((k, *x.shape[1:])))


def step(program: Program, at: Iterate) -> Iterate:
    """One step. Where rounding ends all progress the result is not finite: callers keep the iterate before."""
    x, slack, multiplier = at
    n, trailing = x.shape[0], (1,) * (x.ndim - 1)
    sums = jnp.asarray(program.sums).reshape(*program.sums.shape, *trailing)  # E
    dual_residual = multiply(program.hessian, x) - program.linear - dot(sums, multiplier[:, None]) - slack
    primal_residual = multiply(sums, x) - program.totals.reshape(-1, *trailing)
    mu = dot(x, slack) / n
    identity = jnp.eye(n).reshape(n, n, *trailing)
    lower = cholesky(program.hessian + identity * (slack / x)[None])
    along = jnp.stack([cholesky_solve(lower, jnp.broadcast_to(row, x.shape)) for row in sums])  # K⁻¹Eᵀ, by rows
    schur = cholesky(jnp.stack([dot(row[:, None], along.swapaxes(0, 1)) for row in sums]))  # E K⁻¹ Eᵀ

    def direction(complementarity):
        free = cholesky_solve(lower, -dual_residual - complementarity / x)
        change = cholesky_solve(schur, -primal_residual - multiply(sums, free))
        dx = free + dot(along, change[:, None])
        return dx, -(complementarity + slack * dx) / x, change

    dx, ds, _ = direction(x * slack)
    reached = dot(x + _longest(x, dx) * dx, slack + _longest(slack, ds) * ds) / n
    centring = (reached / mu) ** 3
    dx, ds, change = direction(x * slack + dx * ds - centring * mu)
    length = jnp.minimum(1.0, _TO_BOUNDARY * jnp.minimum(_longest(x, dx), _longest(slack, ds)))
    return Iterate(x + length * dx, slack + length * ds, multiplier + length * change)


def is_finite(at: Iterate) -> Array:
    """Whether an iterate is usable, by problem."""
    return jnp.all(jnp.isfinite(at.x) & (at.x > 0) & jnp.isfinite(at.slack) & (at.slack > 0), axis=0)


def _longest(position: Float[Array, "n ..."], move: Float[Array, "n ..."]) -> Float[Array, "..."]:
    """The longest step of at most 1 that keeps a position non-negative."""
    shrinking = move < 0
    ratio = jnp.where(shrinking, -position / jnp.where(shrinking, move, -1.0), 1.0)
    return jnp.minimum(1.0, jnp.min(ratio, axis=0))
