"""A sharded MDP: the numbers of one device, from several (forced ones of the CPU, in a process of their own)."""

import os
import subprocess
import sys

import jax
import pytest

import eluder
from eluder.sharding import shard_states

SCRIPT = """
import jax, numpy as np
import eluder
from eluder.sharding import shard_states

assert len(jax.devices()) == 4
rng = np.random.default_rng(0)
states, actions, slots, horizon = 64, 3, 4, 12
successors = rng.integers(states, size=(states, actions, slots))
probs = rng.dirichlet(np.ones(slots), size=(states, actions))
mdp = eluder.FiniteMDP(successors, probs, rng.random((states, actions)), horizon=horizon)
spread = shard_states(mdp)
assert len(spread.probs.sharding.device_set) == 4
assert spread.probs.addressable_shards[0].data.shape == (states // 4, actions, slots)  # a quarter of the memory

one, several = mdp.solve(), spread.solve()
for name in ("values", "q_values", "policy"):
    np.testing.assert_array_equal(getattr(one, name), getattr(several, name))
assert len(several.q_values.sharding.device_set) == 4
np.testing.assert_array_equal(mdp.evaluate(one.policy), spread.evaluate(one.policy))

def run(environment):
    agent = eluder.agents.UCRLWVTR(eluder.models.Tabular(environment, known_support=True), levels=1)
    return eluder.simulate(environment, agent, episodes=6, paths=3, workers=1)

np.testing.assert_array_equal(run(mdp).regret, run(spread).regret)
np.testing.assert_array_equal(run(mdp).returns, run(spread).returns)
print("same")
"""


def test_the_same_numbers_from_four_devices():
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.strip() == "same", done.stderr


def test_states_must_divide(river):
    with pytest.raises(ValueError, match="5 states cannot be spread evenly over 2 devices"):
        shard_states(river, jax.devices() * 2)


def test_one_device_changes_nothing(river):
    spread = shard_states(river, jax.devices()[:1])
    assert isinstance(spread, eluder.FiniteMDP)
    assert (spread.solve().values == river.solve().values).all()
