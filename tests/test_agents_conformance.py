"""What every agent must do: one test that each name in the registry passes."""

from __future__ import annotations

import functools
import io
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import eluder
from eluder import agents, checkpoint
from eluder.simulation import Run

PATHS, EPISODES = 4, 300
# Small enough to learn within the test; the theory's 1 is far too careful at this scale.
MULTIPLIERS = {
    **dict.fromkeys(("ucrl-wvtr", "ucrl-wvtr-without-home", "ucrl-vtr", "psrl"), 1.0),
    **dict.fromkeys(("hf-ucrl-vtr-plus", "ucrl-vtr-plus"), 0.001),
    **dict.fromkeys(("ucrl-vtr-ayoub", "q-learning-bernstein", "epsilon-greedy"), 0.2),
}
RANDOM_REGRET = 0.3  # of the bandit below, by episode: half of the 0.8 − 0.2 between its arms

_traced = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: _traced.append(event) if event == "/jax/core/compile/jaxpr_trace_duration" else None
)


def bandit(arms=(0.2, 0.8)):
    """Two steps: an arm leads to the paying state with its own chance."""
    kernel = [[[1 - chance, chance] for chance in arms], [[1.0, 0.0] for _ in arms]]
    rewards = [[0.0 for _ in arms], [1.0 for _ in arms]]
    return eluder.FiniteMDP.from_dense(kernel, rewards, horizon=2, reward_scale=1.0, name="bandit")


def make(name, mdp, **params):
    if "multiplier" in agents.parameters(name):
        params.setdefault("multiplier", MULTIPLIERS.get(name, 0.02))
    return agents.make(name, mdp, **params)


@functools.cache
def first_run(name):
    mdp = bandit()
    return eluder.simulate(mdp, make(name, mdp), episodes=EPISODES, paths=PATHS, workers=1)


@pytest.mark.parametrize("name", agents.names())
def test_shapes_and_finite_numbers(name):
    result = first_run(name)
    assert result.regret.shape == result.returns.shape == (PATHS, EPISODES)
    assert np.isfinite(result.regret).all()
    assert (result.regret > -1e-12).all()
    assert (result.regret <= 0.6 + 1e-12).all()
    assert set(np.unique(result.returns)) <= {0.0, 1.0}
    assert result.agent == make(name, bandit()).label


@pytest.mark.parametrize("name", agents.names())
def test_the_same_seed_gives_the_same_bits_and_other_seeds_compile_nothing(name):
    mdp, first = bandit(), first_run(name)
    before = len(_traced)
    again = eluder.simulate(mdp, make(name, mdp), episodes=EPISODES, paths=PATHS, workers=1)
    other = eluder.simulate(mdp, make(name, mdp), episodes=EPISODES, paths=PATHS, workers=1, seed=1)
    if "multiplier" in agents.parameters(name):
        eluder.simulate(mdp, make(name, mdp, multiplier=0.3), episodes=20, paths=PATHS, workers=1)
    assert len(_traced) == before
    np.testing.assert_array_equal(again.returns, first.returns)
    np.testing.assert_array_equal(again.regret, first.regret)
    assert not np.array_equal(other.returns, first.returns)
    assert len({path.tobytes() for path in first.returns}) == PATHS


@pytest.mark.parametrize("name", agents.names())
def test_a_path_does_not_depend_on_how_many_run_beside_it(name):
    mdp, first = bandit(), first_run(name)
    fewer = eluder.simulate(mdp, make(name, mdp), episodes=EPISODES, paths=3, workers=1)
    np.testing.assert_array_equal(fewer.regret, first.regret[:3])
    np.testing.assert_array_equal(fewer.returns, first.returns[:3])


@pytest.mark.parametrize("name", agents.names())
def test_save_and_restore_in_the_middle(name):
    mdp, first, half = bandit(), first_run(name), 150
    with ThreadPoolExecutor(1) as pool:
        run, _ = Run.start(mdp, make(name, mdp), (), range(PATHS), 0, 1).advance(pool, half)
        file = io.BytesIO()
        np.savez(file, **checkpoint.to_arrays(run))
        file.seek(0)
        fresh = Run.start(mdp, make(name, mdp), (), range(PATHS), 0, 1)
        with np.load(file) as saved:
            restored = checkpoint.from_arrays(fresh, dict(saved), half)
        _, rest = restored.advance(pool, 100)
    np.testing.assert_array_equal(rest["regret"], first.regret[:, half : half + 100])
    np.testing.assert_array_equal(rest["returns"], first.returns[:, half : half + 100])


@pytest.mark.parametrize("name", [name for name in agents.names() if name not in ("random", "greedy")])
def test_learns_the_bandit(name):
    late = first_run(name).regret[:, -100:].mean()
    assert late < RANDOM_REGRET / 4, late


def test_random_does_not_learn_and_greedy_gets_stuck():
    assert abs(first_run("random").regret.mean() - RANDOM_REGRET) < 0.03
    # Greedy stays with the first arm that ever led to the paying state: on some path the wrong one, for ever.
    late = first_run("greedy").regret[:, -100:]
    assert (late == late[:, :1]).all()


@pytest.mark.parametrize("name", agents.names())
def test_no_regret_where_there_is_no_choice(name):
    mdp = bandit(arms=(0.4,))
    result = eluder.simulate(mdp, make(name, mdp), episodes=4, paths=2, workers=1)
    np.testing.assert_allclose(result.regret, 0, atol=1e-12)
