"""Small positive definite systems, many at once: short axes first, all other axes broadcast.

Written out, a factorisation of a few rows is one elementwise program over the batch (see `eluder._arrays`); larger ones
go to LAPACK, matrix by matrix. Either way a path's numbers do not depend on what runs beside it.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from eluder._arrays import dot

# Up to this many rows are written out.
_UNROLL = 8


def cholesky(matrix: Float[Array, "n n ..."]) -> Float[Array, "n n ..."]:
    """The lower triangular L with L Lᵀ = matrix."""
    n = matrix.shape[0]
    if n > _UNROLL:
        return jnp.moveaxis(jnp.linalg.cholesky(jnp.moveaxis(matrix, (0, 1), (-2, -1))), (-2, -1), (0, 1))
    zero = jnp.zeros(matrix.shape[2:])
    lower = [[zero] * n for _ in range(n)]
    for j in range(n):
        pivot = matrix[j, j] - sum((lower[j][k] ** 2 for k in range(j)), zero)
        lower[j][j] = jnp.sqrt(pivot)
        for i in range(j + 1, n):
            below = matrix[i, j] - sum((lower[i][k] * lower[j][k] for k in range(j)), zero)
            lower[i][j] = below / lower[j][j]
    return jnp.stack([jnp.stack(row) for row in lower])


def solve_lower(lower: Float[Array, "n n ..."], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """x with L x = right."""
    n = lower.shape[0]
    if n > _UNROLL:
        return _solve_large(lower, right, transposed=False)
    x: list[Array] = []
    for i in range(n):
        known = sum((lower[i, k] * x[k] for k in range(i)), jnp.zeros(()))
        x.append((right[i] - known) / lower[i, i])
    return jnp.stack(x)


def solve_upper(lower: Float[Array, "n n ..."], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """x with Lᵀ x = right."""
    n = lower.shape[0]
    if n > _UNROLL:
        return _solve_large(lower, right, transposed=True)
    x = [jnp.zeros(())] * n
    for i in reversed(range(n)):
        known = sum((lower[k, i] * x[k] for k in range(i + 1, n)), jnp.zeros(()))
        x[i] = (right[i] - known) / lower[i, i]
    return jnp.stack(x)


def cholesky_solve(lower: Float[Array, "n n ..."], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """x with L Lᵀ x = right."""
    return solve_upper(lower, solve_lower(lower, right))


def inverse_root(matrix: Float[Array, "n n ..."]) -> Float[Array, "n n ..."]:
    """R with R Rᵀ = matrix⁻¹ (R = L⁻ᵀ)."""
    n = matrix.shape[0]
    lower = cholesky(matrix)
    if n > _UNROLL:
        lower = jnp.moveaxis(lower, (0, 1), (-2, -1))
        identity = jnp.broadcast_to(jnp.eye(n), lower.shape)
        return jnp.moveaxis(solve_triangular(lower, identity, trans=1, lower=True), (-2, -1), (0, 1))
    identity = jnp.eye(n).reshape(n, n, *(1,) * (matrix.ndim - 2))
    columns = [solve_upper(lower, jnp.broadcast_to(identity[:, j], matrix.shape[1:])) for j in range(n)]
    return jnp.stack(columns, axis=1)


def quadratic(matrix: Float[Array, "n n ..."], x: Float[Array, "n ..."]) -> Float[Array, "..."]:
    """xᵀ M x."""
    return dot(x, multiply(matrix, x))


def multiply(matrix: Float[Array, "n m ..."], x: Float[Array, "m ..."]) -> Float[Array, "n ..."]:
    """M x."""
    return dot(jnp.swapaxes(matrix, 0, 1), x[:, None])


def _solve_large(lower, right, *, transposed: bool):
    shape = jnp.broadcast_shapes(lower.shape[1:], right.shape)
    lower = jnp.moveaxis(jnp.broadcast_to(lower, (shape[0], *shape)), (0, 1), (-2, -1))
    right = jnp.moveaxis(jnp.broadcast_to(right, shape), 0, -1)[..., None]
    x = solve_triangular(lower, right, trans=1 if transposed else 0, lower=True)
    return jnp.moveaxis(x[..., 0], -1, 0)
