"""docs/environments.md tells the truth: its optima, its pictures, its code; and pictures show what the MDP does."""

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from eluder import environments
from eluder.report import graph
from eluder.report.layout import fitting, positions

PAGE = Path(__file__).parents[1] / "docs" / "environments.md"
TEXT = PAGE.read_text()
CLAIMS = re.findall(r"^- `environments\.(\w+)\((.*?)\)`: V\* = ([\d.]+)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("function", "arguments", "claim"), CLAIMS)
def test_optima(function, arguments, claim):
    call = ast.parse(f"f({arguments})", mode="eval").body
    assert isinstance(call, ast.Call)
    params = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    mdp = environments.make(function, **params)
    value, kernel = np.zeros(mdp.states), mdp.dense_kernel()
    for rewards in np.broadcast_to(mdp.rewards, (mdp.horizon, mdp.states, mdp.actions))[::-1]:
        value = (rewards + kernel @ value).max(axis=1)
    value = np.asarray(mdp.start) @ value - mdp.reward_offset * mdp.horizon
    digits = len(claim.partition(".")[2])
    assert value == pytest.approx(float(claim), abs=0.51 * 10**-digits)


def test_every_environment_has_its_optimum_and_its_picture():
    assert {function.replace("_", "-") for function, _, _ in CLAIMS} == set(environments.names())
    shown = set(re.findall(r"\(figures/environments/([\w-]+)\.svg\)", TEXT))
    assert shown == set(graph.gallery())
    for name in shown:
        assert (PAGE.parent / "figures" / "environments" / f"{name}.svg").is_file()


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_code_runs(code):
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})


@pytest.mark.parametrize("name", ["two-state", "hard-tree"])
def test_pictures_are_rebuilt_alike(tmp_path, capsys, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.main([str(tmp_path), "--only", name]) == 0
        first = (tmp_path / f"{name}.svg").read_bytes()
        graph.main([str(tmp_path), "--only", name])
    assert (tmp_path / f"{name}.svg").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.svg"]
    assert capsys.readouterr().out.split() == [str(tmp_path / f"{name}.svg")] * 2


def test_arrows_of_the_river():
    """What is drawn, by hand: chances, and rewards on the likeliest arrow of their pair."""
    drawn = {arrow[:3]: (arrow.high, arrow.paid) for arrow in graph.arrows(environments.riverswim(states=3))}
    assert drawn == {
        (0, 0, 0): (1.0, 0.005),
        (0, 0, 1): (pytest.approx(0.1), 0.0),
        (0, 1, 1): (pytest.approx(0.9), 0.0),
        (1, 0, 0): (1.0, 0.0),
        (1, 0, 1): (pytest.approx(0.05), 0.0),
        (1, 1, 1): (pytest.approx(0.05), 0.0),
        (1, 2, 1): (pytest.approx(0.9), 0.0),
        (2, 1, 0): (1.0, 0.0),
        (2, 1, 1): (pytest.approx(0.1), 0.0),
        (2, 2, 1): (pytest.approx(0.9), 1.0),
    }


def test_many_actions_are_bundled():
    drawn = {arrow[:3]: arrow for arrow in graph.arrows(environments.lower_bound())}
    reach = np.asarray(environments.lower_bound().dense_kernel())[0, :, 2]
    assert drawn.keys() == {(0, 1, None), (0, 2, None), (1, 1, None), (2, 2, None)}
    assert drawn[0, 2, None].low == pytest.approx(reach.min())
    assert drawn[0, 2, None].high == pytest.approx(reach.max())
    assert drawn[0, 2, None].label == f"{reach.min():.3g} to {reach.max():.3g}"


def test_what_is_paid_is_in_original_units():
    drawn = graph.arrows(environments.deep_sea(4, seed=None))
    paid = {arrow[:3]: arrow.paid for arrow in drawn}
    assert paid[0, 2, 1] == -0.0025  # to the right
    assert paid[0, 1, 0] == 0.0
    assert [arrow.label for arrow in drawn if arrow[:3] == (0, 2, 1)] == ["−0.0025"]


def test_layouts():
    wanted = {
        "riverswim": "line",
        "deep-sea": "grid",
        "grid-world": "grid",
        "wide-tree": "layers",
        "hard-tree": "layers",
        "garnet": "circle",
    }
    for name, layout in wanted.items():
        mdp = environments.make(name)
        assert fitting(mdp) == layout
        places = positions(mdp)
        gaps = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(mdp.states)
        assert gaps.min() > 2 * 0.3, name  # nodes of this radius do not overlap
    tree = environments.wide_tree()
    assert list(positions(tree)[:, 0] / 1.8) == [0, 1, 1, *[2] * 8]


def test_nothing_overlaps_in_the_gallery():
    for name, (mdp, how) in graph.gallery().items():
        places = positions(mdp, how.get("layout", "auto"))
        gaps = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(mdp.states)
        assert gaps.min() > 2 * 0.3, name


def test_mistakes():
    with pytest.raises(ValueError, match="has 466 states, too many for a picture"):
        graph.draw(environments.deep_sea(30, seed=None), hide=["end"])
    with pytest.raises(ValueError, match="layout must be 'auto' or one of 'line'"):
        graph.draw(environments.riverswim(), layout="heap")
    with pytest.raises(ValueError, match=r"Positions must have the shape \(5, 2\)"):
        graph.draw(environments.riverswim(), layout=np.zeros((3, 2)))
