"""UCRL-WVTR on every class: runs, agreement where classes coincide, and one clear sentence for each broken class."""

import re
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from test_oracles import river_mnl

import eluder
from eluder import models, oracles, uncertainty
from eluder.agents import UCRLWVTR
from eluder.models.general import truth_as_data
from eluder.recording import Trace
from eluder.regression import gram


def finite_river(river):
    """The river among rivers with other currents; the true one is the fourth."""
    features = np.asarray(river.features)
    thetas = [(0.1, 0.1, 0.8), (0.3, 0.4, 0.3), (0.6, 0.2, 0.2), (0.9, 0.05, 0.05), (0.8, 0.1, 0.1)]
    return models.Finite(river.successors, [features @ theta for theta in thetas])


def classes(river):
    return {
        "simplex": models.SimplexMixture(river.successors, river.features),
        "ball": models.BallMixture(river.successors, river.features),
        "finite": finite_river(river),
        "mnl": river_mnl(river),
        "neural": models.Neural(river, width=4),
    }


@pytest.mark.parametrize("name", ["simplex", "finite", "mnl", "neural"])
def test_learns_the_river(river, name):
    """Small versions of the regret targets: the last 20 of 120 episodes are nearly optimal, random play is not."""
    result = eluder.simulate(river, UCRLWVTR(classes(river)[name]), episodes=120, paths=3, seed=1)
    assert result.misfit == 0
    assert np.mean(result.regret[:, -20:]) < 0.1 * result.optimal_value.mean()
    assert np.mean(result.regret[:, 0]) > 0.3 * result.optimal_value.mean()
    np.testing.assert_array_equal(result.report["oracle_calls"], 4 * 120)
    assert np.all(result.report["oracle_failures"] <= 120)


def test_optimism_and_the_inflated_value(river):
    """With a radius that covers the class, planned values are above the optimum: only if D's upper end is used."""
    optimum = np.asarray(river.solve().values) / river.reward_scale
    for name in ("simplex", "finite"):
        agent = UCRLWVTR(classes(river)[name], beta=3.0, levels=0)
        result = eluder.simulate(river, agent, episodes=12, paths=2, record=[Trace(river)])
        assert np.all(result.records["values"] >= optimum - 1e-9)


def test_algorithm_3_plans_more_optimistically_than_the_exact_d(river):
    """Same data in the first two episodes' plans: √2·D̃ + accuracy is never below D, and calls are counted."""
    model = classes(river)["simplex"]
    exact = UCRLWVTR(model, levels=0, beta=0.05)
    search = UCRLWVTR(model, levels=0, beta=0.05, uncertainty=uncertainty.OracleSearch(accuracy=1e-2))
    runs = [eluder.simulate(river, agent, episodes=1, paths=2, record=[Trace(river)]) for agent in (exact, search)]
    assert np.all(runs[1].records["values"] >= runs[0].records["values"] - 1e-4)
    assert np.all(runs[0].report["oracle_calls"] == 1)
    assert np.all(runs[1].report["oracle_calls"] > 10)


def test_a_path_does_not_depend_on_its_neighbours(river):
    for name in ("simplex", "mnl"):
        agent = UCRLWVTR(classes(river)[name], levels=1)
        few = eluder.simulate(river, agent, episodes=6, paths=2, seed=4, workers=1)
        many = eluder.simulate(river, agent, episodes=6, paths=5, seed=4, workers=1)
        np.testing.assert_array_equal(few.regret, many.regret[:2])


def test_one_hot_logits_represent_any_kernel_with_the_support(river):
    assert models.MNL.one_hot(river).misfit(river) < 1e-7


def test_truth_as_data_measures_the_distance():
    """Two slots that lead to the same state count once, as one probability."""
    mdp = eluder.FiniteMDP([[[0, 1]], [[1, 1]]], [[[0.3, 0.7]], [[0.4, 0.6]]], [[0.0], [1.0]], horizon=3)
    successors = jnp.array([[[1, 0]], [[1, 1]]])
    moments = truth_as_data(mdp, successors)
    np.testing.assert_allclose(gram.loss(moments, jnp.array([[0.7, 0.3], [0.9, 0.1]])), 0, atol=1e-15)
    np.testing.assert_allclose(gram.loss(moments, jnp.array([[0.6, 0.4], [0.5, 0.4]])), 0.03, rtol=1e-9)


class Broken(models.GeneralModel):
    """The river's kernel, spoilt in one way or another."""

    successors: jnp.ndarray
    probs: jnp.ndarray
    fault: str
    bound: float

    def __init__(self, environment, fault):
        self.successors, self.probs = environment.successors, environment.probs
        self.fault, self.bound = fault, 1.0

    def start(self):
        return jnp.zeros(1)

    def probabilities(self, theta):
        probs = self.probs + 0 * theta[0]
        return {
            "sum": probs * 0.9,
            "nan": probs.at[2, 1, 0].set(jnp.nan),
            "shape": probs[:-1],
            "negative": probs.at[0, 0, 0].add(1.0).at[0, 0, 1].add(-1.0),
        }[self.fault]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("sum", r"Each row of Broken\.probabilities must sum to 1, but .* sums to 0\.9"),
        ("nan", r"Broken gives nan as the chance of slot 0 of state 2 and action 1"),
        ("shape", r"Broken\.probabilities must return the shape .*\(5, 2, 3\), but returns \(4, 2, 3\)"),
        ("negative", r"Broken\.probabilities must not be negative"),
    ],
)
def test_broken_classes_are_named(river, fault, sentence):
    agent = UCRLWVTR(Broken(river, fault))
    with pytest.raises(ValueError, match=sentence):
        eluder.simulate(river, agent, episodes=1, paths=2)


def test_nan_logits_are_named(river):
    class Logarithm(eqx.Module):
        weight: jnp.ndarray

        def __call__(self, x):
            return jnp.log(self.weight * x[:3] - 1)

    model = models.Neural(river, network=Logarithm(jnp.zeros(3)))
    with pytest.raises(
        ValueError, match="Neural gives nan as the chance of slot 0 of state 0 and action 0: its logits"
    ):
        model.check()


def test_a_class_that_cannot_represent_the_environment(river):
    kernels = np.stack([np.asarray(river.probs)[:, ::-1]] * 2)
    with pytest.raises(ValueError, match="Finite cannot represent 'riverswim-5'"):
        eluder.simulate(river, UCRLWVTR(models.Finite(river.successors, kernels)), episodes=1, paths=2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda r: models.SimplexMixture(r.successors, 2 * r.features), "must sum to 1"),
        (lambda r: models.Finite(r.successors, r.probs), "kernels must have the shape"),
        (lambda r: models.MNL(r.successors, r.features, np.zeros((5, 2, 3))), "no slot of state 0 and action 0"),
        (lambda r: models.MNL(r.successors, r.features, bound=-1), "bound must be a positive number"),
        (lambda r: models.Neural(r, inputs=np.zeros((4, 2, 3))), "inputs must have the shape"),
    ],
)
def test_bad_arguments(river, make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(river)


def test_methods_that_do_not_suit_a_class(river):
    for method in (uncertainty.Elliptical(), uncertainty.Dinkelbach(), uncertainty.Enumeration()):
        with pytest.raises(TypeError, match="MNL"):
            eluder.simulate(river, UCRLWVTR(river_mnl(river), uncertainty=method), episodes=1)


def test_a_function_is_a_class(river):
    features = np.asarray(river.features)
    model = models.Custom(river, lambda theta: jnp.asarray(features) @ jnp.array([1.0, 0, 0]) + 0 * theta[0], [0.0])
    assert model.misfit(river) == pytest.approx(0.1)


def test_failures_to_converge_are_shown(river):
    hasty = oracles.LevenbergMarquardt(max_steps=2, tolerance=1e-9)
    result = eluder.simulate(river, UCRLWVTR(river_mnl(river), levels=1, oracle=hasty), episodes=4, paths=2)
    assert np.all(result.report["oracle_failures"] > 0)


def test_the_class_written_in_the_docs():
    """The page's example runs as it stands, and its class takes fewer than 30 lines."""
    page = (Path(__file__).parent.parent / "docs" / "model-classes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    own = next(block for block in blocks if "class Slope" in block)
    assert len(own.strip().splitlines()) < 40
    assert len(re.search(r"class Slope.*?\n\n\n", own, flags=re.DOTALL)[0].strip().splitlines()) < 30
    names: dict = {}
    exec(compile(own, "model-classes.md", "exec"), names)
    assert names["result"].regret.shape[0] == 2
    assert names["result"].misfit == 0


def test_experiments_run_to_a_figure():
    import matplotlib as mpl

    mpl.use("Agg")
    from eluder.experiments import classes as experiment
    from eluder.experiments import oracle_accuracy

    results, rows = experiment.run(episodes=3, paths=2, names=("linear mixture", "finite"))
    assert [row.oracle_calls for row in rows] == [0, 4]
    assert len(experiment.figure(results).axes[0].lines) == 2
    comparison = oracle_accuracy.run(problems=40)
    inside = comparison.exact <= np.sqrt(2) * comparison.found + comparison.accuracy + 1e-5 * comparison.exact
    assert inside.all()
    assert oracle_accuracy.figure(comparison).axes[0].get_xlabel() == "exact D"


def test_every_class_represents_the_river(river):
    from eluder.experiments.classes import NAMES, river_classes

    for name in NAMES:
        assert river_classes(river)[name].misfit(river) < 1e-7, name
