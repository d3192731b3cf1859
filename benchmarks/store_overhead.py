"""What store and resume cost: the figure-2 spec through `eluder run` against `simulate` alone.

Both run the spec's cells on all cores, alternately, with compiled programs warm; the smallest times are compared.
Processor time is shown beside it: it tells more on a machine that has other work to do.
`python benchmarks/store_overhead.py [--repeats 3] [--episodes 5000]`
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import eluder
from eluder.experiments import catalogue
from eluder.experiments.run import build_all, run_spec
from eluder.experiments.spec import Spec
from eluder.simulation import cores

AT_MOST = 0.05


def simulated(spec: Spec) -> None:
    """`simulate` on every cell, cells side by side as the store runs them."""
    series = spec.series()
    pairs = sorted(zip(series, build_all(series), strict=True), key=lambda p: -p[0].episodes * p[1].environment.horizon)

    def run(pair):
        one, built = pair
        eluder.simulate(
            built.environment, built.agent, episodes=one.episodes, paths=one.paths, seed=one.seed, workers=1
        )

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(run, pairs))


def stored(spec: Spec) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_spec(spec, folder)


def timed(work: Callable[[Spec], None], spec: Spec) -> tuple[float, float]:
    """Wall seconds and processor seconds."""
    began = time.perf_counter(), time.process_time()
    work(spec)
    return time.perf_counter() - began[0], time.process_time() - began[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=5000)
    options = parser.parse_args()
    spec = catalogue.get("figure-2").replace(episodes=options.episodes)
    small = spec.replace(episodes=2)
    simulated(small), stored(small)  # compile
    times: dict[str, list[tuple[float, float]]] = {"simulate": [], "store": []}
    for _ in range(options.repeats):
        for name, work in (("simulate", simulated), ("store", stored)):
            times[name].append(timed(work, spec))
            print(f"{name}: {times[name][-1][0]:.2f} s, processor {times[name][-1][1]:.2f} s", flush=True)
    wall, processor = (min(t[i] for t in times["store"]) / min(t[i] for t in times["simulate"]) - 1 for i in (0, 1))
    print(f"figure-2 through store and resume: {wall:+.1%} over simulate alone, {processor:+.1%} processor time")
    if wall > AT_MOST:
        raise SystemExit(f"That is more than {AT_MOST:.0%}.")


if __name__ == "__main__":
    main()
