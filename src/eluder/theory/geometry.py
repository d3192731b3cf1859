"""The size of a model class, in the few numbers that covering numbers and Eluder bounds need.

Every class here is a set of functions f(s, a, V) = ⟨θ_b, φ_V(s, a)⟩, with parameters θ_b in one or more blocks b that
share no data, or is contained in such a set (a softmax class or a network lies in the tabular class). Four
numbers then say all: how many parameters, how far apart two parameter vectors of a block can be, how long a feature
vector can be, and which norm ball or simplex the parameters fill.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from eluder.models import LinearMixture, Model, Tabular
from eluder.models.ball_mixture import BallMixture
from eluder.models.finite import Finite
from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.models.mnl import MNL
from eluder.models.neural import Neural
from eluder.models.simplex_mixture import SimplexMixture

# Feature norms over V ∈ [0, 1]^N are enumerated up to this many slots (2^N corners) and bounded beyond it.
_ENUMERATE_SLOTS = 12


class Geometry(NamedTuple):
    """A linear class {⟨θ_b, φ_V(s, a)⟩}, as far as the theory needs it."""

    kind: str  # "ball": ‖θ‖ ≤ bound; "simplex": each block's θ is a distribution; "finite": one of `dim` functions
    blocks: int  # blocks of parameters that share no data
    dim: int  # parameters of one block
    bound: float  # B, the largest ‖θ_b‖
    feature_norm: float  # L, the largest ‖φ_V(s, a)‖ over pairs and V ∈ [0, 1]^S
    exact: bool  # whether the class is all of this set, or only contained in it
    log_covering: tuple[float, float] | None = None  # (n, c): log N(ε) ≤ n·log(1 + c/ε), where smaller than the set's

    @property
    def parameters(self) -> int:
        """d, the parameters of all blocks."""
        return self.blocks * self.dim

    @property
    def diameter(self) -> float:
        """The largest distance between two parameter vectors of a block: 2B for a ball, √2 for a simplex."""
        return 2 * self.bound if self.kind == "ball" else float(np.sqrt(2))

    def norm_ridge(self, ridge: float) -> float:
        """The ridge of the norm for the λ of D_F: λ/(4B²) for a ball (errata 7), λ/2 for a simplex.

        (Δ·φ)² / (Σ w (Δ·φ_i)² + λ) with ‖Δ‖ ≤ diameter is at most ‖φ‖² in the inverse of Σ w φφᵀ + λ/diameter²·I, and
        for a ball the sup over Δ is attained.
        """
        return ridge / self.diameter**2


def geometry(model: Model) -> Geometry:
    """The geometry of a model class."""
    if isinstance(model, Tabular):
        return tabular(successor_counts(model))
    if isinstance(model, LinearMixture):
        return Geometry("ball", 1, model.dim, model.bound, feature_norm(model), exact=True)
    if isinstance(model, BallMixture):
        return Geometry("ball", 1, model.dim, model.bound, feature_norm(model), exact=True)
    if isinstance(model, SimplexMixture):
        return Geometry("simplex", 1, model.dim, 1.0, feature_norm(model), exact=True)
    if isinstance(model, Finite):
        # The corners of the simplex over the list.
        return Geometry("finite", 1, model.dim, 1.0, feature_norm(model), exact=False)
    if isinstance(model, GeneralModel):
        return _within_tabular(model)
    raise TypeError(f"The theory knows no covering number for {type(model).__name__}: pass a Geometry instead.")


def tabular(successors: Int[np.ndarray, " pairs"]) -> Geometry:
    """All kernels, given how many successors each pair can have: one simplex per pair, φ_V = V at the successors."""
    slots = int(successors.max())
    free = float(np.sum(successors - 1))
    return Geometry("simplex", successors.size, slots, 1.0, float(np.sqrt(slots)), exact=True, log_covering=(free, 2.0))


def successor_counts(model: Tabular) -> Int[np.ndarray, " pairs"]:
    """How many states each pair (s, a) can lead to in a tabular class."""
    if model.successors is None:
        return np.full(model.shape[0] * model.shape[1], model.dim)
    return _distinct(
        np.asarray(model.successors).reshape(-1, model.dim), np.asarray(model.possible).reshape(-1, model.dim)
    )


def _distinct(successors: np.ndarray, possible: np.ndarray) -> Int[np.ndarray, " pairs"]:
    return np.array([np.unique(states[can > 0]).size for states, can in zip(successors, possible, strict=True)])


def feature_norm(model: LinearMixture | Mixture) -> float:
    """max ‖φ_V(s, a)‖ over pairs and V ∈ [0, 1]^S; a norm is convex in V, so a corner attains it."""
    return max(_largest_norm(features) for features in features_by_pair(model))


def features_by_pair(model: LinearMixture | Mixture) -> list[Float[np.ndarray, "successors dim"]]:
    """φ(s'|s, a) for each pair, one row per distinct successor (slots that share a state are added up)."""
    successors, features = np.asarray(model.successors), np.asarray(model.features)
    pairs = []
    for s, a in itertools.product(range(successors.shape[0]), range(successors.shape[1])):
        states, where = np.unique(successors[s, a], return_inverse=True)
        merged = np.zeros((states.size, features.shape[-1]))
        np.add.at(merged, where, features[s, a])
        pairs.append(merged[merged.any(axis=-1)])
    return pairs


def corners(count: int) -> Float[np.ndarray, "corners count"]:
    """All V ∈ {0, 1}^count."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=count))).reshape(2**count, count)


def _largest_norm(features: Float[np.ndarray, "successors dim"]) -> float:
    if len(features) <= _ENUMERATE_SLOTS:
        return float(np.linalg.norm(corners(len(features)) @ features, axis=-1).max(initial=0.0))
    # Each coordinate of φ_V lies between the sums of its negative and of its positive parts.
    above, below = np.maximum(features, 0).sum(axis=0), np.maximum(-features, 0).sum(axis=0)
    return float(np.linalg.norm(np.maximum(above, below)))


def _within_tabular(model: GeneralModel) -> Geometry:
    """A nonlinear class as a part of the tabular class, with its own covering number where that is smaller.

    A smaller class has a smaller D_F everywhere, so the tabular class's Eluder bound holds for it.
    """
    slots = model.successors.shape[-1]
    counts = _distinct(np.asarray(model.successors).reshape(-1, slots), np.asarray(model.possible()).reshape(-1, slots))
    whole = tabular(counts)
    constant = _lipschitz(model)
    if constant is None:
        return whole._replace(exact=False)
    own = (float(model.dim), 2 * model.bound * constant)
    assert whole.log_covering is not None
    # The two bounds are compared where it matters, at fine ε, where the number of parameters decides.
    return whole._replace(exact=False, log_covering=min(own, whole.log_covering))


def _lipschitz(model: GeneralModel) -> float | None:
    """|f_θ − f_θ'| ≤ c·‖θ − θ'‖ for softmax classes.

    df = Cov_p(dℓ, V) for logits ℓ, and a covariance is at most the product of two standard deviations, which are at
    most half the ranges: a quarter of the range of dℓ, since V lies in [0, 1].
    """
    if isinstance(model, MNL):
        features = np.asarray(model.features)
        spread = features[..., :, None, :] - features[..., None, :, :]
        return float(np.linalg.norm(spread, axis=-1).max()) / 4
    if isinstance(model, Neural) and isinstance(model.network, eqx.nn.MLP) and model.network.activation is jnp.tanh:
        # With all weights in a ball of radius B, a change of one layer reaches the logits through at most `depth`
        # others, each of norm at most B, from inputs of norm at most x: √(layers)·max(1, B)^depth·√(x² + 1). The
        # range of dℓ is at most √2 times its norm.
        depth, width = model.network.depth, model.network.width_size
        inputs = max(float(np.linalg.norm(model.inputs, axis=-1).max()) ** 2, width)
        return np.sqrt(2) / 4 * np.sqrt(depth + 1) * max(1.0, model.bound) ** depth * np.sqrt(inputs + 1)
    return None
