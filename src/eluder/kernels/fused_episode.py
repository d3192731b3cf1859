"""A whole episode of UCRL-WVTR on a linear mixture in one GPU kernel, with a path's data kept in registers.

Plain JAX runs an episode as some twenty kernels per step, each of which moves a path's Gram roots through memory.
Here a thread carries one path through planning and acting, and memory sees little but V_{k,h} and the policy. The
arithmetic is that of `planning.py`, `moments.py` and `regression/linear.py`, written on lists of numbers because
a kernel has no small arrays; the random numbers have the same addresses, so both take the same decisions up to
rounding. Read those files first.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from eluder import _random
from eluder.agents.base import Problem
from eluder.agents.ucrl_wvtr import UCRLVTR, UCRLWVTR
from eluder.models import LinearMixture
from eluder.planning import Truth
from eluder.regression import Weighted

# Paths per program, one per thread of a warp. Blocks of paths on a GPU are multiples of it.
LANES = 32
# Beyond these sizes unrolled loops and registers run out, and the plain code is as good.
_MOST_ACTIONS, _MOST_NUMBERS = 8, 72


def fits(agent: Any, problem: Problem, state: Any, paths: int) -> bool:
    """Whether the kernel can run this agent: UCRL-WVTR itself, on a linear mixture with few parameters."""
    return (
        type(agent) in (UCRLWVTR, UCRLVTR)
        and type(agent.model) is LinearMixture
        and isinstance(state, Weighted)
        and problem.rewards.shape[-1] == 1
        and (agent.levels + 1) * agent.model.dim**2 <= _MOST_NUMBERS
        and problem.actions <= _MOST_ACTIONS
        and paths % LANES == 0
    )


def episode(
    agent: Any, problem: Problem, truth: Truth, seed, paths, state: Any, number, *, interpret: bool = False
) -> tuple[Any, dict[str, jax.Array]]:
    """One episode on a block of paths: the state after it, and its record."""
    count, dtype = paths.shape[0], truth.probs.dtype
    key = jax.random.key_data(_random.episode_keys(seed, paths, number)).T
    beta = agent.begin(state, problem, number, None).beta
    levels, dim = agent.levels + 1, agent.model.dim
    slots, states, actions = truth.successors.shape
    model = agent.model
    sizes = _Sizes(levels, dim, states, actions, slots, model.successors.shape[2])
    numbers = jnp.stack([beta, agent.sigma_min**2, agent.gamma**2, *agent.error_weights]).astype(dtype)
    pairs = states * actions
    tables = (
        jnp.asarray(problem.horizon, jnp.int32)[None],
        numbers,
        key,
        state.root.reshape(-1, count),
        state.whitened.reshape(-1, count),
        model.successors.reshape(-1),
        jnp.moveaxis(model.features_by_slot.reshape(-1, dim, pairs), -1, 0).reshape(-1),
        jnp.moveaxis(truth.successors.reshape(slots, pairs), -1, 0).reshape(-1),
        jnp.moveaxis(truth.probs.reshape(slots, pairs), -1, 0).reshape(-1),
        truth.cumulative.reshape(-1),
        problem.rewards.reshape(-1),
        truth.start_cumulative,
    )
    rows = problem.max_horizon * states
    shapes = (
        jax.ShapeDtypeStruct(tables[3].shape, dtype),  # root
        jax.ShapeDtypeStruct(tables[4].shape, dtype),  # whitened estimate
        jax.ShapeDtypeStruct((rows + states, count), dtype),  # V_{k,h}
        jax.ShapeDtypeStruct((rows, count), jnp.int32),  # policy
        jax.ShapeDtypeStruct((2 * states, count), dtype),  # the policy's value, at this step and the next
        jax.ShapeDtypeStruct((2, count), dtype),  # V^π₁(s₁) and the return
        jax.ShapeDtypeStruct((count,), jnp.int32),  # s₁
    )
    stationary = problem.rewards.shape[0] == 1
    root, whitened, _, _, _, outcome, start = pl.pallas_call(
        functools.partial(_kernel, sizes, stationary),
        out_shape=shapes,
        grid=(count // LANES,),
        interpret=interpret,
        compiler_params=None if interpret else triton.CompilerParams(num_warps=1, num_stages=1),
        name="ucrl_wvtr_episode",
    )(*tables)
    optimum = truth.optimal_values[start]
    record = {
        "regret": optimum - outcome[0] * problem.unit,
        "returns": outcome[1] * problem.unit,
        "optimal_value": optimum,
    }
    return state._replace(root=root.reshape(state.root.shape), whitened=whitened.reshape(state.whitened.shape)), record


class _Sizes(NamedTuple):
    """The static sizes of a kernel."""

    levels: int
    dim: int
    states: int
    actions: int
    slots: int  # of the MDP
    model_slots: int


def _dot(x, y):
    return functools.reduce(operator.add, (a * b for a, b in zip(x, y, strict=True)))


def _clip(x):
    return jnp.minimum(jnp.maximum(x, 0.0), 1.0)


def _kernel(sizes: _Sizes, stationary: bool, *refs):
    (
        horizon_ref,
        numbers_ref,
        key_ref,
        root_ref,
        white_ref,
        succ_ref,
        phi_ref,
        true_ref,
        probs_ref,
        cumulative_ref,
        reward_ref,
        start_ref,
        root_out,
        white_out,
        value_ref,
        policy_ref,
        followed_ref,
        outcome_ref,
        start_out,
    ) = refs
    S, A, N, d, L = sizes.states, sizes.actions, sizes.model_slots, sizes.dim, sizes.levels
    block = pl.ds(pl.program_id(0) * LANES, LANES)
    lanes = pl.program_id(0) * LANES + jnp.arange(LANES)
    horizon = horizon_ref[0]
    beta, floor, gamma2, own, above = (numbers_ref[i] for i in range(5))
    dtype = root_out.dtype
    key: Any = [key_ref[0, block], key_ref[1, block]]

    def root_row(i, j, m):
        return (i * d + j) * L + m

    def reward_at(step, pair):
        return reward_ref[pair if stationary else step * (S * A) + pair]

    # Planning: Algorithm 1, lines 3 to 7. Level 0 of the frozen data stays in registers.
    frozen = [[root_ref[root_row(i, j, 0), block] for j in range(d)] for i in range(d)]
    estimate = [white_ref[j * L, block] for j in range(d)]

    def plan_state(step, state, word):
        q_values, followed = [], []
        for a in range(A):
            pair = state * A + a
            u = [value_ref[(step + 1) * S + succ_ref[pair * N + n], block] for n in range(N)]
            phi = [_dot([phi_ref[(pair * N + n) * d + i] for n in range(N)], u) for i in range(d)]
            white = [_dot([frozen[i][j] for i in range(d)], phi) for j in range(d)]
            reward = reward_at(step, pair)
            q_values.append(_clip(reward + _dot(estimate, white) + beta * jnp.sqrt(_dot(white, white))))
            true = [true_ref[pair * sizes.slots + n] for n in range(sizes.slots)]
            chances = [probs_ref[pair * sizes.slots + n] for n in range(sizes.slots)]
            ahead = ((step + 1) & 1) * S
            followed.append(reward + _dot(chances, [followed_ref[ahead + t, block] for t in true]))
        best, value, choice = q_values[0], followed[0], jnp.zeros((LANES,), jnp.int32)
        tied = jnp.ones((LANES,), dtype)
        for a in range(1, A):  # as in planning.uniform_argmax
            q = q_values[a]
            better, tie = q > best, q == best
            tied = jnp.where(better, 1.0, jnp.where(tie, tied + 1.0, tied))
            digit = jnp.floor(_random.tie_word(word, a).astype(dtype) * 2.0**-32 * tied)
            take = better | (tie & (digit == tied - 1))
            choice, value = jnp.where(take, a, choice), jnp.where(take, followed[a], value)
            best = jnp.where(better, q, best)
        value_ref[step * S + state, block] = best
        policy_ref[step * S + state, block] = choice
        followed_ref[(step & 1) * S + state, block] = value

    half = (S + 1) // 2

    def plan(count, nothing):
        step = horizon - 1 - count

        def one_state(state, nothing):
            index = jnp.where(state < half, state, state - half)
            words = _random.threefry(key, step.astype(jnp.uint32), index.astype(jnp.uint32))
            plan_state(step, state, jnp.where(state < half, *words))
            return nothing

        return jax.lax.fori_loop(0, S, one_state, nothing)

    zero = jnp.zeros((LANES,), dtype)
    for s in range(S):
        value_ref[horizon * S + s, block] = zero
        followed_ref[(horizon & 1) * S + s, block] = zero
    jax.lax.fori_loop(0, horizon, plan, horizon)

    # Acting: lines 8 to 16.
    def uniform(step, index):
        high, low = _random.threefry(key, jnp.asarray(step, jnp.uint32), jnp.uint32(index))
        return (high.astype(dtype) * 2.0**21 + (low >> jnp.uint32(11)).astype(dtype)) * 2.0**-53

    draw = uniform(0, _random.START)
    start = functools.reduce(operator.add, ((draw >= start_ref[s]).astype(jnp.int32) for s in range(S)))
    start_out[block] = start
    outcome_ref[0, block] = followed_ref[start, lanes]

    def act(step, carry):
        root, white_estimate, at, collected = carry
        action = policy_ref[step * S + at, lanes]
        pair = at * A + action
        draw = uniform(step, _random.TRANSITION)
        crossed = [(draw >= cumulative_ref[pair * sizes.slots + n]).astype(jnp.int32) for n in range(sizes.slots)]
        slot = functools.reduce(operator.add, crossed)
        next_state = true_ref[pair * sizes.slots + slot]
        target = value_ref[(step + 1) * S + next_state, lanes]
        u = [value_ref[(step + 1) * S + succ_ref[pair * N + n], lanes] for n in range(N)]
        features = [[phi_ref[(pair * N + n) * d + i] for n in range(N)] for i in range(d)]
        phis, means, starts, targets = [], [], [], []
        for m in range(L):
            phi = [_dot(features[i], u) for i in range(d)]
            white = [_dot([root_ref[root_row(i, j, m), block] for i in range(d)], phi) for j in range(d)]
            phis.append(phi)
            targets.append(target)
            means.append(_clip(_dot([white_ref[j * L + m, block] for j in range(d)], white)))
            starts.append(beta * jnp.sqrt(_dot(white, white)))
            u, target = [x * x for x in u], target * target
        new_root, new_estimate = [], []
        for m in range(L):
            mine = [[root[(i * d + j) * L + m] for j in range(d)] for i in range(d)]
            z = [white_estimate[j * L + m] for j in range(d)]
            white = [_dot([mine[i][j] for i in range(d)], phis[m]) for j in range(d)]
            squared = _dot(white, white)
            variance = jnp.ones((LANES,), dtype)
            if m < L - 1:  # Algorithm 2, lines 2 to 4
                error = jnp.minimum(1.0, own * starts[m]) + jnp.minimum(1.0, above * starts[m + 1])
                variance = means[m + 1] - means[m] * means[m] + error
            variance = jnp.maximum(jnp.maximum(variance, floor), gamma2 * jnp.sqrt(squared))
            total = variance + squared
            cross = jnp.sqrt(variance * total)
            shrink = 1 / (total + cross)
            gain = [_dot(mine[i], white) * shrink for i in range(d)]
            new_root.append([[mine[i][j] - gain[i] * white[j] for j in range(d)] for i in range(d)])
            move = targets[m] / cross - shrink * _dot(z, white)
            new_estimate.append([z[j] + white[j] * move for j in range(d)])
        root = tuple(new_root[m][i][j] for i in range(d) for j in range(d) for m in range(L))
        white_estimate = tuple(new_estimate[m][j] for j in range(d) for m in range(L))
        return root, white_estimate, next_state, collected + reward_at(step, pair)

    root = tuple(root_ref[row, block] for row in range(d * d * L))
    estimates = tuple(white_ref[row, block] for row in range(d * L))
    root, estimates, _, collected = jax.lax.fori_loop(0, horizon, act, (root, estimates, start, zero))
    for row, value in enumerate(root):
        root_out[row, block] = value
    for row, value in enumerate(estimates):
        white_out[row, block] = value
    outcome_ref[1, block] = collected
