"""Every experiment on a claim says "fails" of an agent that is broken on purpose, and does not of the real one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eluder._arrays import pick, repeated_squares
from eluder.agents import UCRLWVTR
from eluder.experiments.claims import base
from eluder.experiments.claims.complexity import complexity
from eluder.experiments.claims.concentration import concentration
from eluder.experiments.claims.coverage import coverage
from eluder.experiments.claims.dimension import dimension
from eluder.experiments.claims.eluder import eluder
from eluder.experiments.claims.horizon import horizon
from eluder.experiments.claims.optimism import optimism
from eluder.experiments.claims.variance import variance
from eluder.moments import variance_weights


def rebuilt(kind, agent, **changes):
    """An agent of another kind with the same hyper-parameters."""
    fields = ("model", "levels", "ridge", "sigma_min", "gamma", "beta", "error_weights", "multiplier")
    return kind(**({name: getattr(agent, name) for name in fields} | changes))


def timid(agent):
    """The radius times 0.01."""
    return rebuilt(UCRLWVTR, agent, multiplier=0.01 * agent.multiplier)


def careless(agent):
    """E = 0: variances are trusted as they are estimated."""
    return rebuilt(UCRLWVTR, agent, error_weights=(0.0, 0.0))


class WithoutSquare(UCRLWVTR):
    """V̄ = f̂_{m+1} − f̂_m instead of f̂_{m+1} − f̂_m²."""

    def observe(self, state, plan, problem, transition):
        regression, levels = self.regression(), self.levels + 1
        point = regression.point(transition.state, transition.action, transition.next_values, levels)
        target = repeated_squares(pick(transition.next_values, transition.next_state), levels)
        mean = regression.predict(plan.data, point)
        at_start, so_far = regression.uncertainty(plan.data, point), regression.uncertainty(state, point)
        options = {"beta": plan.beta, "sigma_min": self.sigma_min, "gamma": self.gamma}
        _, parts = variance_weights(mean, at_start, so_far, error_weights=self.error_weights, **options)
        clipped = jnp.clip(mean, 0, 1)
        parts["variance"] = clipped[1:] - clipped[:-1]
        parts["moment"] = parts["moment"].at[:-1].set(parts["variance"] + parts["error"])
        weights = jnp.maximum(jnp.maximum(parts["moment"], parts["floor"]), parts["uncertainty"])
        state = regression.add(state, point, target, weights)
        info = {"mean": mean, "at_start": at_start, "so_far": so_far, "bonus": plan.beta * at_start}
        return state, {"weights": weights, **info, **parts}


class Unweighted(UCRLWVTR):
    """Every σ̄ is the same, whatever the variance."""

    sigma: float = eqx.field(static=True)

    def __init__(self, sigma, **options):
        super().__init__(**options)
        self.sigma = sigma

    def observe(self, state, plan, problem, transition):
        _, info = super().observe(state, plan, problem, transition)
        regression, levels = self.regression(), self.levels + 1
        point = regression.point(transition.state, transition.action, transition.next_values, levels)
        target = repeated_squares(pick(transition.next_values, transition.next_state), levels)
        weights = jnp.full(info["weights"].shape, self.sigma**2)
        return regression.add(state, point, target, weights), info | {"weights": weights}


class Forgetful(UCRLWVTR):
    """Learns nothing: its uncertainty never falls."""

    def observe(self, state, plan, problem, transition):
        return state, super().observe(state, plan, problem, transition)[1]


class Historian(UCRLWVTR):
    """Goes through all earlier episodes at the end of each, as programs that keep their history do."""

    def finish(self, state, plan, problem, episode):
        noise = jax.lax.fori_loop(0, 4 * (episode + 1), lambda i, x: jnp.sin(x + i), jnp.ones(64))
        state = super().finish(state, plan, problem, episode)
        return jax.tree.map(lambda leaf: leaf + 0 * noise[0], state)


def verdicts(outcome):
    return {row.claim: row.verdict for row in outcome.rows}


def fails(outcome, *words):
    """Whether some row whose claim has all the words fails."""
    return any(v == base.FAILS for claim, v in verdicts(outcome).items() if all(word in claim for word in words))


def test_coverage():
    assert base.FAILS not in verdicts(coverage("test")).values()
    assert fails(coverage("test", alter=timid), "f_* leaves", "tabular")


def test_optimism():
    assert base.FAILS not in verdicts(optimism("test")).values()
    assert fails(optimism("test", alter=timid), "V_k < V*", "tabular")


def test_concentration():
    assert set(verdicts(concentration("test")).values()) == {base.HOLDS}
    # Theorem 2 has more room than a factor of 100: the experiment itself says how much.
    assert fails(concentration("test", multiplier=0.002), "Theorem 2")
    blind = concentration("test", ignore_variance=True)
    assert fails(blind, "weighted width")
    assert fails(blind, "error itself")


def test_horizon():
    assert base.FAILS not in verdicts(horizon("test")).values()
    broken = horizon("test", alter=lambda agent: rebuilt(Unweighted, agent, sigma=1.0))
    assert fails(broken, "without HOME")


def test_variance():
    assert base.FAILS not in verdicts(variance("test")).values()
    assert fails(variance("test", alter=careless), "variance estimates")
    assert fails(variance("test", alter=lambda agent: rebuilt(WithoutSquare, agent)), "variance estimates")


def test_dimension():
    assert base.FAILS not in verdicts(dimension("test")).values()
    assert fails(dimension("test", alter=lambda agent: rebuilt(Forgetful, agent)), "more slowly than K")


def test_eluder():
    assert set(verdicts(eluder("test")).values()) == {base.HOLDS}
    assert fails(eluder("test", alter=lambda agent: rebuilt(Forgetful, agent)), "of runs")


def test_complexity():
    assert base.FAILS not in verdicts(complexity("test")).values()
    assert fails(complexity("test", alter=lambda agent: rebuilt(Historian, agent)), "against K")


def test_intervals_against_known_values():
    # Clopper and Pearson: no event in 100 trials leaves [0, 1 − 0.005^(1/100)].
    none = base.share(np.zeros(100, dtype=bool))
    assert none == pytest.approx((0.0, 0.0, 1 - 0.005**0.01))
    assert base.share(np.ones(100, dtype=bool))[1] == pytest.approx(0.005**0.01)
    # Student, two samples 0 and 2: 1 ± t₁(0.995)·1 with t₁(0.995) = tan(π·0.495).
    assert base.mean([0.0, 2.0]).high == pytest.approx(1 + np.tan(np.pi * 0.495))
    exact = base.exponent([1, 2, 4], [np.full(5, 3.0), np.full(5, 12.0), np.full(5, 48.0)])
    assert exact == pytest.approx((2.0, 2.0, 2.0))
    assert base.ratio(np.full(4, 6.0), np.full(4, 2.0)) == pytest.approx((3.0, 3.0, 3.0))


def test_verdicts_follow_the_interval():
    interval = base.Interval(0.5, 0.4, 0.6)
    assert [base.at_most(interval, x) for x in (0.3, 0.5, 0.7)] == [base.FAILS, base.UNDECIDED, base.HOLDS]
    assert [base.at_least(interval, x) for x in (0.3, 0.5, 0.7)] == [base.HOLDS, base.UNDECIDED, base.FAILS]


def test_an_unknown_size_is_named():
    with pytest.raises(ValueError, match="'tiny'"):
        coverage("tiny")
