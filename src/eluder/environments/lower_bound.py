"""The three-state linear mixture on which no algorithm does well (Zhou & Gu 2022)."""

from __future__ import annotations

import itertools

import numpy as np

from eluder import _validate as validate
from eluder.environments._common import at_least
from eluder.mdp import FiniteMDP

_DELTA = 1 / 6  # δ: the chance of reaching x₃ under an action that is half right


def lower_bound(dim: int = 4, horizon: int = 20, episodes: int = 1000, seed: int = 0) -> FiniteMDP:
    """One decision among 2^(d−1) actions, whose chances differ as little as `episodes` = K can just tell apart.

    Actions are the vectors a ∈ {−1, 1}^(d−1), in the order of `itertools.product((-1, 1), ...)`. From x₁ an
    action reaches x₃ with chance δ + ⟨μ, a⟩, else x₂; both absorb. x₃ pays 1/H a step, so totals are at most 1.
    δ = 1/6, μ has entries ±Δ with signs from `seed`, and Δ = √(δ/K)/(4√2), which needs K ≥ (d−1)²/(32δ).
    V* = (δ + (d−1)Δ)·(H−1)/H. The features are Zhou & Gu's: d-dimensional with ‖φ_V‖ ≤ 1.
    """
    dim = at_least(dim, 2, "dim")
    horizon = at_least(horizon, 2, "horizon")
    episodes = validate.positive_integer(episodes, "episodes")
    least = (dim - 1) ** 2 / (32 * _DELTA)
    if episodes < least:
        raise ValueError(
            f"episodes must be at least (dim − 1)²/(32δ) = {least:.4g} for the chances to lie in [0, 1], but is "
            f"{episodes}: raise episodes or lower dim."
        )
    gap = np.sqrt(_DELTA / episodes) / (4 * np.sqrt(2))  # Δ
    signs = np.where(np.random.default_rng(seed).random(dim - 1) < 0.5, -1.0, 1.0)
    vectors = np.array(list(itertools.product((-1.0, 1.0), repeat=dim - 1)))
    alpha = np.sqrt(1 / (1 + (dim - 1) * gap))
    beta = np.sqrt(gap) * alpha
    theta = np.append(gap * signs / beta, 1 / alpha)

    x1, x2, x3 = range(3)
    to_x2, to_x3 = 0, 1  # the two slots
    successors = np.broadcast_to([x2, x3], (3, len(vectors), 2))
    features = np.zeros((3, len(vectors), 2, dim))
    features[x1, :, to_x3, :-1] = beta * vectors
    features[x1, :, to_x3, -1] = alpha * _DELTA
    features[x1, :, to_x2, :-1] = -beta * vectors
    features[x1, :, to_x2, -1] = alpha * (1 - _DELTA)
    features[x2, :, to_x2, -1] = features[x3, :, to_x3, -1] = alpha
    rewards = np.zeros((3, len(vectors)))
    rewards[x3] = 1 / horizon
    return FiniteMDP(
        successors,
        np.clip(features @ theta, 0, 1),  # rounding may leave −1e-17
        rewards,
        horizon=horizon,
        features=features,
        reward_scale=1.0,
        name=f"lower-bound-{dim}",
        state_names=("x₁", "x₂", "x₃"),
        action_names=["".join("+" if entry > 0 else "−" for entry in vector) for vector in vectors],
    )
