"""Theorem 1's setting of all hyper-parameters, by fixed point (errata 12)."""

from __future__ import annotations

import math
from typing import NamedTuple

from eluder import _validate as validate
from eluder.agents import UCRLWVTR
from eluder.models import LinearModel, Model
from eluder.theory.covering import log_covering
from eluder.theory.dimension import eluder_bound
from eluder.theory.geometry import Geometry, geometry
from eluder.theory.radius import Radius

_ROUNDS = 500
_TOLERANCE = 1e-12


class Parameters(NamedTuple):
    """The theorem's parameters for one class, K, H and δ, and the complexities they rest on."""

    levels: int  # M = ⌈log₂(3KH)⌉
    ridge: float  # λ = log N
    sigma_min: float  # σ²_min = √(dim·log N)/(KH)
    gamma: float  # γ² = √log N
    epsilon: float  # ε = log N·σ²_min/(KH)
    log_covering: float  # log N_F(ε)
    dimension: float  # the bound on dim_F(σ_min, KH)
    radius: Radius
    geometry: Geometry
    episodes: int
    horizon: int
    delta: float
    residual: float  # how far one more round of the fixed point would move log N or σ²_min, relatively
    rounds: int

    @property
    def norm_ridge(self) -> float:
        """The ridge of the norm that stands for D_F: λ/(4B²) for a ball class (errata 7)."""
        return self.geometry.norm_ridge(self.ridge)

    @property
    def failure(self) -> float:
        """4(M+1)δ, the chance with which the theorem may fail."""
        return 4 * (self.levels + 1) * self.delta

    def agent(self, model: Model, multiplier: float = 1.0) -> UCRLWVTR:
        """UCRL-WVTR as the theorem sets it; a `multiplier` scales the radius."""
        return UCRLWVTR(
            model,
            levels=self.levels,
            # Closed forms take the ridge of the norm; classes by oracle take λ and know their own bound.
            ridge=self.norm_ridge if isinstance(model, LinearModel) else self.ridge,
            sigma_min=self.sigma_min,
            gamma=self.gamma,
            beta=self.radius,
            multiplier=multiplier,
        )

    def __str__(self) -> str:
        last = self.radius
        rows = [
            ("M, moment levels", f"{self.levels}"),
            ("λ = log N(ε)", f"{self.ridge:.4g}"),
            ("dim(σ_min, KH), at most", f"{self.dimension:.4g}"),
            ("σ²_min", f"{self.sigma_min**2:.4g}"),
            ("γ²", f"{self.gamma**2:.4g}"),
            ("ε", f"{self.epsilon:.4g}"),
            ("β̂_1 … β̂_K", f"{float(last.confidence(1)):.4g} … {float(last.confidence(self.episodes)):.4g}"),
            ("may fail with chance", f"{min(1.0, self.failure):.4g}"),
        ]
        return "\n".join(f"{name:26}{value}" for name, value in rows)


def theorem(model: Model | Geometry, *, episodes: int, horizon: int, delta: float = 0.01) -> Parameters:
    """The hyper-parameters of Theorem 1 for a model class.

    λ, ε and σ_min depend on log N_F(ε) and dim_F(σ_min), which depend on them: the circle is closed by iteration, which
    converges because the dependence is logarithmic.

    **Arguments:**

    - `model`: a model class, or its `Geometry`.
    - `episodes`, `horizon`: K and H.
    - `delta`: δ. The regret bound holds with probability at least 1 − 4(M + 1)δ.
    """
    episodes = validate.positive_integer(episodes, "episodes")
    horizon = validate.positive_integer(horizon, "horizon")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, but is {delta!r}.")
    size = model if isinstance(model, Geometry) else geometry(model)
    steps = episodes * horizon
    log_n, residual, rounds, dimension = 1.0, math.inf, 0, 1.0
    variance_floor = epsilon = 1.0
    while residual > _TOLERANCE and rounds < _ROUNDS:
        rounds += 1
        dimension = eluder_bound(size, steps, sigma_min=math.sqrt(variance_floor), ridge=log_n)
        floor_new = math.sqrt(dimension * log_n) / steps
        epsilon = log_n * floor_new / steps
        # A class of one or two functions would have λ below what the proof takes for granted (log N ≥ 1).
        log_new = max(log_covering(size, epsilon), 1.0)
        residual = max(abs(log_new - log_n) / log_n, abs(floor_new - variance_floor) / floor_new)
        log_n, variance_floor = log_new, floor_new
    sigma_min, gamma = math.sqrt(variance_floor), log_n**0.25
    radius = Radius(float(horizon), log_n, sigma_min, gamma, log_n, epsilon, float(delta))
    return Parameters(
        levels=math.ceil(math.log2(3 * steps)),
        ridge=log_n,
        sigma_min=sigma_min,
        gamma=gamma,
        epsilon=epsilon,
        log_covering=log_n,
        dimension=dimension,
        radius=radius,
        geometry=size,
        episodes=episodes,
        horizon=horizon,
        delta=float(delta),
        residual=residual,
        rounds=rounds,
    )
