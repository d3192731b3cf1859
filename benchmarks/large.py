"""Linear mixtures with up to a million states: the time of a planning sweep against the bytes it must move.

A sweep is one step of backward induction at every pair (s, a): features, successors, rewards and kernel are read once,
the policy and two value functions written. Four actions, four successors, d = 8. Its rate is compared with that of a
copy measured in the same run. Needs JAX, NumPy, Equinox and jaxtyping alone.
"""

from __future__ import annotations

import argparse
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import eluder
from eluder.agents import UCRLWVTR
from eluder.agents.base import traced
from eluder.models import LinearMixture
from eluder.planning import Truth, plan_episode
from eluder.simulation import problem_of

ACTIONS, SLOTS, DIM, HORIZON = 4, 4, 8, 16


def copy_bandwidth(dtype) -> float:
    """Bytes per second of a large elementwise copy, read and written."""
    array = jnp.ones((2**27 if jax.default_backend() == "gpu" else 2**25,), dtype)
    repeats = 10  # in one program, as the sweeps of an episode are
    scale = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, lambda _, x: x * 1.0001, x))
    jax.block_until_ready(scale(array))
    seconds = min(_timed(lambda: scale(array)) for _ in range(4)) / repeats
    return 2 * array.nbytes / seconds


def _timed(call) -> float:
    began = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - began


def problem(states: int):
    """A random mixture of `states` states, made on the device: its kernels mix d random ones with equal weights."""
    small = eluder.FiniteMDP(
        np.zeros((2, ACTIONS, SLOTS)), np.full((2, ACTIONS, SLOTS), 1 / SLOTS), np.ones((2, ACTIONS)), horizon=HORIZON
    )
    keys = jax.random.split(jax.random.key(0), 3)
    successors = jax.random.randint(keys[0], (states, ACTIONS, SLOTS), 0, states, dtype=jnp.int32)
    kernels = jax.random.exponential(keys[1], (SLOTS, DIM, states, ACTIONS), dtype=small.probs.dtype)
    kernels = kernels / kernels.sum(axis=0)
    probs = jnp.moveaxis(kernels.mean(axis=1), 0, -1)
    rewards = jax.random.uniform(keys[2], (1, states, ACTIONS), dtype=small.probs.dtype)
    fields = (successors, probs, rewards, jnp.zeros(states).at[0].set(1.0))
    mdp = eqx.tree_at(lambda m: (m.successors, m.probs, m.rewards, m.start), small, fields)
    template = LinearMixture(np.zeros((1, 1, 1)), np.zeros((1, 1, 1, DIM)))
    model = eqx.tree_at(lambda m: (m.successors, m.features_by_slot), template, (successors, kernels))
    return mdp, model


def sweep(states: int) -> tuple[float, float]:
    """Seconds of one planning sweep, and the fewest bytes it moves."""
    mdp, model = problem(states)
    agent, told, truth = traced(UCRLWVTR(model)), problem_of(mdp), Truth.of(mdp)
    key = jax.random.key_data(jax.random.split(jax.random.key(1), 1)).T

    @eqx.filter_jit
    def plan(agent, told, truth, state, key):
        plan = agent.begin(state, told, jnp.asarray(0), None)
        planned = plan_episode(agent, plan, told, truth, key)
        return planned.values[0], planned.policy_value

    state = agent.init(told, 1)
    jax.block_until_ready(plan(agent, told, truth, state, key))
    seconds = min(_timed(lambda: plan(agent, told, truth, state, key)) for _ in range(4)) / HORIZON
    number = truth.probs.dtype.itemsize
    # Features; the model's and the kernel's successors; the kernel; rewards; V read and written; V^π the same; policy.
    pairs = states * ACTIONS
    least = pairs * (SLOTS * (DIM * number + 4 + 4 + number) + number) + states * (4 * number + 4)
    return seconds, least


def main() -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--float32", action="store_true", help="32-bit floats")
    options, _ = parser.parse_known_args()
    if options.float32:
        jax.config.update("jax_enable_x64", False)
    bandwidth = copy_bandwidth(float)
    print(f"{jax.devices()[0]}, copy: {bandwidth / 1e9:,.0f} GB/s")
    rows = []
    for states in options.states:
        seconds, least = sweep(states)
        share = least / seconds / bandwidth
        rows.append({"states": states, "milliseconds": seconds * 1e3, "megabytes": least / 1e6, "share": share})
        print(f"{states:>9,} states: {seconds * 1e3:.3f} ms a sweep, {least / 1e6:,.0f} MB, {share:.0%} of the copy")
    return rows


if __name__ == "__main__":
    main()
