"""The GPU kernel computes what the plain code computes (run here by Pallas's interpreter, without a GPU)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eluder
from eluder.agents import UCRLWVTR
from eluder.kernels import fused_episode, fused_sweep
from eluder.simulation import Run

EPISODES = 10


@pytest.mark.parametrize("case", ["river", "three actions, random start, rewards by step"])
def test_the_kernel_takes_the_same_decisions(case):
    mdp = eluder.environments.riverswim(states=3, horizon=7)
    agent = UCRLWVTR(mdp.linear_mixture(), levels=1, beta=lambda k: 0.3 + 0.02 * k)
    if case != "river":
        rng = np.random.default_rng(0)
        dense = np.moveaxis(rng.dirichlet(np.ones(3), size=(2, 3, 3)), 0, -1)
        rewards, start = rng.random((6, 3, 3)), [0.5, 0.0, 0.5]
        mdp = eluder.FiniteMDP.from_dense(dense @ [0.3, 0.7], rewards, horizon=6, start=start)
        agent = UCRLWVTR(eluder.models.LinearMixture.from_dense(dense), levels=0, error_weights=(1.0, 2.0))
    plain = eluder.simulate(mdp, agent, episodes=EPISODES, paths=fused_episode.LANES, seed=3)
    run = Run.start(mdp, agent, (), range(fused_episode.LANES), 3, 1)
    state = run.states[0]
    assert fused_episode.fits(run.agent, run.problem, state, fused_episode.LANES)

    @jax.jit
    def episode(state, number):
        block = run.blocks[0]
        return fused_episode.episode(run.agent, run.problem, run.truth, run.seed, block, state, number, interpret=True)

    for number in range(EPISODES):
        state, record = episode(state, jnp.asarray(number))
        np.testing.assert_allclose(record["regret"], plain.regret[:, number], rtol=0, atol=1e-10)
        np.testing.assert_allclose(record["returns"], plain.returns[:, number], rtol=0, atol=1e-10)
        np.testing.assert_allclose(record["optimal_value"], plain.optimal_value[:, number], rtol=0, atol=1e-12)


def test_what_the_kernel_leaves_to_the_plain_code():
    river = eluder.environments.riverswim()
    for agent in (
        UCRLWVTR(eluder.models.Tabular(river)),  # another class
        UCRLWVTR(river.linear_mixture(), levels=20),  # more numbers than a thread has registers for
        eluder.agents.Random(),
    ):
        run = Run.start(river, agent, (), range(32), 0, 1)
        assert not fused_episode.fits(run.agent, run.problem, run.states[0], 32)
    run = Run.start(river, UCRLWVTR(river.linear_mixture()), (), range(33), 0, 1)
    assert not fused_episode.fits(run.agent, run.problem, run.states[0], 33)


def test_the_sweep_over_a_large_mixture(monkeypatch):
    """One pass over the features gives the f̂ and D of the plain code, at every pair and path."""
    monkeypatch.setattr(fused_sweep, "_FEWEST_PAIRS", 1)
    rng = np.random.default_rng(0)
    states, actions, slots, dim, paths = 64, 2, 3, 4, 2
    successors = rng.integers(0, states, size=(states, actions, slots))
    model = eluder.models.LinearMixture(successors, rng.random((states, actions, slots, dim)))
    regression = model.regression(0.1)
    values = jnp.asarray(rng.random((states, paths)))
    at = regression.point(jnp.array([3, 9]), jnp.array([0, 1]), values, 1)
    data = regression.add(regression.init(1, paths), at, jnp.ones((1, paths)), jnp.full((1, paths), 0.5))
    planner = regression.planner(data)
    assert fused_sweep.fits(model, values)
    plain = regression.everywhere(planner, values)
    root, whitened = planner.root[:, :, 0, 0], planner.whitened[:, 0, 0]
    for ours, theirs in zip(fused_sweep.everywhere(model, root, whitened, values, interpret=True), plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    assert not fused_sweep.fits(model, jnp.zeros((states, 9)))
    assert not fused_sweep.fits(eluder.models.Tabular(eluder.environments.riverswim()), values)
