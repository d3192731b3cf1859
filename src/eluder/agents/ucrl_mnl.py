"""UCRL-MNL (Hwang & Oh 2023): optimism for softmax transitions, P_θ(s'|s, a) ∝ exp ⟨φ(s, a, s'), θ⟩ over reachable s'.

θ̂_k is the ridge maximum-likelihood estimate on all data, A_k = λI + Σ_i Σ_{s'} φ_i(s')φ_i(s')ᵀ over the visits i so
far, and Q = min(H, r + P_θ̂V + 2Hβ_k·max_{s'} ‖φ(s, a, s')‖_{A⁻¹}) with β_k = c√(d·log(1 + kHU/(dλ))), U the most states
that are reachable from a pair. The paper's c is unspecified; here it is the multiplier. Rewards are at most 1 a step.

The likelihood depends on the data through the counts n(s, a, s') alone, so an episode costs the same however many
came before it.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, ArrayLike, Float

from eluder import _validate as validate
from eluder.agents import _fields as fields
from eluder.agents._counting import CountingAgent, Counts, Support, expect
from eluder.agents.base import Problem, Transition
from eluder.mdp import FiniteMDP

_ITERATIONS = 50  # Newton's, from the last episode's estimate; two or three are usual
_CONVERGED = 1e-10  # of the largest change in θ


class State(NamedTuple):
    counts: Counts
    theta: Float[Array, "dim paths"]
    unconverged: Float[Array, " paths"]  # episodes in which Newton's method did not get there


class Plan(NamedTuple):
    theta: Float[Array, "dim paths"]
    kernel: Float[Array, "outcomes states actions paths"]  # P_θ̂
    bonus: Float[Array, "states actions paths"]
    unconverged: Float[Array, " paths"]


class UCRLMNL(CountingAgent):
    """UCRL-MNL on known successors."""

    per_step: ClassVar[bool] = True
    features: Float[Array, "dim outcomes states actions"]
    ridge: float = fields.number("ridge", 1.0)
    multiplier: float = fields.multiplier()

    def __init__(
        self,
        environment: FiniteMDP,
        features: ArrayLike | None = None,
        ridge: float = 1.0,
        multiplier: float = 1.0,
    ):
        """
        **Arguments:**

        - `environment`: its successors are known to the agent, their chances are not.
        - `features`: φ[s, a, s', :] of shape (S, A, S, d). By default one parameter for each successor of each pair
          that has more than one, which represents every kernel.
        - `ridge`: λ.
        - `multiplier`: c, the factor on β.
        """
        support = Support(environment)
        possible = np.asarray(support.possible[..., 0]) > 0
        if features is None:
            free = possible & (possible.sum(axis=0) > 1)
            table = np.zeros((max(1, int(free.sum())), *possible.shape))
            table[np.arange(free.sum()), *np.nonzero(free)] = 1
        else:
            dense = validate.finite(features, "features")
            shape = (environment.states, environment.actions, environment.states)
            if dense.ndim != 4 or dense.shape[:3] != shape:
                raise ValueError(f"features must have the shape {(*shape, 'dim')}, but have {dense.shape}.")
            at_successors = np.take_along_axis(
                dense, np.moveaxis(np.asarray(support.successors), 0, 2)[..., None], axis=2
            )
            table = np.where(possible, np.moveaxis(at_successors, (3, 2), (0, 1)), 0.0)
        self.features, self.support = jnp.asarray(table), support
        self.ridge, self.multiplier = ridge, multiplier

    @property
    def label(self) -> str:
        return "UCRL-MNL"

    @property
    def one_thread(self) -> bool:
        return True  # factorisations from two threads at once can wait for each other for ever

    def init(self, problem: Problem, paths: int) -> State:
        return State(self.no_counts(problem, paths), jnp.zeros((len(self.features), paths)), jnp.zeros(paths))

    def begin(self, state: State, problem: Problem, episode, keys) -> Plan:
        fit = jax.vmap(self._fit, in_axes=-1, out_axes=-1)
        theta, kernel, width, unconverged = fit(state.counts, state.theta)
        dim, H = len(self.features), problem.horizon.astype(float)
        seen = (episode + 1.0) * H * self.features.shape[1]  # kHU
        beta = jnp.sqrt(dim * jnp.log1p(seen / (dim * self.ridge)))
        return Plan(theta, kernel, 2 * H * self.multiplier * beta * width, unconverged)

    def backup(self, plan: Plan, problem: Problem, step, next_values, next_extras):
        mean = expect(plan.kernel, self.at_outcomes(next_values))
        return jnp.minimum(problem.reward(step) + mean + plan.bonus, problem.horizon.astype(float)), None

    def observe(self, state: State, plan: Plan, problem: Problem, transition: Transition):
        return state._replace(counts=self.count(state.counts, transition)), {}

    def finish(self, state: State, plan: Plan, problem: Problem, episode) -> State:
        return state._replace(theta=plan.theta, unconverged=state.unconverged + plan.unconverged)

    def report(self, state: State) -> dict[str, Array]:
        return {"unconverged": state.unconverged}

    def _fit(self, counts: Counts, theta: Float[Array, " dim"]):
        """θ̂, P_θ̂, max_{s'} ‖φ‖_{A⁻¹} and whether Newton's method failed, for one path."""
        features = self.features.reshape(len(self.features), -1)  # dim × (outcomes · pairs)
        shape, identity = self.features.shape[1:], jnp.eye(len(features))
        visits = jnp.broadcast_to(counts.visits, shape)
        spread = 2 * jnp.sqrt(jnp.max(jnp.sum(features**2, axis=0)))  # a bound on ‖φ − φ'‖

        def newton(carry):
            count, theta, _ = carry
            kernel = self._kernel(theta)
            residual = (counts.outcomes - visits * kernel).reshape(-1)
            gradient = self.ridge * theta - _sums(features, residual)
            # Σ n(s, a)·Cov_θ(φ): second moments less the outer products of the means.
            means = jnp.sum(self.features * kernel, axis=1).reshape(len(features), -1)
            hessian = _grams(features, (visits * kernel).reshape(-1)) - _grams(means, counts.visits.reshape(-1))
            factor = jnp.linalg.cholesky(hessian + self.ridge * identity)
            change = cho_solve((factor, True), gradient)
            # The full step can overshoot and cycle; this damping makes progress from anywhere, since the third
            # derivative of a softmax likelihood is at most its second times the spread of φ (Sun & Tran-Dinh 2019).
            length = spread * jnp.sqrt(jnp.sum(change**2)) + 1e-300
            change = change * jnp.log1p(length) / length
            return count + 1, theta - change, jnp.max(jnp.abs(change))

        def going_on(carry):
            count, _, change = carry
            return (count < _ITERATIONS) & (change > _CONVERGED)

        _, theta, change = jax.lax.while_loop(going_on, newton, (0, theta, jnp.asarray(jnp.inf)))
        every_visit = (visits * self._possible).reshape(-1)
        root = jnp.linalg.cholesky(_grams(features, every_visit) + self.ridge * identity)  # A = R Rᵀ
        white = solve_triangular(root, features, lower=True)
        norms = jnp.sqrt(jnp.sum(white**2, axis=0)).reshape(shape)
        return theta, self._kernel(theta), jnp.max(norms, axis=0), (change > _CONVERGED).astype(float)

    @property
    def _possible(self) -> Float[Array, "outcomes states actions"]:
        assert self.support is not None
        return self.support.possible[..., 0]

    def _kernel(self, theta: Float[Array, " dim"]) -> Float[Array, "outcomes states actions"]:
        logits = jnp.sum(self.features * theta[:, None, None, None], axis=0)
        return jax.nn.softmax(logits, axis=0, where=self._possible > 0)


def _sums(features: Float[Array, "dim points"], weights: Float[Array, " points"]) -> Float[Array, " dim"]:
    return jnp.sum(features * weights, axis=1)


def _grams(features: Float[Array, "dim points"], weights: Float[Array, " points"]) -> Float[Array, "dim dim"]:
    return jnp.sum(features[:, None] * features[None] * weights, axis=2)
