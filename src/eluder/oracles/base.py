"""What a regression oracle is (the paper's Assumption 3): weighted least squares over a class of models.

It is handed Gram statistics instead of a data set (`eluder.regression.gram`) and returns parameters beside a
result code. Algorithms that need an oracle need nothing else of a class.
"""

from __future__ import annotations

import abc
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder.models.general import GeneralModel
from eluder.regression import gram

Kind = TypeVar("Kind", bound=GeneralModel)

CONVERGED = 0
OUT_OF_STEPS = 1
NOT_FINITE = 2
MESSAGES = {
    CONVERGED: "converged",
    OUT_OF_STEPS: "stopped at its largest number of steps; the best parameters so far are kept",
    NOT_FINITE: "returned numbers that are not finite; the parameters before are kept",
}


class Fit(NamedTuple):
    """What an oracle returns."""

    theta: Float[Array, " dim"]
    code: Int[Array, ""]  # one of CONVERGED, OUT_OF_STEPS, NOT_FINITE


class Oracle(eqx.Module):
    """Finds argmin over θ of the weighted squared error. Written for one data set; callers batch it."""

    @abc.abstractmethod
    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        """The minimiser of `gram.loss(moments, model.slots_of(θ))`; `start` is where iterative methods begin."""


def of_kind(model: GeneralModel, kind: type[Kind], oracle: Oracle, instead: str) -> Kind:
    """The model, after a check that it is of the kind that an oracle can solve."""
    if not isinstance(model, kind):
        raise TypeError(
            f"{type(oracle).__name__} cannot solve {type(model).__name__}, which is no {kind.__name__}: use {instead}."
        )
    return model


def outcome(theta: Float[Array, " dim"], converged: Array, before: Float[Array, " dim"]) -> Fit:
    """A fit with its code; numbers that are not finite are replaced by the parameters before."""
    finite = jnp.all(jnp.isfinite(theta))
    code = jnp.where(finite, jnp.where(converged, CONVERGED, OUT_OF_STEPS), NOT_FINITE)
    return Fit(jnp.where(finite, theta, before), code.astype(jnp.int32))
