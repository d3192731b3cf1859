"""Diagnostics against loops over a recorded trace, and the lemmas of the proof as properties of runs."""

import math

import numpy as np
import pytest
from helpers import dense_features, one_hot_features

import eluder
from eluder import theory
from eluder.agents import UCRLWVTR
from eluder.diagnostics import Coverage, Moments, Optimism, diagnose, true_parameters
from eluder.models import Tabular
from eluder.models.finite import Finite
from eluder.recording import Trace
from eluder.theory.geometry import feature_norm

EPISODES, PATHS, LEVELS = 12, 2, 2


def _problem(kind):
    river = eluder.environments.riverswim(states=3, horizon=6)
    if kind == "tabular":
        return river, Tabular(river), one_hot_features(3, 2)
    model = river.linear_mixture()
    return river, model, dense_features(model)


@pytest.mark.parametrize("kind", ["mixture", "tabular"])
def test_diagnostics_equal_loops_over_the_trace(kind):
    mdp, model, features = _problem(kind)
    ridge, gamma, sigma_min, beta = 0.05, 0.6, 0.1, 0.8
    agent = UCRLWVTR(model, levels=LEVELS, ridge=ridge, gamma=gamma, sigma_min=sigma_min, beta=beta)
    result = eluder.simulate(
        mdp, agent, episodes=EPISODES, paths=PATHS, seed=2, record=[Trace(mdp), *diagnose(mdp, agent)]
    )
    kernel, optimal = np.asarray(mdp.dense_kernel()), np.asarray(mdp.solve().values) / mdp.reward_scale
    rewards = np.broadcast_to(np.asarray(mdp.rewards) / mdp.reward_scale, (6, 3, 2))
    truth = true_parameters(mdp, model).ravel()
    seen_outside = 0
    for path in range(PATHS):
        got = {name: record[path] for name, record in result.records.items()}
        data = [[] for _ in range(LEVELS + 1)]  # (φ, y, σ̄²) by level
        for k in range(EPISODES):
            fits = []
            for m, points in enumerate(data):
                gram, vector = ridge * np.eye(len(truth)), np.zeros(len(truth))
                for phi, y, weight in points:
                    gram, vector = gram + np.outer(phi, phi) / weight, vector + phi * y / weight
                theta = np.linalg.solve(gram, vector)
                fits.append((theta, np.linalg.inv(gram)))
                distance = math.sqrt(sum((phi @ (theta - truth)) ** 2 / weight for phi, _, weight in points))
                assert got["distance"][k, m] == pytest.approx(distance, abs=1e-7)
                assert got["covered"][k, m] == (distance <= beta)
            gap = got["values"][k][:-1] - optimal[:-1]
            assert got["optimism"][k] == pytest.approx(gap.min(), abs=1e-12)
            assert got["optimism_mean"][k] == pytest.approx(gap.mean(), abs=1e-12)
            assert got["pessimistic"][k] == pytest.approx(np.mean(gap < -1e-10))
            sums = {name: np.zeros(LEVELS + 1) for name in ("R", "S", "potential", "eluder_sum", "floor", "moment")}
            bonus_sum = known_sum = 0.0
            excess, outside = np.zeros(LEVELS), np.zeros(LEVELS)
            for h in range(6):
                s, a, after = got["state"][k, h], got["action"][k, h], got["next_state"][k, h]
                weights, V = got["weights"][k, h], got["values"][k][h + 1]
                steady = np.all(sums["potential"] <= 1)
                mean, true_variance, bonus = np.zeros(LEVELS + 1), np.zeros(LEVELS + 1), np.zeros(LEVELS + 1)
                for m in range(LEVELS + 1):
                    power = V ** (2**m)
                    phi = features[s, a].T @ power
                    mean[m] = min(max(phi @ fits[m][0], 0), 1)
                    bonus[m] = beta * math.sqrt(phi @ fits[m][1] @ phi)
                    true_variance[m] = kernel[s, a] @ power**2 - (kernel[s, a] @ power) ** 2
                    gram = ridge * np.eye(len(truth)) + sum(np.outer(p, p) / w for p, _, w in data[m])
                    term = phi @ np.linalg.solve(gram, phi) / weights[m]
                    sums["potential"][m] += term
                    sums["eluder_sum"][m] += min(1, term)
                    sums["R"][m] += steady * min(1, bonus[m])
                    sums["S"][m] += steady * true_variance[m]
                    sums["floor"][m] += math.isclose(weights[m], sigma_min**2)
                    data[m].append((phi, power[after], weights[m]))
                estimate = mean[1:] - mean[:-1] ** 2
                error = np.minimum(1, 2 * bonus[:-1]) + np.minimum(1, bonus[1:])
                sums["moment"][:-1] += np.isclose(weights[:-1], estimate + error, rtol=1e-9, atol=0)
                sums["moment"][-1] += weights[-1] == 1
                excess = np.maximum(excess, np.abs(estimate - true_variance[:-1]) - error)
                outside += np.abs(estimate - true_variance[:-1]) > error
                bonus_sum += bonus[0]
                known_sum += bonus[0] + mean[0] + rewards[h, s, a]
            for name in ("R", "S", "eluder_sum"):
                np.testing.assert_allclose(got[name][k], sums[name], atol=1e-8, err_msg=name)
            assert got["steady"][k] == np.all(sums["potential"] <= 1)
            np.testing.assert_allclose(got["set_by_floor"][k], sums["floor"] / 6, atol=1e-12)
            np.testing.assert_allclose(got["set_by_moment"][k], sums["moment"] / 6, atol=1e-12)
            shares = got["set_by_moment"][k] + got["set_by_floor"][k] + got["set_by_uncertainty"][k]
            np.testing.assert_allclose(shares, 1)
            np.testing.assert_allclose(got["variance_excess"][k], np.maximum(excess, 0), atol=1e-8)
            np.testing.assert_allclose(got["variance_outside"][k], outside)
            assert got["bonus_share"][k] == pytest.approx(bonus_sum / known_sum, abs=1e-9)
            seen_outside += np.sum(~got["steady"][k])
    assert seen_outside > 0  # the indicator I_h was exercised


def test_diagnostics_do_not_change_a_run():
    mdp, model, _ = _problem("mixture")
    agent = UCRLWVTR(model)
    plain = eluder.simulate(mdp, agent, episodes=20, paths=3)
    watched = eluder.simulate(mdp, agent, episodes=20, paths=3, record=diagnose(mdp, agent))
    assert plain.records == {}
    np.testing.assert_array_equal(plain.regret, watched.regret)
    np.testing.assert_array_equal(plain.returns, watched.returns)


def test_values_at_the_horizon_do_not_count_as_pessimism():
    mdp, model, _ = _problem("mixture")
    result = eluder.simulate(mdp, UCRLWVTR(model, beta=1e6), episodes=3, paths=2, record=[Optimism(mdp)])
    assert np.all(result.records["pessimistic"] == 0)
    assert np.all(result.records["optimism"] >= 0)


def _runs():
    """Agents on random mixtures with radii from timid to theorem-like."""
    rng = np.random.default_rng(11)
    for multiplier in (0.003, 0.02, 1.0):
        states, dim = 4, 3
        kernels = np.moveaxis(rng.dirichlet(np.full(states, 0.4), size=(dim, states, 2)), 0, -1)
        theta = rng.dirichlet(np.ones(dim))
        mdp = eluder.FiniteMDP.from_dense(kernels @ theta, rng.random((states, 2)), horizon=8)
        model = eluder.models.LinearMixture.from_dense(kernels)
        yield mdp, model, theory.theorem(model, episodes=150, horizon=8, delta=0.05).agent(model, multiplier)


def test_lemmas_of_the_proof_hold_on_every_run():
    """Where f_* is in the set: |f̂ − f_*| ≤ radius·D and variances within E. Always: the potential bound."""
    tight_errors = premises = 0
    for mdp, model, agent in _runs():
        record = [Trace(mdp), Coverage(mdp, agent), Moments(mdp)]
        result = eluder.simulate(mdp, agent, episodes=150, paths=6, record=record)
        got, kernel = result.records, np.asarray(mdp.dense_kernel())
        values, pairs = got["values"], (got["state"], got["action"])
        paths, episodes, steps = got["state"].shape
        index = np.ogrid[:paths, :episodes, :steps]
        powers = values[index[0], index[1], index[2] + 1][..., None, :] ** (2.0 ** np.arange(agent.levels + 1))[:, None]
        truth = np.sum(kernel[pairs][..., None, :] * powers, axis=-1)
        # ‖θ̂ − θ*‖² in Σ is the data's part and the ridge's part; the latter is at most λ while ‖θ̂ − θ*‖ ≤ 2B.
        radius = np.sqrt(got["distance"] ** 2 + agent.ridge * 4 * model.bound**2)[:, :, None]
        error = np.abs(got["mean"] - truth)
        assert np.all(error <= radius * got["at_start"] + 1e-9)
        covered = radius[:, :, 0] <= got["radius"][..., None]
        both = covered[..., 1:] & covered[..., :-1]
        assert np.all(got["variance_excess"][both] <= 1e-9)
        premises += both.sum()
        tight_errors += np.sum((got["error"] < 0.5) & both[:, :, None])
        potential = got["eluder_sum"].sum(axis=1)
        bound = theory.elliptical_potential(
            model.dim, episodes * steps, feature_norm(model), agent.ridge, agent.sigma_min
        )
        assert np.all(potential <= bound)
    assert premises > 1000
    assert tight_errors > 1000  # E was small enough to say something


def test_the_potential_bound_on_adversarial_sequences():
    rng = np.random.default_rng(12)
    for dim, ridge, sigma_min in ((1, 1e-3, 0.01), (3, 0.1, 0.5), (6, 2.0, 0.1)):
        gram, total = ridge * np.eye(dim), 0.0
        for _ in range(400):
            candidates = rng.normal(size=(20, dim))
            candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
            squared = np.einsum("ij,ij->i", candidates, np.linalg.solve(gram, candidates.T).T)
            phi, term = candidates[np.argmax(squared)], squared.max() / sigma_min**2
            total += min(1.0, term)
            gram += np.outer(phi, phi) / sigma_min**2
        assert total <= theory.elliptical_potential(dim, 400, 1.0, ridge, sigma_min)
        assert total >= dim  # the sequence did surprise


def test_coverage_needs_a_known_class():
    mdp, _, _ = _problem("mixture")
    with pytest.raises(TypeError, match="object"):
        true_parameters(mdp, object())


def test_true_parameters_of_a_tabular_class_with_known_support():
    mdp, _, _ = _problem("tabular")
    theta = true_parameters(mdp, Tabular(mdp, known_support=True))
    np.testing.assert_array_equal(theta, np.asarray(mdp.probs).reshape(6, 3))


def test_coverage_of_a_class_by_oracle_equals_a_loop_over_the_data():
    mdp, _, _ = _problem("mixture")
    kernels = np.stack([np.full(mdp.probs.shape, 1 / 3), np.asarray(mdp.probs)])
    agent = UCRLWVTR(Finite(mdp.successors, kernels), levels=1, beta=0.05, ridge=0.1)
    result = eluder.simulate(mdp, agent, episodes=8, paths=2, record=[Trace(mdp), *diagnose(mdp, agent)])
    dense = [np.asarray(eluder.FiniteMDP(mdp.successors, p, mdp.rewards, horizon=6).dense_kernel()) for p in kernels]
    seen = set()
    for path in range(2):
        got = {name: record[path] for name, record in result.records.items()}
        data = [[], []]
        for k in range(8):
            for m in range(2):
                losses = [sum((p[s, a] @ V - y) ** 2 / w for s, a, V, y, w in data[m]) for p in dense]
                best = dense[0] if k == 0 or losses[0] <= losses[1] else dense[1]
                distance = math.sqrt(sum(((best - dense[1])[s, a] @ V) ** 2 / w for s, a, V, _, w in data[m]))
                assert got["distance"][k, m] == pytest.approx(distance, abs=1e-7)
                seen.add(distance > 0)
            for h in range(6):
                s, a, after = got["state"][k, h], got["action"][k, h], got["next_state"][k, h]
                for m in range(2):
                    V = got["values"][k][h + 1] ** (2**m)
                    data[m].append((s, a, V, V[after], got["weights"][k, h, m]))
    assert seen == {True, False}


def test_true_parameters_by_slot_add_up_to_the_kernel():
    mdp = eluder.environments.riverswim(states=3, horizon=4)
    model = Finite(mdp.successors, np.asarray(mdp.probs)[None])
    theta = true_parameters(mdp, model).reshape(3, 2, 3)
    total = np.zeros((3, 2, 3))
    for s, a, n in np.ndindex(3, 2, 3):
        total[s, a, int(mdp.successors[s, a, n])] += theta[s, a, n]
    np.testing.assert_allclose(total, mdp.dense_kernel())
