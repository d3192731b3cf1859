"""The parts that agents are made of, each against a truth of its own."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import random_mdp
from scipy import stats
from scipy.optimize import linprog
from transcriptions import tabular

import eluder
from eluder import _random, agents
from eluder.agents._counting import Counts, Estimate
from eluder.agents.psrl import gamma
from eluder.agents.ucbvi import Plan
from eluder.agents.ucrl2 import optimistic_mean
from eluder.recording import Recorder, Trace
from eluder.simulation import Run, problem_of


@eqx.filter_jit
def keys(paths, episode=0):
    return _random.episode_keys(7, jnp.arange(paths), jnp.asarray(episode))


# Called outside the runner, these would compile operation by operation.
begin = eqx.filter_jit(lambda agent, *arguments: agent.begin(*arguments))
backup = eqx.filter_jit(lambda agent, *arguments: agent.backup(*arguments)[0])
bonus = eqx.filter_jit(lambda agent, *arguments: agent.bonus(*arguments))


# --- UCRL2 ---------------------------------------------------------------------------------------------------------


def test_optimistic_mean_is_the_best_kernel_in_the_ball():
    """Against the linear program max ⟨p, V⟩, ‖p − P̂‖₁ ≤ radius, p a distribution."""
    rng = np.random.default_rng(0)
    S = 4
    for radius in (0.0, 0.1, 0.7, 1.6, 3.0):
        kernel, values = rng.dirichlet(np.ones(S)), rng.random(S)
        values[1] = values[2]  # a tie
        # Variables p and t ≥ |p − P̂|.
        above = np.block([[np.eye(S), -np.eye(S)], [-np.eye(S), -np.eye(S)], [np.zeros((1, S)), np.ones((1, S))]])
        bounds = np.concatenate([kernel, -kernel, [radius]])
        best = linprog(
            np.concatenate([-values, np.zeros(S)]),
            A_ub=above,
            b_ub=bounds,
            A_eq=np.concatenate([np.ones(S), np.zeros(S)])[None],
            b_eq=[1.0],
        )
        ours = optimistic_mean(
            jnp.asarray(kernel)[:, None, None, None],
            jnp.asarray(values)[:, None, None, None],
            jnp.full((1, 1, 1), radius),
        )
        np.testing.assert_allclose(np.asarray(ours)[0, 0, 0], -best.fun, atol=1e-9)


# --- UCBVI-BF ------------------------------------------------------------------------------------------------------


def test_the_bernstein_freedman_correction_counts_visits_at_the_next_step():
    """At sizes where min(100²H³S²AL²/n(y), H²) is not H², which no short run reaches."""
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 3, 2, 4)
    judge = tabular.UCBVIBF(np.zeros((4, 3, 2)))
    judge.n_next = rng.integers(1, 9, size=(3, 2, 3)).astype(float)
    judge.n, judge.n_step = judge.n_next.sum(axis=2), 10.0 ** rng.uniform(4, 9, size=(5, 3))
    values = rng.random(3)
    kernel = np.moveaxis(judge.n_next / judge.n[..., None], 2, 0)
    by_step = np.zeros((33, 3, 1))
    by_step[:5, :, 0] = judge.n_step
    plan = Plan(
        Estimate(jnp.asarray(judge.n)[..., None], jnp.asarray(kernel)[..., None], jnp.asarray(0)),
        jnp.zeros((32, 3, 2, 1)),
        jnp.asarray(by_step),
    )
    problem = problem_of(mdp, per_step=True)
    for h in range(3):
        ours = bonus(agents.UCBVIBF(), plan, problem, jnp.asarray(h), jnp.asarray(values)[:, None])[..., 0]
        theirs = [[judge.bonus(h, s, a, values) for a in range(2)] for s in range(3)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


# --- Random agents -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 40.0])
def test_gamma_numbers_have_their_law(shape):
    drawn = eqx.filter_jit(gamma)(jax.random.key_data(keys(4000)).T, jnp.full((2, 4000), shape))
    for row in np.asarray(drawn):
        assert stats.kstest(row, stats.gamma(shape).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(np.asarray(drawn))[0, 1]) < 0.06


def test_psrl_draws_rows_from_the_posterior():
    """Mean and variance of Dirichlet(1 + n), and of the wider Dirichlet((1 + n)/c²)."""
    mdp = random_mdp(np.random.default_rng(0), 3, 1, 2)
    paths, counts = 4000, np.array([[5.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 30.0, 1.0]])  # [s, s']
    outcomes = jnp.broadcast_to(jnp.asarray(counts.T)[:, :, None, None], (3, 3, 1, paths))
    state = Counts(jnp.sum(outcomes, axis=0), outcomes)
    for multiplier in (1.0, 2.0):
        plan = begin(agents.PSRL(multiplier=multiplier), state, problem_of(mdp), jnp.asarray(0), keys(paths))
        alpha = (1 + counts) / multiplier**2
        mean = alpha / alpha.sum(axis=1, keepdims=True)
        variance = mean * (1 - mean) / (1 + alpha.sum(axis=1, keepdims=True))
        drawn = np.asarray(plan.kernel)[:, :, 0]  # s', s, path
        np.testing.assert_allclose(drawn.mean(axis=-1).T, mean, atol=4 * np.sqrt(variance.max() / paths))
        np.testing.assert_allclose(drawn.var(axis=-1).T, variance, rtol=0.25)


class Kernel(Recorder):
    def finish(self, carry, episode):
        return {"kernel": episode.plan.kernel}


def test_psrl_plans_on_the_kernel_it_drew():
    mdp = random_mdp(np.random.default_rng(3), 3, 2, 4)
    result = eluder.simulate(mdp, agents.PSRL(), episodes=5, paths=2, record=[Trace(mdp), Kernel()])
    rewards = np.asarray(mdp.rewards[0]) / mdp.reward_scale
    for k in range(5):
        kernel, V = np.moveaxis(result.records["kernel"][0, k], 0, 2), np.zeros(3)
        for h in reversed(range(4)):
            V = (rewards + kernel @ V).max(axis=1)
            np.testing.assert_allclose(result.records["values"][0, k, h], V, atol=1e-12)


def test_rlsvi_perturbs_with_the_right_noise():
    mdp = random_mdp(np.random.default_rng(1), 2, 1, 3)
    paths, agent, problem = 4000, agents.RLSVI(multiplier=0.5), problem_of(mdp, per_step=True)
    outcomes = jnp.broadcast_to(jnp.asarray([[3.0, 0.0], [1.0, 0.0]])[:, :, None, None], (2, 2, 1, paths))
    state = Counts(jnp.sum(outcomes, axis=0), outcomes)  # state 0: n = (3, 1); state 1 was never tried
    plan, k = begin(agent, state, problem, jnp.asarray(4), keys(paths)), 5
    V = np.array([2.0, 1.0])
    next_values = jnp.broadcast_to(jnp.asarray(V)[:, None], (2, paths))
    drawn = [np.asarray(backup(agent, plan, problem, jnp.asarray(h), next_values, None)) for h in (0, 1)]
    beta = 2 * 3**3 * np.log(2 * 3 * 2 * 1 * k) / 2
    reward = np.asarray(mdp.rewards[0, :, 0]) / float(mdp.rewards.max())
    for s, n, mean in ((0, 4, 4 / 5 * (3 / 4 * 2 + 1 / 4 * 1)), (1, 0, 0.0)):
        law = stats.norm(reward[s] + mean, 0.5 * np.sqrt(beta / (n + 1)))
        assert stats.kstest(drawn[0][s, 0], law.cdf).pvalue > 1e-3
    assert abs(np.corrcoef(drawn[0][0, 0], drawn[1][0, 0])[0, 1]) < 0.06  # steps have noise of their own
    assert abs(np.corrcoef(drawn[0][0, 0], drawn[0][1, 0])[0, 1]) < 0.06


def test_epsilon_greedy_explores_uniformly_and_keeps_the_greedy_value():
    mdp = random_mdp(np.random.default_rng(1), 2, 3, 3)
    paths, problem = 3000, problem_of(mdp)
    agent = agents.EpsilonGreedy(multiplier=0.8)
    state = agent.init(problem, paths)
    plan = begin(agent, state, problem, jnp.asarray(7), keys(paths))  # k = 8: ε = 0.8/2
    q_values = backup(agent, plan, problem, jnp.asarray(1), jnp.zeros((2, paths)), None)
    rewards = np.asarray(mdp.rewards[0]) / mdp.reward_scale
    np.testing.assert_allclose(np.asarray(q_values).max(axis=1), np.repeat(rewards.max(axis=1)[:, None], paths, 1))
    tied = (np.asarray(q_values) == np.asarray(q_values).max(axis=1, keepdims=True)).sum(axis=1)
    assert set(np.unique(tied)) == {1, 3}
    assert abs((tied == 3).mean() - 0.4) < 4 * np.sqrt(0.24 / (2 * paths))


def test_random_has_the_regret_of_the_uniform_policy(river):
    result = eluder.simulate(river, agents.Random(), episodes=200, paths=50)
    uniform = np.full((river.horizon, river.states, 2), 0.5)
    expected = float(river.solve().values[0, 0] - river.evaluate(uniform)[0, 0])
    assert abs(result.regret.mean() - expected) < 4 * result.regret.std() / np.sqrt(result.regret.size)


def test_optimal_has_no_regret_and_belongs_to_its_environment(river):
    assert np.abs(eluder.simulate(river, agents.Optimal(river), episodes=3, paths=2).regret).max() < 1e-12
    with pytest.raises(ValueError, match="solves another problem"):
        eluder.simulate(eluder.environments.riverswim(states=4), agents.Optimal(river), episodes=1)


# --- Known support -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ucbvi-bf", "mvp"])
def test_known_support_changes_nothing_where_only_tried_outcomes_count(river, name):
    """Agents that read P̂ alone see the same numbers from the states a pair can reach as from all states."""
    runs = [
        eluder.simulate(
            river, agents.make(name, river, known_support=known), episodes=20, paths=2, record=[Trace(river)]
        )
        for known in (False, True)
    ]
    np.testing.assert_allclose(runs[0].records["values"], runs[1].records["values"], atol=1e-12)


def test_known_support_keeps_optimism_and_posterior_to_what_can_happen(river):
    support = agents.Support(river)
    psrl, problem = agents.PSRL(support=support), problem_of(river)
    plan = begin(psrl, psrl.init(problem, 5), problem, jnp.asarray(0), keys(5))
    drawn = np.zeros((river.states, 2, river.states))
    for n, s, a in itertools.product(range(3), range(river.states), range(2)):
        drawn[s, a, int(support.successors[n, s, a])] += float(plan.kernel[n, s, a, 0])
    np.testing.assert_allclose(drawn.sum(axis=2), 1)
    np.testing.assert_array_equal(drawn > 0, np.asarray(river.dense_kernel()) > 0)
    agent = agents.UCRL2(support=support)
    problem = problem_of(river, per_step=True)
    values = jnp.arange(river.states, dtype=float)[:, None] + jnp.zeros(2)
    plan = begin(agent, agent.init(problem, 2), problem, jnp.asarray(0), keys(2))
    q_values = backup(agent, plan, problem, jnp.asarray(0), values, None)
    ahead = np.minimum(np.arange(river.states) + 1, river.states - 1)
    np.testing.assert_allclose(
        q_values[:, 1, 0] - problem.reward(0)[:, 1, 0], ahead
    )  # nothing tried: the best successor


def test_a_support_of_another_environment_is_refused(river):
    other = eluder.environments.riverswim(states=4)
    with pytest.raises(ValueError, match="another problem"):
        eluder.simulate(river, agents.PSRL(support=agents.Support(other)), episodes=1)


# --- Wrappers ------------------------------------------------------------------------------------------------------


class Believed(Recorder):
    def finish(self, carry, episode):
        return {"believed": episode.plan.rewards}


@pytest.mark.parametrize("name", ["ucrl-wvtr", "euler"])
def test_unknown_rewards_are_optimistic_until_seen_and_then_exact(name):
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 3, 2, 3)
    mdp = eluder.FiniteMDP(mdp.successors, mdp.probs, rng.random((3, 3, 2)), horizon=3)  # rewards by step
    agent = agents.make(name, mdp, unknown_rewards=True)
    result = eluder.simulate(mdp, agent, episodes=25, paths=2, record=[Trace(mdp), Believed()])
    seen, records = np.zeros((3, 3, 2), dtype=bool), {key: value[1] for key, value in result.records.items()}
    unit = float(mdp.rewards.max()) if agent.per_step else mdp.reward_scale
    truth = np.asarray(mdp.rewards) / unit
    for k in range(25):
        np.testing.assert_allclose(records["believed"][k], np.where(seen, truth, truth.max()), atol=1e-12)
        seen[np.arange(3), records["state"][k], records["action"][k]] = True
    assert seen.any()
    assert not seen.all()


def test_a_bonus_for_rewards_that_might_be_random():
    mdp = random_mdp(np.random.default_rng(0), 2, 1, 2)
    agent = agents.UnknownRewards(agents.Greedy(), deterministic=False, reward_multiplier=0.01, episodes=50, delta=0.2)
    result = eluder.simulate(mdp, agent, episodes=30, paths=2, record=[Trace(mdp), Believed()])
    largest, log = 0.5, np.log(4 * 2 * 1 * (50 * 2) / 0.2)  # rewards are over H · max r = 2 max r
    visited = result.records["state"][0]
    for k in range(30):
        n = np.array([(visited[:k] == s).sum() for s in range(2)])
        truth = np.asarray(mdp.rewards[0, :, 0]) / mdp.reward_scale
        bonus = 0.01 * 7 * largest * log / (3 * np.maximum(n - 1, 1))  # the variance of equal rewards is zero
        expected = np.where(n > 0, np.minimum(truth + bonus, largest), largest)
        np.testing.assert_allclose(result.records["believed"][0, k, 0, :, 0], expected, atol=1e-6)


class Plans(Recorder):
    def finish(self, carry, episode):
        return {"plans": episode.plan.kept.plans}


def test_rare_replanning_keeps_the_policy_until_the_determinant_has_doubled(river):
    model = river.linear_mixture()
    agent = agents.RareReplanning(agents.UCRLWVTR(model, levels=1))
    result = eluder.simulate(river, agent, episodes=80, paths=2, record=[Trace(river), Plans()])
    records = {key: value[1] for key, value in result.records.items()}
    dense = np.zeros((river.states, 2, river.states, model.dim))
    for s, a, n in itertools.product(range(river.states), range(2), range(3)):
        dense[s, a, int(model.successors[s, a, n])] += np.asarray(model.features[s, a, n])
    gram = 1e-3 * np.eye(model.dim)
    last, plans = -np.inf, 0
    for k in range(80):
        log_det = np.linalg.slogdet(gram)[1]
        if log_det - last >= np.log(2):
            last, plans = log_det, plans + 1
        else:
            np.testing.assert_array_equal(records["policy"][k], records["policy"][k - 1])
            np.testing.assert_array_equal(records["values"][k], records["values"][k - 1])
        assert records["plans"][k] == plans
        for h, (s, a) in enumerate(zip(records["state"][k], records["action"][k], strict=True)):
            phi = records["values"][k, h + 1] @ dense[s, a]
            gram += np.outer(phi, phi) / records["weights"][k, h, 0]
    assert 5 < plans < 40
    np.testing.assert_array_equal(result.report["plans"][1], plans)


def test_rare_replanning_needs_a_determinant(river):
    with pytest.raises(TypeError, match="UCRL-WVTR family"):
        eluder.simulate(river, agents.RareReplanning(agents.PSRL()), episodes=1)


# --- Units of reward -----------------------------------------------------------------------------------------------


def test_both_conventions_report_in_the_units_of_the_mdp():
    """Rewards of up to 3 a step and 5 in total: what an agent sees, and what comes back."""
    kernel = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    mdp = eluder.FiniteMDP.from_dense(kernel, [[2.0], [3.0]], horizon=2, reward_scale=5.0)
    total, step = problem_of(mdp), problem_of(mdp, per_step=True)
    np.testing.assert_allclose(total.rewards[0, :, 0, 0], [0.4, 0.6])
    np.testing.assert_allclose(step.rewards[0, :, 0, 0], [2 / 3, 1.0])
    assert [float(total.ceiling(jnp.asarray(h))) for h in (0, 1)] == [1.0, 1.0]
    assert [float(step.ceiling(jnp.asarray(h))) for h in (0, 1)] == [2.0, 1.0]
    for agent in (agents.Greedy(), agents.UCBVISimplified()):
        with ThreadPoolExecutor(1) as pool:
            _, record = Run.start(mdp, agent, (), range(2), 0, 1).advance(pool, 3)
        np.testing.assert_allclose(record["returns"], 5.0)


# --- Names ---------------------------------------------------------------------------------------------------------


def test_names_and_parameters_that_are_misspelt(river):
    with pytest.raises(ValueError, match=r"no agent 'ucbvi-bg' \(did you mean 'ucbvi-bf'\?\)"):
        agents.make("ucbvi-bg", river)
    with pytest.raises(ValueError, match=r"'mvp' has no parameter 'multiplyer' \(did you mean 'multiplier'\?\)"):
        agents.make("mvp", river, multiplyer=2)
    with pytest.raises(ValueError, match="model must be 'linear-mixture', 'tabular'"):
        agents.make("ucrl-wvtr", river, model="neural")
    with pytest.raises(ValueError, match="delta must be a number above 0 and below 1, but is 2"):
        agents.make("euler", river, delta=2)
    with pytest.raises(ValueError, match="multiplier must be a number of at least 0, but is -1"):
        agents.make("ucrl2", river, multiplier=-1)
    with pytest.raises(TypeError, match="model must be a linear class"):
        agents.UCRLVTRPlus(3)
    assert isinstance(agents.make("UCBVI_BF", river), agents.UCBVIBF)
    assert isinstance(agents.make("ucrl-vtr", river, model="tabular").model, eluder.models.Tabular)


def test_constants_for_another_horizon_are_refused():
    river = eluder.environments.riverswim(states=3, horizon=5)
    agent = eluder.agents.HFUCRLVTRPlus(river.linear_mixture(), horizon=3)
    with pytest.raises(ValueError, match="set for horizon 3, but 'riverswim-3' has 5"):
        eluder.simulate(river, agent, episodes=1, paths=2)
