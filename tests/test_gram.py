"""Gram statistics hold all that a class needs of its data: a loop over the stored history agrees."""

import jax.numpy as jnp
import numpy as np
import pytest

from eluder.models import MNL
from eluder.regression import gram

STATES, ACTIONS, SLOTS, LEVELS, PATHS = 4, 2, 3, 2, 3


@pytest.fixture(scope="module")
def history():
    """Points (pair, u, y, w) of every level and path, and their statistics, added one by one."""
    rng = np.random.default_rng(0)
    moments = gram.empty(STATES * ACTIONS, SLOTS, LEVELS, PATHS)
    points = []
    for _ in range(60):
        pair = rng.integers(STATES * ACTIONS, size=PATHS)
        u, y = rng.random((SLOTS, LEVELS, PATHS)), rng.random((LEVELS, PATHS))
        w = 10 ** rng.uniform(0, 4, size=(LEVELS, PATHS))
        points.append((pair, u, y, w))
        moments = gram.add(moments, jnp.asarray(pair), jnp.asarray(u), jnp.asarray(y), jnp.asarray(w))
    return points, moments


def softmax_class():
    """A class that is nonlinear in its parameters."""
    rng = np.random.default_rng(1)
    successors = rng.integers(STATES, size=(STATES, ACTIONS, SLOTS))
    return MNL(successors, rng.standard_normal((STATES, ACTIONS, SLOTS, 5)))


@pytest.mark.parametrize("trial", range(5))
def test_loss_of_a_nonlinear_class(history, trial):
    points, moments = history
    model = softmax_class()
    theta = np.random.default_rng(trial).standard_normal(5)
    kernel = np.asarray(model.slots_of(jnp.asarray(theta)))
    for level in range(LEVELS):
        for path in range(PATHS):
            loop = sum(
                w[level, path] * (kernel[pair[path]] @ u[:, level, path] - y[level, path]) ** 2
                for pair, u, y, w in points
            )
            one = moments[..., level, path]
            np.testing.assert_allclose(gram.loss(one, jnp.asarray(kernel)), loop, rtol=1e-10)
            residuals = gram.residuals(one, jnp.asarray(kernel))
            np.testing.assert_allclose(np.sum(np.asarray(residuals) ** 2), loop, rtol=1e-10)


def test_spread_of_a_difference(history):
    points, moments = history
    model = softmax_class()
    first, second = np.random.default_rng(9).standard_normal((2, 5))
    difference = np.asarray(model.slots_of(jnp.asarray(first)) - model.slots_of(jnp.asarray(second)))
    loop = sum(w[1, 2] * (difference[pair[2]] @ u[:, 1, 2]) ** 2 for pair, u, _, w in points)
    np.testing.assert_allclose(gram.spread(moments[..., 1, 2], jnp.asarray(difference)), loop, rtol=1e-10)
    pairs = model.differences()
    both = jnp.concatenate([jnp.asarray(first), jnp.asarray(second)])
    np.testing.assert_allclose(pairs.slots_of(both), difference, atol=1e-15)


def test_statistics_in_coordinates(history):
    points, moments = history
    features = np.random.default_rng(3).standard_normal((STATES * ACTIONS, SLOTS, 2))
    matrix, vector, square = np.zeros((2, 2)), np.zeros(2), 0.0
    for pair, u, y, w in points:
        psi = features[pair[0]].T @ u[:, 0, 0]
        matrix += w[0, 0] * np.outer(psi, psi)
        vector += w[0, 0] * y[0, 0] * psi
        square += w[0, 0] * y[0, 0] ** 2
    found = np.asarray(gram.in_coordinates(moments, jnp.asarray(features)))[..., 0, 0]
    np.testing.assert_allclose(found, np.block([[matrix, vector[:, None]], [vector, square]]), rtol=1e-10)


def test_one_more_point():
    moments = gram.empty(2, 2, 1, 1)[..., 0, 0]
    moments = gram.with_point(moments, jnp.asarray(1), jnp.array([0.5, 1.0]), jnp.asarray(0.25), jnp.asarray(4.0))
    # By hand: 4 · (0.5·0.3 + 1·0.7 − 0.25)² = 4 · 0.36.
    np.testing.assert_allclose(gram.loss(moments, jnp.array([[0.9, 0.1], [0.3, 0.7]])), 1.44, rtol=1e-14)
    np.testing.assert_array_equal(moments[0], 0.0)
