"""f̂ and D_F at every pair of a large linear mixture in one pass over its features, on a GPU.

With a million states the features are a gigabyte, and planning is as fast as they can be read. Plain JAX reads them
once but sends φ_V through memory on the way; here a thread keeps the d numbers of its pair in registers. The
arithmetic is that of `regression/linear.py`.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

from eluder.models import LinearMixture

# Pairs per program, one per thread.
_LANES = 128
# Fewer pairs fit the caches, and more parameters or paths no thread's registers.
_FEWEST_PAIRS, _MOST_NUMBERS, _MOST_PATHS = 2**16, 128, 4


def fits(model: Any, values: Float[Array, "states paths"]) -> bool:
    """Whether the kernel can serve this model class and batch."""
    if type(model) is not LinearMixture:
        return False
    slots, dim, states, actions = model.features_by_slot.shape
    pairs = states * actions
    return (
        pairs >= _FEWEST_PAIRS
        and pairs % _LANES == 0
        and slots * dim <= _MOST_NUMBERS
        and values.shape[1] <= _MOST_PATHS
    )


def everywhere(
    model: Any,  # a LinearMixture that `fits`
    root: Float[Array, "dim dim paths"],
    whitened: Float[Array, "dim paths"],
    values: Float[Array, "states paths"],
    *,
    interpret: bool = False,
) -> tuple[Float[Array, "states actions paths"], Float[Array, "states actions paths"]]:
    """f̂(s, a, V) = ⟨z, f⟩ and D(s, a, V) = ‖f‖ with f = Rᵀφ_V(s, a), at every pair."""
    slots, dim, states, actions = model.features_by_slot.shape
    pairs, paths = states * actions, values.shape[1]
    shape = jax.ShapeDtypeStruct((pairs, paths), values.dtype)
    mean, width = pl.pallas_call(
        functools.partial(_kernel, slots, dim, paths),
        out_shape=(shape, shape),
        grid=(pairs // _LANES,),
        interpret=interpret,
        compiler_params=None if interpret else triton.CompilerParams(num_warps=_LANES // 32, num_stages=1),
        name="linear_mixture_sweep",
    )(
        model.successors.reshape(pairs, slots),
        model.features_by_slot.reshape(slots * dim, pairs),
        values,
        root,
        whitened,
    )
    return mean.reshape(states, actions, paths), width.reshape(states, actions, paths)


def _dot(x, y):
    return functools.reduce(operator.add, (a * b for a, b in zip(x, y, strict=True)))


def _kernel(slots: int, dim: int, paths: int, succ_ref, phi_ref, value_ref, root_ref, white_ref, mean_out, width_out):
    first = pl.program_id(0) * _LANES
    block, lanes = pl.ds(first, _LANES), first + jnp.arange(_LANES, dtype=jnp.int32)
    successors = [succ_ref[lanes, jnp.full((_LANES,), n, jnp.int32)] for n in range(slots)]
    features = [[phi_ref[n * dim + i, block] for n in range(slots)] for i in range(dim)]
    for p in range(paths):
        at_slots = [value_ref[successor, jnp.full((_LANES,), p, jnp.int32)] for successor in successors]
        phi = [_dot(features[i], at_slots) for i in range(dim)]
        white = [_dot([root_ref[i, j, p] for i in range(dim)], phi) for j in range(dim)]
        mean_out[block, p] = _dot([white_ref[j, p] for j in range(dim)], white)
        width_out[block, p] = jnp.sqrt(_dot(white, white))
