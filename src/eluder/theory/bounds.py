"""The regret bound of Theorem 1 and Corollary 1 with explicit constants, lemma by lemma.

The proof bounds a handful of sums by one another; each function below is one lemma, and every right-hand side grows
with the quantities in it. So from any bounds that hold, such as R₀ ≤ KH, one pass through the lemmas gives smaller
ones that hold too, and the passes are repeated until nothing moves. Where a printed lemma does not follow from its
proof, the line says so and uses what does; docs/theory.md collects these places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from eluder.theory.parameters import Parameters

_PASSES = 10_000
_TOLERANCE = 1e-12


class RegretBound(NamedTuple):
    """A bound on the normalised regret (total reward at most 1), and the sums it was made of."""

    regret: float  # 2R₀ + Ǎ₀ + Ã₀ + G, and never more than K
    by_variance: float  # the route through Q₀, the variance of V* along the paths
    by_value: float  # the route through V*₁·K (first order)
    R0: float  # Σ min(1, β̂ D): the sum of bonuses
    S0: float  # Σ 𝕍V_{k,h+1}: the variance of the optimistic values along the paths
    A_check: float  # Ǎ₀: the noise of V_k − V*
    A_tilde: float  # Ã₀: the noise of V* − V^π
    G: float  # episodes in which the uncertainty grows sharply
    zeta: float
    normalised: float  # √(dim·log N·𝒬*) + dim·log N: the theorem's form without constants and logarithms


def regret_bound(parameters: Parameters, *, variance: float, value: float) -> RegretBound:
    """Theorem 1 on an instance, with probability at least 1 − 4(M + 1)δ.

    **Arguments:**

    - `parameters`: what `theorem` returned.
    - `variance`: Q₀ = Σ 𝕍V*_{h+1}(s, a) over a run's visited pairs, in normalised reward; 𝒬*₀ ≥ Q₀ serves as well.
    - `value`: V*₁·K = Σ_k V*₁(s₁), in normalised reward.

    Both are in units in which no trajectory collects more than 1. Bounds on them hold in advance: `value` ≤ K, and
    `variance` ≤ K·max over (s, a, h) of the variance times H.
    """
    if variance < 0 or value < 0:
        raise ValueError("variance and value must not be negative.")
    proof = _Proof(parameters, variance, value)
    by_variance, by_value = proof.solve(proof.S0_by_variance), proof.solve(proof.S0_by_value)
    best = min(by_variance, by_value, key=lambda sums: sums.regret)
    cost = parameters.dimension * parameters.log_covering
    return RegretBound(
        regret=min(best.regret, float(parameters.episodes)),
        by_variance=by_variance.regret,
        by_value=by_value.regret,
        R0=best.R0,
        S0=best.S0,
        A_check=best.A_check,
        A_tilde=best.A_tilde,
        G=best.G,
        zeta=proof.zeta,
        normalised=math.sqrt(cost * min(variance, value)) + cost,
    )


def corollary_bound(dim: int, *, variance: float, value: float) -> float:
    """Corollary 1 without constants and logarithms: d√𝒬* + d² for a linear mixture."""
    return dim * math.sqrt(min(variance, value)) + dim**2


class _Sums(NamedTuple):
    R0: float
    S0: float
    V0: float
    A: float  # A₀
    A_check: float
    G: float
    A_tilde: float = 0.0  # found last: nothing else depends on it

    @property
    def regret(self) -> float:
        """Lemma "regret gap": Regret(K) ≤ 2R₀ + Ǎ₀ + Ã₀ + G."""
        return 2 * self.R0 + self.A_check + self.A_tilde + self.G


class _Proof:
    """The lemmas of the proof, each as the bound it puts on its left-hand side."""

    def __init__(self, parameters: Parameters, variance: float, value: float):
        self.episodes, self.steps = float(parameters.episodes), float(parameters.episodes * parameters.horizon)
        self.variance, self.value = variance, value
        self.beta = float(parameters.radius(parameters.episodes))  # √(β̂_K² + λ), errata 10
        self.gamma = parameters.gamma
        self.dim = parameters.dimension
        self.floor = self.steps * parameters.sigma_min**2  # KHσ²_min
        self.G = min(self.episodes, (parameters.levels + 1) * self.dim)  # Lemma "G"
        # Lemma "A from S". Its sums are absolute values, so both tails count; the constant 8 leaves room for that.
        self.zeta = 8 * math.log(2 * (math.log(self.steps) + 2) / parameters.delta)

    def solve(self, variance_route: Callable[[_Sums], float]) -> _Sums:
        """The lemmas applied again and again, from what is trivially true."""
        sums = _Sums(R0=self.steps, S0=self.steps, V0=self.episodes, A=self.steps, A_check=self.steps, G=self.G)
        for _ in range(_PASSES):
            before = sums
            sums = sums._replace(A_check=min(sums.A_check, self.noise(2 * sums.R0)))
            sums = sums._replace(A=min(sums.A, self.noise(sums.V0 + 2 * sums.R0)))
            # Lemma "V₀": the rewards collected are at most V*₁K + A₀ + Ǎ₀.
            sums = sums._replace(V0=min(sums.V0, self.value + sums.A + sums.A_check))
            sums = sums._replace(S0=min(sums.S0, variance_route(sums)))
            sums = sums._replace(R0=min(sums.R0, self.R0(sums)))
            if all(old - new <= _TOLERANCE * old for new, old in zip(sums, before, strict=True)):
                break
        return sums._replace(A_tilde=min(self.steps, self.A_tilde(sums)))

    def noise(self, drift: float, level: int = 0) -> float:
        """Ǎ_m, Ã_m or A_m for m = 0 or 1, from Lemmas "S from A" and "A from S" through the recursion lemma.

        a_m ≤ √ζ·√(a_{m+1} + 2^{m+1}·drift) + ζ + √(ζG), where drift is 2R₀ for Ǎ and V₀ + 2R₀ for A. The recursion
        lemma needs drift ≥ 1, which nothing ensures: hence the max.
        """
        own, rest = math.sqrt(self.zeta), self.zeta + math.sqrt(self.zeta * self.G)
        return own * math.sqrt(2 ** (level + 2) * max(drift, 1.0)) + 4 * own**2 + 3 * rest

    def A_tilde(self, sums: _Sums) -> float:
        """The proof's step (c) leaves Σ (PV̌_{h+1} − V̌_h(s_h)), which telescopes to Ǎ₀ *plus G*; no G is printed."""
        return self.noise(2 * sums.R0 + sums.A_check + sums.G)

    def S0_by_variance(self, sums: _Sums) -> float:
        """S₀ ≤ 2Q₀ + 2Š₀ with Š₀ ≤ Ǎ₁ + G + 4R₀: the variance of V* + V̌ is at most twice the sum of the two."""
        return 2 * self.variance + 2 * (self.noise(2 * sums.R0, level=1) + sums.G + 4 * sums.R0)

    def S0_by_value(self, sums: _Sums) -> float:
        """S₀ ≤ A₁ + G + 2(V₀ + 2R₀)."""
        drift = sums.V0 + 2 * sums.R0
        return self.noise(drift, level=1) + sums.G + 2 * drift

    def R0(self, sums: _Sums) -> float:
        """R₀ from S₀ through R_m ≤ 4β√dim·√(S_m + 2R_{m+1} + KHσ²_min) + (16β² + 4 + 4βγ²)·dim, Lemma "R from S".

        Printed: S_m ≤ 2Q_m + 2Š_m for every m, as if V^(2^m) were (V*)^(2^m) + V̌^(2^m), which is true at m = 0 only.
        Used: S_m ≤ 4^m·S₀, since squaring is 2-Lipschitz on [0, 1]. The recursion lemma with 4 in place of 2 reads
        a₀ ≤ max{(√2·λ₂ + √(2λ₂² + λ₄))², λ₂√(8λ₃) + λ₄}, and M levels are more than enough for it.
        """
        lead = 4 * self.beta * math.sqrt(2 * self.dim)  # λ₂, with 2R_{m+1} + 4^m S₀ = 2(R_{m+1} + 4^{m+1}·S₀/8)
        rest = (16 * self.beta**2 + 4 + 4 * self.beta * self.gamma**2) * self.dim
        rest += 4 * self.beta * math.sqrt(self.dim * self.floor)  # λ₄
        fixed = (math.sqrt(2) * lead + math.sqrt(2 * lead**2 + rest)) ** 2
        return max(fixed, lead * math.sqrt(8 * max(sums.S0 / 8, 1.0)) + rest)
