"""Which device runs, and how many paths it takes at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax

from eluder.experiments.build import Built
from eluder.simulation import problem_of

# On a CPU: enough paths to fill its vector units, few enough to stay in its caches and to spread over its cores.
_CPU_BLOCK = 64
_ACCELERATOR_BLOCK_AT_MOST = 65_536
_RECORDED_EPISODES = 256  # at most, in one call of the compiled program
# Compiled programs hold inputs, outputs and temporaries at once.
_COPIES = 4
_SHARE = 0.7
_UNKNOWN_MEMORY = 4 * 2**30


def choose(device: str) -> str:
    """Makes JAX use "cpu", "gpu" or its own choice, "auto"; returns the backend that it will use."""
    if device not in ("auto", "cpu", "gpu"):
        raise ValueError(f"The device must be auto, cpu or gpu, but is {device!r}.")
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    elif device == "gpu":
        try:
            jax.devices("gpu")
        except RuntimeError:
            raise ValueError(
                "JAX finds no gpu on this machine: install eluder[cuda] on one with an NVIDIA GPU, "
                "or leave --device out."
            ) from None
    if device != "auto" and jax.devices(device)[0].platform != jax.devices()[0].platform:
        raise ValueError(f"JAX already runs on {jax.default_backend()}: choose the device before the first run.")
    return jax.default_backend()


def block_size(built: Iterable[Built], paths: int, device: Any = None) -> int:
    """Paths in one block: a fixed number on CPUs, as many as fit into memory on accelerators."""
    device = jax.devices()[0] if device is None else device
    if device.platform == "cpu":
        return _CPU_BLOCK
    stats = device.memory_stats() or {}
    free = stats.get("bytes_limit", _UNKNOWN_MEMORY) - stats.get("bytes_in_use", 0)
    largest = max(bytes_per_path(b) for b in built)
    fits = max(1, int(_SHARE * free / largest))
    block = 2 ** (min(fits, _ACCELERATOR_BLOCK_AT_MOST).bit_length() - 1)
    # No larger than needed: whoever asks for a few more paths later then adds a block, not a fraction of one.
    return min(block, 2 ** max(0, (paths - 1).bit_length()))


def bytes_per_path(built: Built) -> int:
    """Memory that one path takes while it runs: the agent's state, the plan, and what is recorded."""
    agent = built.agent
    problem = problem_of(built.environment, per_step=agent.per_step)
    counts = (2, 3)

    def size(paths: int) -> int:
        state = jax.eval_shape(lambda: agent.init(problem, paths))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    state = size(counts[1]) - size(counts[0])
    pairs = problem.states * problem.actions
    # V and the policy at every step, Q values where they are kept, and the features of one backup.
    plan = problem.max_horizon * problem.states * 12 + 64 * pairs * 8
    if agent.keeps_q_values:
        plan += problem.max_horizon * pairs * 8
    records = _RECORDED_EPISODES * 3 * 8
    return _COPIES * (state + plan) + 2 * records
