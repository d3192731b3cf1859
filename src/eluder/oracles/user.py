"""A user's own oracle, from a function."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eluder.models.general import GeneralModel
from eluder.oracles.base import Fit, Oracle, outcome
from eluder.regression import gram


class CallableOracle(Oracle):
    """Wraps `function(model, moments, start)`, which returns θ, or θ and whether it converged.

    `moments` are the statistics of one data set, of shape (pairs, slots + 1, slots + 1); the loss of θ is
    `gram.loss(moments, model.slots_of(θ))`. With `traceable=False` the function is plain Python (NumPy, SciPy, another
    process …): it is called back from the compiled run, once for each path and moment level, with NumPy arrays.
    """

    function: Callable = eqx.field(static=True)
    traceable: bool = eqx.field(static=True, default=True)

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        if self.traceable:
            theta, converged = self._call(model, moments, start)
            return outcome(model.project(jnp.asarray(theta, dtype=float)), jnp.asarray(converged), start)
        arrays, rest = eqx.partition(model, eqx.is_array)

        def on_host(arrays, moments, start):
            as_numpy = jax.tree.map(np.asarray, (arrays, moments, start))
            own = eqx.combine(as_numpy[0], rest)
            theta, converged = self._call(own, *as_numpy[1:])
            return np.asarray(theta, dtype=np.float64), np.asarray(converged, dtype=bool)

        shapes = (jax.ShapeDtypeStruct(start.shape, start.dtype), jax.ShapeDtypeStruct((), bool))
        theta, converged = jax.pure_callback(on_host, shapes, arrays, moments, start, vmap_method="sequential")
        return outcome(model.project(theta), converged, start)

    def _call(self, model, moments, start):
        name = getattr(self.function, "__name__", type(self.function).__name__)
        try:
            answer = self.function(model, moments, start)
        except Exception as error:
            raise RuntimeError(f"The oracle {name!r} raised {type(error).__name__}: {error}") from error
        theta, converged = answer if isinstance(answer, tuple) else (answer, True)
        if np.shape(theta) != np.shape(start):
            raise RuntimeError(
                f"The oracle {name!r} must return parameters of shape {np.shape(start)}, "
                f"but returned {np.shape(theta)}."
            )
        return theta, converged
