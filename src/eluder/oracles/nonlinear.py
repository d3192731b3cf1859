"""Oracles for differentiable classes: Levenberg–Marquardt for small ones, first-order steps for large ones."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from eluder.models.general import GeneralModel
from eluder.oracles.base import Fit, Oracle, outcome
from eluder.regression import gram

# The price of each unit of distance from the class's ball, squared.
_WALL = 1e4


class LevenbergMarquardt(Oracle):
    """Levenberg–Marquardt (optimistix) on the loss + decay·‖θ − θ_start‖², begun at the last estimate.

    The decay towards the class's start is what the ridge is for linear classes (the paper's λ by default): it settles
    what few data leave open. The bound on ‖θ‖ is a steep wall, and what rounding leaves beyond it is cut off. It finds
    a local minimum.
    """

    decay: float = eqx.field(static=True, default=1e-3)
    tolerance: float = eqx.field(static=True, default=1e-5)
    max_steps: int = eqx.field(static=True, default=50)

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        optimistix, lineax = _require("optimistix"), _require("lineax")
        origin = model.start()
        roots = gram.square_roots(moments)

        def residuals(theta, _):
            misfit = gram.residuals(moments, model.slots_of(theta), roots)
            beyond = jnp.sum((theta - model.project(theta)) * theta) / model.bound  # ‖θ‖(‖θ‖/B − 1) outside the ball
            return misfit, jnp.sqrt(self.decay) * (theta - origin), jnp.sqrt(_WALL) * beyond

        solver = optimistix.LevenbergMarquardt(
            rtol=self.tolerance, atol=self.tolerance, linear_solver=lineax.Normal(lineax.Cholesky())
        )
        # Where logits run off, every step falls short of its promise: optimistix's own rule would never lengthen them.
        search = optimistix.ClassicalTrustRegion(high_cutoff=0.25, high_constant=5.0)
        solver = eqx.tree_at(lambda solver: solver.search, solver, search)
        solution = optimistix.least_squares(residuals, solver, start, max_steps=self.max_steps, throw=False)
        converged = solution.result == optimistix.RESULTS.successful
        return outcome(model.project(solution.value), converged, start)


class FirstOrder(Oracle):
    """Adam (optax) for networks too large for Levenberg–Marquardt, begun at the last estimate.

    `steps` are taken at every call: an agent calls it once an episode, on statistics that hardly changed, so that
    training goes on from episode to episode. It counts as converged when the last step moved no parameter by more
    than `tolerance`.
    """

    learning_rate: float = eqx.field(static=True, default=1e-2)
    steps: int = eqx.field(static=True, default=100)
    decay: float = eqx.field(static=True, default=1e-3)
    tolerance: float = eqx.field(static=True, default=1e-3)

    def solve(self, model: GeneralModel, moments: gram.PairMoments, start: Float[Array, " dim"]) -> Fit:
        optax = _require("optax")
        origin = model.start()
        # Adam hardly minds the scale of the loss; its ε does.
        weight = jnp.maximum(jnp.max(jnp.abs(moments)), jnp.finfo(float).tiny)

        def objective(theta):
            penalty = self.decay * jnp.sum((theta - origin) ** 2)
            return (gram.loss(moments, model.slots_of(theta)) + penalty) / weight

        optimiser = optax.adam(optax.cosine_decay_schedule(self.learning_rate, self.steps, alpha=0.01))

        def update(carry, _):
            theta, state, _ = carry
            change, state = optimiser.update(jax.grad(objective)(theta), state, theta)
            return (theta + change, state, jnp.max(jnp.abs(change))), None

        carry = (start, optimiser.init(start), jnp.asarray(jnp.inf))
        (theta, _, moved), _ = jax.lax.scan(update, carry, None, length=self.steps)
        return outcome(model.project(theta), moved <= self.tolerance, start)


def _require(name: str):
    """A package of the extra `general`, which the core does not need."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(
            f"This oracle needs the package {name}: install it with pip install 'eluder[general]'."
        ) from None
