"""Exact solutions against brute force on tiny MDPs, and what malformed input is told."""

import itertools

import numpy as np
import pytest
from helpers import random_mdp

from eluder import FiniteMDP


def expected_return(mdp, policy, state, step=0):
    """V^π by the definition: a sum over all futures."""
    if step == mdp.horizon:
        return 0.0
    action = policy[step][state]
    reward = float(np.broadcast_to(mdp.rewards, (mdp.horizon, mdp.states, mdp.actions))[step, state, action])
    kernel = np.asarray(mdp.dense_kernel())
    return reward + sum(
        kernel[state, action, nxt] * expected_return(mdp, policy, nxt, step + 1) for nxt in range(mdp.states)
    )


def all_policies(mdp):
    for flat in itertools.product(range(mdp.actions), repeat=mdp.horizon * mdp.states):
        yield np.array(flat).reshape(mdp.horizon, mdp.states)


@pytest.mark.parametrize("stationary", [True, False])
def test_solution_is_the_best_of_all_policies(stationary):
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, states=2, actions=2, horizon=3)
    if not stationary:
        mdp = FiniteMDP.from_dense(mdp.dense_kernel(), rng.random((3, 2, 2)), horizon=3)
    solution = mdp.solve()
    returns = [[expected_return(mdp, policy, s) for s in range(2)] for policy in all_policies(mdp)]
    np.testing.assert_allclose(solution.values[0], np.max(returns, axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(mdp.evaluate(solution.policy), solution.values, rtol=0, atol=1e-13)
    np.testing.assert_allclose(solution.q_values.max(axis=-1), solution.values[:-1], rtol=0, atol=1e-15)


def test_value_and_occupancy_of_a_policy():
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, states=3, actions=2, horizon=4, start=[0.5, 0.2, 0.3])
    policy = rng.integers(0, 2, size=(4, 3))
    by_hand = [expected_return(mdp, policy, s) for s in range(3)]
    np.testing.assert_allclose(mdp.evaluate(policy)[0], by_hand, rtol=0, atol=1e-13)
    # Occupancy: the chance of every trajectory, added up.
    kernel, expected = np.asarray(mdp.dense_kernel()), np.zeros((4, 3, 2))
    for states in itertools.product(range(3), repeat=4):
        chance = float(mdp.start[states[0]])
        for h, s in enumerate(states):
            if h:
                chance *= kernel[states[h - 1], policy[h - 1, states[h - 1]], s]
        for h, s in enumerate(states):
            expected[h, s, policy[h, s]] += chance
    np.testing.assert_allclose(mdp.occupancy(policy), expected, rtol=0, atol=1e-13)
    # Rewards weighted by occupancy are the value.
    total = (np.asarray(mdp.occupancy(policy)) * np.asarray(mdp.rewards)).sum()
    np.testing.assert_allclose(total, np.asarray(mdp.start) @ by_hand, rtol=0, atol=1e-13)


def test_stochastic_policies_average_the_deterministic_ones():
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, states=2, actions=2, horizon=2)
    uniform = np.full((2, 2, 2), 0.5)
    average = np.mean([mdp.evaluate(policy)[0] for policy in all_policies(mdp)], axis=0)
    np.testing.assert_allclose(mdp.evaluate(uniform)[0], average, rtol=0, atol=1e-13)


def test_expectation_and_variance():
    kernel = np.array([[[0.25, 0.75], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    mdp = FiniteMDP.from_dense(kernel, np.zeros((2, 2)), horizon=1)
    values = np.array([1.0, 3.0])
    # E = 0.25·1 + 0.75·3 = 2.5, Var = 0.25·1.5² + 0.75·0.5² = 0.75; a coin between 1 and 3 has variance 1.
    np.testing.assert_allclose(mdp.expectation(values), [[2.5, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(mdp.variance(values), [[0.75, 0.0], [1.0, 0.0]], atol=1e-15)


def test_dense_round_trip_and_duplicate_slots():
    rng = np.random.default_rng(3)
    kernel = rng.dirichlet(np.ones(5), size=(5, 2)) * (rng.random((5, 2, 5)) < 0.6)
    kernel[..., 0] += kernel.sum(axis=-1) == 0
    kernel /= kernel.sum(axis=-1, keepdims=True)
    mdp = FiniteMDP.from_dense(kernel, np.zeros((5, 2)), horizon=2)
    assert mdp.slots < 5 or (kernel > 0).all(axis=-1).any()
    np.testing.assert_allclose(mdp.dense_kernel(), kernel, rtol=0, atol=1e-15)
    twice = FiniteMDP([[[0, 0]]], [[[0.4, 0.6]]], [[1.0]], horizon=3)
    np.testing.assert_allclose(twice.dense_kernel(), [[[1.0]]])
    assert float(twice.solve().values[0, 0]) == 3.0


def test_reward_scale_and_normalised():
    mdp = FiniteMDP([[[0]]], [[[1.0]]], [[2.0]], horizon=5)
    assert mdp.reward_scale == 10.0
    assert float(mdp.normalised().solve().values[0, 0]) == 1.0
    # A trajectory collects the reward of 2 at the first step only: 2 is a valid scale although H · max r = 10.
    once = FiniteMDP([[[1]], [[1]]], [[[1.0]], [[1.0]]], [[2.0], [0.0]], horizon=5, reward_scale=2.0)
    assert once.reward_scale == 2.0


GOOD = {"successors": [[[0, 1]], [[0, 1]]], "probs": [[[0.5, 0.5]], [[0.5, 0.5]]], "rewards": [[1.0], [0.0]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": [[[0.5, 0.4]], [[0.5, 0.5]]]}, r"probs\[0, 0\] sums to 0.9"),
        ({"probs": [[[1.5, -0.5]], [[0.5, 0.5]]]}, r"negative.*probs\[0, 0, 1\]"),
        ({"probs": [[[np.nan, 0.5]], [[0.5, 0.5]]]}, r"finite.*probs\[0, 0, 0\] is nan"),
        ({"probs": [[[0.5, 0.5]]]}, r"shape \(states, actions, slots\)"),
        ({"probs": "many"}, "array of numbers"),
        ({"successors": [[[0, 2]], [[0, 1]]]}, "states from 0 to 1"),
        ({"successors": [[[0, 0.5]], [[0, 1]]]}, "whole numbers"),
        ({"rewards": [1.0, 0.0]}, "rewards must have the shape"),
        ({"rewards": [[-1.0], [0.0]]}, "must not be negative"),
        ({"rewards": [[np.inf], [0.0]]}, "finite"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"horizon": 2.5}, "horizon must be a whole number"),
        ({"start": 2}, "start must be a state from 0 to 1"),
        ({"start": [0.5, 0.6]}, "start"),
        ({"start": [1.0]}, "start must have the shape"),
        ({"reward_scale": 3.9}, "collects 4: pass a reward_scale of at least 4"),
        ({"reward_scale": -1.0}, "positive number"),
        ({"features": [[[[1.0]]], [[[1.0]]]]}, "features must have the shape"),
    ],
)
def test_malformed_mdps_get_one_clear_sentence(change, message):
    arguments = {**GOOD, "horizon": 4, **change}
    with pytest.raises(ValueError, match=message) as caught:
        FiniteMDP(**arguments)
    assert "\n" not in str(caught.value)


def test_malformed_kernels_and_policies():
    with pytest.raises(ValueError, match=r"\(states, actions, states\)"):
        FiniteMDP.from_dense(np.ones((2, 2)), [[0.0]], horizon=1)
    mdp = FiniteMDP(**GOOD, horizon=4)
    with pytest.raises(ValueError, match="policy must have the shape"):
        mdp.evaluate(np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match="actions from 0 to 0"):
        mdp.evaluate(np.ones((4, 2), dtype=int))
    with pytest.raises(ValueError, match=r"values must have the shape \(2,\)"):
        mdp.expectation([1.0])
    with pytest.raises(ValueError, match="without linear-mixture features"):
        mdp.linear_mixture()
