"""What agents on linear classes ask of their class beside regression: its dimension and the norm of its parameters."""

from __future__ import annotations

import math

from eluder.mdp import FiniteMDP
from eluder.models import LinearMixture, LinearModel


def linear(model) -> LinearModel:
    """The model, checked to be a linear class."""
    if not isinstance(model, LinearModel):
        raise TypeError(
            "model must be a linear class such as environment.linear_mixture() or eluder.models.Tabular(environment), "
            f"but is {type(model).__name__}."
        )
    return model


def dimension(model: LinearModel) -> int:
    """d, over all blocks: S²A for the tabular class."""
    return math.prod(model.block_shape) * model.dim


def norm_bound(model: LinearModel) -> float:
    """B with ‖θ‖ ≤ B: the class's own; √(SA) for the tabular class, whose blocks are distributions."""
    return model.bound if isinstance(model, LinearMixture) else math.sqrt(math.prod(model.block_shape))


def mixture_of(environment: FiniteMDP) -> LinearMixture:
    """The environment's linear mixture, with a bound that its own parameters keep to."""
    return environment.linear_mixture()
