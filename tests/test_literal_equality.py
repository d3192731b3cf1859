"""The compiled agent does what Algorithms 1 and 2 say: same actions, same values, on the same random numbers."""

import numpy as np
import pytest
from helpers import dense_features, episode_randomness, literal_agent, one_hot_features

import eluder
from eluder.agents import UCRLVTR, UCRLWVTR
from eluder.recording import Trace

EPISODES, SEED, PATHS = 60, 3, 3


def compare(mdp, agent, features, path, episodes=EPISODES):
    result = eluder.simulate(mdp, agent, episodes=episodes, paths=PATHS, seed=SEED, record=[Trace(mdp)])
    trace = {name: record[path] for name, record in result.records.items()}
    literal = literal_agent(mdp, features, agent)
    kernel, start = np.asarray(mdp.dense_kernel()), np.asarray(mdp.start)
    optimum = np.asarray(mdp.solve().values[0])
    for k in range(episodes):
        random = episode_randomness(SEED, path, k, mdp.horizon, mdp.states)
        episode = literal.episode(mdp.horizon, kernel, start, random)
        np.testing.assert_array_equal(trace["policy"][k], episode.policy)
        np.testing.assert_array_equal(trace["state"][k], episode.states[:-1])
        np.testing.assert_array_equal(trace["action"][k], episode.actions)
        np.testing.assert_allclose(trace["values"][k], episode.values, rtol=0, atol=1e-9)
        np.testing.assert_allclose(trace["weights"][k], episode.weights, rtol=1e-8, atol=1e-9)
        exact = optimum[episode.states[0]] - np.asarray(mdp.evaluate(episode.policy)[0, episode.states[0]])
        np.testing.assert_allclose(result.regret[path, k], exact, rtol=0, atol=1e-9)
        step_rewards = np.broadcast_to(mdp.rewards, (mdp.horizon, mdp.states, mdp.actions))
        collected = step_rewards[np.arange(mdp.horizon), episode.states[:-1], episode.actions].sum()
        np.testing.assert_allclose(result.returns[path, k], collected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("levels", [0, 1, 3])
def test_linear_mixture(river, levels):
    model = river.linear_mixture()
    compare(river, UCRLWVTR(model, levels=levels), dense_features(model), path=1)


@pytest.mark.parametrize("levels", [0, 1, 3])
def test_tabular(levels):
    river = eluder.environments.riverswim(states=3, horizon=12)
    agent = UCRLWVTR(eluder.models.Tabular(river), levels=levels)
    compare(river, agent, one_hot_features(3, 2), path=2)


def test_printed_error_weights_and_a_growing_radius(river):
    model = river.linear_mixture()
    agent = UCRLWVTR(model, levels=2, beta=lambda k: 0.5 + 0.01 * k, error_weights=(1.0, 2.0), gamma=0.3)
    compare(river, agent, dense_features(model), path=0)


def test_ucrl_vtr(river):
    model = river.linear_mixture()
    compare(river, UCRLVTR(model), dense_features(model), path=0)


def test_rewards_by_step_and_a_random_start():
    rng = np.random.default_rng(5)
    states, actions, horizon, dim = 4, 3, 6, 3
    kernels = rng.dirichlet(np.ones(states), size=(dim, states, actions))
    theta = np.array([0.5, 0.3, 0.2])
    dense = np.moveaxis(kernels, 0, -1)
    start = np.array([0.4, 0.0, 0.6, 0.0])
    mdp = eluder.FiniteMDP.from_dense(
        dense @ theta, rng.random((horizon, states, actions)), horizon=horizon, start=start
    )
    agent = UCRLWVTR(eluder.models.LinearMixture.from_dense(dense), levels=3)
    compare(mdp, agent, dense, path=1)


def test_every_part_of_the_weights_is_exercised(river):
    """Each of the three terms of σ̄² sets some weight in the runs above; otherwise equality would prove little."""
    result = eluder.simulate(
        river, UCRLWVTR(river.linear_mixture()), episodes=EPISODES, paths=PATHS, seed=SEED, record=[Trace(river)]
    )
    records = result.records
    for term in ("moment", "floor", "uncertainty"):
        assert np.mean(records["weights"] == records[term]) > 0.001, term
