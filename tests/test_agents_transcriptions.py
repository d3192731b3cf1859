"""Every planning agent equals an independent transcription on the same data, and would notice its known fault."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from transcriptions import mixture, mnl, tabular

import eluder
from eluder import agents
from eluder.recording import Trace

PATH, STATES, ACTIONS, HORIZON = 1, 3, 2, 4
# Low enough that values are far from their caps, which would hide everything.
REWARDS = np.array([[0.0, 0.1], [0.2, 0.0], [0.8, 0.05]])


def _features():
    rng = np.random.default_rng(3)
    return np.moveaxis(rng.dirichlet(np.ones(STATES), size=(3, STATES, ACTIONS)), 0, -1)


FEATURES = _features()


def _mdp(kernel, horizon=HORIZON, rewards=REWARDS):
    start = np.eye(len(kernel))[0] / 2 + np.eye(len(kernel))[1] / 2
    return eluder.FiniteMDP.from_dense(kernel, rewards, horizon=horizon, start=start)


DENSE = _mdp(np.random.default_rng(1).dirichlet(np.ones(STATES), size=(STATES, ACTIONS)))
MIXED = _mdp(FEATURES @ np.array([0.6, 0.3, 0.1]))
# One action and two steps: few enough entries for each to be visited until the Bernstein bonus is the smaller one.
SHORT = _mdp(np.array([[[0.3, 0.7]], [[0.6, 0.4]]]), horizon=2, rewards=np.array([[0.0], [1.0]]))
MODEL = eluder.models.LinearMixture.from_dense(FEATURES, bound=1.2)


def _sparse():
    """Two successors in most pairs and one in the last: softmax transitions with a support to know."""
    kernel = np.array(
        [[[0.7, 0.3, 0], [0, 0.4, 0.6]], [[0.5, 0, 0.5], [0.2, 0.8, 0]], [[0.3, 0.3, 0.4], [0, 0, 1.0]]], dtype=float
    )
    return _mdp(kernel)


SPARSE = _sparse()
REACHABLE = {
    (s, a): [int(y) for y in np.flatnonzero(SPARSE.dense_kernel()[s, a])] for s in range(STATES) for a in range(ACTIONS)
}
MNL_FEATURES = np.random.default_rng(4).normal(size=(STATES, ACTIONS, STATES, 4))


def rewards(mdp, per_step):
    """[H, S, A] in the units of an agent's paper."""
    table = np.broadcast_to(np.asarray(mdp.rewards), (mdp.horizon, mdp.states, mdp.actions))
    return table / (table.max() if per_step else mdp.horizon * table.max())


class Case(NamedTuple):
    mdp: eluder.FiniteMDP
    agent: agents.Agent
    judge: Callable[[bool], Any]  # fault → a transcription
    episodes: int = 40


def _tabular(judge, agent, per_step=True, **options):
    return Case(DENSE, agent, lambda fault: judge(rewards(DENSE, per_step), fault=fault, **options))


def _mixture(judge, agent, per_step, **options):
    return Case(MIXED, agent, lambda fault: judge(rewards(MIXED, per_step), FEATURES, 1.2, fault=fault, **options))


# Multipliers are such that the bonus matters and the caps do not hide it.
CASES = {
    "ucbvi-ch": _tabular(tabular.UCBVICH, agents.UCBVICH(multiplier=3e-3, episodes=50), multiplier=3e-3, episodes=50),
    "ucbvi-bf": _tabular(tabular.UCBVIBF, agents.UCBVIBF(multiplier=0.02, delta=0.2), multiplier=0.02, delta=0.2),
    "ucbvi-simplified": _tabular(tabular.UCBVISimplified, agents.UCBVISimplified(multiplier=0.5), multiplier=0.5),
    "euler": _tabular(tabular.EULER, agents.EULER(multiplier=0.02, delta=0.2), multiplier=0.02, delta=0.2),
    "mvp": _tabular(tabular.MVP, agents.MVP(multiplier=2e-4, episodes=50), False, multiplier=2e-4, episodes=50),
    "ucrl2": _tabular(tabular.UCRL2, agents.UCRL2(multiplier=0.3, delta=0.2), multiplier=0.3, delta=0.2),
    "greedy": _tabular(tabular.Greedy, agents.Greedy(), False),
    "q-learning-hoeffding": _tabular(
        tabular.QLearning, agents.QLearningHoeffding(multiplier=0.05, episodes=50), multiplier=0.05, episodes=50
    ),
    "q-learning-bernstein": _tabular(
        tabular.QLearningBernstein, agents.QLearningBernstein(multiplier=0.1, delta=0.2), multiplier=0.1, delta=0.2
    ),
    "q-learning-bernstein, long": Case(
        SHORT,
        agents.QLearningBernstein(episodes=1, delta=0.9),
        lambda fault: tabular.QLearningBernstein(rewards(SHORT, True), episodes=1, delta=0.9, fault=fault),
        episodes=300,
    ),
    "hf-ucrl-vtr-plus": _mixture(
        mixture.HFUCRLVTRPlus,
        agents.HFUCRLVTRPlus(MODEL, HORIZON, episodes=50, multiplier=1e-3),
        False,
        multiplier=1e-3,
        episodes=50,
    ),
    "ucrl-vtr-ayoub": _mixture(
        mixture.UCRLVTRAyoub, agents.UCRLVTRAyoub(MODEL, multiplier=0.1, episodes=50), True, multiplier=0.1, episodes=50
    ),
    "ucrl-vtr-plus": _mixture(
        mixture.UCRLVTRPlus, agents.UCRLVTRPlus(MODEL, multiplier=2e-3, delta=0.2), True, multiplier=2e-3, delta=0.2
    ),
    "ucrl-mnl": Case(
        SPARSE,
        agents.UCRLMNL(SPARSE, MNL_FEATURES, ridge=0.5, multiplier=0.02),
        lambda fault: mnl.UCRLMNL(
            rewards(SPARSE, True), MNL_FEATURES, REACHABLE, ridge=0.5, multiplier=0.02, fault=fault
        ),
    ),
}


@functools.cache
def trace(name):
    case = CASES[name]
    result = eluder.simulate(
        case.mdp, case.agent, episodes=case.episodes, paths=2, seed=5, record=[Trace(case.mdp)], allow_misspecified=True
    )
    return {key: record[PATH] for key, record in result.records.items()}


def agree(name, fault):
    """Plans of all episodes, on the agent's own data."""
    case, seen = CASES[name], trace(name)
    judge, inside = case.judge(fault), []
    paid = rewards(case.mdp, case.agent.per_step)
    for k in range(case.episodes):
        judge.chosen = seen["policy"][k]
        Q, V = judge.plan()
        np.testing.assert_allclose(seen["values"][k], V, rtol=0, atol=1e-7 if name == "ucrl-mnl" else 1e-9)
        at_policy = np.take_along_axis(Q, seen["policy"][k][..., None], axis=2)[..., 0]
        np.testing.assert_allclose(at_policy, V[:-1], rtol=0, atol=1e-7)
        for h, (s, a, y) in enumerate(zip(seen["state"][k], seen["action"][k], seen["next_state"][k], strict=True)):
            judge.observe(h, s, a, paid[h, s, a], y, seen["values"][k])
        judge.finish()
        inside.append(V[0])
    return np.array(inside)


@pytest.mark.parametrize("name", CASES)
def test_plans_equal_the_transcription(name):
    first_values = agree(name, fault=False)
    assert len(np.unique(first_values.round(6))) > 20, "the caps hide everything"


@pytest.mark.parametrize("name", CASES)
def test_the_known_fault_is_noticed(name):
    with pytest.raises(AssertionError):
        agree(name, fault=True)
