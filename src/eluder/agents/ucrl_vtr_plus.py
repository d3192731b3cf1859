"""UCRL-VTR+ (Zhou, Gu & Szepesvári 2021), for time-homogeneous linear mixtures: regression weighted by variance.

Two regressions: θ̂ of V, weighted by 1/σ̄², and θ̃ of V², unweighted; together they bound the variance of V. They are the
moment levels 0 and 1 of `eluder.regression`. Rewards are at most 1 a step.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import pick, repeated_squares
from eluder.agents import _fields as fields
from eluder.agents._counting import steps_in_total
from eluder.agents._linear import dimension, linear, norm_bound
from eluder.agents.base import Agent, Problem, Transition
from eluder.mdp import FiniteMDP
from eluder.models import LinearModel
from eluder.models.base import check_realisable


class Radii(NamedTuple):
    """The paper's confidence radii, times the multiplier."""

    value: Float[Array, ""]  # β̂ = 8√(dηℓ) + 4√d·ℓ + 1, of the bonus
    crude: Float[Array, ""]  # β̌ = 8d√(ηℓ) + 4√d·ℓ + 1, of the mean inside the variance
    second: Float[Array, ""]  # β̃ = 8H²√(dηℓ) + 4H²ℓ + 1, of the second moment


class Plan(NamedTuple):
    data: Any
    planner: Any
    radii: Radii


class UCRLVTRPlus(Agent):
    """UCRL-VTR+ on a linear class, with λ = B⁻²."""

    per_step: ClassVar[bool] = True
    model: LinearModel
    multiplier: float = fields.multiplier()
    episodes: float = fields.episodes()
    delta: float = fields.delta()

    def __check_init__(self):
        linear(self.model)

    @property
    def label(self) -> str:
        return "UCRL-VTR+"

    @property
    def regression(self):
        return self.model.regression(norm_bound(self.model) ** -2)

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        return check_realisable(self.model, mdp, allow_misspecified=allow_misspecified)

    def radii(self, problem: Problem) -> Radii:
        d, H = dimension(self.model), problem.horizon.astype(float)
        T = steps_in_total(problem, self.episodes)
        log, eta = jnp.log(48 * T**2 / self.delta), jnp.log1p(T * norm_bound(self.model) ** 2)
        value = 8 * jnp.sqrt(d * eta * log) + 4 * jnp.sqrt(d) * log + 1
        crude = 8 * d * jnp.sqrt(eta * log) + 4 * jnp.sqrt(d) * log + 1
        second = 8 * H**2 * jnp.sqrt(d * eta * log) + 4 * H**2 * log + 1
        return Radii(self.multiplier * value, self.multiplier * crude, self.multiplier * second)

    def init(self, problem: Problem, paths: int):
        return self.regression.init(2, paths)

    def begin(self, state, problem: Problem, episode, keys) -> Plan:
        return Plan(state, self.regression.planner(state), self.radii(problem))

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        mean, norm = self.regression.everywhere(plan.planner, next_values)
        return jnp.clip(problem.reward(step) + mean + plan.radii.value * norm, 0, problem.horizon.astype(float)), None

    def observe(self, state, plan: Plan, problem: Problem, transition: Transition):
        regression, H = self.regression, problem.horizon.astype(float)
        at = regression.point(transition.state, transition.action, transition.next_values, 2)
        target = repeated_squares(pick(transition.next_values, transition.next_state), 2)
        first, second = regression.predict(plan.data, at)
        norm, second_norm = regression.uncertainty(plan.data, at)
        variance = jnp.clip(second, 0, H**2) - jnp.clip(first, 0, H) ** 2
        error = jnp.minimum(H**2, plan.radii.second * second_norm)
        error = error + jnp.minimum(H**2, 2 * H * plan.radii.crude * norm)
        weight = jnp.maximum(H**2 / dimension(self.model), variance + error)  # σ̄²
        weights = jnp.stack([weight, jnp.ones_like(weight)])
        return regression.add(state, at, target, weights), {"weights": weights}
