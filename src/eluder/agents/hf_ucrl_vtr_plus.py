"""HF-UCRL-VTR+ (Zhou & Gu 2022): the horizon-free agent for linear mixtures that UCRL-WVTR generalises.

On a linear class the two are one algorithm, so this is UCRL-WVTR with the paper's constants:
M = log₂(7KH) moments, γ = d^(−1/4), λ = d/B², a floor ξ = √(d/(KH)) and the radius β_k below.
Totals of reward are at most 1.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder import _validate as validate
from eluder.agents._fields import checked_number
from eluder.agents._linear import dimension, linear, norm_bound
from eluder.agents.ucrl_wvtr import UCRLWVTR
from eluder.mdp import FiniteMDP
from eluder.models import LinearModel


class Radius(eqx.Module):
    """β_k = 12√(dητ) + 30τ/γ² + √λ·B, η = log(1 + kH/(ξ²dλ)), τ = log(32(log(γ²/ξ) + 1)k²H²/δ)."""

    dim: float
    horizon: float
    ridge: float
    floor: float
    gamma: float
    delta: float
    bound: float

    def __call__(self, k: Int[Array, ""]) -> Float[Array, ""]:
        eta = jnp.log1p(k * self.horizon / (self.floor**2 * self.dim * self.ridge))
        inner = jnp.maximum(jnp.log(self.gamma**2 / self.floor), 0)  # negative where few episodes make ξ large
        tau = jnp.log(32 * (inner + 1) * k**2 * self.horizon**2 / self.delta)
        root = 12 * jnp.sqrt(self.dim * eta * tau)
        return root + 30 * tau / self.gamma**2 + jnp.sqrt(self.ridge) * self.bound


class HFUCRLVTRPlus(UCRLWVTR):
    """HF-UCRL-VTR+ with the constants of its paper."""

    def __init__(
        self,
        model: LinearModel,
        horizon: int,
        episodes: float = 1000,
        delta: float = 0.1,
        multiplier: float = 1.0,
    ):
        """
        **Arguments:**

        - `model`: a linear class, e.g. `environment.linear_mixture()`.
        - `horizon`, `episodes`: H and K, which set ξ and the number of moments.
        - `delta`: δ, the chance with which the confidence sets may fail.
        - `multiplier`: the factor on β_k.
        """
        model = linear(model)
        horizon = validate.positive_integer(horizon, "horizon")
        episodes = checked_number("episodes", episodes, at_least=1.0)
        delta = checked_number("delta", delta, below=1.0)
        dim, bound, steps = dimension(model), norm_bound(model), float(horizon * episodes)
        ridge, floor, gamma = dim / bound**2, math.sqrt(dim / steps), dim**-0.25
        super().__init__(
            model,
            levels=math.ceil(math.log2(7 * steps)) - 1,  # m = 0 … M − 1
            ridge=ridge,
            sigma_min=floor,
            gamma=gamma,
            beta=Radius(float(dim), float(horizon), ridge, floor, gamma, float(delta), bound),
            multiplier=multiplier,
        )

    @property
    def label(self) -> str:
        return "HF-UCRL-VTR+"

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        horizon = int(self.beta.horizon)  # type: ignore[union-attr]
        if horizon != mdp.horizon:
            raise ValueError(f"This HF-UCRL-VTR+ is set for horizon {horizon}, but {mdp.name!r} has {mdp.horizon}.")
        return super().check(mdp, allow_misspecified=allow_misspecified)
