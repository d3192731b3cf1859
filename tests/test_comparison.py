"""The grid of agents and environments: what is run, chosen, tested and ranked, against calculations of its own."""

import itertools

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import eluder
from eluder import agents, comparison
from eluder.cli.compare import compare as command
from eluder.comparison import Cell, Comparison

EPISODES, PATHS, SEED = 30, 6, 3
RIVER = {"name": "riverswim", "states": 3}


@pytest.fixture(scope="module")
def result():
    return comparison.compare(
        [RIVER],
        ["ucbvi-simplified", {"name": "euler", "multiplier": 0.01}, "random"],
        episodes=EPISODES,
        paths=PATHS,
        seed=SEED,
        horizons=[4, 8],
        multipliers=[1.0, 0.1],
        workers=1,
    )


def regret(horizon, name, seed=SEED, **params):
    river = eluder.environments.riverswim(states=3, horizon=horizon)
    agent = agents.make(name, river, **params)
    run = eluder.simulate(river, agent, episodes=EPISODES, paths=PATHS, seed=seed, workers=1)
    return run.cumulative_regret[:, -1]


def test_every_cell_is_the_run_it_says(result):
    assert [cell.place for cell in result.cells] == [("riverswim-3", 4)] * 3 + [("riverswim-3", 8)] * 3
    for cell in result.cells[3:]:
        name = {"UCBVI-simplified": "ucbvi-simplified", "EULER": "euler", "Random": "random"}[cell.agent]
        params = {} if cell.multiplier is None else {"multiplier": cell.multiplier}
        if name == "euler":
            params["episodes"] = EPISODES  # agents are told how many episodes they have
        np.testing.assert_allclose(cell.regret, regret(8, name, **params), atol=1e-12)
    assert [cell.multiplier for cell in result.cells[1:3]] == [0.01, None]


def test_the_best_multiplier_is_chosen_on_other_random_numbers(result):
    cell = result.cells[3]
    tuning = {c: regret(8, "ucbvi-simplified", seed=SEED + 1_000_003, multiplier=c) for c in (1.0, 0.1)}
    for c, values in tuning.items():
        np.testing.assert_allclose(cell.sweep[c], values, atol=1e-12)
    assert cell.multiplier == min(tuning, key=lambda c: tuning[c].mean())
    at_theory = regret(8, "ucbvi-simplified", multiplier=1.0)
    row = result.table.iloc[3]
    assert row["regret_at_1"] == pytest.approx(at_theory.mean())
    sweep = result.sweep
    assert len(sweep) == 4  # one tunable agent, two horizons, two multipliers
    assert sweep.groupby("horizon")["best"].sum().tolist() == [1, 1]


def test_the_table_states_mean_error_and_interval(result):
    row, values = result.table.iloc[5], result.cells[5].regret
    assert row["regret"] == pytest.approx(values.sum() / 6)
    assert row["standard_error"] == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 5 / 6))
    assert values.min() <= row["low"] < row["regret"] < row["high"] <= values.max()
    # A percentile bootstrap of six paths is somewhat narrower than the normal interval.
    assert 0.7 < (row["high"] - row["low"]) / (2 * 1.96 * row["standard_error"]) < 1.05


def cells(**regrets):
    return [Cell("e", 1, name, 1.0, np.array(values, dtype=float), None, {}) for name, values in regrets.items()]


def test_paired_tests_enumerate_signs_and_adjust_over_all_pairs():
    a, b, c = [1.0, 2.0, 3.0, 4.0], [1.5, 2.7, 3.1, 4.3], [9.0, 1.0, 5.0, 2.0]
    table = Comparison(tuple(cells(a=a, b=b, c=c)), 1, 4, 0).tests
    raw = []
    for x, y in itertools.combinations((a, b, c), 2):
        difference = np.subtract(x, y)
        flips = [abs(np.dot(signs, difference)) for signs in itertools.product((-1, 1), repeat=4)]
        raw.append(np.mean([flip >= abs(difference.sum()) - 1e-12 for flip in flips]))
    np.testing.assert_allclose(table["p_value"], raw)
    assert raw[0] == 2 / 16  # b is above a on all four paths
    # Holm by hand: the smallest p value times 3, the next times 2, the last times 1, never decreasing, at most 1.
    order = np.argsort(raw)
    by_hand = np.minimum(np.maximum.accumulate(np.array(raw)[order] * [3, 2, 1]), 1)
    np.testing.assert_allclose(table["adjusted"].to_numpy()[order], by_hand)
    np.testing.assert_allclose(
        table["difference"], [np.mean(a) - np.mean(b), np.mean(a) - np.mean(c), np.mean(b) - np.mean(c)]
    )


def test_many_pairs_can_still_be_told_apart():
    """With 30 agents and 435 pairs, differences on every one of 20 paths survive the adjustment."""
    rng = np.random.default_rng(0)
    many = cells(**{f"a{i}": 10.0 * i + rng.random(20) for i in range(30)})
    assert Comparison(tuple(many), 1, 20, 0).tests["adjusted"].max() < 0.05


def test_ranks_follow_the_means_and_ties_share():
    base = np.array([1.0, 2.0, 3.0, 4.0])
    table = Comparison(tuple(cells(worst=base + 5, best=base, second=base + 1, equal=base + 1)), 1, 4, 0).ranking
    assert table["agent"].tolist() == ["best", "second", "equal", "worst"]
    assert table["rank"].tolist() == [1, 2.5, 2.5, 4]
    # Differences that are the same on every path leave no doubt, however much the paths differ among themselves.
    np.testing.assert_array_equal(table["low"], table["rank"])
    np.testing.assert_array_equal(table["high"], table["rank"])
    assert table["chance_first"].tolist() == [1, 0, 0, 0]


def test_ranks_are_uncertain_where_paths_disagree():
    rng = np.random.default_rng(1)
    table = Comparison(tuple(cells(a=rng.random(40), b=rng.random(40))), 1, 40, 0).ranking
    assert table["low"].tolist() == [1, 1]
    assert table["high"].tolist() == [2, 2]
    assert 0.5 <= table["chance_first"].iloc[0] < 0.99
    assert table["chance_first"].sum() == pytest.approx(1)


def test_the_figure_has_a_panel_per_environment_and_a_row_per_agent(result):
    figure = result.figure()
    assert [axes.get_title() for axes in figure.axes] == ["riverswim-3, H = 4", "riverswim-3, H = 8"]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == result.ranking["agent"].tolist()[::-1]
    assert "at its multiplier, 95 % interval" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_markdown_has_a_row_per_agent(result):
    lines = result.markdown().splitlines()
    assert lines[0] == "| agent | rank | riverswim-3, H = 4 | riverswim-3, H = 8 |"
    assert len(lines) == 5
    assert f"{result.cells[5].regret.mean():.4g} [" in lines[-1]


def test_wrong_input_is_named_before_anything_runs(river):
    def run(environments, names, **options):
        comparison.compare(environments, names, episodes=5, **options)

    with pytest.raises(ValueError, match="at least one environment"):
        run([], ["random"])
    with pytest.raises(ValueError, match=r"no agent 'randon' \(did you mean 'random'"):
        run([river], ["optimal", "randon"])
    with pytest.raises(ValueError, match="Random is twice in riverswim-5"):
        run([river], ["random", "random"])
    with pytest.raises(ValueError, match="has its horizon already"):
        run([river], ["random"], horizons=[3])
    with pytest.raises(ValueError, match="needs a 'name'"):
        run([{"states": 3}], ["random"])


def test_the_command_prints_and_writes(tmp_path):
    app = typer.Typer()
    app.command()(command)
    arguments = ["-e", "riverswim:states=3,horizon=4", "-a", "random", "-a", "euler:multiplier=0.01"]
    done = CliRunner().invoke(app, [*arguments, "--episodes", "30", "--paths", "6", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "riverswim-3, H = 4, 30 episodes, 6 paths" in done.output
    expected = {"table.csv", "tests.csv", "ranking.csv", "sweep.csv", "table.md", "comparison.png", "comparison.pdf"}
    assert expected <= {path.name for path in tmp_path.iterdir()}
    assert "EULER" in (tmp_path / "table.md").read_text()
    wrong = CliRunner().invoke(app, ["-e", "riverswim:states", "-a", "random"])
    assert "name:key=value" in str(wrong.exception)
