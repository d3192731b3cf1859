"""What the theorem promises and an audit of a run, for a user's own MDP; and the command that checks claims."""

import csv

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import eluder
from eluder import theory
from eluder.cli import verify as command
from eluder.experiments import claims
from eluder.experiments.claims.base import Outcome, Row
from eluder.theory.instance import worst_variance


def _own():
    rng = np.random.default_rng(0)
    features = np.moveaxis(rng.dirichlet(np.ones(3), size=(2, 3, 2)), 0, -1)
    mdp = eluder.FiniteMDP.from_dense(features @ np.array([0.7, 0.3]), rng.random((3, 2)), horizon=5)
    return mdp, eluder.models.LinearMixture.from_dense(features)


def test_a_promise_for_a_users_own_mdp():
    mdp, model = _own()
    found = theory.promise(mdp, model, episodes=50)
    assert all(found.premises.values())
    most = worst_variance(mdp) * 50
    value = float(mdp.solve().values[0, 0]) / mdp.reward_scale * 50
    assert found.bound == theory.regret_bound(found.parameters, variance=most, value=value)
    # From `useful_from` on the bound says something, and at half of it nothing.
    for episodes, useful in ((int(found.useful_from), True), (int(found.useful_from) // 2, False)):
        setting = theory.theorem(model, episodes=episodes, horizon=5, delta=0.001)
        bound = theory.regret_bound(setting, variance=most / 50 * episodes, value=value / 50 * episodes)
        assert (bound.regret < episodes) == useful
    assert "below K from" in str(found)


def test_premises_that_do_not_hold_are_named():
    mdp, model = _own()
    tight = eluder.models.LinearMixture(model.successors, model.features, bound=0.5)  # ‖θ*‖ = 0.76
    premises = theory.promise(mdp, tight, episodes=50).premises
    assert not premises["‖θ*‖ ≤ B"]
    assert premises["the class contains the environment"]
    other = eluder.FiniteMDP.from_dense(np.full((3, 2, 3), 1 / 3), np.ones((3, 2)), horizon=5)
    assert not theory.promise(other, model, episodes=50).premises["the class contains the environment"]


def test_an_audit_passes_at_the_theorems_radius_and_not_at_a_thousandth():
    mdp, model = _own()
    sound = theory.audit(mdp, model, episodes=40, paths=8)
    assert sound.passed, str(sound)
    assert len(sound.checks) == 6
    broken = theory.audit(mdp, model, episodes=40, paths=8, multiplier=1e-3)
    assert not broken.checks["V_k ≥ V* at every step and state"][1]
    assert not broken.passed
    assert "NO" in str(broken)


@pytest.fixture
def fast_claims(monkeypatch):
    def experiment(verdict):
        def run(size):
            assert size in ("small", "full")
            row = Row("toy", f"claim [{size}]", "≤ 1", "0.5 [0.4, 0.6]", verdict)
            return Outcome((row,), {}, _figure)

        return run

    monkeypatch.setattr(claims, "EXPERIMENTS", {"good": experiment("holds"), "bad": experiment("fails")})


def _figure():
    from eluder.report.style import figure, styled

    return styled(figure)("column")[0]


def _verify(*arguments):
    app = typer.Typer()
    app.command()(command.verify)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.usefixtures("fast_claims")
def test_verify_prints_verdicts_and_exits_by_them(tmp_path):
    passed = _verify("--out", tmp_path / "a", "--only", "good")
    assert passed.exit_code == 0
    assert "holds" in passed.output
    failed = _verify("--out", tmp_path / "b", "--full")
    assert failed.exit_code == 1
    with (tmp_path / "b" / "verdicts.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["holds", "fails"]
    assert rows[0]["claim"] == "claim [full]"
    assert {path.suffix for path in (tmp_path / "b").iterdir()} >= {".png", ".csv"}


@pytest.mark.usefixtures("fast_claims")
def test_verify_names_an_unknown_experiment(tmp_path):
    result = _verify("--out", tmp_path, "--only", "nonsense")
    assert isinstance(result.exception, ValueError)
    assert "'nonsense'" in str(result.exception)
