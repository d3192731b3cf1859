"""The store: damage is found and healed, hostile files do nothing, full disks lose nothing, locks hold."""

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_resume import results

import eluder
from eluder.experiments import Part, Spec, encoding, files, locks, thinning, work
from eluder.experiments.encoding import Damaged, Records
from eluder.experiments.files import LocalFiles, StoreError
from eluder.experiments.results import curves
from eluder.experiments.run import Events, prepare, run_spec
from eluder.experiments.store import Store

SPEC = Spec(
    "tiny",
    environments=(Part.of("riverswim", states=3, horizon=5),),
    agents=(Part.of("ucrl-wvtr", levels=1), Part.of("random", label="<b>[red]Random[/red]</b>")),
    episodes=30,
    paths=4,
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    out = tmp_path_factory.mktemp("pristine")
    run_spec(SPEC, str(out), block=3)
    return out


@pytest.fixture
def copy(pristine, tmp_path):
    shutil.copytree(pristine, tmp_path / "copy")
    return tmp_path / "copy"


def stored_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and "damaged" not in p.parts and "locks" not in p.parts)


def test_layout_and_provenance(pristine):
    root = pristine / "tiny"
    assert Spec.read(root / "spec.toml") == SPEC
    cells = list(root.glob("cells/*/*/*.parquet"))
    assert len(cells) == 4  # two agents, paths 0…2 and 3
    for path in cells:
        stem, checksum, _ = path.name.split(".")
        assert stem == "0000000000-0000000030"
        assert checksum == encoding.digest(path.read_bytes())
        meta = json.loads(pq.read_schema(path).metadata[b"eluder"])
        assert meta["schema"] == encoding.SCHEMA
    provenance = encoding.decode_json(next(root.glob("cells/*/*/*.json")).read_bytes())
    assert provenance["backend"] == "cpu"
    assert provenance["precision"] == "float64"
    assert provenance["versions"]["eluder"] == eluder.__version__
    assert provenance["seconds"] > 0


def test_load_returns_one_tidy_table(pristine):
    table = eluder.load(pristine)
    assert len(table) == 2 * 4 * 30
    assert list(table["agent"].unique()) == ["UCRL-WVTR without HOME", "<b>[red]Random[/red]</b>"]
    one = table[(table["agent"] == "UCRL-WVTR without HOME") & (table["path"] == 2)]
    np.testing.assert_array_equal(one["episode"], np.arange(1, 31))
    np.testing.assert_array_equal(one["regret"].cumsum(), one["cumulative_regret"])
    assert table.equals(eluder.load(pristine / "tiny"))


def test_nothing_to_load(tmp_path):
    with pytest.raises(StoreError, match="holds no results"):
        eluder.load(tmp_path)


def damage(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(data))
    else:
        path.write_bytes(bytes(data[: rng.randrange(len(data))]))


def test_random_damage_is_found_and_healed(copy, pristine):
    """Bit flips and truncations at random places, in every kind of file."""
    rng = random.Random(1)
    whole = results(pristine)
    for _ in range(40):
        target = rng.choice(stored_files(copy))
        name = target.name
        damage(target, rng)
        reports = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                seen = eluder.load(copy)
                assert len(seen) <= 2 * 4 * 30
            except StoreError as error:
                reports.append(str(error))
            if not name.endswith("state"):  # states are not read here
                assert caught or reports, name
        reports = []
        run_spec(SPEC, str(copy), block=3, events=Events(damaged=reports.append))
        assert len(reports) == 1, name
        assert name in reports[0]
        assert results(copy) == whole
    assert (copy / "tiny" / "damaged").is_dir()


def test_damaged_states_are_found_when_a_run_is_extended(copy, tmp_path):
    for path in copy.rglob("*.state"):
        damage(path, random.Random(2))
    reports = []
    longer = SPEC.replace(episodes=45)
    run_spec(longer, str(copy), block=3, events=Events(damaged=reports.append))
    assert len(reports) == 4
    run_spec(longer, str(tmp_path / "fresh"), block=3)
    both = [curves(Store.open(root / "tiny")) for root in (copy, tmp_path / "fresh")]
    for one, other in zip(*both, strict=True):
        for name, values in other.columns.items():
            np.testing.assert_array_equal(one.columns[name], values)


def test_a_state_of_another_size_is_not_used(copy):
    """A hostile or foreign state with a right checksum."""
    cell = next(copy.glob("tiny/cells/*/0000000000-0000000003"))
    old = next(cell.glob("*.state"))
    old.unlink()
    data = encoding.encode_state({"cumulative_regret": np.zeros(10**4), "cumulative_return": np.zeros(3)}, {})
    (cell / f"0000000030.{encoding.digest(data)}.state").write_bytes(data)
    run_spec(SPEC.replace(episodes=33), str(copy), block=3)
    assert all(c.complete for c in curves(Store.open(copy / "tiny")))


HOSTILE_STATES = [
    b"",
    b"eluder-state 1\n",
    b"\x80\x04\x95 pickle",
    b"eluder-state 1\n" + b"[" * 100_000 + b"\n",
    b'eluder-state 1\n{"leaves":[{"dtype":"float64","name":"x","shape":[1000000000000,1000000]}],"meta":{}}\n',
    b'eluder-state 1\n{"leaves":[{"dtype":"object","name":"x","shape":[1]}],"meta":{}}\n12345678',
    b'eluder-state 1\n{"leaves":[{"dtype":"float64","name":"x","shape":[-1]}],"meta":{}}\n12345678',
    b'eluder-state 1\n{"leaves":[],"meta":{}}\nmore',
]


@pytest.mark.parametrize("data", HOSTILE_STATES)
def test_hostile_states(data):
    with pytest.raises(Damaged):
        encoding.decode_state(data)


def parquet(columns, meta) -> bytes:
    table = pa.table(columns).replace_schema_metadata({"eluder": json.dumps(meta)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


META = {"schema": 1, "series": "a", "paths": [0, 1], "count": 2, "thinned": False, "shapes": {"regret": []}}


@pytest.mark.parametrize(
    ("columns", "meta"),
    [
        ({"x": [1.0]}, {}),
        ({"path": [0, 0], "episode": [1, 2], "regret": [0.0, 1.0]}, META | {"schema": 99}),
        ({"path": [0, 0], "episode": [1, 2], "regret": [0.0, 1.0]}, META | {"series": "../../etc"}),
        ({"path": [0, 0], "episode": [1, 2], "regret": [0.0, 1.0]}, META | {"count": 10**15}),
        ({"path": [0, 0], "episode": [1, 2], "regret": [0.0, 1.0]}, META | {"count": "2; import os"}),
        ({"path": [0, 0], "episode": [2, 1], "regret": [0.0, 1.0]}, META),
        ({"path": [0, 0], "episode": [1, 2], "other": [0.0, 1.0]}, META),
        ({"path": [0, 0], "episode": [1, 2], "regret": [0.0, 1.0]}, META | {"shapes": {"regret": [10**12]}}),
        ({"path": [0, 0], "episode": ["a", "b"], "regret": [0.0, 1.0]}, META),
    ],
)
def test_hostile_parquet(columns, meta):
    with pytest.raises(Damaged):
        encoding.decode_records(parquet(columns, meta), range(0, 1), "a")


def test_records_survive_the_round_trip():
    rng = np.random.default_rng(0)
    columns = {"regret": rng.random((3, 4)), "values": rng.random((3, 4, 2, 5)), "policy": np.arange(12).reshape(3, 4)}
    columns["regret"][0, 0] = 5e-324
    data = encoding.encode_records(Records(np.arange(5, 9), columns, False), range(7, 10), "s")
    again = encoding.decode_records(data, range(7, 10), "s")
    np.testing.assert_array_equal(again.episodes, [5, 6, 7, 8])
    for name, values in columns.items():
        np.testing.assert_array_equal(again.columns[name], values)
    with pytest.raises(Damaged, match="another cell"):
        encoding.decode_records(data, range(7, 10), "t")


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/passwd", "a//b", "", ".hidden", "a\x00b", "a\nb", "x" * 300]
)
def test_names_stay_inside_the_store(tmp_path, name):
    store = LocalFiles(tmp_path / "store")
    for act in (store.read, store.remove, lambda n: store.write(n, b"x"), lambda n: store.create(n, b"x")):
        with pytest.raises(StoreError):
            act(name)
    assert not (tmp_path / "x").exists()


def test_links_out_of_the_store_are_not_followed(copy, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(copy / "tiny" / "cells")
    (copy / "tiny" / "cells").symlink_to(outside)
    with pytest.raises(StoreError, match="is a link"):
        run_spec(SPEC, str(copy), block=3)
    assert not list(outside.iterdir())


def test_a_hostile_table_of_contents(copy):
    content = {"name": "x", "title": "", "spec": "0" * 32, "series": [{"id": "../../../etc"}]}
    (copy / "tiny" / "experiment.json").write_bytes(encoding.encode_json(content))
    with pytest.warns(UserWarning, match="spec.toml"), pytest.raises(StoreError, match="not one of eluder's"):
        eluder.load(copy)


def test_another_schema_is_refused(copy):
    (copy / "tiny" / "store.json").write_bytes(encoding.encode_json({"schema": 2, "backend": "cpu", "block": 3}))
    with pytest.raises(StoreError, match="schema version 2"):
        run_spec(SPEC, str(copy))


def test_another_backend_is_refused_only_where_it_would_compute(copy):
    (copy / "tiny" / "store.json").write_bytes(encoding.encode_json({"schema": 1, "backend": "gpu", "block": 3}))
    run_spec(SPEC, str(copy))
    with pytest.raises(StoreError, match="--device gpu"):
        run_spec(SPEC.replace(episodes=31), str(copy))


def test_a_full_disk_loses_nothing(tmp_path, pristine, monkeypatch):
    """Space runs out at every possible write, one after the other."""
    real, left = os.fsync, [0]

    def fsync(handle):
        if left[0] <= 0 and not os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        return real(handle)

    monkeypatch.setattr(files.os, "fsync", fsync)

    def sentence() -> str | None:
        try:
            assert run_spec(SPEC, str(tmp_path), block=3, workers=1, checkpoint_seconds=0)
        except StoreError as error:
            return str(error)
        return None

    failures = 0
    while True:
        left[0] = 4 + 3 * failures
        told = sentence()
        if told is None:
            break
        failures += 1
        assert "is full: free some space and run the same command again" in told
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what is there is whole
            if (tmp_path / "tiny" / "experiment.json").exists() and list(tmp_path.rglob("*.part*")):
                eluder.load(tmp_path)
    assert failures >= 3
    assert results(tmp_path) == results(pristine)
    assert not list(tmp_path.rglob(".*.tmp"))


def test_thinning_keeps_exact_sums(tmp_path, monkeypatch):
    monkeypatch.setattr(thinning, "ROWS_AT_MOST", 1000)
    spec = SPEC.replace(episodes=700, agents=SPEC.agents[:1], name="thin")
    run_spec(spec.replace(episodes=200), str(tmp_path), block=3)  # 800 rows: all of them
    assert eluder.load(tmp_path)["episode"].nunique() == 200
    run_spec(spec, str(tmp_path), block=3)
    table = eluder.load(tmp_path)
    river = eluder.environments.riverswim(states=3, horizon=5)
    agent = eluder.agents.UCRLWVTR(river.linear_mixture(), levels=1)
    full = eluder.simulate(river, agent, episodes=700, paths=4)
    episodes = table["episode"].unique()
    assert len(episodes) < 200
    assert {1, 10, 100, 700} <= set(episodes)
    for path in range(4):
        rows = table[table["path"] == path]
        np.testing.assert_array_equal(rows["cumulative_regret"], np.cumsum(full.regret[path])[episodes - 1])
        np.testing.assert_array_equal(rows["cumulative_return"], np.cumsum(full.returns[path])[episodes - 1])
    once = tmp_path / "once"
    run_spec(spec, str(once), block=3)
    assert eluder.load(once).equals(table)


def test_thinned_runs_have_at_most_500_points():
    points = thinning._POINTS
    assert thinning.kept(points, 10**9).all()
    assert len(points) + 1 <= 500
    ratios = points[1:] / points[:-1]
    assert (ratios[points[:-1] > 100] < 1.06).all()  # log-spaced


def test_records_of_any_shape(tmp_path):
    spec = SPEC.replace(record=("trace",), episodes=4, paths=2, agents=SPEC.agents[:1])
    run_spec(spec, str(tmp_path))
    river = eluder.environments.riverswim(states=3, horizon=5)
    agent = eluder.agents.UCRLWVTR(river.linear_mixture(), levels=1)
    trace = eluder.simulate(river, agent, episodes=4, paths=2, record=[eluder.recording.Trace(river)]).records
    (stored,) = curves(Store.open(tmp_path / "tiny"))
    for name, values in trace.items():
        np.testing.assert_array_equal(stored.columns[name], values)


def test_a_claim_is_held_by_one(tmp_path):
    first, second = (locks.Locks(LocalFiles(tmp_path)) for _ in range(2))
    assert first.claim("a")
    assert not second.claim("a")
    first.release("a")
    assert second.claim("a")
    second.release_all()
    assert first.claim("a")
    first.release_all()


def test_claims_of_dead_processes_are_taken_over(tmp_path):
    code = "import sys; from eluder.experiments import files, locks; from pathlib import Path\n"
    code += "assert locks.Locks(files.LocalFiles(Path(sys.argv[1]))).claim('a'); import os; os._exit(1)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / "locks" / "a.lock").exists()
    mine = locks.Locks(LocalFiles(tmp_path))
    assert mine.claim("a")
    mine.release_all()


@pytest.mark.parametrize("content", [b"", b"junk", b'{"host": "elsewhere", "pid": 1, "started": 1, "beat": 3}'])
def test_claims_that_stop_moving_are_taken_over(tmp_path, content, monkeypatch):
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "a.lock").write_bytes(content)
    mine = locks.Locks(LocalFiles(tmp_path))
    now = [1000.0]
    monkeypatch.setattr(locks.time, "monotonic", lambda: now[0])
    assert not mine.claim("a")
    now[0] += locks.STALE_SECONDS / 2
    (tmp_path / "locks" / "a.lock").write_bytes(content + b" ")  # its holder lives
    assert not mine.claim("a")
    now[0] += locks.STALE_SECONDS - 1
    assert not mine.claim("a")
    now[0] += 2
    assert mine.claim("a")
    mine.release_all()


def test_a_claim_that_was_taken_over_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "BEAT_SECONDS", 0.01)
    mine = locks.Locks(LocalFiles(tmp_path))
    assert mine.claim("a")
    (tmp_path / "locks" / "a.lock").write_bytes(b'{"token": "another"}')
    for _ in range(500):
        if not mine.holds("a"):
            break
        locks.time.sleep(0.01)
    assert not mine.holds("a")
    mine.release_all()
    assert (tmp_path / "locks" / "a.lock").exists()


def test_work_stops_when_its_claim_is_lost(tmp_path, monkeypatch):
    job = prepare(SPEC, str(tmp_path), block=3)
    mine = locks.Locks(job.store.files)
    monkeypatch.setattr(mine, "holds", lambda name: False)
    task = job.tasks[0]
    control = work.Control(checkpoint_seconds=0)
    assert not work.work_on_block(job.store, task.series, task.built, task.block, mine, control)
    assert not list(tmp_path.rglob("*.parquet"))
    mine.release_all()
