"""Log-covering numbers log N_F(ε) in the sup norm over (s, a, V ∈ [0, 1]^S), with explicit constants.

All rest on one volume argument: a set inside a ball of radius r of an n-dimensional normed space has an ε-net of at
most (1 + 2r/ε)^n of its own points, since balls of radius ε/2 around a maximal ε-separated subset are disjoint and
lie in the ball of radius r + ε/2.
"""

from __future__ import annotations

import math

from eluder.models import Model
from eluder.theory.geometry import Geometry, geometry


def ball(dim: int, bound: float, feature_norm: float, epsilon: float) -> float:
    """‖θ‖ ≤ B: two functions differ by at most L·‖θ − θ'‖, so d·log(1 + 2BL/ε)."""
    return dim * math.log1p(2 * bound * feature_norm / epsilon)


def simplex(dim: int, epsilon: float, blocks: int = 1) -> float:
    """`blocks` distributions over `dim` outcomes.

    f_θ − f_θ' is at most half the ℓ₁ distance of the distributions (f lies in [0, 1]); in that norm the simplex has
    radius at most 1 and dimension dim − 1: blocks·(dim − 1)·log(1 + 2/ε).
    """
    return blocks * (dim - 1) * math.log1p(2 / epsilon)


def finite(count: int) -> float:
    """A class of `count` functions is its own net."""
    return math.log(count)


def lipschitz(parameters: int, radius: float, constant: float, epsilon: float) -> float:
    """f_θ with ‖θ‖ ≤ radius and |f_θ − f_θ'| ≤ constant·‖θ − θ'‖: softmax classes and networks."""
    return parameters * math.log1p(2 * radius * constant / epsilon)


def log_covering(model: Model | Geometry, epsilon: float) -> float:
    """An upper bound on log N_F(ε) of a model class."""
    if not epsilon > 0:
        raise ValueError(f"epsilon must be above 0, but is {epsilon!r}.")
    size = model if isinstance(model, Geometry) else geometry(model)
    if size.kind == "finite":
        return finite(size.dim)
    if size.kind == "simplex":
        bound = simplex(size.dim, epsilon, size.blocks)
    else:
        bound = size.blocks * ball(size.dim, size.bound, size.feature_norm, epsilon)
    if size.log_covering is not None:
        parameters, scale = size.log_covering
        bound = min(bound, parameters * math.log1p(scale / epsilon))
    return bound
