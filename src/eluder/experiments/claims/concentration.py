"""Claim: Theorem 2's radius holds under uneven noise, and weights pay off as the noise becomes uneven."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from eluder._arrays import dot
from eluder.experiments.claims.base import FAILS, Outcome, Row, at_least, at_most, exponent, mean, pick, share
from eluder.theory import concentration_radius, covering, hoeffding_radius

DIM, DELTA = 2, 0.05
UNEVENNESS = (1.0, 3.0, 10.0, 30.0, 100.0)  # the loud noise over the quiet noise
LOUD = 0.25
_BLOCK = 100  # steps between two points of the figure


class _Runs(NamedTuple):
    steps: np.ndarray  # (points,): t at which the curves are kept
    distance: np.ndarray  # (points, paths): √Σ w²(f̂ − f_*)²
    radius: np.ndarray  # (points, paths): β_{t+1}
    worst: np.ndarray  # (paths,): the largest distance/radius over all t
    error: np.ndarray  # (paths,): |f̂ − f_*| at a fixed point after the last step
    width: np.ndarray  # (paths,): the confidence width there


def concentration(
    size: str = "small", *, multiplier: float = 1.0, ignore_variance: bool = False, seed: int = 0
) -> Outcome:
    """Weighted least squares over {⟨θ, x⟩ : ‖θ‖ ≤ 1}; noise is loud on half of the points and quiet on the others.

    Weights are those of Algorithm 2 with known variances: σ̄² = max(σ², γ²D), which keeps w²D ≤ 1/γ².

    **Arguments:**

    - `multiplier`: of Theorem 2's radius.
    - `ignore_variance`: give every point the weight of the loudest.
    """
    steps, paths = pick(size, test=(10_000, 128), small=(10_000, 128), full=(100_000, 400))
    weighted, plain = [], []
    for ratio in UNEVENNESS:
        weighted.append(_simulate(ratio, steps, paths, seed, weighted=not ignore_variance))
        plain.append(_simulate(ratio, steps, paths, seed, weighted=False))
    left = share(weighted[-1].worst > multiplier)
    # Both see the same noise, so their errors are compared path by path.
    gain = mean(plain[-1].error - weighted[-1].error)
    narrower = exponent(UNEVENNESS, [w.width / p.width for w, p in zip(weighted, plain, strict=True)], seed=seed)
    rows = (
        Row(
            "concentration",
            f"Theorem 2's radius is left at some t in at most δ of runs, unevenness {UNEVENNESS[-1]:g}",
            f"≤ {DELTA}",
            f"{left}; the largest distance is {weighted[-1].worst.max():.2g} of the radius",
            at_most(left, DELTA),
        ),
        Row(
            "concentration",
            "the weighted width shrinks against the unweighted one as noise becomes uneven",
            "exponent ≤ −0.01",
            str(narrower),
            at_most(narrower, -0.01),
        ),
        Row(
            "concentration",
            f"weights lower the error itself, unevenness {UNEVENNESS[-1]:g}",
            "unweighted − weighted > 0",
            str(gain),
            FAILS if gain.high == 0 else at_least(gain, 0.0),
        ),
    )
    data = {"unevenness": np.array(UNEVENNESS), "weighted": weighted, "plain": plain}
    return Outcome(rows, data, lambda: _draw(data))


def _simulate(ratio: float, steps: int, paths: int, seed: int, *, weighted: bool) -> _Runs:
    quiet = LOUD / ratio
    epsilon = 1 / steps**2
    log_n = covering.ball(DIM, 1.0, 1.0, epsilon)
    common = {"log_covering": log_n, "delta": DELTA, "epsilon": epsilon}
    count = np.arange(1, steps + 1)
    # β_{t+1} is linear in the largest w²D so far: its two coefficients for every t.
    setting = {"weight": 1 / quiet, "sigma": 1.0, "ridge": log_n, **common}
    offset = concentration_radius(count, uncertainty=0.0, **setting)
    slope = concentration_radius(count, uncertainty=1.0, **setting) - offset
    key = jax.random.key(seed)
    kept, worst, error, D = _regress(key, offset, slope, quiet, log_n, weighted, steps, paths)
    # Unweighted, all weights are 1/LOUD²: the range of the noise in those units is 1/LOUD.
    unweighted = hoeffding_radius(steps, **common) / LOUD + jnp.sqrt(log_n)
    width = D * (kept[1][-1] if weighted else unweighted)
    at = np.arange(_BLOCK, steps + 1, _BLOCK)
    return _Runs(at, *(np.asarray(array) for array in (*kept, worst, error, width)))


@partial(jax.jit, static_argnames=("steps", "paths"))
def _regress(key, offset, slope, quiet, ridge, weighted, steps: int, paths: int):
    """Ridge regression with the ridge λ/4 of the unit ball (errata 7), one data point at a time on every path."""
    gamma_squared = jnp.sqrt(ridge)
    theta = jnp.full(DIM, 0.5 / jnp.sqrt(DIM))
    probe = jnp.ones(DIM) / jnp.sqrt(DIM)

    def one(t, carry):
        inverse, estimate, gram, largest, worst, _ = carry
        draws = jax.random.uniform(jax.random.fold_in(key, t), (3, paths))
        angle = draws[0] * jnp.pi / 2
        x = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        truth = theta @ x  # between 0.35 and 0.5, so that targets stay in [0, 1]
        noise = jnp.where(draws[1] < 0.5, LOUD, quiet)
        y = truth + jnp.where(draws[2] < 0.5, -noise, noise)
        gain = dot(jnp.swapaxes(inverse, 0, 1), x[:, None])
        D = jnp.sqrt(dot(x, gain))
        variance = jnp.where(weighted, jnp.maximum(noise**2, gamma_squared * D), LOUD**2)
        largest = jnp.maximum(largest, D / variance)
        total = variance + D**2
        estimate = estimate + gain * ((y - dot(estimate, x)) / total)
        inverse = inverse - gain[:, None] * gain[None] / total
        gram = gram + x[:, None] * x[None] / variance
        gap = estimate - theta[:, None]
        distance = jnp.sqrt(dot(gap, dot(gram, gap[:, None])))
        radius = offset[t] + slope[t] * largest
        return inverse, estimate, gram, largest, jnp.maximum(worst, distance / radius), (distance, radius)

    def block(carry, first):
        carry = jax.lax.fori_loop(first, first + _BLOCK, one, carry)
        return carry, carry[-1]

    zero = jnp.zeros(paths)
    inverse = jnp.broadcast_to(jnp.eye(DIM)[..., None] * 4 / ridge, (DIM, DIM, paths))
    empty = (inverse, jnp.zeros((DIM, paths)), jnp.zeros((DIM, DIM, paths)), zero, zero, (zero, zero))
    carry, kept = jax.lax.scan(block, empty, jnp.arange(0, steps, _BLOCK))
    inverse, estimate, _, _, worst, _ = carry
    D = jnp.sqrt(dot(probe, dot(inverse, probe[:, None, None])))
    return kept, worst, jnp.abs(dot(probe, estimate - theta[:, None])), D


def _draw(data):
    from eluder.report.style import PALETTE, figure, styled

    @styled
    def draw():
        canvas, axes = figure("wide", columns=3)
        worst = data["weighted"][-1]
        distance = np.quantile(worst.distance, 0.99, axis=1)
        axes[0, 0].plot(worst.steps, distance, color=PALETTE[0], label="99 % of distances")
        axes[0, 0].plot(worst.steps, worst.radius.mean(axis=1), color=PALETTE[1], linestyle="--", label="Theorem 2")
        axes[0, 0].set(xscale="log", yscale="log", xlabel="t", ylabel="distance and radius")
        axes[0, 0].legend()
        for index, name in enumerate(("weighted", "plain")):
            look = {"color": PALETTE[index], "marker": "o", "markersize": 3}
            label = "weighted" if name == "weighted" else "unweighted"
            axes[0, 1].plot(data["unevenness"], [run.width.mean() for run in data[name]], label=label, **look)
            axes[0, 2].plot(data["unevenness"], [run.error.mean() for run in data[name]], label=label, **look)
        for axis, title in ((axes[0, 1], "confidence width"), (axes[0, 2], "error of the estimate")):
            axis.set(xscale="log", xlabel="loud / quiet noise", ylabel=title, ylim=(0, None))
        axes[0, 1].legend()
        return canvas

    return draw()
