"""Small-array arithmetic with the path axis last.

Everything that differs between paths carries its path axis *last*. The axes in front of it (features,
levels, slots) are short, so sums over them are written out: the compiler then sees one long elementwise loop
over paths, which it vectorises, and a path's numbers do not depend on how many run beside it.
"""

from __future__ import annotations

import functools
import operator

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

# Longer sums than this are left to a reduction: unrolled, they would only slow the compiler down.
_UNROLL = 16


def dot(x: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "..."]:
    """Σ_i x[i] · y[i] over the first axis; the other axes broadcast."""
    if x.shape[0] > _UNROLL:
        return jnp.sum(x * y, axis=0)
    return functools.reduce(operator.add, (x[i] * y[i] for i in range(x.shape[0])))


def pick(table: Array, index: Int[Array, " paths"]) -> Array:
    """table[index[p], ..., p] for each path p, of a table with axes (rows, ..., paths)."""
    index = index.reshape((1,) * (table.ndim - 1) + index.shape)
    return jnp.take_along_axis(table, index, axis=0, mode="promise_in_bounds")[0]


def look_up(table: Array, index: Int[Array, " paths"]) -> Array:
    """table[index[p], ...] for each path p, with the path axis moved last; the table is shared by all paths."""
    return jnp.moveaxis(table.at[index].get(mode="promise_in_bounds"), 0, -1)


def repeated_squares(values: Float[Array, "*axes paths"], count: int) -> Float[Array, "*axes count paths"]:
    """values^(2^m) for m = 0 … count − 1, on a new axis before the paths."""
    powers = [values]
    for _ in range(count - 1):
        powers.append(powers[-1] * powers[-1])
    return jnp.stack(powers, axis=-2)


def set_row(table: Array, index: Int[Array, ""], row: Array) -> Array:
    """The table with table[index] = row, for an index known to be in range: no check is compiled."""
    return jax.lax.dynamic_update_index_in_dim(table, row, index, axis=0)
