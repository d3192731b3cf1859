"""The regret bound against the same inequalities solved another way, and the instance quantities against loops."""

import itertools
import math

import numpy as np
import pytest

import eluder
from eluder import theory
from eluder.agents import UCRLWVTR
from eluder.diagnostics import InstanceQuantities
from eluder.recording import Trace
from eluder.theory import bounds
from eluder.theory.instance import worst_variance


def largest_fixed_point(bound, start):
    """The largest R ≤ start with R ≤ bound(R), by scanning downwards on a fine grid and bisecting."""
    if start <= bound(start):
        return start
    low, high = 0.0, start
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle <= bound(middle) else (low, middle)
    return low


@pytest.mark.parametrize(("variance", "value"), [(0.0, 1e14), (1e13, 1e15), (5e14, 1e12)])
def test_the_bound_solves_the_proofs_inequalities(variance, value):
    """All lemmas substituted into one inequality R ≤ F(R), whose largest solution is found by bisection."""
    river = eluder.environments.riverswim(states=5, horizon=20)
    episodes, horizon, delta = 10**15, 20, 0.001
    found = theory.theorem(river.linear_mixture(), episodes=episodes, horizon=horizon, delta=delta)
    steps = episodes * horizon
    beta = math.hypot(float(found.radius.confidence(episodes)), math.sqrt(found.ridge))
    dim = found.dimension
    zeta = 8 * math.log(2 * (math.log(steps) + 2) / delta)
    G = min(episodes, (found.levels + 1) * dim)

    # a ≤ λ₂√(4λ₃) + 4λ₂² + 3λ₄ (level 0) or λ₂√(8λ₃) + 4λ₂² + 3λ₄ (level 1), λ₂ = √ζ, λ₄ = ζ + √(ζG).
    def noise(drift, factor):
        return math.sqrt(zeta * factor * max(drift, 1)) + 4 * zeta + 3 * (zeta + math.sqrt(zeta * G))

    def bonuses(S):
        lam2 = 4 * beta * math.sqrt(2 * dim)
        lam4 = (16 * beta**2 + 4 + 4 * beta * found.gamma**2) * dim
        lam4 += 4 * beta * math.sqrt(dim) * math.sqrt(steps * found.sigma_min**2)
        return max((math.sqrt(2) * lam2 + math.sqrt(2 * lam2**2 + lam4)) ** 2, lam2 * math.sqrt(max(S, 8.0)) + lam4)

    def by_variance(R):
        return bonuses(min(steps, 2 * variance + 2 * (noise(2 * R, 8) + G + 4 * R)))

    def rewards(R):
        """The largest V₀ ≤ K with V₀ ≤ V*K + A₀(V₀) + Ǎ₀."""
        return largest_fixed_point(lambda V: value + noise(V + 2 * R, 4) + noise(2 * R, 4), float(episodes))

    def by_value(R):
        drift = rewards(R) + 2 * R
        return bonuses(min(steps, noise(drift, 8) + G + 2 * drift))

    expected = []
    for route in (by_variance, by_value):
        R = largest_fixed_point(route, float(steps))
        check = min(steps, noise(2 * R, 4))
        expected.append(2 * R + check + min(steps, noise(2 * R + check + G, 4)) + G)
    bound = theory.regret_bound(found, variance=variance, value=value)
    assert bound.by_variance == pytest.approx(expected[0], rel=1e-6)
    assert bound.by_value == pytest.approx(expected[1], rel=1e-6)
    assert bound.regret == pytest.approx(min(*expected, episodes), rel=1e-6)
    cost = dim * found.log_covering
    assert bound.normalised == pytest.approx(math.sqrt(cost * min(variance, value)) + cost)


def test_the_bound_grows_with_what_it_depends_on_and_is_never_above_k():
    model = eluder.environments.riverswim(states=5, horizon=20).linear_mixture()
    small = theory.theorem(model, episodes=100, horizon=20)
    assert theory.regret_bound(small, variance=1.0, value=50.0).regret == 100
    large = theory.theorem(model, episodes=10**15, horizon=20)
    by_q = [theory.regret_bound(large, variance=q, value=10**15).by_variance for q in (0, 1e12, 1e14)]
    assert by_q[0] < by_q[1] < by_q[2]
    values = [theory.regret_bound(large, variance=10**15, value=v).by_value for v in (0, 1e14, 1e15)]
    assert values[0] < values[1] <= values[2]
    with pytest.raises(ValueError, match="negative"):
        theory.regret_bound(small, variance=-1.0, value=1.0)


def test_corollary_by_hand():
    assert theory.corollary_bound(3, variance=16.0, value=25.0) == 3 * 4 + 9


def test_squares_have_at_most_four_times_the_variance():
    """The repaired step of the proof (S_{m+1} ≤ 4·S_m), and a case in which the printed one fails."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        probs, values = rng.dirichlet(np.ones(4)), rng.random(4)
        assert variance(probs, values**2) <= 4 * variance(probs, values) + 1e-15
    # Printed: 𝕍(V²) ≤ 2𝕍(V*²) + 2𝕍(V̌²) for V = V* + V̌. With V* = 1/2 everywhere and V̌ ∈ {0, 0.1}:
    probs, optimal, gap = np.array([0.5, 0.5]), np.full(2, 0.5), np.array([0.0, 0.1])
    assert variance(probs, (optimal + gap) ** 2) > 2 * variance(probs, optimal**2) + 2 * variance(probs, gap**2)


def variance(probs, values):
    return probs @ values**2 - (probs @ values) ** 2


@pytest.mark.parametrize("base", [2, 4])
def test_the_recursion_lemma(base):
    """a_i ≤ λ₂√(a_{i+1} + base^{i+1}·λ₃) + λ₄ with a_I ≤ λ₁ ≤ base^I forces a₀ below the lemma's bound."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        lam2, lam4 = np.exp(rng.uniform(-3, 6, size=2))
        lam3 = 1 + np.exp(rng.uniform(-3, 8))
        last = int(rng.integers(1, 25))
        a = [0.0] * (last + 1)
        a[last] = float(base**last)  # the largest sequence that the premises allow
        for i in reversed(range(last)):
            a[i] = min(a[last], lam2 * math.sqrt(a[i + 1] + base ** (i + 1) * lam3) + lam4)
        if base == 2:
            bound = max((lam2 + math.sqrt(lam2**2 + lam4)) ** 2, lam2 * math.sqrt(4 * lam3) + lam4)
        else:
            root = math.sqrt(2) * lam2 + math.sqrt(2 * lam2**2 + lam4)
            bound = max(root**2, lam2 * math.sqrt(8 * lam3) + lam4)
        assert a[0] <= bound * (1 + 1e-12)


def test_instance_quantities_by_loops():
    mdp = eluder.environments.riverswim(states=3, horizon=6)
    agent = UCRLWVTR(mdp.linear_mixture(), levels=2)
    record = [Trace(mdp), InstanceQuantities(mdp, 3)]
    result = eluder.simulate(mdp, agent, episodes=5, paths=2, record=record)
    states, actions = result.records["state"], result.records["action"]
    kernel, values = np.asarray(mdp.dense_kernel()), np.asarray(mdp.solve().values) / mdp.reward_scale
    Q, value = np.zeros((2, 3)), np.zeros(2)
    for path, k in itertools.product(range(2), range(5)):
        value[path] += values[0, states[path, k, 0]]
        for h, m in itertools.product(range(6), range(3)):
            probs = kernel[states[path, k, h], actions[path, k, h]]
            Q[path, m] += variance(probs, values[h + 1] ** (2**m))
    found = theory.instance(mdp, states, actions, levels=3)
    np.testing.assert_allclose(found.Q, Q, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    np.testing.assert_allclose(found.complexity, np.minimum(Q.max(axis=1), value))
    np.testing.assert_allclose(result.records["Q"].sum(axis=1), Q, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(result.records["value"].sum(axis=1), value, rtol=1e-12)


def test_no_episode_has_more_variance_than_the_worst():
    mdp = eluder.environments.riverswim(states=3, horizon=4)
    kernel, values = np.asarray(mdp.dense_kernel()), np.asarray(mdp.solve().values) / mdp.reward_scale
    most = 0.0
    for path in itertools.product(range(3), repeat=4):  # every sequence of states with every sequence of actions
        for actions in itertools.product(range(2), repeat=4):
            pairs = list(zip(path, actions, strict=True))
            if all(kernel[s, a, after] > 0 for (s, a), after in zip(pairs, path[1:], strict=False)):
                most = max(most, sum(variance(kernel[s, a], values[h + 1]) for h, (s, a) in enumerate(pairs)))
    assert worst_variance(mdp) == pytest.approx(most, rel=1e-9)
    # Deterministic kernels have none.
    still = eluder.FiniteMDP(np.zeros((2, 1, 1)), np.ones((2, 1, 1)), np.ones((2, 1)), horizon=3)
    assert worst_variance(still) == 0


def test_each_lemma_by_hand():
    """With round numbers: ζ = 4, G = 9, β = 2, dim = 3, γ² = 1, KHσ²_min = 12."""
    model = eluder.environments.riverswim(states=3, horizon=5).linear_mixture()
    proof = bounds._Proof(theory.theorem(model, episodes=10, horizon=5), variance=7.0, value=6.0)
    proof.zeta, proof.G, proof.beta, proof.dim, proof.gamma, proof.floor = 4.0, 9.0, 2.0, 3.0, 1.0, 12.0
    # 2√drift·√4 + 4·4 + 3·(4 + √36) at drift 25 and level 0; √2 times the first term at level 1.
    assert proof.noise(25.0) == pytest.approx(2 * 2 * 5 + 16 + 30)
    assert proof.noise(25.0, level=1) == pytest.approx(2 * math.sqrt(8 * 25) + 16 + 30)
    assert proof.noise(0.01) == proof.noise(1.0)  # the recursion lemma needs at least 1
    sums = bounds._Sums(R0=5.0, S0=800.0, V0=3.0, A=1.0, A_check=6.0, G=9.0)
    assert proof.A_tilde(sums) == pytest.approx(2 * 2 * math.sqrt(10 + 6 + 9) + 46)
    assert proof.S0_by_variance(sums) == pytest.approx(14 + 2 * (2 * math.sqrt(80) + 46 + 9 + 20))
    assert proof.S0_by_value(sums) == pytest.approx(2 * math.sqrt(8 * 13) + 46 + 9 + 26)
    # λ₂ = 4·2·√6, λ₄ = (64 + 4 + 8)·3 + 8·√36 = 276, and max((√2λ₂ + √(2λ₂² + 276))², λ₂√800 + 276).
    lam2 = 8 * math.sqrt(6)
    root = math.sqrt(2) * lam2 + math.sqrt(2 * lam2**2 + 276)
    assert proof.R0(sums) == pytest.approx(max(root**2, lam2 * math.sqrt(800) + 276))
    assert proof.R0(sums._replace(S0=1e6)) == pytest.approx(lam2 * 1e3 + 276)
    assert sums._replace(A_tilde=2.0).regret == 10 + 6 + 2 + 9
