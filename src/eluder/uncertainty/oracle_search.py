"""Algorithm 3: D_F by a regression oracle alone, with a proven factor of √2.

For a budget β the largest g(z) with ρ(g) = Σ_i w_i g(z_i)² ≤ β is found by a search over the weight v of one extra
data point at z with a target T outside the range of F − F; budgets β + λ double from 2λ on. Where this departs from the
printed algorithm, in the notation s = sup|g(z)|, T = 2s (errata 13–15):

- v runs from β/(4s²), where g is feasible for certain, since ρ(g_v) ≤ vT² (compare g with 0), to β/(2sε), where
  g(z) is within ε of the budget's optimum. Their ratio does not depend on β.
- dv/dz ≥ v/(2s) along the search, so it halves ln v, and stops when the ends are within ε/(2s): then z is within ε.
- It also stops when what is left cannot matter: a g with β̄/2 ≤ ρ + λ ≤ β̄ has a ratio of at most √2·z/√β̄ for any bound z
  on g(z), so a budget is done when z_H ≤ D̃√β̄, and all budgets are when s ≤ D̃√β̄.
- D̃ is the best ratio over all g seen: each is in F − F, so D̃ ≤ D exactly.

The number of calls is at most `most_calls`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from eluder.models.general import GeneralModel
from eluder.oracles.base import Oracle
from eluder.uncertainty.search import Found, Question, Search, ask

# What the next oracle call is for.
_HIGH, _LOW, _MIDDLE = 0, 1, 2


class _State(NamedTuple):
    budget: Float[Array, ""]  # β̄ = β + λ
    low: Float[Array, ""]  # ln v_L: feasible
    high: Float[Array, ""]  # ln v_H
    z_low: Float[Array, ""]
    z_high: Float[Array, ""]
    seen_low: Bool[Array, ""]  # whether the oracle was asked at v_L
    phase: Int[Array, ""]
    best: Float[Array, ""]  # D̃
    theta: Float[Array, " dim"]  # the last g, where the oracle starts from
    best_theta: Float[Array, " dim"]
    calls: Int[Array, ""]
    failures: Int[Array, ""]
    done: Bool[Array, ""]


class OracleSearch(Search):
    """D̃ with D̃ ≤ D ≤ √2·D̃ + accuracy for convex classes; a heuristic for others (errata 16).

    **Arguments:**

    - `accuracy`: ε/√λ, the additive error on D. The paper's 1/(KH).
    - `oracle`: the class's own unless given.
    """

    accuracy: float = eqx.field(static=True, default=1e-4)
    oracle: Oracle | None = None

    def first_memory(self, differences: GeneralModel) -> Float[Array, " dim"]:
        return differences.start()

    def search(self, oracle: Oracle, question: Question, memory: Float[Array, " dim"]) -> Found:
        ridge, largest = question.ridge, question.largest
        epsilon = self.accuracy * jnp.sqrt(ridge)
        # ℬ ≥ ρ(g) + λ for every g: |g(z_i)| ≤ ‖Δp‖₁ max|u| with ‖Δp‖₁ of at most 2B√N.
        slots = question.at_slots.shape[0]
        longest = jnp.maximum(2.0, 2 * question.differences.bound * math.sqrt(slots))
        budget_limit = ridge + longest**2 * jnp.trace(jnp.sum(question.moments, axis=0))

        def open_budget(state: _State) -> _State:
            beta = state.budget - ridge
            certain = jnp.log(beta / (4 * largest**2))
            known = state.seen_low & (state.low >= certain)  # what a smaller budget allowed, a larger one does
            return state._replace(
                low=jnp.where(known, state.low, certain),
                high=jnp.log(beta / (2 * largest * epsilon)),
                z_low=jnp.where(known, state.z_low, 0.0),
                z_high=largest,
                seen_low=known,
                phase=jnp.asarray(_HIGH),
            )

        def call(state: _State) -> _State:
            middle = (state.low + state.high) / 2
            log_weight = jnp.select([state.phase == _HIGH, state.phase == _LOW], [state.high, state.low], middle)
            member = ask(oracle, question, jnp.exp(log_weight), state.theta)
            ratio = member.ratio(ridge)
            feasible = member.spread <= state.budget - ridge
            first, second = state.phase == _HIGH, state.phase == _LOW
            as_low = second | feasible  # v_L is feasible whatever rounding says
            state = state._replace(
                low=jnp.where(as_low, log_weight, state.low),
                z_low=jnp.where(as_low, member.value, state.z_low),
                seen_low=state.seen_low | as_low,
                high=jnp.where(as_low, state.high, log_weight),
                z_high=jnp.where(as_low, state.z_high, member.value),
                best=jnp.maximum(state.best, ratio),
                theta=member.theta,
                best_theta=jnp.where(ratio > state.best, member.theta, state.best_theta),
                calls=state.calls + 1,
                failures=state.failures + member.failed,
            )
            settled = (
                (first & feasible)  # the constraint does not bind within ε
                | (state.z_high - state.z_low <= epsilon)
                | (state.high - state.low <= epsilon / (2 * largest))
                | (state.z_high <= state.best * jnp.sqrt(state.budget))
            ) & (state.seen_low | (state.z_high <= state.best * jnp.sqrt(state.budget)))
            state = state._replace(phase=jnp.where(state.seen_low, _MIDDLE, _LOW))
            following = open_budget(state._replace(budget=2 * state.budget))
            enough = (following.budget >= 2 * budget_limit) | (largest <= state.best * jnp.sqrt(following.budget))
            state = jax.tree.map(lambda new, old: jnp.where(settled, new, old), following, state)
            return state._replace(done=settled & enough)

        zero, none = jnp.zeros(()), jnp.asarray(0, dtype=jnp.int32)
        first = _State(
            budget=2 * ridge,
            low=zero,
            high=zero,
            z_low=zero,
            z_high=zero,
            seen_low=jnp.asarray(False),
            phase=jnp.asarray(_HIGH),
            best=zero,
            theta=memory,
            best_theta=memory,
            calls=none,
            failures=none,
            # Nothing to find: D ≤ s/√λ is within the accuracy already.
            done=largest <= epsilon,
        )
        found = jax.lax.while_loop(lambda state: ~state.done, call, open_budget(first))
        upper = jnp.minimum(math.sqrt(2) * found.best + self.accuracy, largest / jnp.sqrt(ridge))
        return Found(upper, found.best, found.calls, found.failures, found.best_theta)


def most_calls(budget_ratio: float, largest_over_epsilon: float) -> int:
    """A bound on the oracle calls of a search: O(log(ℬ/λ) · log(s/ε)).

    With x = 2s/ε there are at most ⌈log₂(ℬ/λ)⌉ budgets, and each takes two calls at its ends and halves ln x until
    1/x is left: ⌈log₂(x ln x)⌉ more.
    """
    x = 2 * largest_over_epsilon
    budgets = math.ceil(math.log2(max(budget_ratio, 2.0))) + 1
    halvings = math.ceil(math.log2(max(x * math.log(x), 2.0))) if x > 1 else 1
    return budgets * (2 + halvings)
