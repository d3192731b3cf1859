"""The recursive estimate and its root against exact arithmetic, after as many updates as a long run makes."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eluder
from eluder.agents import UCRLWVTR
from eluder.regression import LinearRegression, Point
from eluder.simulation import problem_of

UPDATES, RIDGE = 500_000, Fraction(1, 1024)
FEATURE, TARGET = 2**10, 2**10  # features and targets are multiples of 1/1024: their products are whole numbers


def stream(kind: str):
    """Whole numbers x, y and weights w = 1/σ̄² up to 2¹⁴ > 1/0.01², so that the Gram matrix is exact in integers."""
    rng = np.random.default_rng(0)
    weights = 2 ** rng.integers(0, 15, size=UPDATES)
    if kind == "all directions":
        x = rng.integers(0, FEATURE, size=(UPDATES, 3))
    else:  # as on the river: nearly all data along (1, 1, 1) at the highest weight, the rest almost unseen
        x = np.repeat(rng.integers(1, FEATURE, size=(UPDATES, 1)), 3, axis=1)
        weights[:] = 2**14
        rare = rng.random(UPDATES) < 1e-4
        x[rare] = rng.integers(0, FEATURE, size=(rare.sum(), 3))
        weights[rare] = 1
    y = rng.integers(0, TARGET, size=UPDATES)
    return x, y, weights


def solve(matrix, columns):
    """Gauss–Jordan elimination in exact fractions."""
    size = len(matrix)
    rows = [list(matrix[i]) + list(columns[i]) for i in range(size)]
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(size):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[size:] for row in rows]


@pytest.mark.parametrize("kind", ["all directions", "one direction"])
def test_half_a_million_updates_against_exact_arithmetic(river, kind):
    x, y, weights = stream(kind)
    regression = LinearRegression(river.linear_mixture(), float(RIDGE))

    @jax.jit
    def run(x, y, variance):
        def add(data, point):
            x, y, variance = point
            at = Point(jnp.broadcast_to(x[:, None, None], (3, 1, 2)), None)
            uncertainty = regression.uncertainty(data, at)
            return regression.add(data, at, jnp.full((1, 2), y), jnp.full((1, 2), variance)), uncertainty[0, 0]

        return jax.lax.scan(add, regression.init(1, 2), (x, y, variance))

    data, uncertainties = run(x / FEATURE, y / TARGET, 1.0 / weights)
    assert np.all(np.isfinite(uncertainties))
    assert np.all(np.asarray(uncertainties) >= 0)
    gram = np.einsum("ti,tj,t->ij", x, x, weights)  # int64, no overflow: under 2^20 · 2^14 · 2^19
    vector = np.einsum("ti,t,t->i", x, y, weights)
    exact = [[Fraction(int(gram[i, j]), FEATURE**2) + (RIDGE if i == j else 0) for j in range(3)] for i in range(3)]
    right = [[Fraction(int(i == j)) for j in range(3)] + [Fraction(int(vector[i]), FEATURE * TARGET)] for i in range(3)]
    solved = np.array([[float(value) for value in row] for row in solve(exact, right)])
    inverse, theta = solved[:, :3], solved[:, 3]
    root = np.asarray(data.root[0, :, :, 0, 0])
    assert np.linalg.norm(root @ root.T - inverse) <= 1e-8 * np.linalg.norm(inverse)
    np.testing.assert_allclose(data.theta[0, :, 0, 0], theta, rtol=0, atol=1e-8)
    # The uncertainty itself, in every direction: also where the inverse is smallest.
    directions = np.concatenate([np.eye(3), np.linalg.eigh(inverse)[1].T])
    for phi in directions:
        D = regression.uncertainty(data, Point(jnp.broadcast_to(phi[:, None, None], (3, 1, 2)), None))[0, 0]
        fractions = [Fraction(float(v)) for v in phi]
        squared = sum(a * b[0] for a, b in zip(fractions, solve(exact, [[v] for v in fractions]), strict=True))
        np.testing.assert_allclose(D, float(squared) ** 0.5, rtol=1e-8)


@pytest.mark.parametrize("known_support", [False, True])
def test_blocks_are_ridge_regressions_of_their_own(river, known_support):
    """Tabular: each pair's estimate and uncertainty from its own data alone, by the normal equations."""
    rng = np.random.default_rng(1)
    model = eluder.models.Tabular(river, known_support)
    regression, data = LinearRegression(model, 0.01), None
    data = regression.init(2, 2)
    gram = {}
    for _ in range(30):
        state, action = rng.integers(0, 5, size=2), rng.integers(0, 2, size=2)
        values, target = rng.random((5, 2)), rng.random((2, 2))
        variance = rng.uniform(0.01, 1, size=(2, 2))
        at = regression.point(jnp.asarray(state), jnp.asarray(action), jnp.asarray(values), 2)
        data = regression.add(data, at, jnp.asarray(target), jnp.asarray(variance))
        for path in range(2):
            for level in range(2):
                phi = np.asarray(at.features)[:, level, path]
                A, b = gram.setdefault(
                    (state[path], action[path], level, path), (0.01 * np.eye(model.dim), np.zeros(model.dim))
                )
                A += np.outer(phi, phi) / variance[level, path]
                b += phi * target[level, path] / variance[level, path]
    values = jnp.asarray(rng.random((5, 2)))
    mean, uncertainty = regression.everywhere(regression.planner(data), values)
    features = np.asarray(model.embed(values))
    for s in range(5):
        for a in range(2):
            for path in range(2):
                A, b = gram.get((s, a, 0, path), (0.01 * np.eye(model.dim), np.zeros(model.dim)))
                phi = features[:, s, a, path]
                np.testing.assert_allclose(mean[s, a, path], phi @ np.linalg.solve(A, b), atol=1e-10)
                np.testing.assert_allclose(uncertainty[s, a, path] ** 2, phi @ np.linalg.solve(A, phi), rtol=1e-9)


def test_many_dimensions_use_the_same_arithmetic(river):
    """Above sixteen parameters sums are reductions instead of being written out; the numbers stay."""
    rng = np.random.default_rng(2)
    features = rng.random((5, 2, 3, 20))
    model = eluder.models.LinearMixture(river.successors, features)
    regression = LinearRegression(model, 0.1)
    values = jnp.asarray(rng.random((5, 2)))
    at = regression.point(jnp.array([1, 2]), jnp.array([0, 1]), values, 2)
    slots = np.asarray(river.successors)
    for path, (s, a) in enumerate([(1, 0), (2, 1)]):
        for level in range(2):
            phi = sum(features[s, a, n] * float(values[slots[s, a, n], path]) ** 2**level for n in range(3))
            np.testing.assert_allclose(at.features[:, level, path], phi, rtol=1e-12)
    data = regression.add(regression.init(2, 2), at, jnp.ones((2, 2)), jnp.full((2, 2), 0.5))
    phi = np.asarray(at.features)[:, 0, 0]
    gram = 0.1 * np.eye(20) + np.outer(phi, phi) / 0.5
    np.testing.assert_allclose(data.theta[0, :, 0, 0], np.linalg.solve(gram, phi / 0.5), rtol=1e-9)
    root = np.asarray(data.root[0, :, :, 0, 0])
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(gram), rtol=0, atol=1e-9)


def test_q_values_are_clipped_on_both_sides(river):
    """A ridge estimate may leave [0, 1] on either side; Q does not (errata 9)."""
    agent = UCRLWVTR(river.linear_mixture(), levels=0, beta=0.0)
    problem = problem_of(river)
    regression = agent.regression()
    values = jnp.ones((5, 2))
    at = regression.point(jnp.array([1, 1]), jnp.array([1, 1]), values, 1)
    data = regression.add(regression.init(1, 2), at, jnp.array([[-5.0, 5.0]]), jnp.ones((1, 2)))
    mean, _ = regression.everywhere(regression.planner(data), values)
    assert float(mean[1, 1, 0]) < -4  # path 0 was told −5, path 1 was told 5
    assert float(mean[1, 1, 1]) > 4
    plan = agent.begin(data, problem, jnp.asarray(0), None)
    q_values, _ = agent.backup(plan, problem, jnp.asarray(0), values, agent.extras(problem, 2))
    assert float(q_values[1, 1, 0]) == 0.0
    assert float(q_values[1, 1, 1]) == 1.0
