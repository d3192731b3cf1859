"""What mixtures share: p_θ(s, a) = Φ(s, a) θ, for θ in a ball, on the simplex or among its corners."""

from __future__ import annotations

import abc
from typing import Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate
from eluder._arrays import dot
from eluder.models.general import GeneralModel
from eluder.regression import gram


class Mixture(GeneralModel):
    """p_θ(s, a) = Φ(s, a) θ."""

    features: eqx.AbstractVar[Float[Array, "states actions slots dim"]]

    @abc.abstractmethod
    def largest(self, psi: Float[Array, " dim"]) -> Float[Array, ""]:
        """max |⟨θ, ψ⟩| over the class."""

    @property
    def dim(self) -> int:
        return self.features.shape[-1]

    def pair_features(self) -> Float[Array, "pairs slots dim"]:
        """Φ with the pairs s·A + a on one axis."""
        return self.features.reshape(-1, *self.features.shape[2:])

    def probabilities(self, theta: Float[Array, " dim"]) -> Float[Array, "states actions slots"]:
        return dot(jnp.moveaxis(self.features, -1, 0), theta.reshape(-1, 1, 1, 1))

    def possible(self) -> Float[Array, "states actions slots"]:
        return jnp.any(self.features != 0, axis=-1).astype(float)

    def supremum(self, pair: Int[Array, ""], at_slots: Float[Array, " slots"]) -> Float[Array, ""]:
        return self.largest(dot(self.pair_features()[pair], at_slots[:, None]))

    def _closest(self, moments: gram.PairMoments) -> Float[Array, "pairs slots"]:
        return self.slots_of(self.default_oracle().solve(self, moments, self.start()).theta)

    def in_coordinates(self) -> Self:
        """The same θ as a class over one pair whose slots are the coordinates: statistics shrink to d × d."""
        one_pair = (jnp.zeros((1, 1, self.dim), dtype=jnp.int32), jnp.eye(self.dim)[None, None])
        return eqx.tree_at(lambda model: (model.successors, model.features), self, one_pair)


def checked_slots(successors: ArrayLike, features: ArrayLike) -> tuple[Array, Array]:
    """Successors (S, A, N) and features (S, A, N, d) as arrays, after a check of their shapes."""
    successors = validate.whole_numbers(successors, "successors")
    if successors.ndim != 3 or not (successors.min() >= 0 and successors.max() < successors.shape[0]):
        raise ValueError("successors must have the shape (states, actions, slots) and name states.")
    features = validate.slot_features(features, successors.shape)
    return jnp.asarray(successors, dtype=jnp.int32), jnp.asarray(features)
