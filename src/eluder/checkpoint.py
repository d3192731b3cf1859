"""A run's state as plain named arrays, and back: what a resumed run needs, and nothing that could execute.

The arrays cover all paths of the run in order, however the run batches them, so that a run may go on with
another number of threads than it stopped with.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from eluder.simulation import Run

Layout = list[tuple[str, int | None]]


def to_arrays(run: Run, layout: Layout | None = None) -> dict[str, np.ndarray]:
    """The agents' state on every path, by the name of its leaf. Who saves often passes the run's `layout`."""
    layout = layout_of(run) if layout is None else layout
    leaves = [[np.asarray(_raw(leaf)) for leaf in jax.tree.leaves(state)] for state in run.states]
    arrays = {}
    for parts, (name, axis) in zip(zip(*leaves, strict=True), layout, strict=True):
        if axis is None:  # the same on every path
            arrays[name] = parts[0]
        else:
            joined = np.concatenate(parts, axis=axis)
            arrays[name] = np.take(joined, np.arange(run.paths), axis=axis)
    return arrays


def from_arrays(run: Run, arrays: dict[str, np.ndarray], episodes: int, layout: Layout | None = None) -> Run:
    """The run with the state that `to_arrays` returned after `episodes` episodes; an error when it does not fit."""
    names = layout_of(run) if layout is None else layout
    if set(arrays) != {name for name, _ in names}:
        raise ValueError("The saved state is of another agent.")
    first, states = 0, []
    for block, template in zip(run.blocks, run.states, strict=True):
        inside = np.minimum(np.arange(first, first + block.size), run.paths - 1)
        first += block.size
        old, structure = jax.tree.flatten(template)
        new = []
        for leaf, (name, axis) in zip(old, names, strict=True):
            value = arrays[name] if axis is None else np.take(arrays[name], inside, axis=axis, mode="clip")
            raw = _raw(leaf)
            if value.shape != raw.shape or value.dtype != raw.dtype:
                raise ValueError(f"The saved state is of another run: {name} does not fit.")
            value = jnp.asarray(value)
            new.append(jax.random.wrap_key_data(value) if _is_key(leaf) else value)
        states.append(jax.tree.unflatten(structure, new))
    return run._replace(states=tuple(states), episodes=episodes)


def layout_of(run: Run) -> Layout:
    """Each leaf's name, and its axis over paths: the one that grows with their number."""
    state, paths = run.states[0], run.blocks[0].size
    larger = jax.eval_shape(lambda: run.agent.init(run.problem, paths + 1))
    pairs = zip(jax.tree_util.tree_leaves_with_path(state), jax.tree.leaves(larger), strict=True)
    result = []
    for (path, small), large in pairs:
        sizes = zip(small.shape, large.shape, strict=True)  # of keys without their words, which come last
        grown = [axis for axis, (n, m) in enumerate(sizes) if n != m]
        result.append((jax.tree_util.keystr(path) or "state", grown[-1] if grown else None))
    return result


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _raw(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf
