"""Dask: real worker processes, killed while they work, and the bits of a local run."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from test_resume import results

from eluder.experiments import Part, Spec
from eluder.experiments.cluster import run_on_dask
from eluder.experiments.files import StoreError
from eluder.experiments.run import Events, prepare, run_spec

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*is not reachable.*"),
]

SPEC = Spec(
    "dask",
    environments=(Part.of("riverswim", states=4, horizon=8),),
    agents=(Part.of("ucrl-wvtr", levels=1),),
    episodes=4000,
    paths=6,
)


def lock_holders(folder: Path) -> set[int]:
    """The processes that are computing a block right now."""
    holders = set()
    for path in folder.rglob("*.lock"):
        try:
            holders.add(json.loads(path.read_text())["pid"])
        except (OSError, ValueError):
            continue
    return holders


def test_workers_lost_mid_cell_again_and_again(tmp_path):
    """Four losses of the only task there is: at the fourth, Dask by itself gives a task up for good."""
    kills, over = [], threading.Event()

    def kill_workers():
        while not over.wait(0.05) and len(kills) < 4:
            parts = len(list(tmp_path.rglob("*.part")))
            for pid in lock_holders(tmp_path) - set(kills):
                if parts and pid != os.getpid() and len(kills) < 4:
                    os.kill(pid, signal.SIGKILL)
                    kills.append(pid)
                    time.sleep(0.3)

    # A local cluster dismisses a worker that is away for 15 seconds, even while it restarts.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        job = prepare(SPEC, str(tmp_path), block=6)
        killer = threading.Thread(target=kill_workers)
        killer.start()
        steps = []
        try:
            assert run_on_dask(job, client, Events(advanced=steps.append), checkpoint_seconds=0)
        finally:
            over.set()
            killer.join()
    assert len(kills) == 4
    assert sum(steps) > 0
    run_spec(SPEC, str(tmp_path / "local"), block=6)
    assert results(tmp_path / "dask") == results(tmp_path / "local" / "dask")


def test_no_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr("eluder.experiments.cluster._CONNECT_SECONDS", 1)
    job = prepare(SPEC, str(tmp_path))
    with pytest.raises(StoreError, match="No Dask scheduler answers at tcp"):
        run_on_dask(job, "tcp://127.0.0.1:9")
