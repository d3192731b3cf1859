"""A class from a function: for those who would rather not write a subclass."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate
from eluder.mdp import FiniteMDP
from eluder.models.general import GeneralModel, positive


class Custom(GeneralModel):
    """The class {function(θ) : ‖θ‖ ≤ bound} for any differentiable function from θ to slot probabilities."""

    successors: Int[Array, "states actions slots"]
    function: Callable[[Float[Array, " dim"]], Float[Array, "states actions slots"]] = eqx.field(static=True)
    first: Float[Array, " dim"]
    bound: float

    def __init__(self, environment: FiniteMDP, function: Callable, start: ArrayLike, bound: float = 10.0):
        """
        **Arguments:**

        - `environment`: gives the successor slots (not their chances).
        - `function`: from θ to slot probabilities of shape (S, A, N), in operations that JAX can trace.
        - `start`: the θ to begin with.
        - `bound`: the largest norm of θ.
        """
        if not callable(function):
            raise TypeError(f"function must take parameters to slot probabilities, but is {function!r}.")
        self.successors = environment.successors
        self.function = function
        self.first = jnp.atleast_1d(jnp.asarray(validate.finite(start, "start")))
        self.bound = positive(bound, "bound")

    def probabilities(self, theta: Float[Array, " dim"]) -> Float[Array, "states actions slots"]:
        return self.function(theta)

    def start(self) -> Float[Array, " dim"]:
        return self.first
