"""What the theorem promises on an instance, and whether its premises held in a run: each in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eluder import _validate as validate
from eluder.mdp import FiniteMDP
from eluder.models import LinearMixture, LinearModel, Model
from eluder.models.base import REALISABLE
from eluder.theory.bounds import RegretBound, regret_bound
from eluder.theory.instance import worst_variance
from eluder.theory.parameters import Parameters, theorem

if TYPE_CHECKING:
    from eluder.simulation import Result


class Promise(NamedTuple):
    """Theorem 1 for an environment, a model class, K and δ."""

    parameters: Parameters
    premises: dict[str, bool]  # what the theorem takes for granted, and whether it is so
    bound: RegretBound  # on normalised regret, from what is known before the first episode
    useful_from: float  # about how many episodes it takes until the bound is below K

    def __str__(self) -> str:
        chance = max(0.0, 1 - self.parameters.failure)
        lines = [str(self.parameters), ""]
        lines += [f"{'yes' if held else 'NO':4}{premise}" for premise, held in self.premises.items()]
        lines += [
            "",
            f"regret / reward scale     ≤ {self.bound.regret:.4g}, with chance {chance:.3g}",
            f"without constants, logs   {self.bound.normalised:.4g}",
            f"below K from about        K = {self.useful_from:.1g}",
        ]
        return "\n".join(lines)


def promise(environment: FiniteMDP, model: Model, *, episodes: int, delta: float = 0.001) -> Promise:
    """What Theorem 1 says about UCRL-WVTR on this environment before it has run.

    The instance quantities of the bound are replaced by the most they can be: K times the largest variance that an
    episode can collect, and K times the largest V*₁.
    """
    parameters = theorem(model, episodes=episodes, horizon=environment.horizon, delta=delta)
    per_episode = worst_variance(environment), _largest_value(environment)
    bound = regret_bound(parameters, variance=per_episode[0] * episodes, value=per_episode[1] * episodes)
    return Promise(parameters, _premises(environment, model, parameters), bound, _useful_from(parameters, *per_episode))


class Audit(NamedTuple):
    """A run with the theorem's parameters, held against its premises and its bound."""

    promise: Promise
    result: Result
    checks: dict[str, tuple[str, bool]]  # what was measured, and whether it is as the theory has it

    @property
    def passed(self) -> bool:
        return all(held for _, held in self.checks.values())

    def __str__(self) -> str:
        rows = [f"{'yes' if held else 'NO':4}{claim}: {measured}" for claim, (measured, held) in self.checks.items()]
        return "\n".join([str(self.promise), "", *rows])


def audit(
    environment: FiniteMDP,
    model: Model,
    *,
    episodes: int,
    paths: int = 20,
    delta: float = 0.001,
    multiplier: float = 1.0,
    seed: int = 0,
    **options: Any,
) -> Audit:
    """Runs UCRL-WVTR with the theorem's parameters and checks, on the way, everything that its proof uses.

    **Arguments:** as for `promise` and `eluder.simulate`; `multiplier` scales the radius (1 is the theorem's).
    """
    from eluder.diagnostics import ROUNDING, diagnose  # they build on the theory
    from eluder.simulation import simulate

    promised = promise(environment, model, episodes=episodes, delta=delta)
    parameters = promised.parameters
    agent = parameters.agent(model, multiplier)
    recorders = diagnose(environment, agent)
    result = simulate(environment, agent, episodes=episodes, paths=paths, seed=seed, record=recorders, **options)
    seen = result.records
    left = float(np.mean(~seen["covered"].all(axis=(1, 2))))
    optimism = float(seen["optimism"].min())
    beyond = float(seen["variance_outside"].sum() / (seen["variance_outside"].size * environment.horizon))
    potential, sharp = float(seen["eluder_sum"].sum(axis=1).max()), int((~seen["steady"]).sum(axis=1).max())
    regret = result.normalised_regret.sum(axis=1)
    Q, value = seen["Q"].sum(axis=1), seen["value"].sum(axis=1)
    bounds = [
        regret_bound(parameters, variance=float(q[0]), value=float(v)).regret for q, v in zip(Q, value, strict=True)
    ]
    allowed = (parameters.levels + 1) * delta
    most_sharp = (parameters.levels + 1) * parameters.dimension
    checks = {
        "f_* in every confidence set": (f"left in {left:.3g} of runs, {allowed:.3g} allowed", left <= allowed),
        "V_k ≥ V* at every step and state": (f"smallest V_k − V* {optimism:.3g}", optimism >= -ROUNDING),
        "variance estimates within E": (f"{beyond:.3g} of steps beyond it", beyond == 0),
        "Σ min(1, D²/σ̄²) ≤ dim": (f"{potential:.4g} ≤ {parameters.dimension:.4g}", potential <= parameters.dimension),
        "G ≤ (M + 1)·dim": (f"{sharp} ≤ {most_sharp:.4g}", sharp <= most_sharp),
        "regret ≤ the bound of the run's own 𝒬*": (
            f"{regret.max():.4g} ≤ {min(bounds):.4g}; 𝒬* = {np.minimum(Q.max(axis=1), value).mean():.4g}",
            bool(np.all(regret <= bounds)),
        ),
    }
    return Audit(promised, result, checks)


def _premises(environment: FiniteMDP, model: Model, parameters: Parameters) -> dict[str, bool]:
    successors, probs = np.asarray(environment.successors), np.asarray(environment.probs)
    total = validate.largest_return(successors, probs, np.asarray(environment.rewards), environment.horizon)
    premises = {
        "the class contains the environment": model.misfit(environment) <= REALISABLE,
        "no trajectory collects more than the reward scale": total <= environment.reward_scale * (1 + 1e-9),
        "σ_min ≤ 1: there are episodes enough for the setting to make sense": parameters.sigma_min <= 1,
        "D_F is computed exactly or bounded from above": isinstance(model, LinearModel) or parameters.geometry.exact,
    }
    if isinstance(model, LinearMixture):
        premises["‖θ*‖ ≤ B"] = float(np.linalg.norm(model.fit(environment))) <= model.bound * (1 + 1e-9)
    return premises


def _largest_value(environment: FiniteMDP) -> float:
    """The largest V*₁ over states that an episode can start in, normalised."""
    first = np.asarray(environment.solve().values[0])[np.asarray(environment.start) > 0]
    return float(first.max()) / environment.reward_scale


def _useful_from(parameters: Parameters, variance: float, value: float) -> float:
    """The K, to within a factor of 2, from which the bound is below K."""
    for power in range(4, 200):
        episodes = 2**power
        setting = theorem(parameters.geometry, episodes=episodes, horizon=parameters.horizon, delta=parameters.delta)
        if regret_bound(setting, variance=variance * episodes, value=value * episodes).regret < episodes:
            return float(episodes)
    return float("inf")
