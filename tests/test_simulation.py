"""The runner: controls with known regret, bits that depend on nothing but the spec, and what wrong input is told."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from helpers import random_mdp

import eluder
from eluder import simulation
from eluder.agents import UCRLVTR, UCRLWVTR, Optimal, Random, without_home
from eluder.models import Tabular
from eluder.recording import Trace


def same_bits(a, b):
    np.testing.assert_array_equal(a.regret, b.regret)
    np.testing.assert_array_equal(a.returns, b.returns)


def test_optimal_has_no_regret(river):
    result = eluder.simulate(river, Optimal(river), episodes=20, paths=4)
    assert np.abs(result.regret).max() <= 1e-12
    np.testing.assert_allclose(result.optimal_value, float(river.solve().values[0, 0]))


def test_the_mean_return_of_optimal_is_the_optimal_value():
    mdp = random_mdp(np.random.default_rng(0), states=4, actions=3, horizon=6, start=[0.1, 0.2, 0.3, 0.4])
    result = eluder.simulate(mdp, Optimal(mdp), episodes=200, paths=50, seed=1)
    gap = result.returns - result.optimal_value
    assert np.abs(gap.mean()) < 4 * gap.std() / np.sqrt(gap.size)
    assert len(np.unique(result.optimal_value)) == 4  # all four starts happened


def test_random_has_the_regret_of_the_uniform_policy(river):
    result = eluder.simulate(river, Random(), episodes=300, paths=20, seed=2)
    uniform = np.full((river.horizon, river.states, river.actions), 0.5)
    expected = float(river.solve().values[0, 0] - river.evaluate(uniform)[0, 0])
    error = result.regret.std() / np.sqrt(result.regret.size)
    assert np.abs(result.regret.mean() - expected) < 4 * error
    returns_error = result.returns.std() / np.sqrt(result.returns.size)
    assert np.abs(result.returns.mean() - float(river.evaluate(uniform)[0, 0])) < 4 * returns_error


@pytest.mark.parametrize("model", ["mixture", "tabular"])
def test_a_path_does_not_depend_on_its_company(river, model, monkeypatch):
    """The same bits alone, in other batches, on other numbers of threads, and in other chunks."""
    agent = UCRLWVTR(river.linear_mixture() if model == "mixture" else Tabular(river), levels=2)
    run = {"episodes": 25, "seed": 4}
    many = eluder.simulate(river, agent, paths=21, workers=2, **run)
    for paths, workers in [(1, 1), (2, 1), (7, 2), (21, 1), (20, 3)]:
        fewer = eluder.simulate(river, agent, paths=paths, workers=workers, **run)
        np.testing.assert_array_equal(fewer.regret, many.regret[:paths])
        np.testing.assert_array_equal(fewer.returns, many.returns[:paths])
    monkeypatch.setattr(simulation, "_BUFFER", 3)
    monkeypatch.setattr(simulation, "_CPU_BLOCK", 4)
    same_bits(eluder.simulate(river, agent, paths=21, workers=1, **run), many)


def test_longer_runs_begin_as_shorter_ones(river):
    agent = UCRLWVTR(river.linear_mixture())
    long = eluder.simulate(river, agent, episodes=60, paths=3)
    short = eluder.simulate(river, agent, episodes=20, paths=3)
    np.testing.assert_array_equal(long.regret[:, :20], short.regret)


def test_seeds_and_paths_differ(river):
    agent = UCRLWVTR(river.linear_mixture())
    one = eluder.simulate(river, agent, episodes=10, paths=2, seed=0)
    other = eluder.simulate(river, agent, episodes=10, paths=2, seed=1)
    assert not np.array_equal(one.returns, other.returns)
    assert not np.array_equal(one.returns[0], one.returns[1])
    same_bits(one, eluder.simulate(river, agent, episodes=10, paths=2, seed=0))


def test_other_hyper_parameters_seeds_and_horizons_compile_nothing_new():
    sizes = []
    for horizon, seed, beta in [(20, 0, 1.0), (20, 1, 1.0), (20, 1, 0.3), (30, 2, 0.5)]:
        river = eluder.environments.riverswim(horizon=horizon)
        eluder.simulate(river, UCRLWVTR(river.linear_mixture(), beta=beta), episodes=3, paths=4, seed=seed)
        sizes.append(simulation._compiled.jitted()._cached._cache_size())
    assert len(set(sizes)) == 1


def test_recorders_change_no_number(river):
    agent = UCRLWVTR(river.linear_mixture())
    plain = eluder.simulate(river, agent, episodes=15, paths=3)
    traced = eluder.simulate(river, agent, episodes=15, paths=3, record=[Trace(river)])
    same_bits(plain, traced)
    assert traced.records["values"].shape == (3, 15, river.horizon + 1, river.states)
    assert traced.records["weights"].shape == (3, 15, river.horizon, 4)


def test_ctrl_c_keeps_what_was_done(river):
    agent = UCRLWVTR(river.linear_mixture())

    def interrupt(episodes):
        if episodes >= 9:
            raise KeyboardInterrupt

    cut = eluder.simulate(river, agent, episodes=500, paths=3, progress=interrupt)
    assert cut.interrupted
    assert 9 <= cut.regret.shape[1] < 500
    whole = eluder.simulate(river, agent, episodes=cut.regret.shape[1], paths=3)
    same_bits(cut, whole)
    assert "interrupted" in repr(cut)


def test_progress_counts_up_to_the_end(river):
    seen = []
    eluder.simulate(river, Random(), episodes=37, paths=2, progress=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 37


def test_the_agents_order_on_a_long_horizon():
    """The paper's claim, small: UCRL-WVTR below the ablation without HOME, far below UCRL-VTR, below Random."""
    river = eluder.environments.riverswim(horizon=100)
    model = river.linear_mixture()
    agents = [UCRLWVTR(model), without_home(model), UCRLVTR(model), Random()]
    finals = [eluder.simulate(river, a, episodes=150, paths=40).regret.sum(axis=1) for a in agents]
    for lower, higher in itertools.pairwise(finals):
        error = np.hypot(lower.std(), higher.std()) / np.sqrt(40)
        assert higher.mean() - lower.mean() > error


def test_rewards_are_reported_in_the_mdps_own_units(river):
    agent = UCRLWVTR(river.linear_mixture())
    own = eluder.simulate(river, agent, episodes=30, paths=2)
    unit = eluder.simulate(river.normalised(), agent, episodes=30, paths=2)
    np.testing.assert_allclose(own.regret, unit.regret * river.reward_scale, rtol=0, atol=1e-9)
    np.testing.assert_allclose(own.normalised_regret, unit.regret, rtol=0, atol=1e-10)
    np.testing.assert_allclose(own.returns, unit.returns * river.reward_scale, rtol=0, atol=1e-9)


def test_an_mdp_without_rewards():
    mdp = eluder.FiniteMDP([[[0]]], [[[1.0]]], [[0.0]], horizon=2)
    result = eluder.simulate(mdp, Random(), episodes=3, paths=2)
    assert np.all(result.regret == 0)
    assert np.all(result.returns == 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episodes": 0}, "episodes must be a whole number of at least 1"),
        ({"episodes": 5, "paths": -1}, "paths must be a whole number of at least 1"),
        ({"episodes": 5, "seed": 0.5}, "seed must be a whole number"),
        ({"episodes": 5, "seed": 2**63}, "seed must be a whole number of 64 bits"),
        ({"episodes": 5, "workers": 0}, "workers must be a whole number of at least 1"),
    ],
)
def test_malformed_runs(river, options, message):
    with pytest.raises(ValueError, match=message):
        eluder.simulate(river, Random(), **options)


def test_things_that_are_no_agent_or_environment(river):
    with pytest.raises(TypeError, match=r"agent must be an agent such as eluder.agents.Random\(\)"):
        eluder.simulate(river, Random, episodes=1)
    with pytest.raises(TypeError, match="environment must be a FiniteMDP"):
        eluder.simulate("riverswim", Random(), episodes=1)


def test_optimal_of_another_environment(river):
    with pytest.raises(ValueError, match="solves another problem"):
        eluder.simulate(eluder.environments.riverswim(horizon=21), Optimal(river), episodes=1)


def test_the_core_needs_no_plotting_tables_or_command_line():
    code = """
import sys
for name in ("matplotlib", "pandas", "pyarrow", "typer", "rich", "gymnasium", "dask", "optimistix", "optax", "scipy"):
    sys.modules[name] = None
import eluder
river = eluder.environments.riverswim()
print(eluder.simulate(river, eluder.agents.UCRLWVTR(river.linear_mixture()), episodes=2, paths=2).regret.shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(2, 2)", done.stderr
