"""The tabular class: every kernel. A one-hot linear mixture whose Gram matrix is block diagonal per (s, a)."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eluder._arrays import look_up, repeated_squares
from eluder.mdp import FiniteMDP
from eluder.models.base import LinearModel, check_shapes, merge_slots


class Tabular(LinearModel):
    """All kernels over the states of an environment, d = S²A parameters.

    With `known_support=True` the successors of each pair are known (those with positive probability, which
    is what lets S grow) and only their chances are learned.
    """

    successors: Int[Array, "states actions slots"] | None  # None: every state, in order
    possible: Float[Array, "states actions slots"] | None  # 1 where a slot can happen
    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(self, environment: FiniteMDP, known_support: bool = False):
        self.shape = (environment.states, environment.actions)
        self.successors = environment.successors if known_support else None
        self.possible = jnp.asarray(environment.probs > 0, dtype=float) if known_support else None

    @property
    def dim(self) -> int:
        return self.shape[0] if self.successors is None else self.successors.shape[-1]

    @property
    def block_shape(self) -> tuple[int, int]:
        return self.shape

    def embed(self, values: Float[Array, "states paths"]) -> Float[Array, "dim states actions paths"]:
        if self.successors is None or self.possible is None:
            return jnp.broadcast_to(values[:, None, None], (self.dim, *self.shape, values.shape[-1]))
        return jnp.moveaxis(self.possible[..., None] * values[self.successors], 2, 0)

    def embed_at(
        self,
        state: Int[Array, " paths"],
        action: Int[Array, " paths"],
        values: Float[Array, "states paths"],
        levels: int,
    ) -> Float[Array, "dim levels paths"]:
        if self.successors is not None and self.possible is not None:
            pair = state * self.shape[1] + action
            successors = look_up(self.successors.reshape(-1, self.dim), pair)
            possible = look_up(self.possible.reshape(-1, self.dim), pair)
            at_successors = jnp.take_along_axis(values, successors, axis=0, mode="promise_in_bounds")
            values = possible * at_successors
        return repeated_squares(values, levels)

    def misfit(self, mdp: FiniteMDP) -> float:
        check_shapes(self.shape, mdp, "Tabular")
        if self.successors is None:
            return 0.0
        # Probability mass that the MDP puts where this class knows no successor.
        own = np.stack([np.asarray(self.possible), np.zeros(self.successors.shape)], axis=-1)
        true = np.stack([np.zeros(mdp.probs.shape), np.asarray(mdp.probs)], axis=-1)
        successors = np.concatenate([self.successors, mdp.successors], axis=-1)
        _, rows = merge_slots(successors, np.concatenate([own, true], axis=2), mdp.states)
        return float(rows[rows[:, 0] == 0, 1].max(initial=0.0))
