"""What store and resume cost: the figure-2 spec through `eluder run` against `simulate` alone.

Both run the spec's cells on all cores, alternately, with compiled programs warm; the smallest times are compared.
`python benchmarks/store_overhead.py [--repeats 3] [--episodes 5000]`
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import eluder
from eluder.experiments import catalogue
from eluder.experiments.run import build_all, run_spec
from eluder.experiments.spec import Spec
from eluder.simulation import cores

AT_MOST = 0.05


def simulated(spec: Spec) -> float:
    """Seconds of `simulate` on every cell, cells side by side as the store runs them."""
    began = time.perf_counter()
    series = spec.series()
    pairs = sorted(zip(series, build_all(series), strict=True), key=lambda p: -p[0].episodes * p[1].environment.horizon)

    def run(pair):
        one, built = pair
        eluder.simulate(
            built.environment, built.agent, episodes=one.episodes, paths=one.paths, seed=one.seed, workers=1
        )

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(run, pairs))
    return time.perf_counter() - began


def stored(spec: Spec) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run_spec(spec, folder)
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=5000)
    options = parser.parse_args()
    spec = catalogue.get("figure-2").replace(episodes=options.episodes)
    small = spec.replace(episodes=2)
    simulated(small), stored(small)  # compile
    plain, with_store = [], []
    for _ in range(options.repeats):
        plain.append(simulated(spec))
        with_store.append(stored(spec))
        print(f"simulate {plain[-1]:.2f} s, store {with_store[-1]:.2f} s", flush=True)
    overhead = min(with_store) / min(plain) - 1
    print(f"figure-2 through store and resume: {overhead:+.1%} over simulate alone (at most {AT_MOST:.0%} wanted)")
    if overhead > AT_MOST:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
