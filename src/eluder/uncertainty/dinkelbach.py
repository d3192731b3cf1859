"""D_F of a convex class by fewer oracle calls than Algorithm 3, with a certificate instead of a factor.

Let ρ(z) be the smallest Σ_i w_i g(z_i)² over the g in F − F with g(z) = z: a convex function, so that the ratio
z²/(ρ(z) + λ) has one hill. An oracle call with weight v returns a point of ρ and its slope there, κ = 2v(T − z), hence
a line below ρ. The slope at the top of the hill is κ = 2(ρ + λ)/z; taking that slope from the best point so far is
Dinkelbach's step (1967) on the squared ratio. Two lines, one from each side of the top, meet above it: the ratio there
bounds D² from above, and the best point bounds it from below. The search takes turns with the slope of the best
point, that of the meeting point, and one just below the best (the top may be a corner) until the two bounds agree.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eluder.models.finite import Finite
from eluder.models.general import GeneralModel
from eluder.models.mixture import Mixture
from eluder.oracles.base import Oracle
from eluder.uncertainty.search import Found, Question, Search, ask

# A weight this much above what the whole data set could resist makes g(z) the largest there is.
_OVERWHELMING = 1e4


class _Line(NamedTuple):
    """ρ(x) ≥ spread + slope · (x − z)."""

    z: Float[Array, ""]
    spread: Float[Array, ""]
    slope: Float[Array, ""]


class _State(NamedTuple):
    before: _Line  # on the near side of the top
    beyond: _Line  # at or past it
    best_z: Float[Array, ""]
    best_spread: Float[Array, ""]
    weight: Float[Array, ""]  # the next v
    lower: Float[Array, ""]  # bounds on D²
    upper: Float[Array, ""]
    theta: Float[Array, " dim"]
    calls: Int[Array, ""]
    failures: Int[Array, ""]


class Dinkelbach(Search):
    """D within a relative `tolerance` (on D²), certified, for convex classes. Uses the upper bound.

    Along the steps of planning each pair's search starts from the weight at which the one before ended.
    """

    tolerance: float = eqx.field(static=True, default=1e-3)
    max_calls: int = eqx.field(static=True, default=40)
    oracle: Oracle | None = None

    def check(self, model: GeneralModel) -> None:
        if not isinstance(model, Mixture) or isinstance(model, Finite):
            raise TypeError(
                f"Dinkelbach's bounds need a convex class, which {type(model).__name__} is not: use OracleSearch, "
                "Linearised or Enumeration."
            )

    def first_memory(self, differences: GeneralModel):
        return jnp.zeros(()), differences.start()

    def search(self, oracle: Oracle, question: Question, memory) -> Found:
        ridge, largest = question.ridge, question.largest
        target = 2 * largest
        remembered, start = memory
        heavy = _OVERWHELMING * (
            jnp.trace(jnp.sum(question.moments, axis=0)) + ridge / jnp.maximum(largest, 1e-300) ** 2
        )

        # This much before the top, the line below a quadratic ρ misses it by a quarter of the tolerance.
        nudge = math.sqrt(self.tolerance) / 2

        def weight_for(z, amount):
            """The v whose answer has the slope 2·amount/z, if that answer is at z; ρ + λ is the amount at the top."""
            return amount / jnp.maximum(z * (target - z), 1e-300)

        def unfinished(state: _State):
            return (state.upper - state.lower > self.tolerance * state.upper) & (state.calls < self.max_calls)

        def call(state: _State) -> _State:
            member = ask(oracle, question, state.weight, state.theta)
            z, spread = member.value, member.spread
            line = _Line(z, spread, 2 * state.weight * (target - z))
            past = line.slope * z >= 2 * (spread + ridge)
            before = jax.tree.map(lambda new, old: jnp.where(past, old, new), line, state.before)
            beyond = jax.tree.map(lambda new, old: jnp.where(past, new, old), line, state.beyond)
            ratio = z**2 / (spread + ridge)
            better = ratio > state.lower
            best_z = jnp.where(better, z, state.best_z)
            best_spread = jnp.where(better, spread, state.best_spread)
            lower = jnp.maximum(state.lower, ratio)
            # Where the two lines meet: no point of ρ lies below them.
            steeper = jnp.maximum(beyond.slope - before.slope, 1e-300)
            meet = (before.spread - beyond.spread + beyond.slope * beyond.z - before.slope * before.z) / steeper
            meet = jnp.clip(meet, before.z, beyond.z)
            below = before.spread + before.slope * (meet - before.z)
            upper = jnp.minimum(state.upper, jnp.maximum(lower, meet**2 / (below + ridge)))
            # Dinkelbach's step from the best point, the same from the meeting point, and a point just before the best.
            choices = [
                weight_for(meet, below + ridge),
                (1 - nudge) * weight_for(best_z, best_spread),
                weight_for(best_z, best_spread + ridge),
            ]
            weight = jnp.select([state.calls % 3 == 1, state.calls % 3 == 2], choices[:2], choices[2])
            low_end, high_end = _weight_of(before, target), _weight_of(beyond, target)
            inside = (weight > low_end * (1 + 1e-9)) & (weight < high_end * (1 - 1e-9))
            halfway = jnp.sqrt(jnp.maximum(low_end, weight_for(largest, ridge) * 1e-3) * jnp.minimum(high_end, heavy))
            return _State(
                before,
                beyond,
                best_z,
                best_spread,
                jnp.where(inside, weight, halfway),
                lower,
                upper,
                member.theta,
                state.calls + 1,
                state.failures + member.failed,
            )

        zero, none = jnp.zeros(()), jnp.asarray(0, dtype=jnp.int32)
        first = _State(
            before=_Line(zero, zero, zero),
            beyond=_Line(largest, zero, jnp.asarray(1e250)),  # upright: g(z) ≤ s
            best_z=zero,
            best_spread=zero,
            weight=jnp.where(remembered > 0, remembered, heavy),
            lower=zero,
            upper=largest**2 / ridge,
            theta=start,
            calls=none,
            failures=none,
        )
        found = jax.lax.while_loop(unfinished, call, first)
        stopped_short = unfinished(found._replace(calls=none)).astype(jnp.int32)
        upper, lower = jnp.sqrt(found.upper), jnp.sqrt(found.lower)
        last = jnp.where(found.calls > 0, weight_for(found.best_z, found.best_spread + ridge), remembered)
        return Found(upper, lower, found.calls, found.failures + stopped_short, (last, found.theta))


def _weight_of(line: _Line, target: Float[Array, ""]) -> Float[Array, ""]:
    return line.slope / (2 * jnp.maximum(target - line.z, 1e-300))
