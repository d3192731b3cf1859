"""Random numbers: the generator is JAX's, ties are broken uniformly, addresses do not collide."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32

from eluder import _random, planning
from eluder.planning import _cumulative, uniform_argmax


def test_the_generator_is_threefry():
    counters = jnp.arange(10, dtype=jnp.uint32)
    key = jnp.array([0x13198A2E, 0x03707344], dtype=jnp.uint32)
    high, low = _random.threefry(key[:, None], counters, counters + jnp.uint32(7))
    expected = threefry_2x32(key, jnp.concatenate([counters, counters + jnp.uint32(7)]))
    np.testing.assert_array_equal(jnp.concatenate([high, low]), expected)
    # The known answer of the Random123 distribution for Threefry-2x32 with 20 rounds.
    words = _random.threefry(key[:, None], jnp.array([0x243F6A88], jnp.uint32), jnp.array([0x85A308D3], jnp.uint32))
    assert [int(word[0]) for word in words] == [0xC4923A9C, 0x483DF7A0]


def test_uniform_has_53_bits_in_the_unit_interval():
    keys = jax.random.bits(jax.random.key(1), (2, 2000), jnp.uint32)
    draws = np.asarray(_random.uniform(keys, jnp.array(3), _random.TRANSITION))
    assert draws.min() >= 0
    assert draws.max() < 1
    assert np.abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * 2000)
    assert np.all(draws * 2.0**53 == np.floor(draws * 2.0**53))
    assert np.any(draws * 2.0**40 != np.floor(draws * 2.0**40))


def test_keys_depend_on_seed_path_and_episode_alone():
    some = jax.random.key_data(_random.episode_keys(5, jnp.array([7, 2]), jnp.array(11)))
    one = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), 7), 11)
    np.testing.assert_array_equal(some[0], jax.random.key_data(one))


def test_ties_are_broken_uniformly():
    # Actions 0, 2 and 3 tie; each is chosen a third of the time, 1 never. 3σ = 3·√(n/3·2/3).
    n = 9000
    q = jnp.broadcast_to(jnp.array([1.0, 0.5, 1.0, 1.0])[None, :, None], (1, 4, n))
    words = jax.random.bits(jax.random.key(0), (1, n), jnp.uint32)
    best, action = uniform_argmax(q, words)
    counts = np.bincount(np.asarray(action[0]), minlength=4)
    assert counts[1] == 0
    assert np.all(np.abs(counts[[0, 2, 3]] - n / 3) < 3 * np.sqrt(n * 2 / 9))
    assert np.all(np.asarray(best) == 1.0)
    # With the extreme words the choice stays among the tied ones.
    _, edge = uniform_argmax(q[:, :2, :2] * 0, jnp.array([[0, 2**32 - 1]], jnp.uint32))
    assert edge.tolist() == [[0, 1]]


def test_ties_among_many_actions_are_broken_uniformly():
    # 70 tied actions, 70,000 draws: each about 1,000 times; 5σ = 5·√1000. A word used up by 32 ties would miss half.
    n = 70_000
    _, action = uniform_argmax(jnp.zeros((1, 70, n)), jax.random.bits(jax.random.key(2), (1, n), jnp.uint32))
    counts = np.bincount(np.asarray(action[0]), minlength=70)
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(1000))


def test_a_better_action_after_a_tie_wins():
    q = jnp.array([0.2, 0.2, 0.7, 0.2, 0.7, 0.1])[None, :, None] * jnp.ones((1, 6, 400))
    _, action = uniform_argmax(q, jax.random.bits(jax.random.key(1), (1, 400), jnp.uint32))
    counts = np.bincount(np.asarray(action[0]), minlength=6)
    assert counts[2] + counts[4] == 400
    assert abs(counts[2] - 200) < 3 * 10  # 3σ of a fair coin thrown 400 times


def test_many_actions_choose_as_few_do(monkeypatch):
    """Above sixteen actions they are met in a compiled loop; the choices stay."""
    rng = np.random.default_rng(0)
    q = jnp.asarray(rng.integers(0, 3, size=(3, 12, 50)).astype(float))
    words = jnp.asarray(rng.integers(0, 2**32, size=(3, 50), dtype=np.uint32))
    few = uniform_argmax(q, words)
    monkeypatch.setattr(planning, "_UNROLL", 4)
    many = uniform_argmax(q, words)
    np.testing.assert_array_equal(few[0], many[0])
    np.testing.assert_array_equal(few[1], many[1])
    np.testing.assert_array_equal(jnp.take_along_axis(q, few[1][:, None], axis=1)[:, 0], q.max(axis=1))


def test_the_last_possible_slot_ends_the_search():
    # Ten tenths sum to less than 1 in floating point, and the eleventh slot can not happen.
    probs = np.array([0.1] * 10 + [0.0])
    largest_draw = 1 - 2.0**-53
    assert largest_draw >= np.cumsum(probs)[-1]
    assert int((largest_draw >= _cumulative(probs)).sum()) == 9
