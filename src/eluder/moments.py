"""HOME, the high-order moment estimator (the paper's Algorithm 2)."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float


def variance_weights(
    mean: Float[Array, "levels paths"],
    at_start: Float[Array, "levels paths"],
    so_far: Float[Array, "levels paths"],
    *,
    beta: Float[ArrayLike, ""],
    sigma_min: Float[ArrayLike, ""],
    gamma: Float[ArrayLike, ""],
    error_weights: tuple[Float[ArrayLike, ""], Float[ArrayLike, ""]],
) -> tuple[Float[Array, "levels paths"], dict[str, Array]]:
    """σ̄²_m for every level m = 0 … M, and what it was made of.

    **Arguments:**

    - `mean`: f̂_{k,m}(z_{k,h,m}).
    - `at_start`: D_F(z_{k,h,m}; D_{k,m}), from the data up to the start of the episode.
    - `so_far`: D_F(z_{k,h,m}; D_{k,h−1,m}), which also counts this episode's earlier steps (errata 6).
    - `error_weights`: the factors on level m and on level m + 1 in the error bound: (2, 1) as in the proof,
      (1, 2) as printed (errata 4).
    """
    own, above = error_weights
    mean = jnp.clip(mean, 0, 1)  # a ridge estimate may leave the range of f (errata 9)
    radius = beta * at_start
    # Lines 2 and 3, for m = 0 … M − 1.
    variance = mean[1:] - mean[:-1] ** 2
    error = jnp.minimum(1, own * radius[:-1]) + jnp.minimum(1, above * radius[1:])
    # Lines 4 and 6; the variance of the highest power is bounded by 1.
    moment_term = jnp.concatenate([variance + error, jnp.ones_like(mean[:1])])
    floor = jnp.broadcast_to(jnp.asarray(sigma_min, dtype=mean.dtype) ** 2, mean.shape)
    uncertainty_term = gamma**2 * so_far
    terms = {"moment": moment_term, "floor": floor, "uncertainty": uncertainty_term}
    weights = jnp.maximum(jnp.maximum(moment_term, floor), uncertainty_term)
    return weights, {**terms, "variance": variance, "error": error}
