"""Neural networks from features of (s, a) to logits over the successor slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Float, Int

from eluder import _validate as validate
from eluder.mdp import FiniteMDP
from eluder.models.general import GeneralModel, positive
from eluder.models.mnl import checked_support, softmax

if TYPE_CHECKING:
    from eluder.oracles import Oracle


class Neural(GeneralModel):
    """p_θ(s, a) = softmax over slots of network(x(s, a)), for any Equinox module; an MLP by default.

    θ is the network's arrays in one vector. Neither its regression nor its D_F has a guarantee: the oracle finds a
    local minimum, and `Linearised` measures uncertainty around it (errata 16).
    """

    successors: Int[Array, "states actions slots"]
    inputs: Float[Array, "states actions features"]
    reachable: Float[Array, "states actions slots"]
    network: Callable[[Float[Array, " features"]], Float[Array, " slots"]]
    bound: float

    def __init__(
        self,
        environment: FiniteMDP,
        network: Callable | None = None,
        inputs: ArrayLike | None = None,
        *,
        known_support: bool = True,
        bound: float = 10.0,
        width: int = 8,
        depth: int = 1,
        seed: int = 0,
    ):
        """
        **Arguments:**

        - `environment`: gives the states, actions and successor slots (not their chances).
        - `network`: an Equinox module from the features of a pair to one logit per slot; by default an MLP of `depth`
          hidden layers of `width` units, initialised from `seed`.
        - `inputs`: features x(s, a), of shape (S, A, F); by default one-hot states beside one-hot actions.
        - `known_support`: whether it is known which slots can happen.
        - `bound`: the largest norm of θ.
        """
        states, actions, slots = environment.successors.shape
        if inputs is None:
            s, a = np.indices((states, actions))
            inputs = np.concatenate([np.eye(states)[s], np.eye(actions)[a]], axis=-1)
        inputs = validate.finite(inputs, "inputs")
        if inputs.ndim != 3 or inputs.shape[:2] != (states, actions):
            raise ValueError(
                f"inputs must have the shape (states, actions, features) = {(states, actions, 'features')}, "
                f"but have {inputs.shape}."
            )
        if network is None:
            key = jax.random.key(seed)
            network = eqx.nn.MLP(inputs.shape[-1], slots, width, depth, activation=jnp.tanh, key=key)
        self.successors = environment.successors
        self.inputs = jnp.asarray(inputs)
        self.reachable = checked_support(environment.probs > 0 if known_support else None, (states, actions, slots))
        self.network = network
        self.bound = positive(bound, "bound")

    def probabilities(self, theta: Float[Array, " dim"]) -> Float[Array, "states actions slots"]:
        arrays, rest = eqx.partition(self.network, eqx.is_inexact_array)
        network = eqx.combine(ravel_pytree(arrays)[1](theta), rest)
        return softmax(jax.vmap(jax.vmap(network))(self.inputs), self.reachable)

    def start(self) -> Float[Array, " dim"]:
        return ravel_pytree(eqx.filter(self.network, eqx.is_inexact_array))[0]

    def possible(self) -> Float[Array, "states actions slots"]:
        return self.reachable

    def default_oracle(self) -> Oracle:
        from eluder.oracles import FirstOrder  # oracles build on models

        return FirstOrder()
