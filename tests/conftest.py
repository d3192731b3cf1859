"""Strict arithmetic for every test: 64-bit floats, no silent rank or type promotion."""

import jax
import pytest

import eluder

jax.config.update("jax_numpy_dtype_promotion", "standard")


@pytest.fixture
def river():
    return eluder.environments.riverswim(states=5, horizon=20)
