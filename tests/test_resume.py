"""A run that is killed, stopped or split among processes ends with the same bytes as an unbroken one."""

import csv
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from test_spec import command_line

import eluder
from eluder.experiments import Grid, Part, Spec, catalogue
from eluder.experiments.results import curves
from eluder.experiments.run import Events, prepare, run, run_spec
from eluder.experiments.store import Store

SMALL = Spec(
    "small",
    environments=(Part.of("riverswim", states=4, horizon=Grid([6, 9])),),
    agents=(Part.of("ucrl-wvtr", levels=1), Part.of("random")),
    episodes=60,
    paths=5,
)


def results(folder) -> dict[str, bytes]:
    """All finished results and final states by name: names carry checksums, so equal bytes have equal names."""
    root = Path(folder)
    files = [*root.rglob("cells/**/*.parquet"), *root.rglob("cells/**/*.state")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def interrupted_run(spec, out, steps, **options):
    """Runs until so many steps were taken, then stops as Ctrl-C would."""
    stop, taken = threading.Event(), 0

    def advanced(count):
        nonlocal taken
        taken += count
        if taken >= steps:
            stop.set()

    job = prepare(spec, out, block=4)
    return run(job, Events(advanced=advanced), stop=stop, checkpoint_seconds=0, **options)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    out = tmp_path_factory.mktemp("unbroken")
    assert run_spec(SMALL, str(out), block=4)
    return out / "small"


def test_the_store_holds_what_simulate_returns(unbroken):
    """The numbers are those of `simulate`, to the bit, whatever the blocks."""
    river = eluder.environments.riverswim(states=4, horizon=9)
    agent = eluder.agents.UCRLWVTR(river.linear_mixture(), levels=1)
    expected = eluder.simulate(river, agent, episodes=60, paths=5)
    stored = next(c for c in curves(Store.open(unbroken)) if c.horizon == 9 and c.agent == agent.label)
    np.testing.assert_array_equal(stored.columns["regret"], expected.regret)
    np.testing.assert_array_equal(stored.columns["return"], expected.returns)
    np.testing.assert_array_equal(stored.cumulative_regret, np.cumsum(expected.regret, axis=1))
    np.testing.assert_array_equal(stored.optimal_value, expected.optimal_value)


def test_stopping_and_going_on_leaves_no_trace(tmp_path, unbroken):
    for steps in (1, 300, 1500, 4000):
        interrupted_run(SMALL, str(tmp_path), steps, workers=1)
    assert run_spec(SMALL, str(tmp_path), block=4, workers=2)
    assert results(tmp_path / "small") == results(unbroken)
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("*.lock"))


def test_longer_and_wider_runs_compute_only_what_is_missing(tmp_path):
    short = SMALL.replace(episodes=20, paths=3)
    run_spec(short, str(tmp_path), block=4)
    before = results(tmp_path / "small")
    taken = []
    run_spec(SMALL, str(tmp_path), block=4, events=Events(advanced=taken.append))
    steps = sum(series.build().environment.horizon for series in SMALL.series())
    assert sum(taken) == steps * (5 * 60 - 3 * 20)
    after = results(tmp_path / "small")
    assert {k: v for k, v in before.items() if k.endswith("parquet")}.items() <= after.items()
    fresh = tmp_path / "fresh"
    run_spec(SMALL, str(fresh), block=4)
    for one, other in zip(curves(Store.open(tmp_path / "small")), curves(Store.open(fresh / "small")), strict=True):
        assert one.complete
        for name, values in other.columns.items():
            np.testing.assert_array_equal(one.columns[name], values)


def test_fewer_episodes_than_stored_are_not_computed_again(tmp_path, unbroken):
    taken = []
    out = str(unbroken.parent)
    run_spec(SMALL.replace(episodes=40, paths=2), out, block=4, events=Events(advanced=taken.append))
    assert not taken
    assert all(c.episodes[-1] == 40 and c.paths == 2 for c in curves(Store.open(unbroken)))
    run_spec(SMALL, out, block=4)


def test_a_changed_spec_overwrites_nothing(tmp_path):
    run_spec(SMALL.replace(episodes=10), str(tmp_path), block=4)
    before = results(tmp_path / "small")
    changed = SMALL.replace(episodes=10, agents=(Part.of("ucrl-wvtr", levels=1, gamma=0.25), Part.of("random")))
    taken = []
    run_spec(changed, str(tmp_path), block=4, events=Events(advanced=taken.append))
    assert before.items() <= results(tmp_path / "small").items()
    assert sum(taken) == (6 + 9) * 10 * 5  # the random agent's results were there


SCRIPT = """
import sys
from eluder.experiments import Spec
from eluder.experiments.run import Events, prepare, run
spec, out, seconds = Spec.read(sys.argv[1]), sys.argv[2], float(sys.argv[3])
job = prepare(spec, out, block=4)
print("ready", flush=True)
steps = []
run(job, Events(advanced=steps.append), checkpoint_seconds=seconds, workers=2)
print("steps", sum(steps), flush=True)
"""


MAIN = "from eluder.cli import main; main()"


def start(spec_file, out, seconds=0.0):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(spec_file), str(out), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_kills_at_random_moments(tmp_path):
    """The short version of benchmarks/kill_test.py."""
    spec = SMALL.replace(episodes=400)
    file = tmp_path / "small.toml"
    file.write_text(spec.to_toml())
    random.seed(3)
    killed = 0
    for _ in range(4):
        process = start(file, tmp_path / "killed")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.uniform(0.2, 2.5))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        process.communicate()
    assert killed
    process = start(file, tmp_path / "killed")
    assert process.wait() == 0, process.communicate()[1]
    process.communicate()
    run_spec(spec, str(tmp_path / "unbroken"), block=4)
    assert results(tmp_path / "killed") == results(tmp_path / "unbroken")


def test_two_processes_share_the_work(tmp_path):
    spec = SMALL.replace(episodes=300)
    file = tmp_path / "small.toml"
    file.write_text(spec.to_toml())
    processes = [start(file, tmp_path / "shared", 0.5) for _ in range(2)]
    taken = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        taken.append(int(out.split()[-1]))
    steps = sum(series.build().environment.horizon for series in spec.series())
    assert sum(taken) == steps * 300 * 5  # nothing twice
    run_spec(spec, str(tmp_path / "alone"), block=4)
    assert results(tmp_path / "shared") == results(tmp_path / "alone")


def test_ctrl_c_says_how_to_go_on(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace(episodes=10**6).to_toml())
    command = [sys.executable, "-c", MAIN, "run", str(file), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("*.lock")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "To go on: eluder run" in err
    assert "Traceback" not in err
    assert not list(tmp_path.rglob("*.lock"))
    assert os.listdir(tmp_path / "out") == ["small"]


def test_reproduce_goes_on_and_draws(tmp_path, monkeypatch):
    """The command that draws the paper's figures, on a short version of the first."""
    whole = catalogue.get
    monkeypatch.setattr(catalogue, "get", lambda name: whole(name).replace(episodes=25))
    interrupted_run(catalogue.get("figure-2").replace(paths=2), str(tmp_path), 500, workers=1)
    code, out, err = command_line("reproduce", "figure-2", "--paths", "2", "--out", str(tmp_path))
    assert code == 0, err
    assert "UCRL-WVTR without HOME" in out
    for name in ("figure-2.png", "figure-2.pdf", "episodes.parquet"):
        assert (tmp_path / name).stat().st_size > 1000
    with (tmp_path / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    river = eluder.environments.riverswim(states=5, horizon=20)
    regret = eluder.simulate(river, eluder.agents.Random(), episodes=25, paths=2).regret.sum(axis=1)
    row = next(row for row in rows if row["agent"] == "Random" and row["horizon"] == "20")
    assert float(row["regret_mean"]) == pytest.approx(regret.mean(), rel=1e-12)
    assert float(row["regret_std"]) == pytest.approx(regret.std(ddof=1), rel=1e-12)
    columns = "experiment environment states horizon episodes paths agent optimal_value regret_mean regret_std "
    assert list(row) == (columns + "average_return seconds steps_per_second").split()


def test_a_shorter_run_leaves_a_longer_one_where_it_is(tmp_path):
    """What a stopped run has done is neither lost nor done again when fewer episodes are asked for in between."""
    one = SMALL.replace(environments=(Part.of("riverswim", states=4, horizon=6),), agents=(Part.of("random"),), paths=2)
    interrupted_run(one.replace(episodes=400), str(tmp_path), 6 * 2 * 60, workers=1)
    before = {path.name for path in tmp_path.rglob("*.state")}
    assert before
    assert run_spec(one.replace(episodes=5), str(tmp_path), block=4, workers=1)
    assert {path.name for path in tmp_path.rglob("*.state")} == before
    simulated = eluder.simulate(
        eluder.environments.riverswim(states=4, horizon=6), eluder.agents.Random(), episodes=5, paths=2
    )
    stored = eluder.load(tmp_path / "small")
    assert stored.episode.max() == 5
    np.testing.assert_array_equal(stored.regret, simulated.regret.ravel())


def test_paths_keep_their_numbers_when_some_are_missing(tmp_path):
    one = SMALL.replace(environments=(Part.of("riverswim", states=4, horizon=6),), agents=(Part.of("random"),), paths=6)
    assert run_spec(one, str(tmp_path), block=2, workers=1)
    whole = eluder.load(tmp_path / "small")
    first = min((tmp_path / "small").rglob("cells/**/*.parquet"), key=lambda path: str(path))
    gone = set(whole.path)
    first.unlink()
    rest = eluder.load(tmp_path / "small")
    gone -= set(rest.path)
    assert len(gone) == 2
    kept = whole[~whole.path.isin(gone)]
    np.testing.assert_array_equal(rest.path, kept.path)
    np.testing.assert_array_equal(rest.regret, kept.regret)
