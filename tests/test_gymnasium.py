"""Gymnasium, both ways: its tables become exact MDPs, ours pass its checker, and policies are scored exactly."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import eluder
from eluder import environments
from eluder.environments import from_gymnasium
from eluder.environments.gymnasium_bridge import FiniteMDPEnv, policy_table, score


def best_return(env, horizon):
    """The best expected return within `horizon` steps, by loops over Gymnasium's own table. An ended episode pays 0."""
    table = env.unwrapped.P
    value = dict.fromkeys(table, 0.0)
    for _ in range(horizon):
        value = {
            s: max(
                sum(p * (reward + (0.0 if ended else value[after])) for p, after, reward, ended in outcomes)
                for outcomes in table[s].values()
            )
            for s in table
        }
    starts = env.unwrapped.initial_state_distrib
    return sum(p * value[s] for s, p in enumerate(starts) if p > 0)


def newest(name):
    """The newest version of an environment in the Gymnasium installed."""
    versions = [identity for identity in gymnasium.registry if identity.startswith(f"{name}-v")]
    return max(versions, key=lambda identity: int(identity.rpartition("v")[2]))


TABLES = [
    ("FrozenLake-v1", {}, 30, 16),
    ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}, 14, 64),
    ("CliffWalking-v1", {}, 20, 48),
    ("CliffWalking-v1", {"is_slippery": True}, 20, 48),
    (newest("Taxi"), {}, 25, 500),
]


@pytest.mark.parametrize(("name", "options", "horizon", "states"), TABLES, ids=lambda value: str(value))
def test_tables(name, options, horizon, states):
    mdp = from_gymnasium(name, horizon=horizon, **options)
    expected = best_return(gymnasium.make(name, **options), horizon)
    value = np.asarray(mdp.start) @ np.asarray(mdp.solve().values[0])
    assert float(mdp.original_value(value)) == pytest.approx(expected, abs=1e-9)
    assert (mdp.states, mdp.actions) == (states, gymnasium.make(name).action_space.n)
    np.testing.assert_allclose(np.asarray(mdp.dense_kernel()).sum(axis=-1), 1, atol=1e-12)


def test_known_optima():
    # The cliff's goal is 13 steps away, each costs 1; FrozenLake without slips is reached surely.
    cliff = from_gymnasium("CliffWalking-v1", horizon=20)
    assert float(cliff.original_value(cliff.solve().values[0, 36])) == -13.0
    assert cliff.reward_offset == 100.0
    lake = from_gymnasium("FrozenLake-v1", horizon=6, is_slippery=False)
    assert float(lake.solve().values[0, 0]) == 1.0
    assert float(from_gymnasium("FrozenLake-v1", horizon=5, is_slippery=False).solve().values[0, 0]) == 0.0


def test_the_shift_is_paid_in_ended_episodes_too():
    """Every policy's value moves by offset · H, also of one that ends early; otherwise regret would change."""
    horizon = 18
    mdp = from_gymnasium("CliffWalking-v1", horizon=horizon)
    table = gymnasium.make("CliffWalking-v1").unwrapped.P
    rng = np.random.default_rng(0)
    # Up, along the cliff and down: ends after 13 steps. A random policy falls now and then.
    along = np.ones(48, dtype=int)
    along[36], along[35] = 0, 2
    for policy in (along, rng.integers(4, size=48)):
        state, total, ended = 36, 0.0, False
        for _ in range(horizon):
            if not ended:
                ((_, state, reward, ended),) = table[state][int(policy[state])]
                total += reward
        value = mdp.evaluate(np.broadcast_to(policy, (horizon, 48)))[0, 36]
        assert float(mdp.original_value(value)) == pytest.approx(total, abs=1e-9)


def test_the_environment_itself_and_its_own_limit():
    made = gymnasium.make("FrozenLake-v1", is_slippery=False)
    mdp = from_gymnasium(made)
    assert mdp.horizon == 100
    assert mdp.name == "FrozenLake-v1"
    made = environments.make("from-gymnasium", environment="FrozenLake-v1", horizon=9, is_slippery=False, start=14)
    assert made.horizon == 9
    assert float(made.start @ made.solve().values[0]) == 1.0


class Tableless:
    pass


class Startless:
    P = {0: {0: [(1.0, 0, 0.0, False)]}}  # noqa: RUF012


class Broken(Startless):
    P = {0: {0: [(0.5, 0, 0.0, False)]}}  # noqa: RUF012


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        ("CartPole-v1", {}, "CartPole-v1 does not publish its table"),
        ("Blackjack-v1", {}, "Blackjack-v1 does not publish its table"),
        (Tableless(), {"horizon": 3}, "Tableless does not publish its table"),
        (Startless(), {}, "Startless has no limit of steps: pass horizon="),
        (Startless(), {"horizon": 3}, "Startless does not publish initial_state_distrib: pass start="),
        (Broken(), {"horizon": 3, "start": 0}, "state 0, action 0 must sum to 1, but sum to 0.5"),
        (Startless(), {"horizon": 3, "render_mode": "ansi"}, "options render_mode can only be given with"),
        (Startless(), {"horizon": 3, "start": 7}, "start names the state 7"),
    ],
)
def test_environments_without_tables(environment, options, message):
    with pytest.raises(ValueError, match=message):
        from_gymnasium(environment, **options)


@pytest.mark.parametrize("observe_step", [False, True])
@pytest.mark.parametrize("name", environments.names())
def test_every_environment_passes_gymnasiums_checker(name, observe_step):
    env = gymnasium.make(f"eluder/{name}-v0", observe_step=observe_step)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_env(env.unwrapped)
    assert not [str(warning.message) for warning in seen]


def test_gymnasium_finds_it_by_module():
    env = gymnasium.make("eluder.environments.gymnasium_bridge:eluder/riverswim-v0", states=4, render_mode="ansi")
    assert env.observation_space == gymnasium.spaces.Discrete(4)
    env.reset(seed=0)
    env.step(0)
    assert env.render() == "riverswim-4, step 1 of 20: action left paid 0.005, now in state 0"


def test_steps_follow_the_mdp():
    """Frequencies of a long run are those of the kernel, and rewards are the table's, also when they change with h."""
    mdp = environments.hard_tree(depth=1, waiting=1, horizon=4)
    env = FiniteMDPEnv(mdp, observe_step=True)
    rng = np.random.default_rng(1)
    counts = np.zeros((mdp.states, mdp.actions, mdp.states))
    rewards = np.asarray(mdp.rewards)
    env.reset(seed=5)
    for _ in range(800):
        (step, state), _ = env.reset()
        assert (step, state) == (0, 0)
        for h in range(4):
            action = int(rng.integers(mdp.actions))
            (step, after), reward, ended, cut, info = env.step(action)
            assert reward == rewards[h, state, action]
            assert (step, info["step"], ended, cut) == (h + 1, h + 1, h == 3, False)
            counts[state, action, after] += 1
            state = after
    visits = counts.sum(axis=-1, keepdims=True)
    kernel = np.asarray(mdp.dense_kernel())
    assert counts[kernel == 0].max() == 0
    error = np.abs(counts / np.maximum(visits, 1) - kernel)[visits[..., 0] > 0]
    assert error.max() < 5 * np.sqrt(0.25 / visits[visits > 0].min())


def test_an_episode_ends_after_h_steps():
    env = FiniteMDPEnv("two-state", horizon=2)
    env.reset(seed=0)
    assert env.step(0)[2:4] == (False, False)
    assert env.step(0)[2:4] == (False, True)
    with pytest.raises(ValueError, match="The episode is over"):
        env.step(0)
    env.reset()
    with pytest.raises(ValueError, match="action must be a whole number from 0 to 2, but is 3"):
        env.step(3)
    with pytest.raises(ValueError, match="can only be given with an environment's name"):
        FiniteMDPEnv(environments.two_state(), horizon=2)
    with pytest.raises(ValueError, match="render_mode must be None or 'ansi'"):
        FiniteMDPEnv("two-state", render_mode="human")


def test_there_and_back():
    mdp = environments.grid_world(slip=0.3, horizon=11)
    again = from_gymnasium(FiniteMDPEnv(mdp), horizon=11)
    np.testing.assert_allclose(again.dense_kernel(), mdp.dense_kernel(), atol=1e-12)
    np.testing.assert_allclose(again.rewards, mdp.rewards, atol=1e-12)
    np.testing.assert_array_equal(again.start, mdp.start)
    with pytest.raises(ValueError, match="does not publish its table"):
        from_gymnasium(FiniteMDPEnv("hard-tree"), horizon=12)


class Policy:
    """A policy with stable-baselines3's `predict`: a table over observations, one observation at a time or many."""

    def __init__(self, table, memory=None):
        self.table, self.memory, self.calls = np.asarray(table), memory, 0

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        self.calls += 1
        observation = np.asarray(observation)
        if self.table.ndim == 2:
            return self.table[observation[..., 0], observation[..., 1]], self.memory
        return self.table[observation], self.memory


@pytest.mark.parametrize("batched", [False, True])
def test_scores_are_exact(batched):
    mdp = environments.riverswim(states=4, horizon=9)
    kernel, rewards = np.asarray(mdp.dense_kernel()), np.asarray(mdp.rewards[0])
    by_step = np.random.default_rng(2).integers(2, size=(9, 4))
    always_right = Policy([1, 1, 1, 1])
    for policy, observe_step, table in (
        (always_right, False, np.ones((9, 4), dtype=int)),
        (Policy(by_step), True, by_step),
    ):
        value = np.zeros(4)
        for h in reversed(range(9)):
            at = np.arange(4), table[h]
            value = rewards[at] + kernel[at] @ value
        got = score(policy, mdp, observe_step=observe_step, batched=batched)
        assert got.value == pytest.approx(value[0], abs=1e-12)
        assert got.regret == pytest.approx(float(mdp.solve().values[0, 0]) - value[0], abs=1e-12)
        assert policy.calls == (1 if batched else 4 * (9 if observe_step else 1))
    best = score(Policy(mdp.solve().policy), mdp, observe_step=True, batched=batched)
    assert best.regret == pytest.approx(0, abs=1e-12)


def test_scores_agree_with_roll_outs():
    """The same policy played in the Gymnasium environment returns on average what the score says."""
    mdp = environments.riverswim(states=3, horizon=8)
    policy, env = Policy([1, 1, 0]), FiniteMDPEnv(mdp)
    observation, _ = env.reset(seed=3)
    returns = []
    for _ in range(2000):
        observation, _ = env.reset()
        total, cut = 0.0, False
        while not cut:
            action, _ = policy.predict(observation, deterministic=True)
            observation, reward, _, cut, _ = env.step(int(action))
            total += reward
        returns.append(total)
    standard_error = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - score(policy, mdp).value) < 4 * standard_error + 1e-12


def test_policies_that_cannot_be_scored():
    mdp = environments.riverswim(states=3)
    with pytest.raises(TypeError, match=r"model must have predict\(observation, deterministic=True\), unlike int"):
        policy_table(3, mdp)
    with pytest.raises(ValueError, match="keeps a memory between steps"):
        score(Policy([0, 1, 1], memory=(1,)), mdp)
    with pytest.raises(ValueError, match="policy must name actions from 0 to 1"):
        score(Policy([0, 1, 2]), mdp)

    class Bare:
        def predict(self, observation, deterministic):
            return 0

    class Wide:
        def predict(self, observation, deterministic):
            return np.zeros(2), None

    with pytest.raises(TypeError, match=r"predict must return \(action, memory\), but returned int"):
        score(Bare(), mdp)
    with pytest.raises(ValueError, match="one action per observation"):
        score(Wide(), mdp)


def test_the_optimal_agent_crosses_the_frozen_lake():
    """A Gymnasium table runs through the whole library."""
    mdp = from_gymnasium("FrozenLake-v1", horizon=8, is_slippery=False)
    result = eluder.simulate(mdp, eluder.agents.Optimal(mdp), episodes=2, paths=2)
    np.testing.assert_allclose(result.regret, 0, atol=1e-12)
    np.testing.assert_allclose(result.returns, 1, atol=1e-12)
