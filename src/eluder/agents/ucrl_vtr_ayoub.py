"""UCRL-VTR as Ayoub et al. (2020) ran it: unweighted value-targeted regression with a log-det radius.

The Gram matrix starts at the identity (λ = 1), δ = 1/K, and the radius at step h = 1 … H is
√λ·B + ((H − h + 1)/2)·√(2log(1/δ) + log det Σ − d·log λ). Values are capped at H − h + 1; rewards are at most 1 a step.
The paper that introduces UCRL-WVTR compares with another agent under this name, `UCRLVTR` (errata 19).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder._arrays import pick
from eluder.agents import _fields as fields
from eluder.agents._linear import linear, norm_bound
from eluder.agents.base import Agent, Problem, Transition
from eluder.mdp import FiniteMDP
from eluder.models import LinearModel
from eluder.models.base import check_realisable

_RIDGE = 1.0  # λ


class State(NamedTuple):
    data: Any
    log_det: Float[Array, " paths"]  # log det Σ − d·log λ


class UCRLVTRAyoub(Agent):
    """UCRL-VTR of Ayoub et al. on a linear class; theirs is the tabular one, `eluder.models.Tabular(environment)`."""

    per_step: ClassVar[bool] = True
    model: LinearModel
    multiplier: float = fields.multiplier()
    episodes: float = fields.episodes()

    def __check_init__(self):
        linear(self.model)

    @property
    def label(self) -> str:
        return "UCRL-VTR (log-det)"

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        return check_realisable(self.model, mdp, allow_misspecified=allow_misspecified)

    def init(self, problem: Problem, paths: int) -> State:
        return State(self.model.regression(_RIDGE).init(1, paths), jnp.zeros(paths))

    def begin(self, state: State, problem: Problem, episode, keys) -> State:
        return State(self.model.regression(_RIDGE).planner(state.data), state.log_det)

    def backup(self, plan: State, problem: Problem, step, next_values, next_extras):
        mean, norm = self.model.regression(_RIDGE).everywhere(plan.data, next_values)
        left = problem.ceiling(step)  # H − h + 1, with h counted from 1
        deviation = jnp.sqrt(2 * jnp.log(self.episodes) + plan.log_det)  # δ = 1/K
        radius = jnp.sqrt(_RIDGE) * norm_bound(self.model) + left / 2 * deviation
        return jnp.clip(problem.reward(step) + mean + self.multiplier * radius * norm, 0, left), None

    def observe(self, state: State, plan: State, problem: Problem, transition: Transition):
        regression = self.model.regression(_RIDGE)
        at = regression.point(transition.state, transition.action, transition.next_values, 1)
        target = pick(transition.next_values, transition.next_state)[None]
        # det(Σ + φφᵀ) = det Σ · (1 + ‖φ‖²_{Σ⁻¹})
        growth = jnp.log1p(regression.uncertainty(state.data, at)[0] ** 2)
        data = regression.add(state.data, at, target, jnp.ones_like(target))
        return State(data, state.log_det + growth), {}
