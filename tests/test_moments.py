"""HOME against hand calculations, written out."""

import jax.numpy as jnp
import numpy as np
import pytest

from eluder.moments import variance_weights


def weights(mean, at_start, so_far, **options):
    column = [jnp.asarray(values, dtype=float)[:, None] for values in (mean, at_start, so_far)]
    defaults = {"beta": 2.0, "sigma_min": 0.1, "gamma": 0.5, "error_weights": (2.0, 1.0)}
    result, parts = variance_weights(*column, **{**defaults, **options})
    return result[:, 0], parts


def test_each_term_in_turn():
    # β = 2. Level 0: variance 0.3 − 0.5² = 0.05, E = 2·2·0.01 + 2·0.02 = 0.08 → 0.13, over 0.01 and 0.25·0.4 = 0.1.
    # Level 1: variance 0.2 − 0.3² = 0.11, E = 2·2·0.02 + 2·0.03 = 0.14 → 0.25, but γ²D = 0.25·2 = 0.5 is larger.
    # Level 2 = M: max(1, 0.01, 0.25·0.1) = 1.
    result, parts = weights([0.5, 0.3, 0.2], [0.01, 0.02, 0.03], [0.4, 2.0, 0.1])
    np.testing.assert_allclose(result, [0.13, 0.5, 1.0], rtol=1e-14)
    np.testing.assert_allclose(parts["variance"][:, 0], [0.05, 0.11], rtol=1e-14)
    np.testing.assert_allclose(parts["error"][:, 0], [0.08, 0.14], rtol=1e-14)


def test_the_floor():
    # variance 0.25 − 0.5² = 0, no uncertainty: σ_min² = 0.01 is left.
    result, _ = weights([0.5, 0.25], [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(result, [0.01, 1.0])


def test_the_printed_error_weights():
    # (1, 2): E = 1·2·0.01 + 2·2·0.02 = 0.1 instead of 0.08.
    _, parts = weights([0.5, 0.3], [0.01, 0.02], [0.0, 0.0], error_weights=(1.0, 2.0))
    np.testing.assert_allclose(parts["error"][:, 0], [0.1], rtol=1e-14)


def test_error_terms_and_estimates_are_clipped():
    # β·D = 20 on both levels: E = 1 + 1. Estimates 1.7 and −0.2 count as 1 and 0: variance 0 − 1 = −1.
    result, parts = weights([1.7, -0.2], [10.0, 10.0], [0.0, 0.0])
    np.testing.assert_allclose(parts["error"][:, 0], [2.0])
    np.testing.assert_allclose(parts["variance"][:, 0], [-1.0])
    np.testing.assert_allclose(result, [1.0, 1.0])


@pytest.mark.parametrize("top", [0.0, 100.0])
def test_one_level_is_ucrl_vtr(top):
    # M = 0, σ_min = 1, γ = 0: every weight is 1, whatever the estimates.
    result, _ = weights([0.4], [top], [top], sigma_min=1.0, gamma=0.0)
    np.testing.assert_array_equal(result, [1.0])
