"""Every oracle against another solver: SciPy, enumeration or a hand calculation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import eluder
from eluder import oracles
from eluder.models import MNL, BallMixture, Finite, Neural, SimplexMixture
from eluder.models.general import truth_as_data
from eluder.regression import gram


def one_pair(cls, dim, **options):
    """A class over one pair whose slots are its coordinates: f = ⟨θ, u⟩."""
    return cls(np.zeros((1, 1, dim)), np.eye(dim)[None, None], **options)


def regression_data(seed, dim, points=30):
    rng = np.random.default_rng(seed)
    u, y = rng.random((points, dim)), rng.random(points)
    weight = 10 ** rng.uniform(0, 4, points)
    rows = np.concatenate([u, y[:, None]], axis=1) * np.sqrt(weight)[:, None]
    return u, y, weight, jnp.asarray((rows.T @ rows)[None])


def loss(theta, u, y, weight):
    return np.sum(weight * (u @ theta - y) ** 2)


def test_ridge():
    u, y, weight, moments = regression_data(0, 4)
    model = one_pair(BallMixture, 4)
    expected = np.linalg.solve((u * weight[:, None]).T @ u + 0.5 * np.eye(4), (u * weight[:, None]).T @ y)
    fit = oracles.Ridge(ridge=0.5).solve(model, moments, model.start())
    np.testing.assert_allclose(fit.theta, expected, rtol=1e-8)
    assert fit.code == oracles.CONVERGED


@pytest.mark.parametrize("bound", [0.05, 0.3, 100.0])
@pytest.mark.parametrize("points", [1, 3, 30])
def test_ball(bound, points):
    u, y, weight, moments = regression_data(points, 4, points)
    model = one_pair(BallMixture, 4, bound=bound)
    theta = np.asarray(oracles.BallLeastSquares().solve(model, moments, model.start()).theta)
    reference = scipy.optimize.minimize(
        loss,
        np.zeros(4),
        (u, y, weight / weight.max()),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda t: bound**2 - t @ t},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert np.linalg.norm(theta) <= bound * (1 + 1e-12)
    assert loss(theta, u, y, weight) <= loss(reference.x, u, y, weight) * (1 + 1e-6) + 1e-9


solve_on_simplex = eqx.filter_jit(oracles.SimplexLeastSquares().solve)


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("points", [1, 4, 40])
def test_simplex(dim, points):
    u, y, weight, moments = regression_data(dim, dim, points)
    model = SimplexMixture(np.zeros((1, 1, dim)), np.eye(dim)[None, None])  # features need not lead anywhere
    fit = solve_on_simplex(model, moments, model.start())
    theta = np.asarray(fit.theta)
    assert fit.code == oracles.CONVERGED
    assert theta.min() >= 0
    np.testing.assert_allclose(theta.sum(), 1, rtol=1e-12)
    # Optimal when the gradient is smallest where θ is positive; and no face of the simplex does better.
    best = min(_on_face(face, u, y, weight) for face in _faces(dim))
    assert loss(theta, u, y, weight) <= best * (1 + 1e-7) + 1e-7


def _faces(dim):
    return [[i for i in range(dim) if bits >> i & 1] for bits in range(1, 2**dim)]


def _on_face(face, u, y, weight):
    """The least loss on the affine hull of a face, if it is attained inside the face."""
    base, root = face[0], np.sqrt(weight)
    if len(face) == 1:
        return loss(np.eye(u.shape[1])[base], u, y, weight)
    directions = np.eye(u.shape[1])[face[1:]] - np.eye(u.shape[1])[base]
    steps = np.linalg.lstsq((u @ directions.T) * root[:, None], (y - u[:, base]) * root)[0]
    theta = np.eye(u.shape[1])[base] + steps @ directions
    return loss(theta, u, y, weight) if theta.min() >= 0 else np.inf


def test_simplex_differences_reach_a_target():
    """One point with a target out of reach: all mass of θ₁ on the largest coordinate, of θ₂ on the smallest."""
    model = SimplexMixture(np.zeros((1, 1, 3)), np.eye(3)[None, None]).differences()
    point = np.array([0.2, 0.9, 0.4, 2.0])
    theta = oracles.SimplexLeastSquares().solve(model, jnp.asarray(np.outer(point, point)[None]), model.start()).theta
    np.testing.assert_allclose(theta, [0, 1, 0, 1, 0, 0], atol=1e-6)


def test_enumeration(river):
    rng = np.random.default_rng(2)
    kernels = rng.dirichlet(np.ones(3), size=(7, 5, 2))
    model = Finite(river.successors, kernels)
    rows = rng.random((10, 6, 4))
    moments = jnp.asarray(np.einsum("pni,pnj->pij", rows, rows))
    losses = [
        sum((kernel.reshape(10, 3)[p] @ row[:3] - row[3]) ** 2 for p in range(10) for row in rows[p])
        for kernel in kernels
    ]
    fit = oracles.Enumeration().solve(model, moments, model.start())
    assert int(np.argmax(fit.theta)) == int(np.argmin(losses))


def river_mnl(river, bound=5.0):
    """Logits of right and left beside staying, and of the good move at both ends: θ* = (log 18, 0, log 9)."""
    features = np.zeros((5, 2, 3, 3))
    features[1:-1, 1, 2, 0] = features[1:-1, 1, 0, 1] = features[0, 1, 2, 2] = features[-1, 1, 1, 2] = 1
    return MNL(river.successors, features, np.asarray(river.probs) > 0, bound)


def noisy_moments(river, seed, points=300):
    rng = np.random.default_rng(seed)
    rows = np.zeros((10, 4, 4))
    for _ in range(points):
        s = rng.integers(5)
        u = np.sort(rng.random(5))[np.asarray(river.successors)[s, 1]]
        y = u[rng.choice(3, p=np.asarray(river.probs)[s, 1])]
        rows[2 * s + 1] += 10 ** rng.uniform(0, 2) * np.outer([*u, y], [*u, y])
    return jnp.asarray(rows)


@pytest.mark.parametrize("bound", [2.0, 8.0])
def test_levenberg_marquardt_finds_what_scipy_finds(river, bound):
    model, moments = river_mnl(river, bound), noisy_moments(river, 5)
    decay = 1e-3
    fit = jax.jit(oracles.LevenbergMarquardt(decay=decay).solve)(model, moments, model.start())
    objective = jax.jit(jax.value_and_grad(lambda t: gram.loss(moments, model.slots_of(t)) + decay * jnp.sum(t**2)))
    reference = scipy.optimize.minimize(
        objective,
        np.ones(3),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda t: bound**2 - t @ t},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert fit.code == oracles.CONVERGED
    assert np.linalg.norm(fit.theta) <= bound * (1 + 1e-12)
    np.testing.assert_allclose(objective(fit.theta)[0], reference.fun, rtol=1e-3)
    np.testing.assert_allclose(model.slots_of(fit.theta), model.slots_of(jnp.asarray(reference.x)), atol=2e-3)


def test_first_order_approaches_the_truth(river):
    model = Neural(river)
    moments = 100 * truth_as_data(river, model.successors)
    solve = eqx.filter_jit(oracles.FirstOrder(steps=300).solve)
    theta = model.start()
    for _ in range(3):  # warm-started, as from episode to episode
        theta = solve(model, moments, theta).theta
    np.testing.assert_allclose(model.probabilities(theta), river.probs, atol=0.02)


def test_a_step_too_few_is_reported(river):
    model, moments = river_mnl(river), noisy_moments(river, 5)
    fit = oracles.LevenbergMarquardt(max_steps=2).solve(model, moments, model.start())
    assert fit.code == oracles.OUT_OF_STEPS
    assert set(oracles.MESSAGES) == {oracles.CONVERGED, oracles.OUT_OF_STEPS, oracles.NOT_FINITE}


def test_numbers_that_are_not_finite_are_not_passed_on(river):
    model, moments = river_mnl(river), noisy_moments(river, 5)
    broken = oracles.CallableOracle(lambda model, moments, start: start * jnp.nan)
    before = jnp.array([1.0, 0.0, 1.0])
    fit = broken.solve(model, moments, before)
    assert fit.code == oracles.NOT_FINITE
    np.testing.assert_array_equal(fit.theta, before)


def test_a_plain_python_oracle(river):
    """NumPy as the oracle of a run, called back from the compiled program, does what the compiled ridge does."""

    def numpy_ridge(model, moments, start):
        matrix = 1e-3 * np.eye(len(start)) + sum(p.T @ m[:-1, :-1] @ p for p, m in zip(features, moments, strict=True))
        return np.linalg.solve(matrix, sum(p.T @ m[:-1, -1] for p, m in zip(features, moments, strict=True)))

    model = BallMixture(river.successors, river.features, bound=10.0)
    features = np.asarray(model.pair_features())
    runs = [
        eluder.simulate(river, eluder.agents.UCRLWVTR(model, levels=0, oracle=oracle), episodes=8, paths=2)
        for oracle in (oracles.CallableOracle(numpy_ridge, traceable=False), oracles.Ridge(1e-3))
    ]
    np.testing.assert_array_equal(runs[0].report["oracle_calls"], 8)
    np.testing.assert_allclose(runs[0].regret, runs[1].regret, atol=1e-9)
    assert np.ptp(runs[0].regret) > 0


def test_an_oracle_that_raises_is_named(river):
    def hopeless(model, moments, start):
        raise ZeroDivisionError("no data")

    for traceable in (True, False):
        agent = eluder.agents.UCRLWVTR(river_mnl(river), oracle=oracles.CallableOracle(hopeless, traceable))
        with pytest.raises(ValueError, match="'hopeless' raised ZeroDivisionError: no data"):
            eluder.simulate(river, agent, episodes=1, paths=2)


def test_an_oracle_must_suit_its_class(river):
    with pytest.raises(ValueError, match="SimplexLeastSquares cannot solve MNL"):
        eluder.simulate(
            river, eluder.agents.UCRLWVTR(river_mnl(river), oracle=oracles.SimplexLeastSquares()), episodes=1
        )
    with pytest.raises(TypeError, match="closed form"):
        eluder.simulate(river, eluder.agents.UCRLWVTR(river.linear_mixture(), oracle=oracles.Ridge()), episodes=1)
