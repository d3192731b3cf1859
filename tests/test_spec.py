"""Specs: what they expand to, what names them, and one sentence with its line for every mistake."""

import contextlib
import io
import os
import sys
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eluder.experiments import Grid, Part, Spec, SpecError, _toml, catalogue
from eluder.experiments.run import build_all, contents

GOOD = """\
name = "good"
episodes = 5
paths = 3

[[environment]]
name = "riverswim"
states = { grid = [3, 4] }
horizon = 6

[[agent]]  # the first
name = "ucrl-wvtr"
gamma = { grid = [0, 0.5] }
error_weights = [2, 1]

[[agent]]
name = "random"
label = "chance"
"""


def test_every_combination_is_one_series():
    series = Spec.from_toml(GOOD).series()
    assert len(series) == 2 * (2 + 1)
    found = {(dict(s.environment_params)["states"], s.agent, dict(s.agent_params).get("gamma")) for s in series}
    assert found == {(s, a, g) for s in (3, 4) for a, g in [("ucrl-wvtr", 0.0), ("ucrl-wvtr", 0.5), ("random", None)]}
    labels = {s.agent_label(s.build()) for s in series}
    assert labels == {"UCRL-WVTR (gamma = 0)", "UCRL-WVTR (gamma = 0.5)", "chance"}


def test_grids_over_any_field():
    spec = Spec.from_toml(GOOD.replace("episodes = 5", "episodes = { grid = [5, 9] }\nseed = { grid = [0, 1, 2] }"))
    assert len(spec.series()) == 6 * 2 * 3


def test_no_two_series_are_called_the_same():
    text = GOOD.replace("gamma = { grid = [0, 0.5] }", "gamma = 0.1\n\n[[agent]]\nname = 'ucrl-wvtr'\nridge = 0.5")
    text = text.replace("horizon = 6", "horizon = 6\n\n[[environment]]\nname = 'riverswim'\nleft_reward = 0.1")
    series = Spec.from_toml(text.replace("paths = 3", "seed = { grid = [0, 1] }")).series()
    rows = contents(series, build_all(series))
    names = [(row["environment"], row["states"], row["horizon"], row["agent"]) for row in rows]
    assert len(set(names)) == len(names) == 3 * 3 * 2
    agents = {row["agent"] for row in rows}
    assert "UCRL-WVTR (seed = 1) (gamma = 0.1, ridge = 0.001)" in agents
    assert "chance (seed = 0)" in agents


def test_toml_and_python_say_the_same():
    built = Spec(
        "good",
        environments=(Part.of("riverswim", states=Grid([3, 4]), horizon=6),),
        agents=(
            Part.of("ucrl-wvtr", gamma=Grid([0, 0.5]), error_weights=(2, 1)),
            Part.of("random", label="chance"),
        ),
        episodes=5,
        paths=3,
    )
    assert built == Spec.from_toml(GOOD)
    assert Spec.from_toml(built.to_toml()) == built
    with pytest.raises(AttributeError):
        built.paths = 4  # pyright: ignore


def identities(text: str) -> list[str]:
    return [series.id for series in Spec.from_toml(text).series()]


def test_a_series_is_named_by_what_its_numbers_depend_on():
    base = identities(GOOD)
    assert len(set(base)) == 6
    # Neither labels, lengths, the order of keys, nor 1 for 1.0 change a name.
    same = GOOD.replace("horizon = 6", "").replace('name = "riverswim"', 'horizon = 6\nname = "riverswim"')
    same = same.replace("chance", "luck").replace("episodes = 5", "episodes = 500").replace("paths = 3", "paths = 7")
    same = same.replace("[2, 1]", "[2.0, 1.0]").replace('name = "good"', 'name = "other"')
    assert identities(same) == base
    # A default written out is the same spec.
    assert identities(GOOD.replace("horizon = 6", "horizon = 6\nleft_reward = 0.005")) == base
    for old, new in [("horizon = 6", "horizon = 7"), ("[2, 1]", "[1, 2]"), ("paths = 3", "paths = 3\nseed = 1")]:
        assert not set(identities(GOOD.replace(old, new))) & set(base[:1])


def test_agents_that_need_the_number_of_episodes_get_the_specs():
    text = GOOD.replace('name = "random"\nlabel = "chance"', 'name = "ucbvi-bf"')
    (series, *_) = [s for s in Spec.from_toml(text).series() if s.agent == "ucbvi-bf"]
    assert dict(series.agent_params)["episodes"] == 5


def test_the_theorems_radius_by_name():
    text = GOOD.replace("gamma = { grid = [0, 0.5] }", 'beta = "theorem"')
    short, long = (Spec.from_toml(text.replace("= 5\n", f"= {k}\n")).series()[0] for k in (5, 50))
    assert callable(short.build().agent.beta)
    assert short.id != long.id  # the radius is set for a number of episodes


def test_the_catalogue_is_made_of_specs():
    specs = catalogue.catalogue()
    assert {"figure-2", "figure-4", "horizon"} <= set(specs)
    for name, spec in specs.items():
        assert Spec.from_toml(spec.to_toml()) == spec, name
        for series in spec.replace(episodes=2, paths=2).series():
            series.build()
    assert {dict(s.environment_params)["horizon"] for s in specs["figure-2"].series()} == {20, 100}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("episodes = 5", "episode = 5", r"line 2: a spec has no field 'episode' \(did you mean 'episodes'\?\)"),
        ("horizon = 6", "horzon = 6", r"line 8: .* no parameter 'horzon' \(did you mean 'horizon'\?\)"),
        ("riverswim", "riverswin", r"line 6: there is no environment 'riverswin' \(did you mean 'riverswim'\?\)"),
        ('"ucrl-wvtr"', '"ucrl-wtvr"', r"line 11: there is no agent 'ucrl-wtvr' \(did you mean 'ucrl-wvtr'\?\)"),
        ("episodes = 5", "episodes = 0", "line 2: episodes must be between 1 and"),
        ("episodes = 5", "episodes = 5.5", r"line 2: episodes must be a whole number, but is 5\.5"),
        ("paths = 3", "paths = true", "line 3: paths must be a whole number"),
        ("paths = 3", "paths = 3\nseed = 99999999999999999999", "line 4: seed must fit into 64 bits"),
        ("horizon = 6", 'horizon = "6"', "line 8: horizon must be a whole number"),
        (
            "horizon = 6",
            "horizon = [6, 7]",
            r"line 8: horizon must be one value \(for several, write",
        ),
        ("{ grid = [3, 4] }", "{ gird = [3, 4] }", "line 7: states must be a value, or several as"),
        ("{ grid = [3, 4] }", "{ grid = [] }", "line 7: the grid of states must be a list of at least one"),
        ("{ grid = [0, 0.5] }", "nan", "line 12: gamma must be a finite number"),
        ("{ grid = [0, 0.5] }", '"theorem"', "line 12: gamma must be a number"),
        ("[[agent]]  # the first", "[agent]", r"not valid TOML|must be written as one or more tables"),
        ('name = "good"', 'name = "../good"', "line 1: name must be up to 64 letters"),
        ('name = "good"', 'name = "<script>"', "line 1: name must be up to 64 letters"),
        ('name = "good"\n', "", "the field 'name' is missing"),
        (
            "paths = 3",
            'paths = 3\nrecord = ["tracee"]',
            r"line 4: there is no record 'tracee' \(did you mean 'trace'\?\)",
        ),
        ("paths = 3", "paths = ", "not valid TOML: Invalid value .at line 3"),
        ("grid = [3, 4]", f"grid = {list(range(2, 20000))}", "combinations, more than 10000"),
    ],
)
def test_mistakes_are_told_with_their_line(old, new, message):
    assert old in GOOD
    with pytest.raises(SpecError, match=message):
        Spec.from_toml(GOOD.replace(old, new, 1), "good.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 6", "horizon = 0", "good, line 5: ucrl-wvtr on riverswim: horizon must be"),
        ("[0, 0.5]", "[-1, 0.5]", "good, line 10: ucrl-wvtr on riverswim: gamma must be"),
        ("[2, 1]", "[2, 1, 0]", "good, line 10"),
    ],
)
def test_values_that_cannot_be_built(old, new, message):
    series = Spec.from_toml(GOOD.replace(old, new)).series()[0]
    with pytest.raises(SpecError, match=message):
        series.build()


def test_lines_of_odd_but_valid_toml():
    text = 'a = """\n[[x]]\nb = 1\n"""\n"odd key" = [\n 1, # ]\n 2]\n\n[[ x ]]\nc.d = {e = "}"}\n[x.y]\nf = 1\n[[x]]\n'
    tomllib.loads(text)
    lines = _toml.key_lines(text)
    expected = {("a",): 1, ("odd key",): 5, ("x", 0): 9, ("x", 0, "c", "d"): 10, ("x", 0, "y", "f"): 12, ("x", 1): 13}
    assert {path: lines[path] for path in expected} == expected
    assert ("b",) not in lines


def test_spec_files_that_cannot_be_read(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "long.toml").write_bytes(b"#" * 2_000_000)
    for name, message in [("binary", "not a text file"), ("long", "longer than"), ("none", "There is no spec file")]:
        with pytest.raises(SpecError, match=message):
            Spec.read(tmp_path / f"{name}.toml")
    with pytest.raises(SpecError, match="cannot be read"):
        Spec.read(tmp_path)
    with pytest.raises(SpecError, match=r"did you mean 'figure-2'"):
        catalogue.find("figure2")


# Malformed specs, made from a good one by a mistake somewhere.

_junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)


def _good_table() -> dict:
    return tomllib.loads(GOOD)


@st.composite
def misspelt(draw):
    table = _good_table()
    where = draw(st.sampled_from([table, table["environment"][0], *table["agent"]]))
    key = draw(st.text(min_size=1, max_size=15).filter(lambda k: k not in _KNOWN))
    where[key] = draw(_junk.filter(lambda v: v is not None))
    return table


_KNOWN = {"title", "seed", "record", "paths", "label", "normalised", "left_reward", "variant", "name", "episodes"}
_KNOWN |= {"levels", "ridge", "sigma_min", "beta", "model", "rare_replanning", "unknown_rewards", "multiplier"}
_KNOWN |= {"allow_misspecified", "states", "horizon", "gamma", "error_weights", "environment", "agent"}


@st.composite
def missing(draw):
    table = _good_table()
    key = draw(st.sampled_from(["name", "episodes", "environment", "agent", "inner"]))
    if key == "inner":
        del draw(st.sampled_from([table["environment"][0], *table["agent"]]))["name"]
    else:
        del table[key]
    return table


@st.composite
def wrong_value(draw):
    table = _good_table()
    river, agent = table["environment"][0], table["agent"][0]
    not_whole = st.one_of(st.floats(), st.text(max_size=10), st.booleans(), st.lists(st.integers(), min_size=1))
    choices = [
        (table, "episodes", not_whole | st.integers(max_value=0) | st.integers(min_value=10**10)),
        (table, "paths", not_whole | st.integers(max_value=0) | st.integers(min_value=10**8)),
        (table, "seed", not_whole | st.integers(min_value=2**63)),
        (table, "name", st.integers() | st.text().map(lambda t: t + "/") | st.just("")),
        (table, "record", st.text() | st.lists(st.integers(), min_size=1) | st.lists(st.text(max_size=4), min_size=1)),
        (table, "agent", st.integers() | st.text() | st.lists(st.integers())),
        (river, "name", st.integers() | st.text()),
        (river, "states", not_whole | st.integers(max_value=1)),
        (river, "horizon", not_whole | st.integers(max_value=0)),
        (river, "normalised", st.integers() | st.text()),
        (river, "variant", st.integers() | st.text(max_size=4)),
        (agent, "gamma", st.text() | st.booleans() | st.sampled_from([float("nan"), float("inf"), -1.0])),
        (agent, "levels", not_whole | st.integers(max_value=-1)),
        (agent, "beta", st.text(max_size=6) | st.just(float("-inf"))),
        (agent, "error_weights", st.integers() | st.text() | st.lists(st.text(min_size=1), min_size=2, max_size=2)),
        (agent, "label", st.integers() | st.text(min_size=201, max_size=300)),
    ]
    where, key, values = draw(st.sampled_from(choices))
    where[key] = draw(values)
    return table


@st.composite
def broken_text(draw):
    """Cut off, or with characters thrown in, so that no valid spec is left."""
    at = draw(st.integers(0, len(GOOD.rstrip()) - 120))
    return draw(st.sampled_from([GOOD[:at], GOOD[:at] + "\n= =\n" + GOOD[at:], draw(st.text(max_size=100))]))


def _text(table: dict) -> str:
    return _toml.dumps(table)


malformed = st.one_of(misspelt().map(_text), missing().map(_text), wrong_value().map(_text), broken_text())


def command_line(*arguments: str) -> tuple[int, str, str]:
    """What `eluder …` ends with: exit code, standard output, standard error."""
    from eluder.cli import console, main

    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    console.console.file, console.errors.file, sys.argv = out, err, ["eluder", *arguments]
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
            main()
    finally:
        # Back to whatever standard output is at the time.
        console.console._file = console.errors._file = None
        sys.argv = argv
    code = ended.value.code
    return (code if isinstance(code, int) else 0), out.getvalue(), err.getvalue()


# 10000 take minutes; see docs/experiments.md.
EXAMPLES = int(os.environ.get("ELUDER_MALFORMED_SPECS", "600")) // 20


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(texts=st.lists(malformed, min_size=20, max_size=20))
def test_malformed_specs(tmp_path_factory, texts):
    """Each ends with exit code 2 and one sentence."""
    file = tmp_path_factory.getbasetemp() / "malformed.toml"
    for text in texts:
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        code, out, err = command_line("show", str(file), "--no-estimate")
        assert code == 2, (text, out, err)
        assert err.startswith("Error: "), text
        assert err.count("\n") == 1, (text, err)
        assert "Traceback" not in err


def test_show_and_list(tmp_path):
    file = tmp_path / "good.toml"
    file.write_text(GOOD.replace("chance", "[red]<b>chance</b>"))
    code, out, _ = command_line("show", str(file), "--no-estimate")
    assert code == 0
    assert "[red]<b>chance</b>" in out
    assert "6 series, 0.00054 M steps." in out  # 6 × 5 episodes × 3 paths × 6 steps
    code, out, _ = command_line("list")
    assert "figure-2" in out
    assert "ucbvi-bf" in out


def test_show_estimates_the_time(tmp_path):
    file = tmp_path / "good.toml"
    file.write_text(
        GOOD.replace("grid = [3, 4]", "grid = [3]").replace('name = "ucrl-wvtr"', 'name = "ucrl-wvtr"\nlevels = 0')
    )
    code, out, _ = command_line("show", str(file))
    assert code == 0
    assert "about 0 seconds on this machine's" in out
