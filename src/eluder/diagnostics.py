"""Recorders that check a run of UCRL-WVTR against its theory, per episode and path.

Ask for them with `simulate(..., record=diagnose(environment, agent))`; a run without them does not pay for them.
Every number is in units in which no trajectory collects more than 1, as the agent sees it. Records have the axes
(paths, episodes) and, where marked, a last axis over the moment levels m = 0 … M.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from eluder._arrays import dot, look_up, repeated_squares
from eluder.agents import UCRLWVTR
from eluder.agents.base import Problem, Transition
from eluder.mdp import FiniteMDP
from eluder.models import LinearMixture, Model, Tabular
from eluder.models.general import GeneralModel
from eluder.recording import Episode, Recorder
from eluder.regression.linear import Weighted
from eluder.theory.instance import optimal_variances

# V_k and V* come from differently ordered sums: a shortfall below this is rounding.
ROUNDING = 1e-10


def diagnose(environment: FiniteMDP, agent: UCRLWVTR) -> list[Recorder]:
    """All diagnostics of a UCRL-WVTR agent on an environment."""
    return [
        Coverage(environment, agent),
        Optimism(environment),
        Moments(environment),
        Weights(),
        Bonus(),
        InstanceQuantities(environment, agent.levels + 1),
    ]


class Coverage(Recorder):
    """Is f_* in the confidence set? Records `distance` and `covered`, by level.

    `distance` is √Σ_i w_i (f̂(z_i) − f_*(z_i))² over the data of earlier episodes, and `covered` whether it is at most
    the radius that the agent used.
    """

    truth: Float[Array, "blocks dim 1 1"]  # θ* of a linear class, or the true kernel by slot, one block per pair
    ridge: float

    def __init__(self, environment: FiniteMDP, agent: UCRLWVTR):
        self.truth = jnp.asarray(true_parameters(environment, agent.model))[..., None, None]
        self.ridge = agent.ridge

    def finish(self, carry, episode: Episode):
        data = episode.plan.data  # frozen at the start of the episode
        if isinstance(data, Weighted):
            squared = self._from_root(data)
        else:
            gap = data.estimate.kernel - self.truth
            squared = jnp.sum(data.moments[:, :-1, :-1] * gap[:, :, None] * gap[:, None], axis=(0, 1, 2))
        distance = jnp.sqrt(jnp.maximum(squared, 0))
        return {"distance": distance, "covered": distance <= episode.plan.beta, "radius": _per_path(episode)}

    def _from_root(self, data: Weighted) -> Float[Array, "levels paths"]:
        error = data.theta - self.truth
        # Σ⁻¹ = R Rᵀ; (θ̂ − θ*)ᵀ Σ (θ̂ − θ*), from which the ridge's own part is taken off.
        rows = jnp.moveaxis(data.root, (2, 1), (0, 1))  # dim dim blocks levels paths
        weighted = _inverse_quadratic(dot(rows[:, :, None], rows[:, None]), jnp.swapaxes(error, 0, 1))
        return jnp.sum(weighted, axis=0) - self.ridge * jnp.sum(error**2, axis=(0, 1))


class Optimism(Recorder):
    """Is V_k ≥ V* at every (h, s), and by how much?

    Records `optimism`, the smallest V_{k,h}(s) − V*_h(s); `optimism_mean`, the mean; and `pessimistic`, the share of
    (h, s) with V_{k,h}(s) < V*_h(s).
    """

    optimal: Float[Array, "max_horizon states 1"]
    inside: Bool[Array, "max_horizon 1 1"]

    def __init__(self, environment: FiniteMDP):
        from eluder.simulation import problem_of  # the runner's padding of steps

        padding = problem_of(environment).max_horizon - environment.horizon
        values = environment.solve().values[:-1] / environment.reward_scale
        self.optimal = jnp.pad(values, ((0, padding), (0, 0)))[..., None]
        self.inside = (jnp.arange(environment.horizon + padding) < environment.horizon)[:, None, None]

    def finish(self, carry, episode: Episode):
        gap = episode.planned.values[:-1] - self.optimal
        count = jnp.sum(self.inside) * gap.shape[1]
        return {
            "optimism": jnp.min(jnp.where(self.inside, gap, jnp.inf), axis=(0, 1)),
            "optimism_mean": jnp.sum(jnp.where(self.inside, gap, 0), axis=(0, 1)) / count,
            "pessimistic": jnp.sum((gap < -ROUNDING) & self.inside, axis=(0, 1)) / count,
        }


class _Sums(NamedTuple):
    """What `Moments` adds up over the steps of an episode; arrays (levels, paths)."""

    potential: Array  # Σ D²/σ̄², not cut off at 1, which decides I_h
    steady: Array  # (paths,) I_h: whether the potential has stayed at or below 1 on every level
    R: Array
    S: Array
    eluder_sum: Array
    variance_error: Array  # the largest |estimate − truth|
    variance_excess: Array  # the largest |estimate − truth| − E
    outside: Array  # steps with |estimate − truth| > E
    estimate: Array
    truth: Array


class Moments(Recorder):
    """The sums of the proof, and the variance estimate against the truth, by level.

    Records `R` and `S` (R_m and S_m of the episode, with the proof's indicator I_h), `steady` (whether I_h held to the
    end: the proof's G counts the episodes without it), `eluder_sum` (Σ_h min(1, D²/σ̄²)), and for the levels below M:
    `variance_estimate` and `variance_truth` (sums over the episode), `variance_error` (the largest difference),
    `variance_outside` (how many steps had |estimate − truth| > E) and `variance_excess` (the largest amount beyond E).
    """

    probs: Float[Array, "pairs slots"]
    successors: Int[Array, "pairs slots"]
    actions: int = eqx.field(static=True)

    def __init__(self, environment: FiniteMDP):
        self.probs = environment.probs.reshape(-1, environment.slots)
        self.successors = environment.successors.reshape(-1, environment.slots)
        self.actions = environment.actions

    def begin(self, problem: Problem, transition: Transition, info: dict[str, Array]) -> _Sums:
        zero = jnp.zeros(info["weights"].shape)
        below = jnp.zeros(info["variance"].shape)
        return _Sums(zero, jnp.ones(zero.shape[-1], dtype=bool), zero, zero, zero, *[below] * 5)

    def step(self, carry: _Sums, transition: Transition, info: dict[str, Array]) -> _Sums:
        levels = info["weights"].shape[0]
        truth = self._variance(transition, levels)
        steady = carry.steady.astype(float)
        difference = jnp.abs(info["variance"] - truth[:-1])
        potential = carry.potential + info["so_far"] ** 2 / info["weights"]
        return _Sums(
            potential=potential,
            steady=jnp.all(potential <= 1, axis=0),
            R=carry.R + steady * jnp.minimum(1, info["bonus"]),
            S=carry.S + steady * truth,
            eluder_sum=carry.eluder_sum + jnp.minimum(1, info["so_far"] ** 2 / info["weights"]),
            variance_error=jnp.maximum(carry.variance_error, difference),
            variance_excess=jnp.maximum(carry.variance_excess, difference - info["error"]),
            outside=carry.outside + (difference > info["error"] + ROUNDING),
            estimate=carry.estimate + info["variance"],
            truth=carry.truth + truth[:-1],
        )

    def _variance(self, transition: Transition, levels: int) -> Float[Array, "levels paths"]:
        """[𝕍 V_{k,h+1}^(2^m)](s, a), centred first so that small variances survive rounding."""
        pair = transition.state * self.actions + transition.action
        probs, successors = look_up(self.probs, pair), look_up(self.successors, pair)
        values = jnp.take_along_axis(transition.next_values, successors, axis=0, mode="promise_in_bounds")
        powers = repeated_squares(values, levels)  # slots levels paths
        centred = powers - dot(probs[:, None], powers)
        return dot(probs[:, None], centred**2)

    def finish(self, carry: _Sums, episode: Episode):
        return {
            "R": carry.R,
            "S": carry.S,
            "steady": carry.steady,
            "eluder_sum": carry.eluder_sum,
            "variance_estimate": carry.estimate,
            "variance_truth": carry.truth,
            "variance_error": carry.variance_error,
            "variance_excess": carry.variance_excess,
            "variance_outside": carry.outside,
        }


class Weights(Recorder):
    """The weights σ̄² and which of their three terms set them, by level.

    Records `sigma_squared` (the mean σ̄² of the episode) and `set_by_moment`, `set_by_floor` and `set_by_uncertainty`:
    the shares of steps in which V̄ + E, σ²_min or γ²D was the largest (ties count for the first of them).
    """

    def begin(self, problem: Problem, transition: Transition, info: dict[str, Array]):
        zero = jnp.zeros(info["weights"].shape)
        return {"sigma_squared": zero, "set_by_moment": zero, "set_by_floor": zero, "set_by_uncertainty": zero}

    def step(self, carry, transition: Transition, info: dict[str, Array]):
        weights = info["weights"]
        moment = info["moment"] == weights
        floor = (info["floor"] == weights) & ~moment
        seen = {
            "sigma_squared": weights,
            "set_by_moment": moment,
            "set_by_floor": floor,
            "set_by_uncertainty": ~(moment | floor),
        }
        # A running mean over steps, since the number of steps is known to the loop alone.
        return {name: carry[name] + (seen[name] - carry[name]) / (transition.step + 1.0) for name in carry}

    def finish(self, carry, episode: Episode):
        return carry


class Bonus(Recorder):
    """Records `bonus_share`: the bonus's share of r + f̂ + bonus, summed over the pairs that the episode visited."""

    def begin(self, problem: Problem, transition: Transition, info: dict[str, Array]):
        zero = jnp.zeros(info["bonus"].shape[-1])
        return zero, zero

    def step(self, carry, transition: Transition, info: dict[str, Array]):
        bonus, total = carry
        known = transition.reward + jnp.clip(info["mean"][0], 0, 1)
        return bonus + info["bonus"][0], total + info["bonus"][0] + known

    def finish(self, carry, episode: Episode):
        bonus, total = carry
        return {"bonus_share": bonus / jnp.maximum(total, jnp.finfo(float).tiny)}


class InstanceQuantities(Recorder):
    """What the episode adds to the theorem's instance quantities: records `Q` (by level) and `value` (V*₁(s₁))."""

    variances: Float[Array, "horizon pairs levels"]
    first: Float[Array, " states"]
    actions: int = eqx.field(static=True)

    def __init__(self, environment: FiniteMDP, levels: int = 1):
        table = optimal_variances(environment, levels)
        self.variances = table.reshape(environment.horizon, -1, levels)
        self.first = environment.solve().values[0] / environment.reward_scale
        self.actions = environment.actions

    def begin(self, problem: Problem, transition: Transition, info: dict[str, Array]):
        return jnp.zeros((self.variances.shape[-1], transition.state.shape[-1]))

    def step(self, carry, transition: Transition, info: dict[str, Array]):
        return carry + look_up(self.variances[transition.step], transition.state * self.actions + transition.action)

    def finish(self, carry, episode: Episode):
        return {"Q": carry, "value": look_up(self.first, episode.start)}


def true_parameters(environment: FiniteMDP, model: Model) -> Float[np.ndarray, "blocks dim"]:
    """The environment as a member of a class: θ* of a linear class, else the chances of the class's slots by pair."""
    if isinstance(model, LinearMixture):
        return model.fit(environment)[None]
    if isinstance(model, Tabular):
        if model.successors is None:
            return np.asarray(environment.dense_kernel()).reshape(-1, environment.states)
        return np.asarray(environment.probs).reshape(-1, environment.slots)
    if not isinstance(model, GeneralModel):
        raise TypeError(f"The true parameters in {type(model).__name__} are not known.")
    successors = np.asarray(model.successors)
    chances = np.take_along_axis(np.asarray(environment.dense_kernel()), successors, axis=-1)
    # Of slots that lead to the same state, the first carries its chance: f sees their sum.
    repeated = np.tril(successors[..., :, None] == successors[..., None, :], -1).any(axis=-1)
    return np.where(repeated, 0.0, chances).reshape(-1, successors.shape[-1])


def _inverse_quadratic(matrix: Float[Array, "n n ..."], x: Float[Array, "n ..."]) -> Float[Array, "..."]:
    """xᵀ M⁻¹ x of positive definite M, by symmetric elimination: Σ_j x_j²/M_jj, each as the earlier ones leave it.

    Elementwise over the batch on purpose: LAPACK calls from several running programs wait for each other on a CPU.
    """

    def eliminate(j, carry):
        matrix, x, total = carry
        pivot = matrix[j, j]
        factor = matrix[j] / pivot
        return matrix - factor[:, None] * matrix[j], x - factor * x[j], total + x[j] ** 2 / pivot

    return jax.lax.fori_loop(0, x.shape[0], eliminate, (matrix, x, jnp.zeros(x.shape[1:])))[2]


def _per_path(episode: Episode) -> Float[Array, " paths"]:
    return jnp.broadcast_to(episode.plan.beta, episode.start.shape)
