"""What several tests need: dense features, the random numbers of a run, small random problems."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from literal import LiteralUCRLWVTR, Randomness

import eluder
from eluder import _random


def dense_features(model: eluder.models.LinearMixture) -> np.ndarray:
    """φ[s, a, s', :], added up slot by slot."""
    states, actions, slots, dim = model.features.shape
    dense = np.zeros((states, actions, states, dim))
    for s in range(states):
        for a in range(actions):
            for n in range(slots):
                dense[s, a, int(model.successors[s, a, n])] += np.asarray(model.features[s, a, n])
    return dense


def one_hot_features(states: int, actions: int) -> np.ndarray:
    """φ(s'|s, a) = e_{s,a,s'}: the tabular class as a mixture with d = S²A."""
    return np.eye(states * actions * states).reshape(states, actions, states, -1)


_MOST_ACTIONS = 4


@partial(jax.jit, static_argnums=(3, 4))
def _numbers(seed, path, episode, horizon, states):
    key = jax.random.key_data(_random.episode_keys(seed, path[None], episode)).T
    steps = jnp.arange(horizon)
    return (
        _random.uniform(key, jnp.array(0), _random.START)[0],
        jax.vmap(lambda h: _random.uniform(key, h, _random.TRANSITION)[0])(steps),
        jax.vmap(lambda h: _random.tie_words(key, h, states)[:, 0])(steps),  # one word per step and state
    )


def episode_randomness(seed: int, path: int, episode: int, horizon: int, states: int) -> Randomness:
    """The numbers that a path of the runner draws in an episode, as plain arrays."""
    start, transition, ties = _numbers(seed, jnp.array(path), jnp.array(episode), horizon, states)
    by_action = np.stack([_random.tie_word(ties, action) for action in range(_MOST_ACTIONS)], axis=-1)
    return Randomness(float(start), np.asarray(transition), by_action * 2.0**-32)


def literal_agent(mdp: eluder.FiniteMDP, features: np.ndarray, agent: eluder.agents.UCRLWVTR) -> LiteralUCRLWVTR:
    """The transcription with an agent's hyper-parameters."""
    rewards = np.broadcast_to(np.asarray(mdp.rewards) / mdp.reward_scale, (mdp.horizon, mdp.states, mdp.actions))
    return LiteralUCRLWVTR(
        features,
        rewards,
        agent.levels,
        agent.ridge,
        agent.sigma_min,
        agent.gamma,
        agent.beta,
        agent.error_weights,
    )


def random_mdp(rng: np.random.Generator, states: int, actions: int, horizon: int, **options) -> eluder.FiniteMDP:
    """A dense random MDP with rewards in [0, 1]."""
    kernel = rng.dirichlet(np.ones(states), size=(states, actions))
    return eluder.FiniteMDP.from_dense(kernel, rng.random((states, actions)), horizon=horizon, **options)
