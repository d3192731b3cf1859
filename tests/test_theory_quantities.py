"""Radius, covering numbers, Eluder bounds and the theorem's parameters against calculations written out by hand."""

import itertools
import math

import numpy as np
import pytest

import eluder
from eluder import theory
from eluder.models import LinearMixture, Tabular
from eluder.models.finite import Finite
from eluder.models.mnl import MNL
from eluder.models.neural import Neural
from eluder.models.simplex_mixture import SimplexMixture
from eluder.theory import covering, parameters
from eluder.theory.geometry import Geometry, features_by_pair


@pytest.fixture
def river():
    return eluder.environments.riverswim(states=4, horizon=10)


def test_iota_and_radius_by_hand():
    # k = 2, H = 5: t = 10. log N = 3, σ_min = 0.1 (1/σ² = 100), δ = 0.1, γ² = 4, λ = 9, ε = 0.001.
    # ι = 16·(3 + log(2·100·(log 1000 + 2)·(log 100 + 2)/0.1)) with log 1000 = 6.907755…, log 100 = 4.605170….
    inside = 2 * 100 * (6.907755278982137 + 2) * (4.605170185988092 + 2) / 0.1
    by_hand = 16 * (3 + math.log(inside))
    radius = theory.Radius(horizon=5.0, log_covering=3.0, sigma_min=0.1, gamma=2.0, ridge=9.0, epsilon=0.001, delta=0.1)
    assert float(radius.iota(2)) == pytest.approx(by_hand, rel=1e-12)
    # β̂ = 3√ι + 2ι/4 + 3 + √(6·10·0.001/0.01) = 3√ι + ι/2 + 3 + √6.
    confidence = 3 * math.sqrt(by_hand) + by_hand / 2 + 3 + math.sqrt(6)
    assert float(radius.confidence(2)) == pytest.approx(confidence, rel=1e-12)
    # The bonus also carries λ: √(β̂² + 9) (errata 10).
    assert float(radius(2)) == pytest.approx(math.hypot(confidence, 3), rel=1e-12)


def test_theorem_two_radius_by_hand():
    # t = 50, log N = 2, W = 4, σ = 0.5, so W²/σ² = 64 and W²t/σ² = 3200; λ = 1, ε = 0.01, max w²D = 0.3, L = 1.
    iota = 16 * (2 + math.log(2 * 2500 * (math.log(3200) + 2) * (math.log(64) + 2) / 0.05))
    by_hand = 3 * math.sqrt(iota) * 0.5 + 2 * iota * 0.3 + 1 + math.sqrt(6 * 50 * 0.01) * 4
    radius = theory.concentration_radius(
        50, log_covering=2.0, delta=0.05, weight=4.0, sigma=0.5, uncertainty=0.3, ridge=1.0, epsilon=0.01
    )
    assert float(radius) == pytest.approx(by_hand, rel=1e-12)
    # Unweighted: 8·(1/2)²·(2 + log 20) + 2·50·0.01·(8 + √(2·log(4·2500/0.05))).
    squared = 2 * (2 + math.log(20)) + 1.0 * (8 + math.sqrt(2 * math.log(200_000)))
    unweighted = theory.hoeffding_radius(50, log_covering=2.0, delta=0.05, epsilon=0.01)
    assert float(unweighted) == pytest.approx(math.sqrt(squared), rel=1e-12)


def test_the_radius_of_theorem_one_is_theorem_two_with_its_weights():
    """With w²D ≤ 1/γ², W = 1/σ_min, σ = 1 and t = kH, Theorem 2 is Theorem 1's radius."""
    radius = theory.Radius(7.0, 5.0, 0.2, 1.5, 4.0, 0.01, 0.05)
    general = theory.concentration_radius(
        21, log_covering=5.0, delta=0.05, weight=5.0, sigma=1.0, uncertainty=1 / 1.5**2, ridge=4.0, epsilon=0.01
    )
    assert float(radius.confidence(3)) == pytest.approx(float(general), rel=1e-12)


def test_covering_numbers_by_hand():
    assert covering.ball(3, 2.0, 1.5, 0.1) == pytest.approx(3 * math.log(61))  # 1 + 2·2·1.5/0.1
    assert covering.simplex(4, 0.5, blocks=6) == pytest.approx(18 * math.log(5))  # 6·3 coordinates, 1 + 2/0.5
    assert covering.finite(8) == pytest.approx(3 * math.log(2))
    assert covering.lipschitz(2, 3.0, 0.5, 0.1) == pytest.approx(2 * math.log(31))
    with pytest.raises(ValueError, match="epsilon"):
        theory.log_covering(Geometry("ball", 1, 2, 1.0, 1.0, True), 0.0)


@pytest.mark.parametrize(("epsilon", "dim"), [(0.5, 1), (0.3, 2), (0.5, 3)])
def test_covering_a_ball_a_grid_needs_no_more(epsilon, dim):
    """A maximal ε-separated subset of many points of the unit ball is a net, and never larger than the bound."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, dim))
    points *= (rng.random((4000, 1)) ** (1 / dim)) / np.linalg.norm(points, axis=1, keepdims=True)
    net: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - other) > epsilon for other in net):
            net.append(point)
    assert len(net) > 1
    assert math.log(len(net)) <= covering.ball(dim, 1.0, 1.0, epsilon)


def test_covering_a_simplex_a_net_needs_no_more():
    rng = np.random.default_rng(1)
    net: list[np.ndarray] = []
    for point in rng.dirichlet(np.full(3, 0.5), size=4000):
        if all(np.abs(point - other).sum() / 2 > 0.1 for other in net):
            net.append(point)
    assert math.log(len(net)) <= covering.simplex(3, 0.1)


def test_feature_norms_by_enumeration(river):
    model = river.linear_mixture()
    dense = np.zeros((4, 2, 4, 3))
    for s, a, n in itertools.product(range(4), range(2), range(3)):
        dense[s, a, int(model.successors[s, a, n])] += np.asarray(model.features[s, a, n])
    values = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    largest = np.linalg.norm(np.einsum("satd,vt->vsad", dense, values), axis=-1).max()
    assert theory.geometry(model).feature_norm == pytest.approx(largest)
    assert largest == pytest.approx(math.sqrt(3))  # swimming left: (1, 1, 1)·V


def test_a_ball_class_has_exactly_the_norm_with_ridge_over_four_b_squared():
    """Errata 7: D_F by brute force over pairs of a ball is ‖φ‖ with ridge λ/(4B²)."""
    rng = np.random.default_rng(2)
    data, weights, new = rng.normal(size=(5, 2)), rng.random(5) * 3, rng.normal(size=2)
    bound, ridge = 1.5, 0.8
    angles = np.linspace(0, np.pi, 20001)
    best = 0.0
    for scale in (0.25, 0.5, 1.0):
        difference = 2 * bound * scale * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ratio = (difference @ new) ** 2 / (((difference @ data.T) ** 2) @ weights + ridge)
        best = max(best, ratio.max())
    norm_ridge = Geometry("ball", 1, 2, bound, 1.0, True).norm_ridge(ridge)
    gram = data.T @ (weights[:, None] * data) + norm_ridge * np.eye(2)
    assert norm_ridge == pytest.approx(ridge / 9)
    assert best == pytest.approx(new @ np.linalg.solve(gram, new), rel=1e-6)


def test_eluder_bound_by_hand(river):
    # d = 3, B = 1, L² = 3, λ = 2, σ = 0.5, T = 1000: 6·log(1 + 4·3·1000/(3·2·0.25)) = 6·log(8001).
    bound = theory.eluder_bound(river.linear_mixture(), 1000, sigma_min=0.5, ridge=2.0)
    assert bound == pytest.approx(6 * math.log(8001))
    # Tabular: d = 8·4, L² = 4, ridge λ/2: 64·log(1 + 1000·4/(32·1·0.25)) = 64·log(501).
    assert theory.eluder_bound(Tabular(river), 1000, sigma_min=0.5, ridge=2.0) == pytest.approx(64 * math.log(501))
    assert theory.eluder_bound(Tabular(river), 7, sigma_min=0.01, ridge=2.0) == 7  # never above T


def _classes(river):
    kernels = np.random.default_rng(3).dirichlet(np.ones(3), size=(4, 4, 2))
    return {
        "linear mixture": river.linear_mixture(),
        "wide linear mixture": LinearMixture(river.successors, river.features, bound=3.0),
        "tabular": Tabular(river),
        "tabular, known support": Tabular(river, known_support=True),
        "simplex mixture": SimplexMixture(river.successors, np.moveaxis(kernels, 0, -1)),
        "finite": Finite(river.successors, kernels),
        "MNL": MNL.one_hot(river),
        "network": Neural(river, width=3),
    }


def test_the_lower_bound_never_exceeds_the_upper(river):
    for (name, model), steps, (sigma_min, ridge) in itertools.product(
        _classes(river).items(), (5, 60, 300), ((0.05, 1.0), (0.5, 3.0), (0.2, 20.0))
    ):
        lower = theory.greedy_lower_bound(model, steps, sigma_min=sigma_min, ridge=ridge)
        upper = theory.eluder_bound(model, steps, sigma_min=sigma_min, ridge=ridge)
        assert 0 < lower.total <= upper, name
        assert np.all(lower.sigmas >= sigma_min * (1 - 1e-12))


@pytest.mark.parametrize("steps", [8, 32, 128])
def test_the_lower_bound_is_at_least_half_for_the_tabular_class_at_small_t(river, steps):
    lower = theory.greedy_lower_bound(Tabular(river), steps, sigma_min=0.1, ridge=1.0)
    assert lower.total >= theory.eluder_bound(Tabular(river), steps, sigma_min=0.1, ridge=1.0) / 2


def test_the_greedy_sequence_is_certified_by_replay():
    """The terms of a mixture's sequence, recomputed from the definition with explicit pairs of functions."""
    model = LinearMixture.from_dense(
        np.random.default_rng(4).dirichlet(np.ones(3), size=(2, 3, 1)).transpose(1, 2, 3, 0)
    )
    lower = theory.greedy_lower_bound(model, 12, sigma_min=0.3, ridge=0.5)
    points = np.unique(
        np.concatenate(
            [np.array(list(itertools.product((0, 1), repeat=len(f)))) @ f for f in features_by_pair(model)]
        ).round(12),
        axis=0,
    )
    angles = np.linspace(0, np.pi, 4001)
    differences = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)  # B = 1
    spent = np.zeros(len(angles))
    for term, sigma in zip(lower.terms, lower.sigmas, strict=True):
        ratios = (differences @ points.T) ** 2 / (spent[:, None] + 0.5)
        squared = ratios.max(axis=0)
        assert term == pytest.approx(min(1.0, squared.max() / sigma**2), rel=1e-3)
        spent += (differences @ points[np.argmax(squared)]) ** 2 / sigma**2


def test_the_parameters_solve_their_own_equations(river):
    for model in (river.linear_mixture(), Tabular(river), Finite(river.successors, np.asarray(river.probs)[None])):
        found = theory.theorem(model, episodes=500, horizon=10, delta=0.05)
        steps = 5000
        log_n = max(theory.log_covering(model, found.epsilon), 1.0)
        dimension = theory.eluder_bound(model, steps, sigma_min=found.sigma_min, ridge=found.ridge)
        assert found.residual < 1e-11
        assert found.levels == 14  # 2^13 = 8192 < 15000 ≤ 16384 = 2^14
        assert found.ridge == pytest.approx(log_n, rel=1e-9)
        assert found.dimension == pytest.approx(dimension, rel=1e-9)
        assert found.sigma_min**2 == pytest.approx(math.sqrt(dimension * log_n) / steps, rel=1e-9)
        assert found.gamma**2 == pytest.approx(math.sqrt(log_n), rel=1e-9)
        assert found.epsilon == pytest.approx(log_n * found.sigma_min**2 / steps, rel=1e-9)
        assert found.failure == pytest.approx(4 * 15 * 0.05)


def test_the_preset_is_an_agent(river):
    model = river.linear_mixture()
    found = theory.theorem(model, episodes=20, horizon=10)
    agent = found.agent(model, multiplier=0.1)
    assert agent.ridge == pytest.approx(found.ridge / 4)  # B = 1, errata 7
    assert (agent.levels, agent.sigma_min, agent.gamma) == (found.levels, found.sigma_min, found.gamma)
    assert (agent.beta, agent.multiplier) == (found.radius, 0.1)
    result = eluder.simulate(river, agent, episodes=3, paths=2)
    assert result.regret.shape == (2, 3)
    assert "log N" in str(found)
    with pytest.raises(ValueError, match="delta"):
        parameters.theorem(model, episodes=20, horizon=10, delta=1.5)


def test_softmax_lipschitz_constants_hold():
    """No two members of an MNL class or a network differ by more than their covering bound assumes."""
    river = eluder.environments.riverswim(states=3, horizon=5)
    rng = np.random.default_rng(6)
    features = rng.normal(size=(3, 2, 3, 2))
    for model in (MNL(river.successors, features, bound=2.0), Neural(river, width=2, bound=3.0, known_support=False)):
        parameters_, scale = theory.geometry(model).log_covering
        constant = scale / (2 * model.bound) if parameters_ == model.dim else math.inf
        for _ in range(50):
            first, second = rng.normal(size=(2, model.dim))
            first *= model.bound * rng.random() / np.linalg.norm(first)
            second = first + (second - first) * rng.choice([1e-3, 0.1])
            if np.linalg.norm(second) > model.bound:
                continue
            gap = np.asarray(model.probabilities(first) - model.probabilities(second))
            most = np.maximum(gap, 0).sum(axis=-1).max()  # the best V is 1 where the gap is positive
            assert most <= constant * np.linalg.norm(first - second)
