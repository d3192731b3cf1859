"""Tabular is a one-hot mixture, and classes that cannot represent an MDP are found out."""

import numpy as np
import pytest
from helpers import one_hot_features, random_mdp

import eluder
from eluder.agents import UCRLWVTR
from eluder.models import LinearMixture, Tabular


@pytest.mark.parametrize("levels", [0, 2])
def test_tabular_equals_the_one_hot_mixture(levels):
    mdp = random_mdp(np.random.default_rng(0), states=3, actions=2, horizon=5)
    one_hot = LinearMixture.from_dense(one_hot_features(3, 2))
    run = {"episodes": 40, "paths": 3, "seed": 1}
    tabular = eluder.simulate(mdp, UCRLWVTR(Tabular(mdp), levels=levels), **run)
    mixture = eluder.simulate(mdp, UCRLWVTR(one_hot, levels=levels), **run)
    np.testing.assert_allclose(tabular.regret, mixture.regret, rtol=0, atol=1e-9)
    np.testing.assert_allclose(tabular.returns, mixture.returns, rtol=0, atol=1e-9)


def test_known_support_equals_all_states_when_every_state_is_a_successor():
    mdp = random_mdp(np.random.default_rng(1), states=3, actions=2, horizon=4)
    run = {"episodes": 30, "paths": 2, "seed": 0}
    known = eluder.simulate(mdp, UCRLWVTR(Tabular(mdp, known_support=True)), **run)
    every = eluder.simulate(mdp, UCRLWVTR(Tabular(mdp)), **run)
    np.testing.assert_allclose(known.regret, every.regret, rtol=0, atol=1e-9)


def test_known_support_learns_the_river_faster(river):
    run = {"episodes": 300, "paths": 8, "seed": 0}
    known = eluder.simulate(river, UCRLWVTR(Tabular(river, known_support=True)), **run).regret.sum(axis=1).mean()
    every = eluder.simulate(river, UCRLWVTR(Tabular(river)), **run).regret.sum(axis=1).mean()
    assert known < every


def test_the_river_is_a_mixture_of_right_stay_and_left(river):
    model = river.linear_mixture()
    assert model.dim == 3
    np.testing.assert_allclose(model.fit(river), [0.9, 0.05, 0.05], atol=1e-12)
    assert model.misfit(river) < 1e-12
    # θ = (right, stay, left) gives the river's kernel at any current, rows summing to one.
    kernel = np.einsum("sand,d->san", np.asarray(model.features), [0.5, 0.2, 0.3])
    np.testing.assert_allclose(kernel.sum(axis=-1), 1.0)


def test_misfit_is_the_residual_of_least_squares():
    """Two kernels mixed; the MDP has a third. The best θ by the normal equations, written out."""
    rng = np.random.default_rng(2)
    basis = rng.dirichlet(np.ones(3), size=(2, 3, 2))
    model = LinearMixture.from_dense(np.moveaxis(basis, 0, -1))
    true = rng.dirichlet(np.ones(3), size=(3, 2))
    mdp = eluder.FiniteMDP.from_dense(true, np.zeros((3, 2)), horizon=2)
    design = basis.reshape(2, -1).T
    theta = np.linalg.solve(design.T @ design, design.T @ true.ravel())
    np.testing.assert_allclose(model.fit(mdp), theta, atol=1e-10)
    np.testing.assert_allclose(model.misfit(mdp), np.abs(design @ theta - true.ravel()).max(), atol=1e-12)


def test_a_run_with_features_that_cannot_represent_the_mdp():
    ayoub = eluder.environments.riverswim(variant="ayoub")
    paper = eluder.environments.riverswim().linear_mixture()  # its ends follow from its interior, Ayoub's do not
    agent = UCRLWVTR(paper)
    with pytest.raises(ValueError, match=r"LinearMixture cannot represent.*allow_misspecified=True"):
        eluder.simulate(ayoub, agent, episodes=1)
    result = eluder.simulate(ayoub, agent, episodes=2, paths=2, allow_misspecified=True)
    assert result.misspecified
    assert result.misfit == paper.misfit(ayoub) > 0.01
    assert "misspecified" in repr(result)


def test_a_realisable_run_is_not_called_misspecified(river):
    agent = UCRLWVTR(river.linear_mixture())
    assert not eluder.simulate(river, agent, episodes=2, paths=2, allow_misspecified=True).misspecified


def test_a_class_contains_its_own_environment():
    for variant in ("paper", "ayoub", "osband"):
        river = eluder.environments.riverswim(variant=variant)
        model = river.linear_mixture()
        assert np.linalg.norm(model.fit(river)) <= model.bound
    assert river.linear_mixture(bound=3.0).bound == 3.0


def test_known_support_of_another_mdp_is_found_out(river):
    rng = np.random.default_rng(3)
    other = eluder.FiniteMDP.from_dense(rng.dirichlet(np.ones(5), size=(5, 2)), np.zeros((5, 2)), horizon=20)
    unreachable = np.asarray(other.dense_kernel())[np.asarray(river.dense_kernel()) == 0]
    assert Tabular(river, known_support=True).misfit(other) == pytest.approx(unreachable.max())
    assert Tabular(river).misfit(other) == 0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LinearMixture([[[0]]], [[[1.0]]]), "features must have the shape"),
        (lambda: LinearMixture([[[1]]], [[[[1.0]]]]), "name states"),
        (lambda: LinearMixture([[[0]]], [[[[np.nan]]]]), "finite"),
        (lambda: LinearMixture([[[0]]], [[[[1.0]]]], bound=0.0), "bound must be a positive number"),
        (lambda: LinearMixture.from_dense(np.ones((2, 1, 1, 1))), r"shape \(S, A, S, d\)"),
    ],
)
def test_malformed_features(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_model_of_another_size(river):
    small = eluder.environments.riverswim(states=4).linear_mixture()
    with pytest.raises(ValueError, match="over 4 states and 2 actions, but 'riverswim-5' has 5 and 2"):
        eluder.simulate(river, UCRLWVTR(small), episodes=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": -1}, "levels must be a whole number"),
        ({"levels": 1.5}, "levels must be a whole number"),
        ({"ridge": 0.0}, "ridge must be a number above 0"),
        ({"sigma_min": -0.1}, "sigma_min must be a number above 0"),
        ({"gamma": float("nan")}, "gamma must be a number of at least 0"),
        ({"ridge": "abc"}, "ridge must be a number above 0, but is 'abc'"),
        ({"error_weights": (float("nan"), 1.0)}, "each of error_weights must be a number of at least 0"),
        ({"error_weights": (1.0,)}, "error_weights must be two numbers"),
        ({"beta": -1.0}, "beta must be a number of at least 0"),
    ],
)
def test_malformed_hyper_parameters(river, options, message):
    with pytest.raises(ValueError, match=message):
        UCRLWVTR(river.linear_mixture(), **options)


def test_a_model_that_is_none(river):
    with pytest.raises(TypeError, match=r"model must be a model class such as environment.linear_mixture\(\)"):
        UCRLWVTR(river)
