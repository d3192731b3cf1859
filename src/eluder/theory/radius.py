"""The confidence radii of Theorem 1 and Theorem 2, with their ι."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int


def iota(
    steps: ArrayLike, *, log_covering: ArrayLike, delta: ArrayLike, weight: ArrayLike, sigma: ArrayLike = 1.0
) -> Float[Array, "..."]:
    """ι_t = 16·log(2 N t² (log(W²t/σ²) + 2)(log(W²/σ²) + 2) / δ) of Theorem 2, with L = 1.

    The proof applies Freedman's inequality with v = m = σ², so that σ² *divides* inside the logarithms; it is
    printed as a factor, which is the same at σ = 1, the value that Theorem 1 uses.

    **Arguments:**

    - `steps`: t, the number of data.
    - `log_covering`: log N_F(ε).
    - `weight`: W, a bound on the weights w: 1/σ_min in Theorem 1.
    - `sigma`: a bound on w·(standard deviation of the target).
    """
    steps = jnp.asarray(steps, dtype=float)
    ratio = (weight / sigma) ** 2
    # Freedman's inequality needs its range W² to be at least its floor σ²; a weight below σ counts as σ.
    peels = jnp.log(jnp.maximum(ratio * steps, 1.0)) + 2, jnp.log(jnp.maximum(ratio, 1.0)) + 2
    return 16 * jnp.asarray(log_covering + jnp.log(2 * steps**2 * peels[0] * peels[1] / delta))


def concentration_radius(
    steps: ArrayLike,
    *,
    log_covering: ArrayLike,
    delta: ArrayLike,
    weight: ArrayLike,
    sigma: ArrayLike,
    uncertainty: ArrayLike,
    ridge: ArrayLike,
    epsilon: ArrayLike,
    bound: ArrayLike = 1.0,
) -> Float[Array, "..."]:
    """β_{t+1} of Theorem 2 for targets in [0, L].

    **Arguments:** as for `iota`, and

    - `uncertainty`: max_s w_s²·D_F(X_s; X_[s−1], 1/w_[s−1]) over the data so far.
    - `ridge`: λ.
    - `epsilon`: the fineness of the net behind `log_covering`.
    - `bound`: L.
    """
    steps = jnp.asarray(steps, dtype=float)
    log_term = iota(steps, log_covering=log_covering, delta=delta, weight=weight * bound, sigma=sigma)
    return (
        3 * jnp.sqrt(log_term) * sigma
        + 2 * log_term * bound * uncertainty
        + jnp.sqrt(ridge)
        + jnp.sqrt(6 * bound * steps * epsilon) * weight
    )


def hoeffding_radius(
    steps: ArrayLike, *, log_covering: ArrayLike, delta: ArrayLike, epsilon: ArrayLike, bound: ArrayLike = 1.0
) -> Float[Array, "..."]:
    """The unweighted radius, which scales with the range L of the noise (Russo & Van Roy 2014, Proposition 6).

    β² = 8η²·log(N/δ) + 2tε(8L + √(8η²·log(4t²/δ))), where targets in [0, L] have η = L/2 sub-Gaussian noise.
    """
    steps = jnp.asarray(steps, dtype=float)
    noise = 8 * (bound / 2) ** 2
    rounding = 8 * bound + jnp.sqrt(noise * jnp.log(4 * steps**2 / delta))
    return jnp.sqrt(noise * (log_covering + jnp.log(1 / delta)) + 2 * steps * epsilon * rounding)


class Radius(eqx.Module):
    """k ↦ β̂_k of Theorem 1, to hand to an agent as its `beta`; JAX can trace it.

    Called, it returns √(β̂_k² + λ): the proof multiplies D by that and then drops the λ (errata 10).
    `confidence(k)` is β̂_k itself, the radius of the confidence sets.
    """

    horizon: float
    log_covering: float  # log N_F(ε)
    sigma_min: float
    gamma: float
    ridge: float  # λ of D_F
    epsilon: float
    delta: float

    def iota(self, episode: Int[ArrayLike, ""]) -> Float[Array, ""]:
        """ι_k = 16·log(2N k²H² (log(kH/σ²_min) + 2)(log(1/σ²_min) + 2) / δ)."""
        steps = jnp.asarray(episode, dtype=float) * self.horizon
        return iota(steps, log_covering=self.log_covering, delta=self.delta, weight=1 / self.sigma_min)

    def confidence(self, episode: Int[ArrayLike, ""]) -> Float[Array, ""]:
        """β̂_k = 3√ι_k + 2ι_k/γ² + √λ + √(6kHε/σ²_min), unsquared (errata 18)."""
        log_term = self.iota(episode)
        steps = jnp.asarray(episode, dtype=float) * self.horizon
        return (
            3 * jnp.sqrt(log_term)
            + 2 * log_term / self.gamma**2
            + jnp.sqrt(self.ridge)
            + jnp.sqrt(6 * steps * self.epsilon) / self.sigma_min
        )

    def __call__(self, episode: Int[ArrayLike, ""]) -> Float[Array, ""]:
        return jnp.sqrt(self.confidence(episode) ** 2 + self.ridge)
