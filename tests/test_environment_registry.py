"""Environments by name: reward scales, mixtures, shifted costs, and a clear sentence for each mistake."""

import inspect

import numpy as np
import pytest

import eluder
from eluder import environments

# (name, parameters, largest total reward of a trajectory, or None where it has no closed form)
VARIED = [
    ("riverswim", {"variant": "paper"}, 20),
    ("riverswim", {"variant": "ayoub", "states": 4}, 20),
    ("riverswim", {"variant": "osband", "states": 6}, 20),
    ("deep-sea", {"windy": True}, 1),
    ("lower-bound", {"dim": 5}, 1),
    ("two-state", {"actions": 4, "best_action": 2}, 20),
    ("hard-tree", {"actions": 3, "depth": 2, "waiting": 3}, 7),
    ("wide-tree", {"success": 0.8}, 1),
    ("random-mixture", {"dim": 7, "seed": 3}, None),
    ("garnet", {"seed": 3}, None),
    ("grid-world", {"map": "four-rooms", "slip": 0.4}, 1),
    ("queue", {}, None),
    ("inventory", {}, None),
]


@pytest.mark.parametrize(("name", "params", "total"), VARIED, ids=lambda value: str(value))
def test_reward_scales_are_tight_and_mixtures_realisable(name, params, total):
    mdp = environments.make(name, **params)
    possible = np.asarray(mdp.probs) > 0
    best = np.zeros(mdp.states)
    for step in reversed(range(mdp.horizon)):
        luck = np.array(
            [
                [max(best[n] for n in row[ok]) for row, ok in zip(rows, oks, strict=True)]
                for rows, oks in zip(np.asarray(mdp.successors), possible, strict=True)
            ]
        )
        best = (np.asarray(mdp.reward(step)) + luck).max(axis=1)
    assert mdp.reward_scale == pytest.approx(best.max(), rel=1e-9)
    if total is not None:
        assert mdp.reward_scale == pytest.approx(total, rel=1e-12)
    if mdp.features is None:
        assert name in ("deep-sea", "garnet")
    else:
        assert mdp.linear_mixture().misfit(mdp) < 1e-12


def test_every_environment_is_varied():
    assert {name for name, _, _ in VARIED} == set(environments.names())


def test_features_come_close_to_nothing_else():
    """A mixture's features do not represent the same problem with other chances of another shape."""
    mdp = environments.two_state(actions=3)
    other = np.asarray(mdp.dense_kernel()).copy()
    other[1, 0] = 0.5, 0.5  # now one action leaves the rich state more often
    changed = eluder.FiniteMDP.from_dense(other, mdp.rewards, horizon=mdp.horizon)
    assert mdp.linear_mixture().misfit(changed) > 0.05


def test_the_shift_changes_no_regret():
    mdp = environments.queue(capacity=3, horizon=8)
    unshifted = np.asarray(mdp.rewards[0]) - mdp.reward_offset
    kernel = np.asarray(mdp.dense_kernel())
    policy = np.random.default_rng(0).integers(mdp.actions, size=(mdp.horizon, mdp.states))
    value = np.zeros(mdp.states)
    for h in reversed(range(mdp.horizon)):
        at = np.arange(mdp.states), policy[h]
        value = unshifted[at] + kernel[at] @ value
        shifted = np.asarray(mdp.original_value(mdp.evaluate(policy)[h], step=h))
        np.testing.assert_allclose(shifted, value, atol=1e-12)


def test_make():
    assert environments.make("riverswim", states=4, variant="osband").name == "riverswim-4-osband"
    assert environments.make("deep_sea", size=3).name == environments.make("deep-sea", size=3).name == "deep-sea-3"
    assert environments.parameters("wide-tree") == {"leaves": 8, "success": 1.0}
    for name in environments.names():
        function = getattr(environments, name.replace("-", "_"))
        assert environments.parameters(name).keys() == inspect.signature(function).parameters.keys()
        assert isinstance(environments.make(name), eluder.FiniteMDP)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: environments.make("riverswm"), r"no environment 'riverswm' \(did you mean 'riverswim'\?\)"),
        (lambda: environments.make("zzz"), r"no environment 'zzz': the names are riverswim, "),
        (lambda: environments.make(3), "no environment 3: the names are"),
        (lambda: environments.make("garnet", sucessors=2), r"no parameter 'sucessors' \(did you mean 'successors'\?\)"),
        (lambda: environments.make("garnet", colour=2), "no parameter 'colour': it takes states, "),
        (lambda: environments.riverswim(states=1), "states must be at least 2, but is 1"),
        (lambda: environments.riverswim(variant="amazon"), "variant must be one of 'paper', 'ayoub', 'osband'"),
        (lambda: environments.riverswim(left_reward=2), "left_reward must be a number between 0 and 1"),
        (lambda: environments.deep_sea(size=2.5), "size must be a whole number"),
        (lambda: environments.two_state(delta=0.8, epsilon=0.3), "epsilon must be a number between 0 and 0.2"),
        (lambda: environments.two_state(best_action=3), "best_action must be an action from 0 to 2"),
        (lambda: environments.hard_tree(horizon=5), "horizon must be at least 6"),
        (lambda: environments.wide_tree(leaves=3), "leaves must be even"),
        (lambda: environments.garnet(successors=11), "successors must be at most the number of states, 10"),
        (lambda: environments.queue(slow=0.5, fast=0.4), "fast must be a number between 0.5 and 1"),
        (lambda: environments.queue(holding_cost=-1), "holding_cost must be a number of at least 0"),
        (lambda: environments.inventory(demand=(0.5, 0.6)), "Each row of demand must sum to 1"),
        (lambda: environments.inventory(price=float("nan")), "price must be a number of at least 0"),
        (lambda: environments.grid_world("S.?G"), r"map holds '\?' in row 0, column 2"),
        (lambda: environments.grid_world("S..."), "map has no goal: mark one cell with 'G'"),
        (lambda: environments.grid_world("...G"), "map has no start"),
        (
            lambda: environments.grid_world(goal=(9, 9)),
            r"goal names the cell \(9, 9\), which is not in a grid",
        ),
        (lambda: environments.grid_world(walls=[(0, 0)]), r"start names the cell \(0, 0\), which is taken"),
    ],
)
def test_mistakes_get_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
