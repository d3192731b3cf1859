"""Random numbers by counter: what path 7 draws never depends on what runs beside it, or on where a run stopped.

A path's key of an episode is fold_in(fold_in(seed, path), episode); inside the episode every number has an
address (step, index), and `words` computes it on the spot. The generator is JAX's own, Threefry-2x32
(Salmon et al. 2011), written out so that it fuses with the arithmetic around it: on CPUs JAX lowers its
version to a loop of many small kernels.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

# Addresses of the numbers that are no tie-breaks; tie-breaks of step h have the addresses (h, 0), (h, 1), …
TRANSITION = 2**31
START = 2**31 + 1
AGENT = 2**31 + 2

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def episode_keys(seed: int, paths: Int[Array, " paths"], episode: Int[Array, ""]) -> Key[Array, " paths"]:
    root = jax.random.key(seed)
    return jax.vmap(lambda path: jax.random.fold_in(jax.random.fold_in(root, path), episode))(paths)


def threefry(
    key: UInt32[Array, "2 *k"], step: UInt32[Array, "*c"], index: UInt32[Array, "*c"]
) -> tuple[UInt32[Array, "..."], UInt32[Array, "..."]]:
    """Two random words for each counter (step, index); key words and counters broadcast."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA))
    x, y = step + schedule[0], index + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = x + y
            y = (y << jnp.uint32(rotation)) | (y >> jnp.uint32(32 - rotation))
            y = x ^ y
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return x, y


def uniform(
    key: UInt32[Array, "2 paths"], step: Int[Array, ""], index: int | UInt32[Array, "*axes 1"]
) -> Float[Array, "*axes paths"]:
    """A uniform number in [0, 1) with 53 random bits, per index and path."""
    high, low = threefry(key, jnp.asarray(step, dtype=jnp.uint32), jnp.uint32(index))
    return (high.astype(float) * 2.0**21 + (low >> jnp.uint32(11)).astype(float)) * 2.0**-53


def tie_word(words: UInt32[Array, "..."], action: Int[Array, ""] | int) -> UInt32[Array, "..."]:
    """A word of its own for each action from the second on, mixed out of one (the finaliser of MurmurHash3)."""
    mixed = words + jnp.asarray(action, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
    mixed = (mixed ^ (mixed >> jnp.uint32(16))) * jnp.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> jnp.uint32(13))) * jnp.uint32(0xC2B2AE35)
    return jnp.where(action == 1, words, mixed ^ (mixed >> jnp.uint32(16)))


def tie_words(key: UInt32[Array, "2 paths"], step: Int[Array, ""], states: int) -> UInt32[Array, "states paths"]:
    """A random word for each state and path, to break ties at one step."""
    pairs = jnp.arange((states + 1) // 2, dtype=jnp.uint32)[:, None]
    words = threefry(key, jnp.asarray(step, dtype=jnp.uint32), pairs)
    return jnp.concatenate(words)[:states]
