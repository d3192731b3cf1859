"""UCRL-WVTR (the paper's Algorithm 1): weighted value-targeted regression with HOME.

Assembly only: the regression f̂ and its uncertainty D_F come from the model class, the weights σ̄ from
`eluder.moments`, the loops over steps and episodes from the runner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eluder._arrays import pick, repeated_squares
from eluder.agents._fields import checked_number
from eluder.agents.base import Agent, Problem, Transition, Whole
from eluder.mdp import FiniteMDP
from eluder.models.base import Model, check_realisable
from eluder.moments import variance_weights

if TYPE_CHECKING:
    from eluder.oracles import Oracle
    from eluder.regression import Regression
    from eluder.uncertainty import Uncertainty


class Plan(NamedTuple):
    """What an episode reads: f̂_{k,m} and D_{k,m}, frozen at its start, and the radius β̂_k."""

    data: Any
    planner: Any
    beta: Float[Array, ""]


class UCRLWVTR(Agent):
    """UCRL-WVTR on any model class. The defaults are the hyper-parameters of the paper's experiments."""

    model: Model
    levels: int = eqx.field(static=True)  # M: moments V^(2^m) for m = 0 … M
    ridge: float  # λ
    sigma_min: float
    gamma: float
    beta: float | Callable[[Int[Array, ""]], Float[Array, ""]]  # β̂, or k ↦ β̂_k with k counted from 1
    error_weights: tuple[float, float]
    multiplier: float  # on β̂
    oracle: Oracle | None
    uncertainty: Uncertainty | None

    def __init__(
        self,
        model: Model,
        levels: int = 3,
        ridge: float = 1e-3,
        sigma_min: float = 0.01,
        gamma: float = 0.5,
        beta: float | Callable[[Int[Array, ""]], Float[Array, ""]] = 1.0,
        error_weights: tuple[float, float] = (2.0, 1.0),
        multiplier: float = 1.0,
        oracle: Oracle | None = None,
        uncertainty: Uncertainty | None = None,
    ):
        """
        **Arguments:**

        - `model`: the class of transition models, e.g. `environment.linear_mixture()`.
        - `levels`: M, the highest moment level. 1 is the paper's "without HOME".
        - `ridge`: λ.
        - `sigma_min`: the floor under the weights' standard deviations σ̄.
        - `gamma`: γ, how much a point's uncertainty widens its σ̄.
        - `beta`: the confidence radius β̂, or a function of the episode number k = 1, 2, … that JAX can trace.
        - `error_weights`: the factors of HOME's error bound on level m and m + 1 (errata 4).
        - `multiplier`: a factor on β̂, so that a radius from the theory can be scaled; 1 is the radius as given.
        - `oracle`, `uncertainty`: how to regress over the class and how to compute D_F; the class's own by default.
        """
        if not isinstance(model, Model):
            raise TypeError(
                f"model must be a model class such as environment.linear_mixture(), but is {type(model).__name__}."
            )
        if isinstance(levels, bool) or not isinstance(levels, int | np.integer) or levels < 0:
            raise ValueError(f"levels must be a whole number of at least 0, but is {levels!r}.")
        if not isinstance(error_weights, tuple | list) or len(error_weights) != 2:
            raise ValueError(f"error_weights must be two numbers, of level m and of m + 1, but are {error_weights!r}.")
        self.model = model
        self.levels = int(levels)
        self.ridge = checked_number("ridge", ridge)
        self.sigma_min = checked_number("sigma_min", sigma_min)
        self.gamma = checked_number("gamma", gamma, at_least=0.0)
        self.beta = beta if callable(beta) else checked_number("beta", beta, at_least=0.0)
        own, above = (checked_number("each of error_weights", weight, at_least=0.0) for weight in error_weights)
        self.error_weights = (own, above)
        self.multiplier = checked_number("multiplier", multiplier, at_least=0.0)
        self.oracle = oracle
        self.uncertainty = uncertainty

    @property
    def label(self) -> str:
        return {0: "UCRL-VTR (weighted)", 1: "UCRL-WVTR without HOME"}.get(self.levels, "UCRL-WVTR")

    def regression(self) -> Regression:
        """f̂ and D_F, by the model class."""
        return self.model.regression(self.ridge, self.oracle, self.uncertainty)

    @property
    def one_thread(self) -> bool:
        return self.regression().one_thread

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        self.regression().check(mdp)
        return check_realisable(self.model, mdp, allow_misspecified=allow_misspecified)

    def init(self, problem: Problem, paths: int):
        del problem
        return self.regression().init(self.levels + 1, paths)  # line 1

    def begin(self, state, problem, episode, keys) -> Plan:
        del problem, keys
        beta = self.beta(episode + 1) if callable(self.beta) else self.beta
        planner = self.regression().planner(state)
        return Plan(data=state, planner=planner, beta=self.multiplier * jnp.asarray(beta, dtype=float))

    def extras(self, problem: Problem, paths: int) -> Whole:
        """What the regression remembers along the steps of planning."""
        del problem
        return Whole(self.regression().memory(paths))

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        """Line 5; Q is clipped from below as well (errata 9)."""
        mean, uncertainty, memory = self.regression().everywhere_from(plan.planner, next_values, next_extras.value)
        bonus = plan.beta * uncertainty
        return jnp.clip(problem.reward(step) + mean + bonus, 0, 1), Whole(memory)

    def planned(self, state, planned):
        return self.regression().after_planning(state, planned.extras.value)

    def observe(self, state, plan: Plan, problem: Problem, transition: Transition):
        """Lines 11 to 13: the point z and target y at every level, their weight by HOME, and the update."""
        del problem
        regression, levels = self.regression(), self.levels + 1
        point = regression.point(transition.state, transition.action, transition.next_values, levels)
        target = repeated_squares(pick(transition.next_values, transition.next_state), levels)
        mean = regression.predict(plan.data, point)
        at_start = regression.uncertainty(plan.data, point)
        so_far = regression.uncertainty(state, point)
        variance, parts = variance_weights(
            mean,
            at_start,
            so_far,
            beta=plan.beta,
            sigma_min=self.sigma_min,
            gamma=self.gamma,
            error_weights=self.error_weights,
        )
        state = regression.add(state, point, target, variance)
        info = {"mean": mean, "at_start": at_start, "so_far": so_far, "bonus": plan.beta * at_start}
        return state, {"weights": variance, **info, **parts}

    def finish(self, state, plan: Plan, problem: Problem, episode):
        """Line 16: f̂_{k+1,m} at every level."""
        del plan, problem, episode
        return self.regression().fit(state)

    def report(self, state) -> dict[str, Array]:
        return self.regression().report(state)


class UCRLVTR(UCRLWVTR):
    """UCRL-VTR as in the paper's experiments: unweighted regression with a point-wise bonus.

    This is UCRL-WVTR with M = 0, σ_min = 1 and γ = 0. The agent that Ayoub et al. ran has a log-det
    radius and is a different one (errata 19).
    """

    def __init__(self, model: Model, ridge: float = 1e-3, beta: float | Callable = 1.0, multiplier: float = 1.0):
        super().__init__(model, levels=0, ridge=ridge, sigma_min=1.0, gamma=0.0, beta=beta, multiplier=multiplier)

    @property
    def label(self) -> str:
        return "UCRL-VTR"


def without_home(model: Model, **hyper_parameters) -> UCRLWVTR:
    """UCRL-WVTR without HOME: M = 1, the paper's ablation."""
    return UCRLWVTR(model, levels=1, **hyper_parameters)
