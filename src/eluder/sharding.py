"""One huge MDP over several devices, with JAX's own sharding: each holds its share of the states.

The kernel is by far the largest thing there is (S·A·N numbers, where a value function has S), so that dividing it by
states divides the memory. Everything else follows: functions that are given a sharded MDP run on all of its devices,
and each backup exchanges one value function between them. Sums run over successor slots, which stay together on one
device; the numbers are those of a single device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from eluder.mdp import FiniteMDP

_AXIS = "states"


def shard_states(mdp: FiniteMDP, devices: Sequence[Any] | None = None) -> FiniteMDP:
    """The same MDP with its states spread evenly over `devices`, all of JAX's by default.

    `solve`, `evaluate`, and `eluder.simulate` with `workers=1` then run on these devices. Build model classes from the
    sharded MDP, so that they are spread as well.
    """
    devices = jax.devices() if devices is None else list(devices)
    if mdp.states % len(devices):
        raise ValueError(
            f"{mdp.states} states cannot be spread evenly over {len(devices)} devices: pass `devices` whose number "
            "divides the number of states."
        )
    mesh = Mesh(np.array(devices), (_AXIS,))

    def place(array: Any, axis: int) -> Any:
        split = PartitionSpec(*(_AXIS if i == axis else None for i in range(array.ndim)))
        return jax.device_put(array, NamedSharding(mesh, split))

    where = [("successors", 0), ("probs", 0), ("rewards", 1), ("start", 0)]
    where += [("features", 0)] if mdp.features is not None else []
    return eqx.tree_at(
        lambda m: [getattr(m, name) for name, _ in where],
        mdp,
        [place(getattr(mdp, name), axis) for name, axis in where],
    )
