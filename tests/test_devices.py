"""Which device runs, and blocks that fit into its memory."""

from types import SimpleNamespace

import jax
import pytest

import eluder
from eluder.experiments import devices
from eluder.experiments.build import Built


def gpu(gibibytes: float, used: float = 0.0) -> SimpleNamespace:
    stats = {"bytes_limit": int(gibibytes * 2**30), "bytes_in_use": int(used * 2**30)}
    return SimpleNamespace(platform="gpu", memory_stats=lambda: stats)


def built(states: int, horizon: int, tabular: bool = False) -> Built:
    river = eluder.environments.riverswim(states=states, horizon=horizon)
    model = eluder.models.Tabular(river) if tabular else river.linear_mixture()
    return Built(river, eluder.agents.UCRLWVTR(model), ())


def test_blocks_on_a_gpu_follow_its_memory():
    small, large = built(5, 20), built(30, 100, tabular=True)
    assert devices.bytes_per_path(large) > 10 * devices.bytes_per_path(small)
    sizes = [devices.block_size([large], 10**6, gpu(g)) for g in (1, 8, 64)]
    assert sizes == sorted(set(sizes))
    for size, memory in zip(sizes, (1, 8, 64), strict=True):
        assert size * devices.bytes_per_path(large) <= memory * 2**30
    assert devices.block_size([large], 10**6, gpu(64, used=60)) < sizes[-1]
    assert devices.block_size([small, large], 10**6, gpu(8)) == sizes[1]  # all must fit
    assert devices.block_size([small], 10**6, gpu(24)) >= 4096
    assert devices.block_size([small], 3000, gpu(24)) == 4096  # no more than there are
    assert devices.block_size([small], 1, gpu(1e-9)) == 1


def test_the_states_arrays_are_counted():
    """By hand: UCRL-WVTR on d = 3 with 4 levels has at least Σ⁻¹ and b at every level."""
    assert devices.bytes_per_path(built(5, 20)) > 4 * (3 * 3 + 3) * 8


def test_blocks_on_a_cpu_are_of_one_size():
    assert devices.block_size([built(5, 20)], 10**6, jax.devices("cpu")[0]) == 64


def test_choosing_a_device():
    assert devices.choose("auto") == jax.default_backend()
    with pytest.raises(ValueError, match="auto, cpu or gpu"):
        devices.choose("quantum")
    if jax.default_backend() == "cpu":
        with pytest.raises(ValueError, match="JAX finds no gpu on this machine"):
            devices.choose("gpu")
