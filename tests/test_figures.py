"""Figures by their data and their text, not their pixels."""

import csv

import numpy as np
import pytest
from matplotlib import pyplot as plt

import eluder
from eluder.report import figures, statistics, style
from eluder.report.series import Series


@pytest.fixture(scope="module")
def results():
    found = []
    for horizon in (6, 12):
        river = eluder.environments.riverswim(states=4, horizon=horizon)
        agents = [eluder.agents.Random(), eluder.agents.UCRLWVTR(river.linear_mixture())]
        found += [eluder.simulate(river, agent, episodes=30, paths=4) for agent in agents]
    return found


def lines(panel) -> dict[str, np.ndarray]:
    named = (line for line in panel.get_lines() if not line.get_label().startswith("_"))
    return {line.get_label(): line.get_xydata() for line in named}


def texts(figure) -> list[str]:
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


@pytest.mark.parametrize("kind", statistics.BANDS)
def test_regret_lines_and_bands_are_the_results(results, kind):
    figure = figures.regret(results, band=kind)
    assert [panel.get_title() for panel in figure.axes] == ["riverswim-4, H = 6", "riverswim-4, H = 12"]
    for result, panel in zip(results, np.repeat(figure.axes, 2), strict=True):
        curves = np.cumsum(result.regret, axis=1)
        drawn = lines(panel)[result.agent]
        assert np.allclose(drawn[:, 0], np.arange(1, 31))
        assert np.allclose(drawn[:, 1], curves.mean(axis=0))
    rows = [row for row in style.numbers(figure) if row["line"] == "Random" and "H = 6" in str(row["panel"])]
    truth = statistics.band(np.cumsum(results[0].regret, axis=1), kind)
    assert np.allclose([row["low"] for row in rows], truth.low)
    assert np.allclose([row["high"] for row in rows], truth.high)


def test_axes_say_what_they_show_in_which_units(results):
    figure = figures.regret(results)
    assert figure.axes[0].get_ylabel() == "cumulative regret\n(reward units)"
    assert figure.axes[0].get_xlabel() == "episode"
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    assert sorted(texts(figure)) == ["Random", "UCRL-WVTR"]
    figure = figures.regret(results, normalised=True, log=False)
    assert "total reward at most 1" in figure.axes[0].get_ylabel()
    river = eluder.environments.riverswim(states=4, horizon=6)
    truth = np.cumsum(results[0].regret, axis=1).mean(axis=0) / river.reward_scale
    assert np.allclose(lines(figure.axes[0])["Random"][:, 1], truth)


def test_average_return_has_the_optimum(results):
    figure = figures.average_return(results[:2])
    drawn = lines(figure.axes[0])["Random"][:, 1]
    assert np.allclose(drawn, (np.cumsum(results[0].returns, axis=1) / np.arange(1, 31)).mean(axis=0))
    optimum = float(eluder.environments.riverswim(states=4, horizon=6).solve().values[0, 0])
    level = next(line for line in figure.axes[0].get_lines() if line.get_label().startswith("_"))
    assert np.allclose(level.get_ydata(), optimum)
    assert "optimum" in [text.get_text() for text in figure.axes[0].texts]


def test_regret_against_the_horizon_is_normalised(results):
    figure = figures.against_horizon(results)
    drawn = lines(figure.axes[0])["Random"]
    assert drawn[:, 0].tolist() == [6, 12]
    # The river pays at most 1 a step, so its scale is H.
    truth = [results[0].regret.sum(axis=1).mean() / 6, results[2].regret.sum(axis=1).mean() / 12]
    assert np.allclose(drawn[:, 1], truth)
    assert figure.axes[0].get_xlabel() == "horizon H (steps)"


def test_heat_map_holds_the_means_and_leaves_gaps_empty(results):
    figure = figures.heat_map(results[:3])
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (2, 2)
    agents = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    where = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert where == ["riverswim-4, H = 6", "riverswim-4, H = 12"]
    at = agents.index("Random"), agents.index("UCRL-WVTR")
    assert image[at[0], 0] == pytest.approx(results[0].regret.sum(axis=1).mean())
    assert image[at[0], 1] == pytest.approx(results[2].regret.sum(axis=1).mean())
    assert image.mask[at[1], 1]  # this pair was not run


def test_the_numbers_are_saved_beside_the_figure(results, tmp_path):
    written = figures.save(figures.regret(results), tmp_path / "two.5 agents")
    assert [path.name for path in written] == ["two.5 agents.png", "two.5 agents.pdf", "two.5 agents.csv"]
    with written[-1].open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 30
    last = [row for row in rows if row["line"] == "UCRL-WVTR" and row["panel"].startswith("riverswim-4, H = 12")][-1]
    assert float(last["mean"]) == pytest.approx(results[3].regret.sum(axis=1).mean(), rel=1e-12)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    assert plt.get_fignums() == []


def test_the_same_data_give_the_same_files(results, tmp_path):
    first = figures.save(figures.regret(results), tmp_path / "a")
    second = figures.save(figures.regret(results), tmp_path / "b")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def overlaps(figure) -> list[tuple[str, str]]:
    """Pairs of texts of a figure that cover each other, and texts outside of it."""
    figure.draw_without_rendering()
    found = [t for legend in figure.legends for t in legend.get_texts()]
    for panel in figure.axes:
        if panel.get_visible():
            found += [*panel.texts, panel.title, panel.xaxis.label, panel.yaxis.label]
            # Only ticks inside the limits are drawn.
            found += [t.label1 for axis in (panel.xaxis, panel.yaxis) for t in axis._update_ticks()]
            found += [t.label2 for axis in (panel.xaxis, panel.yaxis) for t in axis._update_ticks()]
    found = [t for t in found if t.get_visible() and t.get_text().strip()]
    # Slanted names stand a line of text apart, though the boxes around them meet.
    slanted = sorted(t.get_window_extent().x1 for t in found if t.get_rotation() == 30)
    assert all(np.diff(slanted) > 9 * figure.dpi / 72)
    shown = [(t.get_text(), t.get_window_extent()) for t in found if t.get_rotation() != 30]
    inside = figure.bbox.padded(1)
    pairs = [(a, "the edge") for a, box in shown if not (inside.x0 <= box.x0 and box.x1 <= inside.x1)]
    for i, (a, first) in enumerate(shown):
        for b, second in shown[i + 1 :]:
            wide = min(first.x1, second.x1) - max(first.x0, second.x0)
            high = min(first.y1, second.y1) - max(first.y0, second.y0)
            if wide > 1 and high > 1:
                pairs.append((a, b))
    return pairs


@pytest.mark.parametrize("width", style.WIDTHS)
@pytest.mark.parametrize("draw", [figures.regret, figures.average_return, figures.against_horizon, figures.heat_map])
def test_no_text_covers_another_at_any_width(results, draw, width):
    figure = draw(results, width=width)
    assert overlaps(figure) == []


def test_lines_carry_their_names_where_there_is_room(results):
    close = [Series.of(results[0], agent=f"agent {i}")._replace(optimal_value=1.0) for i in range(5)]
    close = [one._replace(regret=one.regret * (1 + 0.001 * i)) for i, one in enumerate(close)]
    figure = figures.regret(close, width="wide")  # five lines that end in the same place
    assert figure.legends == []
    assert sorted(t.get_text() for t in figure.axes[0].texts) == [f"agent {i}" for i in range(5)]
    assert overlaps(figure) == []
    many = [Series.of(results[0], agent=f"agent {i}") for i in range(40)]
    figure = figures.regret(many, width="wide")
    assert len(texts(figure)) == 40


def test_a_slide_is_wide_and_sharp(results, tmp_path):
    written = figures.save(figures.regret(results[:2], width="slide"), tmp_path / "slide")
    assert plt.imread(written[0]).shape[:2] == (1080, 1920)
    with pytest.raises(ValueError, match="'poster'"):
        figures.regret(results, width="poster")


def test_the_users_own_style_is_left_alone(results):
    before = plt.rcParams["font.size"]
    figures.regret(results[:1])
    assert plt.rcParams["font.size"] == before


def test_a_notebook_shows_a_figure_once(results):
    """As a PNG of its own; pyplot, which notebooks ask for open figures, knows nothing of it."""
    shown = figures.regret(results)._repr_png_()
    assert shown.startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_an_experiment_is_drawn_in_its_own_way(results):
    of_four = [Series.of(result, experiment="figure-4") for result in results]
    figure = figures.draw("figure-4", of_four)
    assert len(figure.axes) == 4
    with pytest.raises(ValueError, match="no results of 'figure-2'"):
        figures.draw("figure-2", of_four)


def test_dollar_signs_in_names_begin_no_formula(tmp_path):
    """A name that would be a broken formula is drawn as it stands, in figures and in notebooks."""
    river = eluder.environments.riverswim(states=3, horizon=4)
    result = eluder.simulate(river, eluder.agents.Random(), episodes=4, paths=2)
    named = result._replace(agent=r"c $\frac{$ d", environment=r"e $\frac{$")
    assert "frac" in named._repr_html_()
    assert all(path.stat().st_size for path in figures.save(figures.regret([named]), tmp_path / "named"))
