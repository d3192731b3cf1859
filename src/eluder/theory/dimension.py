"""The generalised Eluder dimension dim_F(σ_min, T): closed-form upper bounds and a certified lower bound.

    dim_F(σ_min, T) = sup over z_1 … z_T and σ_t ≥ σ_min of Σ_t min(1, D_F²(z_t; z_[t−1], σ_[t−1]) / σ_t²)

Any sequence gives a lower bound, and so does any pair of functions in place of the sup inside D_F: what
`greedy_lower_bound` returns needs no trust in the search that found it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from eluder.models import LinearMixture, Model, Tabular
from eluder.models.ball_mixture import BallMixture
from eluder.models.finite import Finite
from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.models.simplex_mixture import SimplexMixture
from eluder.theory.geometry import Geometry, corners, features_by_pair, geometry, successor_counts

# Corners V ∈ {0, 1}^N of a pair are all tried up to this many slots, and a random half as many beyond it.
_CORNER_SLOTS = 10
# Members of a nonlinear class that stand for all of it in a lower bound.
_MEMBERS = 48


def elliptical_potential(parameters: int, steps: float, feature_norm: float, ridge: float, sigma_min: float) -> float:
    """2d·log(1 + T·L²/(d·ridge·σ²_min)) ≥ Σ_t min(1, ‖φ_t/σ_t‖²), the norm being that of (ridge·I + Σ φφᵀ/σ²)⁻¹.

    With several blocks of parameters, d counts all of them: by concavity, data spread evenly are the worst case.
    """
    return 2 * parameters * math.log1p(steps * feature_norm**2 / (parameters * ridge * sigma_min**2))


def eluder_bound(model: Model | Geometry, steps: float, *, sigma_min: float, ridge: float) -> float:
    """An upper bound on dim_F(σ_min, T): 2d·log(1 + 4B²L²T/(dλσ²_min)) for a ball (errata 7), and never above T.

    **Arguments:**

    - `steps`: T.
    - `ridge`: λ of D_F. The ridge of the norm is λ/(4B²) for a ball and λ/2 for a simplex.
    """
    size = model if isinstance(model, Geometry) else geometry(model)
    norm_ridge = size.norm_ridge(ridge)
    return min(float(steps), elliptical_potential(size.parameters, steps, size.feature_norm, norm_ridge, sigma_min))


class GreedySequence(NamedTuple):
    """A sequence of points that surprises a class, and the lower bound it certifies."""

    terms: Float[np.ndarray, " steps"]  # min(1, D²/σ²) at each step, from below
    sigmas: Float[np.ndarray, " steps"]  # the σ_t ≥ σ_min of the sequence

    @property
    def total(self) -> float:
        """A lower bound on dim_F(σ_min, T)."""
        return float(self.terms.sum())


def greedy_lower_bound(model: Model, steps: int, *, sigma_min: float, ridge: float, seed: int = 0) -> GreedySequence:
    """The adversary that always asks where the class is least certain, over (s, a, V ∈ {0, 1}^S).

    Corners V suffice, since D_F is convex in V. Where D exceeds σ_min the step gets σ_t = D: its term is 1 all the
    same, and the class learns as little from it as it can.

    **Arguments:** as for `eluder_bound`; `seed` picks the corners tried when a pair has too many successors for all.
    """
    rng = np.random.default_rng(seed)
    if isinstance(model, Tabular):
        return _greedy_blocks(successor_counts(model), steps, sigma_min, ridge, rng)
    if isinstance(model, LinearMixture | BallMixture):
        return _greedy(_points(model, rng), steps, sigma_min, ridge, _BallClass(model.dim, model.bound))
    if isinstance(model, SimplexMixture):
        return _greedy(_points(model, rng), steps, sigma_min, ridge, _SimplexClass(model.dim))
    if isinstance(model, Finite):
        return _greedy(_points(model, rng), steps, sigma_min, ridge, _ListClass(model.dim))
    if isinstance(model, GeneralModel):
        # Some members of the class in place of all of them: a smaller sup, still from below.
        members = Finite(model.successors, _sample(model, rng))
        return _greedy(_points(members, rng), steps, sigma_min, ridge, _ListClass(members.dim))
    raise TypeError(f"No adversary is known for {type(model).__name__}.")


class _BallClass:
    """D² of a ball class in closed form: φᵀ (A + λ/(4B²) I)⁻¹ φ."""

    def __init__(self, dim: int, bound: float):
        self.dim, self.bound = dim, bound

    def squared(self, points, gram, ridge):
        regular = gram + ridge / (4 * self.bound**2) * np.eye(self.dim)
        return np.einsum("ij,ij->i", points, np.linalg.solve(regular, points.T).T)


class _SimplexClass:
    """D² of distributions θ from below: the ratio at one difference of two distributions.

    The difference is the maximiser of the ball that holds the simplex, moved into Σ Δ = 0 and stretched
    until Δ = p − q for two distributions p and q (‖Δ‖₁ = 2); stretching only raises the ratio.
    """

    def __init__(self, dim: int):
        self.dim = dim

    def squared(self, points, gram, ridge):
        ones = np.ones((self.dim, 1))
        regular = gram + ridge / 2 * np.eye(self.dim)
        inverse_points = np.linalg.solve(regular, points.T)
        inverse_ones = np.linalg.solve(regular, ones)
        differences = inverse_points - inverse_ones * (ones.T @ inverse_points) / (ones.T @ inverse_ones)
        differences -= differences.mean(axis=0)  # what rounding left
        length = np.abs(differences).sum(axis=0)
        differences = np.where(length > 1e-12, 2 * differences / np.maximum(length, 1e-300), 0.0)
        gaps = np.einsum("ij,ji->i", points, differences)
        return gaps**2 / (np.einsum("ji,jk,ki->i", differences, gram, differences) + ridge)


class _ListClass:
    """D² of a list of functions, by trying all pairs of them."""

    def __init__(self, count: int):
        self.first, self.second = np.triu_indices(count, 1)

    def squared(self, points, gram, ridge):
        first, second = self.first, self.second
        spread = gram[first, first] + gram[second, second] - 2 * gram[first, second]
        return ((points[:, first] - points[:, second]) ** 2 / (np.maximum(spread, 0) + ridge)).max(axis=1)


def _greedy(points: np.ndarray, steps: int, sigma_min: float, ridge: float, parameters) -> GreedySequence:
    gram = np.zeros((points.shape[1], points.shape[1]))
    terms, sigmas = np.zeros(steps), np.zeros(steps)
    for t in range(steps):
        squared = parameters.squared(points, gram, ridge)
        best = int(np.argmax(squared))
        sigma_squared = max(sigma_min**2, squared[best])
        terms[t], sigmas[t] = squared[best] / sigma_squared, math.sqrt(sigma_squared)
        gram += np.outer(points[best], points[best]) / sigma_squared
    return GreedySequence(terms, sigmas)


def _greedy_blocks(counts: np.ndarray, steps: int, sigma_min: float, ridge: float, rng) -> GreedySequence:
    """Blocks share no data and those of one size look alike: one search for each size, the most surprising first."""
    searches = {n: _greedy(_corners(n, rng), steps, sigma_min, ridge, _SimplexClass(n)) for n in np.unique(counts)}
    terms = np.concatenate([searches[n].terms for n in counts])
    sigmas = np.concatenate([searches[n].sigmas for n in counts])
    # A block's steps must come in their own order, which a running minimum of its terms keeps.
    order = np.concatenate([np.minimum.accumulate(searches[n].terms) for n in counts])
    chosen = np.argsort(-order, kind="stable")[:steps]
    return GreedySequence(terms[chosen], sigmas[chosen])


def _corners(count: int, rng: np.random.Generator) -> np.ndarray:
    if count <= _CORNER_SLOTS:
        return corners(count)
    return np.concatenate([np.eye(count), rng.integers(0, 2, size=(2 ** (_CORNER_SLOTS - 1), count))])


def _points(model: LinearMixture | Mixture, rng: np.random.Generator) -> np.ndarray:
    """φ_V(s, a) at every pair and corner V."""
    pairs = [_corners(len(features), rng) @ features for features in features_by_pair(model)]
    return np.unique(np.concatenate(pairs).round(12), axis=0)


def _sample(model: GeneralModel, rng: np.random.Generator) -> np.ndarray:
    """Kernels of random members of a class with ‖θ‖ ≤ bound, many of them at the bound, where they differ most."""
    theta = rng.normal(size=(_MEMBERS, model.dim))
    theta *= model.bound * rng.choice([0.25, 1.0], size=(_MEMBERS, 1)) / np.linalg.norm(theta, axis=1, keepdims=True)
    kernels = np.asarray(jax.vmap(model.probabilities)(jnp.asarray(theta)))
    return kernels / kernels.sum(axis=-1, keepdims=True)
