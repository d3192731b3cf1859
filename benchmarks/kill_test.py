"""Kills a running experiment at random moments, at least 200 times, and compares what remains with an unbroken run.

Runs are killed with SIGKILL while one thread, two threads or two processes work on one store; with --dask also
while the workers of a Dask cluster do. Every time a store is complete it must hold the bytes of the unbroken one,
with a right checksum in every name; then the next run begins.

`python benchmarks/kill_test.py [--kills 200] [--dask 10]`
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from eluder.experiments import Grid, Part, Spec
from eluder.experiments.encoding import digest
from eluder.experiments.run import prepare, run_spec

SPEC = Spec(
    "killed",
    environments=(Part.of("riverswim", states=4, horizon=Grid([10, 20])),),
    agents=(Part.of("ucrl-wvtr", levels=1), Part.of("ucrl-vtr"), Part.of("random")),
    episodes=3000,
    paths=10,
)
BLOCK = 4
# Children are forked before this process has started JAX: they need not import everything anew.
CONTEXT = multiprocessing.get_context("fork")
KILLS_PER_RUN = 20
MODES = {"one thread": (1, 1), "two threads": (1, 2), "two processes": (2, 1)}


def work(out: str, workers: int) -> None:
    run_spec(SPEC, out, block=BLOCK, workers=workers, checkpoint_seconds=random.choice([0.0, 0.05, 0.2]))


def contents(folder: Path) -> dict[str, bytes]:
    """Finished results and final states by name; each name must carry its content's checksum."""
    found = {}
    for path in folder.rglob("cells/*/*/*"):
        data = path.read_bytes()
        assert path.name.split(".")[-2] == digest(data), path
        if path.suffix != ".json":
            found[str(path.relative_to(folder))] = data
    return found


def wait_for_work(out: Path, children: list) -> None:
    """Until one of the children has claimed a block."""
    own = {child.pid for child in children}
    while any(child.is_alive() for child in children):
        if own & holders(out):
            return
        time.sleep(0.02)


def holders(out: Path) -> set[int]:
    """The processes that have claimed a block."""
    found = set()
    for lock in out.rglob("*.lock"):
        try:
            found.add(json.loads(lock.read_text())["pid"])
        except (OSError, ValueError):
            continue
    return found


def kill_until_done(out: Path, mode: str, kills: Counter, most: int) -> None:
    processes, workers = MODES[mode]
    before = sum(kills.values())
    while True:
        children = [CONTEXT.Process(target=work, args=(str(out), workers)) for _ in range(processes)]
        for child in children:
            child.start()
        if sum(kills.values()) < min(most, before + KILLS_PER_RUN):
            if random.random() < 0.8:  # while it computes; otherwise while it starts
                wait_for_work(out, children)
            children[0].join(random.uniform(0.0, 1.2))
            for child in children[: random.randint(1, len(children))]:
                if child.is_alive() and child.pid is not None:
                    os.kill(child.pid, signal.SIGKILL)
        for child in children:
            child.join()
            kills[mode] += child.exitcode == -signal.SIGKILL
        print(f"{sum(kills.values())} kills", end="\r", flush=True)
        if all(child.exitcode == 0 for child in children):
            return
        assert all(child.exitcode in (0, -signal.SIGKILL) for child in children), [c.exitcode for c in children]


def kill_dask_workers(out: Path, wanted: int) -> int:
    import dask
    import distributed

    from eluder.experiments.cluster import run_on_dask

    # A local cluster dismisses a worker that is away for 15 seconds, even while it restarts.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})

    kills: list[int] = []
    over = threading.Event()

    def killer() -> None:
        while len(kills) < wanted and not over.wait(random.uniform(0.1, 1.5)):
            for holder in holders(out) - {os.getpid(), *kills}:
                os.kill(holder, signal.SIGKILL)
                kills.append(holder)
                break

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with cluster, distributed.Client(cluster) as client:
        thread = threading.Thread(target=killer)
        thread.start()
        run_on_dask(prepare(SPEC, str(out), block=BLOCK), client, checkpoint_seconds=0)
        over.set()
        thread.join()
    return len(kills)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--dask", type=int, default=0, help="kills of Dask workers, beside the others")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random.seed(options.seed)
    began, kills, runs = time.perf_counter(), Counter(), Counter()
    folder = Path(tempfile.mkdtemp(prefix="eluder-kill-test-"))
    try:
        reference = CONTEXT.Process(target=work, args=(str(folder / "unbroken"), 2))
        reference.start()
        reference.join()
        unbroken = contents(folder / "unbroken" / SPEC.name)
        assert unbroken
        while sum(kills.values()) < options.kills:
            mode = min(MODES, key=lambda m: kills[m])
            out = folder / f"run-{sum(runs.values())}"
            kill_until_done(out, mode, kills, options.kills)
            assert contents(out / SPEC.name) == unbroken, f"{out}: other bytes than the unbroken run"
            runs[mode] += 1
            shutil.rmtree(out)
            print(f"{sum(kills.values())} kills, {sum(runs.values())} stores complete and identical", flush=True)
        if options.dask:
            out = folder / "dask"
            kills["dask workers"] = kill_dask_workers(out, options.dask)
            assert contents(out / SPEC.name) == unbroken
    finally:
        shutil.rmtree(folder)
    print(f"{sum(kills.values())} SIGKILLs {dict(kills)} in {time.perf_counter() - began:.0f} s: no byte differs.")


if __name__ == "__main__":
    main()
