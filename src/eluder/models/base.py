"""What a model class is: a set of transition kernels, seen through f(s, a, V) = E[V(s') | s, a].

`LinearModel` covers the classes in which f is linear in unknown parameters, so that weighted regression and
the uncertainty D_F have closed forms. Parameters come in `blocks` that share no data: one block for a linear
mixture, one per (s, a) for the tabular class.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from eluder.mdp import FiniteMDP

if TYPE_CHECKING:
    from eluder.oracles import Oracle
    from eluder.regression import Regression
    from eluder.uncertainty import Uncertainty

# A class represents an MDP when its best kernel is this close to the true one.
REALISABLE = 1e-7


class Model(eqx.Module):
    """A class of transition models."""

    @abc.abstractmethod
    def misfit(self, mdp: FiniteMDP) -> float:
        """max |P − P̂| between the MDP's kernel and the closest one of the class (least squares)."""

    @abc.abstractmethod
    def regression(
        self,
        ridge: float | Float[Array, ""],
        oracle: Oracle | None = None,
        uncertainty: Uncertainty | None = None,
    ) -> Regression:
        """The weighted regression over this class: see `eluder.regression`.

        The class's own oracle and way to compute D_F are used unless others are given.
        """


class LinearModel(Model):
    """A class with f(s, a, V) = ⟨θ_block(s, a), φ_V(s, a)⟩."""

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """The number of parameters of one block."""

    @property
    @abc.abstractmethod
    def block_shape(self) -> tuple[int, int]:
        """The blocks as a table over (states, actions); (1, 1) when all pairs share one block."""

    @abc.abstractmethod
    def embed(self, values: Float[Array, "states paths"]) -> Float[Array, "dim states actions paths"]:
        """φ_V(s, a) at every pair."""

    @abc.abstractmethod
    def embed_at(
        self,
        state: Int[Array, " paths"],
        action: Int[Array, " paths"],
        values: Float[Array, "states paths"],
        levels: int,
    ) -> Float[Array, "dim levels paths"]:
        """φ of V^(2^m) at one pair per path, for the moment levels m = 0 … levels − 1."""

    def regression(
        self,
        ridge: float | Float[Array, ""],
        oracle: Oracle | None = None,
        uncertainty: Uncertainty | None = None,
    ) -> Regression:
        from eluder.regression import LinearRegression  # regression builds on this module

        if oracle is not None or uncertainty is not None:
            raise TypeError(
                f"{type(self).__name__} is solved in closed form and takes no oracle or uncertainty: use "
                "eluder.models.BallMixture to run a linear mixture through an oracle."
            )
        return LinearRegression(self, ridge)


def check_realisable(model: Model, mdp: FiniteMDP, *, allow_misspecified: bool) -> float:
    """The model's misfit to the MDP; an error when it is not zero and not allowed."""
    misfit = model.misfit(mdp)
    if misfit > REALISABLE and not allow_misspecified:
        raise ValueError(
            f"{type(model).__name__} cannot represent {mdp.name!r}: its closest kernel is off by {misfit:.3g} at "
            "some (s, a, s'). Change the features, or pass allow_misspecified=True to run all the same."
        )
    return misfit


def check_shapes(model_shape: tuple[int, ...], mdp: FiniteMDP, name: str) -> None:
    if model_shape != (mdp.states, mdp.actions):
        raise ValueError(
            f"This {name} is over {model_shape[0]} states and {model_shape[1]} actions, but {mdp.name!r} has "
            f"{mdp.states} and {mdp.actions}."
        )


def merge_slots(successors: np.ndarray, values: np.ndarray, states: int) -> tuple[np.ndarray, np.ndarray]:
    """Adds up slots that lead to the same state: keys (s·A + a)·S + s', sorted, and their summed values."""
    pairs = np.arange(successors.shape[0] * successors.shape[1]).reshape(successors.shape[:2])
    keys, where = np.unique(pairs[..., None] * states + successors, return_inverse=True)
    merged = np.zeros((keys.size, values.shape[-1]))
    np.add.at(merged, where.ravel(), values.reshape(-1, values.shape[-1]))
    return keys, merged
