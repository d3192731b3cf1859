"""Algorithm 3 against the exact D over random problems: a scatter with its proven band."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from eluder.models import BallMixture
from eluder.uncertainty import Elliptical, OracleSearch
from eluder.uncertainty.base import Estimate, Setting, Uncertainty, Value

_MOST_DIMENSIONS = 8


class Comparison(NamedTuple):
    exact: Float[np.ndarray, " problems"]
    found: Float[np.ndarray, " problems"]  # D̃
    calls: Int[np.ndarray, " problems"]
    accuracy: float  # ε/√λ


def run(problems: int = 1000, seed: int = 0, accuracy: float = 1e-2) -> Comparison:
    """Linear classes in a ball: dimensions 2 to 8, 0 to 10⁵ points, weights 1 to 10⁴, B 0.25 to 4, λ 10⁻⁴ to 1."""
    rng = np.random.default_rng(seed)
    matrices = np.zeros((problems, _MOST_DIMENSIONS, _MOST_DIMENSIONS))
    psi = np.zeros((problems, _MOST_DIMENSIONS))
    for number in range(problems):
        dim = int(rng.integers(2, _MOST_DIMENSIONS + 1))
        points = int(rng.choice([0, 1, 2, dim, 20, 1000])) if number % 20 else 100_000
        features = rng.random((points, dim)) * 10 ** rng.uniform(-1, 0)
        weights = 10 ** rng.uniform(0, 4, points)
        matrices[number, :dim, :dim] = (features * weights[:, None]).T @ features
        psi[number, :dim] = rng.random(dim)
    bounds, ridges = 2 ** rng.uniform(-2, 2, problems), 10 ** rng.uniform(-4, 0, problems)
    arguments = (jnp.asarray(matrices), jnp.asarray(psi), jnp.asarray(bounds), jnp.asarray(ridges))
    exact, found = (_solve(method, *arguments) for method in (Elliptical(), OracleSearch(accuracy=accuracy)))
    return Comparison(np.asarray(exact.upper), np.asarray(found.raw), np.asarray(found.calls), accuracy)


def table(comparison: Comparison) -> Any:
    """One row per problem, with whether D̃ − ε/√λ ≤ D ≤ √2·D̃ + ε/√λ held."""
    import pandas as pd

    low = comparison.found - comparison.accuracy <= comparison.exact
    high = comparison.exact <= math.sqrt(2) * comparison.found + comparison.accuracy
    columns = {"exact": comparison.exact, "found": comparison.found, "calls": comparison.calls}
    return pd.DataFrame({**columns, "in_band": (low & high).astype(float)})


def figure(comparison: Comparison) -> Any:
    """D̃ against D on logarithmic axes, with the band D̃ ≤ D ≤ √2·D̃ + ε/√λ."""
    from eluder.report import style

    @style.styled
    def draw():
        drawn, axes = style.figure("column", panel_height=2.8)
        panel = axes[0, 0]
        line = np.geomspace(comparison.exact.min(), comparison.exact.max(), 200)
        floor = line.min() / 10
        lower = np.maximum((line - comparison.accuracy) / math.sqrt(2), floor)
        panel.fill_between(line, lower, line, color="0.85", label="proven band", linewidth=0)
        found = np.maximum(comparison.found, floor)
        panel.scatter(comparison.exact, found, s=5, alpha=0.5, color=style.PALETTE[0], label="problems", linewidths=0)
        panel.set(xscale="log", yscale="log", xlabel="exact D", ylabel="D̃ by Algorithm 3")
        panel.legend(loc="upper left")
        return drawn

    return draw()


@eqx.filter_jit
def _solve(method: Uncertainty, matrices, psi, bounds, ridges) -> Value:
    successors = np.zeros((1, 1, _MOST_DIMENSIONS))
    template = BallMixture(successors, np.eye(_MOST_DIMENSIONS)[None, None])

    def one(matrix, at_slots, bound, ridge):
        setting = Setting(eqx.tree_at(lambda model: model.bound, template, bound), ridge)
        moments = jnp.pad(matrix, ((0, 1), (0, 1)))[None, :, :, None, None]
        no_estimate = Estimate(jnp.zeros((1, 1, 1)), jnp.zeros((1, 1, 1, 1)))
        summary = method.summarise(setting, moments, no_estimate)
        value = method.at(setting, summary, jnp.zeros(1, dtype=jnp.int32), at_slots[:, None, None])
        return jax.tree.map(lambda leaf: leaf[0, 0], value)

    return jax.vmap(one)(matrices, psi, bounds, ridges)
